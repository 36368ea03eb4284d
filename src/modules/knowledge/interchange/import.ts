import { isDenied } from '../../../access/denials.ts';
import type { PrincipalContext } from '../../../context.ts';
import { retryOnConcurrentChange } from '../../../db/failures.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import type { TargetType } from '../../../db/schema/knowledge-suggestions.ts';
import { splitIntoParameters } from '../../../db/statements.ts';
import { shorten } from '../../../kernel/text.ts';
import { uniqueKeyFrom } from '../resources/service.ts';
import {
  DEFINITIONS,
  getTarget,
  importSuggestions,
  listSuggestedReferences,
  makeSuggestion,
  type NewSuggestion,
  readPendingCreations,
  readPendingImports,
} from '../suggestions/service.ts';
import { type Entry, LIST_NAMES, type ListName, REFERENCES, RESOURCE_TYPES, SHAPES } from './document.ts';
import {
  type FoundEntry,
  type ImportError,
  MAX_ENTRIES,
  MAX_ERRORS,
  type ReadDocument,
  tooManyEntries,
} from './read-knowledge.ts';
import { selectByKeys } from './store.ts';

const MAX_MESSAGE_LENGTH = 300;

export interface NamedTarget {
  target_type: TargetType;
  name: string;
}

export interface ImportResult {
  suggestions: NamedTarget[];
  skipped: NamedTarget[];
  errors: ImportError[];
}

/** A valid entry of a document. */
interface Item {
  list: ListName;
  line: number;
  name: string;
  /** Identifies the entry within documents; for a relation, made of the names of its ends. */
  key: string;
  value: Entry;
  references: { documentField: string; field: string; isList: boolean; named: { key: string; says: string }[] }[];
}

/** The target of a name in a document: a resource, or a pending suggestion of one. */
type KnownTarget = { resourceId: string } | { suggestionId: string };

/** Stores pending suggestions for entries of a document that the company does not have. Changes nothing else. */
export async function importKnowledge(
  ctx: PrincipalContext,
  { source, found, errors }: ReadDocument,
  isRehearsal: boolean,
): Promise<ImportResult> {
  if (found.length > MAX_ENTRIES) throw tooManyEntries();
  const items = toItems(found, errors);
  return retryOnConcurrentChange(async () => {
    const { rows, ...imported } = toSuggestions(ctx, items, await readKnownTargets(ctx, items), source, [...errors]);
    // Another import has suggested some of it meanwhile.
    if (!isRehearsal && !(await importSuggestions(ctx, rows))) return undefined;
    return imported;
  });
}

