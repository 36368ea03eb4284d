import { isDenied } from '../../../access/denials.ts';
import type { PrincipalContext } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import { concurrentChange, retryOnConcurrentChange } from '../../../db/failures.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { TARGET_TYPES, type TargetType } from '../../../db/schema/knowledge-suggestions.ts';
import { splitIntoParameters } from '../../../db/statements.ts';
import type { FieldProblem } from '../../../kernel/failure.ts';
import { shorten } from '../../../kernel/text.ts';
import { translate } from '../../../texts/errors/translate.ts';
import { joinUniqueKey } from '../resources/definition.ts';
import { CREATION } from '../suggestions/propose.ts';
import { makeSuggestion } from '../suggestions/service.ts';
import {
  insertPendingSuggestions,
  type NewSuggestion,
  selectImportedSuggestions,
  selectPendingSuggestions,
} from '../suggestions/store.ts';
import { getTargetDefinition, listSuggestedReferences, RESOURCE_DEFINITIONS } from '../suggestions/suggestion.ts';
import {
  type DocumentEntry,
  ENTRY_SHAPES,
  LIST_NAMES,
  type ListName,
  REFERENCE_FIELDS,
  RESOURCE_TYPES,
  type ReferenceField,
} from './document.ts';
import {
  type ImportProblem,
  MAX_ENTRIES,
  MAX_ERRORS,
  makeTooManyEntriesFailure,
  type ParsedDocument,
  type UncheckedEntry,
} from './read-knowledge.ts';
import { selectResourcesByKeys } from './store.ts';

const MAX_MESSAGE_LENGTH = 300;
const CREATION_TYPES = TARGET_TYPES.filter((type) => type.endsWith('_create'));

export interface NamedTarget {
  target_type: TargetType;
  name: string;
}

export interface ImportResult {
  suggestions: NamedTarget[];
  skipped: NamedTarget[];
  /** The problems, in the language of the caller. */
  errors: { line: number; message: string }[];
}

/** A valid entry of a document. */
interface ImportedItem {
  listName: ListName;
  line: number;
  name: string;
  /** Identifies the entry within documents; for a relation, made of the names of its ends. */
  key: string;
  entry: DocumentEntry;
  references: (ReferenceField & { namedTargets: { key: string; missingMessage: string }[] })[];
}

/** The target of a name in a document: a resource, or a pending suggestion to create one. */
type KnownTarget = { resourceId: string } | { suggestionId: string };

/** Stores pending suggestions for entries of a document that the company does not have. Changes nothing else. */
export async function importKnowledge(
  ctx: PrincipalContext,
  { source, foundEntries, errors }: ParsedDocument,
  isDryRun: boolean,
): Promise<ImportResult> {
  if (foundEntries.length > MAX_ENTRIES) throw makeTooManyEntriesFailure();
  const items = toItems(foundEntries, errors);
  return retryOnConcurrentChange(async () => {
    const { rows, ...imported } = toSuggestions(ctx, items, await readKnownTargets(ctx, items), source, [...errors]);
    if (isDryRun || rows.length === 0) return imported;
    const inserted = splitIntoParameters(rows).map((part) => insertPendingSuggestions(ctx.db, part));
    try {
      await commit(ctx.db, { inserted }, { 'knowledge_suggestions.candidate_key': concurrentChange });
      return imported;
    } catch (error) {
      // Another import has suggested some of it meanwhile.
      if (concurrentChange.matches(error)) return undefined;
      throw error;
    }
  });
}

/**
 * Makes suggestions from the items. @param knownTargets the targets of the names in the items, by key; the new suggestions are
 * added to this map
 */
function toSuggestions(
  ctx: PrincipalContext,
  items: readonly ImportedItem[],
  knownTargets: Map<string, KnownTarget>,
  source: string,
  errors: ImportProblem[],
): ImportResult & { rows: NewSuggestion[] } {
  const suggestions: NamedTarget[] = [];
  const skippedTargets: NamedTarget[] = [];
  const rows: NewSuggestion[] = [];
  for (const item of sortByReferences(items, knownTargets, errors)) {
    const namedTarget = { target_type: `${RESOURCE_TYPES[item.listName]}_create` as TargetType, name: item.name };
    if (isKnown(item, knownTargets)) {
      skippedTargets.push(namedTarget);
      continue;
    }
    const payload = toPayload(item, knownTargets, errors);
    if (payload === null) continue;
    const proposal = {
      ...CREATION,
      targetType: namedTarget.target_type,
      targetName: item.name,
      payload,
      explanation: `Imported from ${source}, line ${item.line}.`,
      evidence: [],
      confidence: null,
      model: 'import',
      promptVersion: 'import',
    };
    const origin = { createdByUserId: ctx.actor.id, requestId: ctx.correlationId, jobId: null, candidateKey: item.key };
    const row = makeSuggestion(ctx, proposal, origin);
    rows.push(row);
    knownTargets.set(item.key, { suggestionId: row.id });
    suggestions.push(namedTarget);
  }
  const { locale } = ctx.caller();
  const reportedErrors = errors
    .toSorted((a, b) => a.line - b.line)
    .slice(0, MAX_ERRORS)
    .map(({ line, place, problem }) => {
      const message = [...place, translate(problem, locale)].join(': ');
      return { line, message: shorten(message, MAX_MESSAGE_LENGTH).toWellFormed() };
    });
  return { suggestions, skipped: skippedTargets, errors: reportedErrors, rows };
}