/** Makes suggestions from the items. @param known the targets of their names; the suggestions that are made are added */
function toSuggestions(
  ctx: PrincipalContext,
  items: readonly Item[],
  known: Map<string, KnownTarget>,
  source: string,
  errors: ImportError[],
): ImportResult & { rows: NewSuggestion[] } {
  const suggestions: NamedTarget[] = [];
  const skipped: NamedTarget[] = [];
  const rows: NewSuggestion[] = [];
  for (const item of sortByReferences(items, known, errors)) {
    const named = { target_type: `${RESOURCE_TYPES[item.list]}_create` as TargetType, name: item.name };
    if (isKnown(item, known)) {
      skipped.push(named);
      continue;
    }
    const payload = toPayload(item, known, errors);
    if (payload === null) continue;
    const proposal = {
      targetType: named.target_type,
      targetId: null,
      targetVersion: null,
      targetName: item.name,
      conceptId: null,
      conceptName: null,
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
    known.set(item.key, { suggestionId: row.id });
    suggestions.push(named);
  }
  const told = errors
    .toSorted((a, b) => a.line - b.line)
    .slice(0, MAX_ERRORS)
    .map(({ line, message }) => ({ line, message: shorten(message, MAX_MESSAGE_LENGTH).toWellFormed() }));
  return { suggestions, skipped, errors: told, rows };
}

function toItems(found: readonly FoundEntry[], errors: ImportError[]): Item[] {
  const seen = new Set<string>();
  return found.flatMap(({ list, value, line }) => {
    const parsed = SHAPES[list].safeParse(value);
    if (parsed.error) {
      const called = readName(value);
      for (const { path, message } of parsed.error.issues.slice(0, 20)) {
        errors.push({ line, message: `${called}${path.join('.') || list}: ${message}` });
      }
      return [];
    }
    const item = toItem(list, parsed.data as Entry, line);
    if (seen.has(item.key)) {
      errors.push({ line, message: `${item.name}: appears in the document twice` });
      return [];
    }
    seen.add(item.key);
    return [item];
  });
}

const readName = (value: unknown): string => {
  const { name } = Object(value) as { name?: unknown };
  return typeof name === 'string' && name.trim() !== '' ? `${shorten(name, 80)}: ` : '';
};

function toItem(list: ListName, value: Entry, line: number): Item {
  const references = REFERENCES[list].map(({ documentField, field, type, what, keyOf, isList }) => ({
    documentField,
    field,
    isList,
    named: [value[documentField] ?? []].flat().map((named) => ({
      key: makeTargetKey(type, keyOf(named as never)),
      says: `${what} "${typeof named === 'string' ? named : (named as { name: string }).name}" does not exist`,
    })),
  }));
  const name = String(value.name ?? value.predicate);
  if (list !== 'relations') {
    const { defaults, makeUniqueKey } = DEFINITIONS[RESOURCE_TYPES[list]];
    return {
      list,
      line,
      name,
      value,
      references,
      key: makeTargetKey(RESOURCE_TYPES[list], makeUniqueKey({ ...defaults, ...value })),
    };
  }
  const ends = references.map(({ named }) => named[0]?.key as string);
  return {
    list,
    line,
    name,
    value,
    references,
    key: makeTargetKey(RESOURCE_TYPES[list], uniqueKeyFrom(...ends, name)),
  };
}

const makeTargetKey = (type: string, uniqueKey: string): string => `${type}\n${uniqueKey}`;

const getId = (known: KnownTarget): string => ('resourceId' in known ? known.resourceId : known.suggestionId);

/**
 * Reads the resources and pending suggestions that the names in a document refer to. Relations that were not suggested by an
 * import are found by the ids of their end nodes, or of the suggestions of these.
 */
async function readKnownTargets(ctx: PrincipalContext, items: readonly Item[]): Promise<Map<string, KnownTarget>> {
  const known = new Map<string, KnownTarget>();
  for (const { id, targetType, payload } of await readPendingCreations(ctx)) {
    const { definition } = getTarget(targetType);
    const ends = listSuggestedReferences(payload).flatMap(({ field, ids, isList }) =>
      isList ? [] : [[field, ids[0]]],
    );
    const content = { ...definition.defaults, ...payload, ...Object.fromEntries(ends) };
    known.set(makeTargetKey(definition.type, definition.makeUniqueKey(content)), { suggestionId: id });
  }
  const named = items.flatMap(({ key, references }) => [
    key,
    ...references.flatMap(({ named }) => named.map((each) => each.key)),
  ]);
  for (const keys of splitIntoParameters([...new Set(named)])) {
    for (const { id, candidateKey } of await readPendingImports(ctx, keys))
      known.set(candidateKey, { suggestionId: id });
    await findResources(ctx, keys, known);
  }
  const relations = items.filter(({ list }) => list === 'relations').flatMap((item) => makeKeyByIds(item, known) ?? []);
  for (const keys of splitIntoParameters(relations)) await findResources(ctx, keys, known);
  return known;
}

async function findResources(
  ctx: PrincipalContext,
  keys: readonly string[],
  known: Map<string, KnownTarget>,
): Promise<void> {
  const uniqueKeys = keys.map((key) => key.slice(key.indexOf('\n') + 1));
  const rows = await selectByKeys(ctx.db, ctx.actor.companyId, uniqueKeys);
  for (const { id, resourceType, uniqueKey } of rows) {
    if (!isDenied(ctx.actor, resourceType, id)) known.set(makeTargetKey(resourceType, uniqueKey), { resourceId: id });
  }
}

const isKnown = (item: Item, known: ReadonlyMap<string, KnownTarget>): boolean =>
  known.has(item.key) || (item.list === 'relations' && known.has(makeKeyByIds(item, known) ?? ''));

/** The key of a relation, made of the ids of its end nodes; null where one of them does not exist. */
function makeKeyByIds({ list, name, references }: Item, known: ReadonlyMap<string, KnownTarget>): string | null {
  const [subject, object] = references.map(({ named }) => known.get(named[0]?.key ?? ''));
  return subject && object
    ? makeTargetKey(RESOURCE_TYPES[list], uniqueKeyFrom(getId(subject), name, getId(object)))
    : null;
}

/** Sorts items so that each follows those it refers to. Items in a circle of references, or that refer to one, are errors. */
function sortByReferences(
  items: readonly Item[],
  known: ReadonlyMap<string, KnownTarget>,
  errors: ImportError[],
): Item[] {
  const waiting = new Map(items.map((item) => [item.key, item]));
  const dependents = new Map<string, Item[]>();
  const open = new Map<Item, number>();
  for (const item of items) {
    const needed = new Set(item.references.flatMap(({ named }) => named.map(({ key }) => key)));
    const own = known.has(item.key) ? [] : [...needed].filter((key) => waiting.has(key) && !known.has(key));
    open.set(item, own.length);
    for (const key of own) dependents.set(key, [...(dependents.get(key) ?? []), item]);
  }
  const ordered = LIST_NAMES.flatMap((list) => items.filter((item) => item.list === list && open.get(item) === 0));
  for (const item of ordered) {
    waiting.delete(item.key);
    for (const dependent of dependents.get(item.key) ?? []) {
      const left = (open.get(dependent) ?? 0) - 1;
      open.set(dependent, left);
      if (left === 0) ordered.push(dependent);
    }
  }
  for (const { name, line } of waiting.values()) {
    errors.push({ line, message: `${name}: is part of a circle of references, or refers to one` });
  }
  return ordered;
}

/** The payload for the suggestion of an item; null where it could never be accepted. */
function toPayload(
  { list, name, value, line, references }: Item,
  known: ReadonlyMap<string, KnownTarget>,
  errors: ImportError[],
): Content | null {
  const content: Content = { ...value, status: 'active' };
  const checked: Content = { ...content };
  const suggested: Record<string, string | string[]> = {};
  const problems: string[] = [];
  for (const { documentField, field, isList, named } of references) {
    const found = named.flatMap(({ key, says }) => {
      const target = known.get(key);
      if (!target) problems.push(`${documentField}: ${says}`);
      return target ?? [];
    });
    delete content[documentField];
    const ids = found.flatMap((target) => ('resourceId' in target ? [target.resourceId] : []));
    const waiting = found.flatMap((target) => ('suggestionId' in target ? [target.suggestionId] : []));
    if (isList) content[field] = ids;
    else content[field] = ids[0] ?? null;
    if (waiting.length > 0) suggested[field] = isList ? waiting : (waiting[0] as string);
    delete checked[documentField];
    checked[field] = isList ? found.map(getId) : found[0] ? getId(found[0]) : null;
  }
  if (problems.length === 0) {
    const definition = DEFINITIONS[RESOURCE_TYPES[list]];
    const { data, error } = definition.create.safeParse(checked);
    for (const { path, message } of error?.issues ?? []) problems.push(`${path.join('.')}: ${message}`);
    const whole = { ...definition.defaults, ...data } as never;
    for (const { field, message } of (data && definition.findProblems?.(whole)) ?? [])
      problems.push(`${field}: ${message}`);
  }
  errors.push(...problems.slice(0, 20).map((message) => ({ line, message: `${name}: ${message}` })));
  if (problems.length > 0) return null;
  return Object.keys(suggested).length > 0 ? { ...content, suggested } : content;
}