function toItems(foundEntries: readonly UncheckedEntry[], errors: ImportProblem[]): ImportedItem[] {
  const seenKeys = new Set<string>();
  return foundEntries.flatMap(({ listName: list, value, line }) => {
    const parsedEntry = ENTRY_SHAPES[list].safeParse(value);
    if (parsedEntry.error) {
      const entryName = readName(value);
      for (const { path, message } of parsedEntry.error.issues.slice(0, 20)) {
        errors.push({ line, place: [...entryName, path.join('.') || list], problem: message });
      }
      return [];
    }
    const item = toItem(list, parsedEntry.data as DocumentEntry, line);
    if (seenKeys.has(item.key)) {
      errors.push({ line, place: [item.name], problem: 'appears in the document twice' });
      return [];
    }
    seenKeys.add(item.key);
    return [item];
  });
}

const readName = (value: unknown): string[] => {
  const { name } = Object(value) as { name?: unknown };
  return typeof name === 'string' && name.trim() !== '' ? [shorten(name, 80)] : [];
};

function toItem(list: ListName, value: DocumentEntry, line: number): ImportedItem {
  const references = REFERENCE_FIELDS[list].map((reference) => ({
    ...reference,
    namedTargets: [value[reference.documentField] ?? []].flat().map((entryName) => ({
      key: makeTargetKey(reference.type, reference.makeKey(entryName as never)),
      missingMessage: reference.formatMissing(
        typeof entryName === 'string' ? entryName : (entryName as { name: string }).name,
      ),
    })),
  }));
  const name = String(value.name ?? value.predicate);
  const type = RESOURCE_TYPES[list];
  const { defaults, makeUniqueKey } = RESOURCE_DEFINITIONS[type];
  const uniqueKey =
    list === 'relations'
      ? joinUniqueKey(...references.map(({ namedTargets }) => namedTargets[0]?.key as string), name)
      : makeUniqueKey({ ...defaults, ...value });
  return { listName: list, line, name, entry: value, references, key: makeTargetKey(type, uniqueKey) };
}

const makeTargetKey = (type: string, uniqueKey: string): string => `${type}\n${uniqueKey}`;

const getId = (target: KnownTarget): string => ('resourceId' in target ? target.resourceId : target.suggestionId);

/**
 * Reads the resources and pending suggestions that the names in a document refer to. Relations that an import did not suggest are
 * found by the ids of their end nodes, or of the suggestions of these.
 */
async function readKnownTargets(
  ctx: PrincipalContext,
  items: readonly ImportedItem[],
): Promise<Map<string, KnownTarget>> {
  const knownTargets = new Map<string, KnownTarget>();
  const { companyId } = ctx.actor;
  const pending = { targetTypes: CREATION_TYPES, includesImported: false };
  for (const { id, targetType, payload } of await selectPendingSuggestions(ctx.db, companyId, pending)) {
    const { definition } = getTargetDefinition(targetType);
    const ends = listSuggestedReferences(payload).flatMap(({ field, ids, isList }) =>
      isList ? [] : [[field, ids[0]]],
    );
    const content = { ...definition.defaults, ...payload, ...Object.fromEntries(ends) };
    knownTargets.set(makeTargetKey(definition.type, definition.makeUniqueKey(content)), { suggestionId: id });
  }
  const namedKeys = items.flatMap(({ key, references }) => [
    key,
    ...references.flatMap(({ namedTargets }) => namedTargets.map((target) => target.key)),
  ]);
  for (const keys of splitIntoParameters([...new Set(namedKeys)])) {
    for (const { id, candidateKey } of await selectImportedSuggestions(ctx.db, companyId, keys))
      knownTargets.set(candidateKey, { suggestionId: id });
    await findResources(ctx, keys, knownTargets);
  }
  const relations = items
    .filter(({ listName }) => listName === 'relations')
    .flatMap((item) => makeKeyByIds(item, knownTargets) ?? []);
  for (const keys of splitIntoParameters(relations)) await findResources(ctx, keys, knownTargets);
  return knownTargets;
}

async function findResources(
  ctx: PrincipalContext,
  keys: readonly string[],
  knownTargets: Map<string, KnownTarget>,
): Promise<void> {
  const uniqueKeys = keys.map((key) => key.slice(key.indexOf('\n') + 1));
  const rows = await selectResourcesByKeys(ctx.db, ctx.actor.companyId, uniqueKeys);
  for (const { id, resourceType, uniqueKey } of rows) {
    if (!isDenied(ctx.actor, resourceType, id))
      knownTargets.set(makeTargetKey(resourceType, uniqueKey), { resourceId: id });
  }
}

const isKnown = (item: ImportedItem, knownTargets: ReadonlyMap<string, KnownTarget>): boolean =>
  knownTargets.has(item.key) ||
  (item.listName === 'relations' && knownTargets.has(makeKeyByIds(item, knownTargets) ?? ''));

/** Returns the key of a relation, made of the ids of its end nodes; null where one of them does not exist. */
function makeKeyByIds(
  { listName, name, references }: ImportedItem,
  knownTargets: ReadonlyMap<string, KnownTarget>,
): string | null {
  const [subject, object] = references.map(({ namedTargets }) => knownTargets.get(namedTargets[0]?.key ?? ''));
  return subject && object
    ? makeTargetKey(RESOURCE_TYPES[listName], joinUniqueKey(getId(subject), name, getId(object)))
    : null;
}

/** Sorts items so that each follows the items it refers to. Items in a circle of references, or referring to one, are errors. */
function sortByReferences(
  items: readonly ImportedItem[],
  knownTargets: ReadonlyMap<string, KnownTarget>,
  errors: ImportProblem[],
): ImportedItem[] {
  const waitingItems = new Map(items.map((item) => [item.key, item]));
  const dependents = new Map<string, ImportedItem[]>();
  const waitingReferenceCounts = new Map<ImportedItem, number>();
  for (const item of items) {
    const neededKeys = new Set(item.references.flatMap(({ namedTargets }) => namedTargets.map(({ key }) => key)));
    const missingKeys = knownTargets.has(item.key)
      ? []
      : [...neededKeys].filter((key) => waitingItems.has(key) && !knownTargets.has(key));
    waitingReferenceCounts.set(item, missingKeys.length);
    for (const key of missingKeys) dependents.set(key, [...(dependents.get(key) ?? []), item]);
  }
  const orderedItems = LIST_NAMES.flatMap((list) =>
    items.filter((item) => item.listName === list && waitingReferenceCounts.get(item) === 0),
  );
  for (const item of orderedItems) {
    waitingItems.delete(item.key);
    for (const dependent of dependents.get(item.key) ?? []) {
      const remainingCount = (waitingReferenceCounts.get(dependent) ?? 0) - 1;
      waitingReferenceCounts.set(dependent, remainingCount);
      if (remainingCount === 0) orderedItems.push(dependent);
    }
  }
  for (const { name, line } of waitingItems.values()) {
    errors.push({ line, place: [name], problem: 'is part of a circle of references, or refers to one' });
  }
  return orderedItems;
}

/** Returns the payload for the suggestion of an item; null where it could never be accepted. */
function toPayload(
  { listName, name, entry, line, references }: ImportedItem,
  knownTargets: ReadonlyMap<string, KnownTarget>,
  errors: ImportProblem[],
): Content | null {
  const content: Content = { ...entry, status: 'active' };
  const checkedContent: Content = { ...content };
  const suggestedValues: Record<string, string | string[]> = {};
  const problems: FieldProblem[] = [];
  for (const { documentField, field, isList, namedTargets } of references) {
    const foundTargets = namedTargets.flatMap(({ key, missingMessage }) => {
      const target = knownTargets.get(key);
      if (!target) problems.push({ field: documentField, message: missingMessage });
      return target ?? [];
    });
    delete content[documentField];
    const ids = foundTargets.flatMap((target) => ('resourceId' in target ? [target.resourceId] : []));
    const suggestionIds = foundTargets.flatMap((target) => ('suggestionId' in target ? [target.suggestionId] : []));
    const allIds = foundTargets.map(getId);
    content[field] = isList ? ids : (ids[0] ?? null);
    if (suggestionIds.length > 0) suggestedValues[field] = isList ? suggestionIds : (suggestionIds[0] as string);
    delete checkedContent[documentField];
    checkedContent[field] = isList ? allIds : (allIds[0] ?? null);
  }
  if (problems.length === 0) {
    const definition = RESOURCE_DEFINITIONS[RESOURCE_TYPES[listName]];
    const { data, error } = definition.createSchema.safeParse(checkedContent);
    for (const { path, message } of error?.issues ?? []) problems.push({ field: path.join('.'), message });
    const completeContent = { ...definition.defaults, ...data } as never;
    for (const { field, message } of (data && definition.findProblems?.(completeContent)) ?? [])
      problems.push({ field, message });
  }
  errors.push(...problems.slice(0, 20).map(({ field, message }) => ({ line, place: [name, field], problem: message })));
  if (problems.length > 0) return null;
  return Object.keys(suggestedValues).length > 0 ? { ...content, suggested: suggestedValues } : content;
}
