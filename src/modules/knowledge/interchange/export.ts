import { findDeniedInLists } from '../../../access/denials.ts';
import { isAllowed, requireAction } from '../../../access/requirements.ts';
import type { PrincipalContext } from '../../../context.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { deniedBy } from '../../../permissions/denials.ts';
import { findTables } from '../../managed-tables/service.ts';
import { findHiddenItems } from '../metrics/service.ts';
import { findResources, uniqueKeyFrom } from '../resources/service.ts';
import { DEFINITIONS, deniedSuggestions } from '../suggestions/service.ts';
import {
  DOCUMENT_FORMAT,
  type Entry,
  type KnowledgeDocument,
  LIST_NAMES,
  type ListName,
  MAX_DOCUMENT_BYTES,
  REFERENCES,
  RESOURCE_TYPES,
  SHAPES,
} from './document.ts';
import { exportTooLarge } from './failures.ts';
import { selectActive } from './store.ts';

/** The number of resources that are read at a time. */
const EXPORT_BATCH_SIZE = 500;

export type ActiveResource = Awaited<ReturnType<typeof selectActive>>[number];

/** The knowledge of the company, as a document, and the resources that it was made of. */
export interface KnowledgeExport {
  document: KnowledgeDocument;
  resources: ActiveResource[];
}

/** The company's active knowledge, as far as the caller may see it, as a document: equal knowledge makes an equal document. */
export async function exportKnowledge(ctx: PrincipalContext, maxBytes = MAX_DOCUMENT_BYTES): Promise<KnowledgeExport> {
  requireAction(ctx.actor, 'concepts:list', '*');
  requireAction(ctx.actor, 'semantic:list', '*');
  requireAction(ctx.actor, 'ontology:list', '*');
  const byId = new Map((await readActive(ctx, maxBytes)).map((resource) => [resource.id, resource]));
  await addMissingConcepts(ctx, byId);
  const resources = [...new Set(byId.values())];
  const named = await createTableNamer(ctx, resources);
  const lists = LIST_NAMES.map((list) => [list, toEntries(list, resources, byId, named)] as const);
  return { document: { format: DOCUMENT_FORMAT, ...Object.fromEntries(lists) } as KnowledgeDocument, resources };
}

async function readActive(ctx: PrincipalContext, maxBytes: number): Promise<ActiveResource[]> {
  const { targets } = deniedSuggestions(ctx);
  const { ids: hidden } = await findHiddenItems(ctx);
  const semantic = { ...targets.semantic, ids: [...targets.semantic.ids, ...hidden] };
  const denied = { ...targets, concept: findDeniedInLists(ctx.actor, 'concept'), semantic };
  const all: ActiveResource[] = [];
  let bytes = 0;
  for (let after = ''; ; ) {
    const batch = await selectActive(ctx.db, ctx.actor.companyId, { after, denied }, EXPORT_BATCH_SIZE);
    all.push(...batch);
    bytes += JSON.stringify(batch).length;
    if (bytes > maxBytes) throw exportTooLarge(maxBytes);
    if (batch.length < EXPORT_BATCH_SIZE) return all;
    after = batch.at(-1)?.id as string;
  }
}

/**
 * Adds the concepts of items that have no active one: an item without a concept could not be imported. An id of a concept
 * leads to the active one of the same name, where there is one, since a document refers to it by its name.
 */
async function addMissingConcepts(ctx: PrincipalContext, byId: Map<string, ActiveResource>): Promise<void> {
  const active = [...byId.values()];
  const missing = active.flatMap(({ resourceType, content }) => {
    const ids =
      resourceType === 'semantic' && content.kind !== 'mapping' ? (content.source_concept_ids as string[]) : [];
    return ids.some((id) => byId.has(id)) ? [] : ids;
  });
  const concepts = active.filter(({ resourceType }) => resourceType === 'concept');
  const byKey = new Map(concepts.map((concept) => [uniqueKeyFrom(concept.content.name as string), concept]));
  const isHidden = deniedBy(findDeniedInLists(ctx.actor, 'concept'));
  const found = (await findResources(ctx, [...new Set(missing)])).filter(({ id }) => !isHidden(id));
  for (const concept of found.toSorted((a, b) => compareByCodePoint(b.id, a.id))) {
    const same = byKey.get(concept.uniqueKey) ?? concept;
    byKey.set(concept.uniqueKey, same);
    byId.set(concept.id, same);
  }
}

/** Returns a function that replaces ids of tables in a text by their names: an id means nothing elsewhere. */
async function createTableNamer(
  ctx: PrincipalContext,
  resources: readonly ActiveResource[],
): Promise<(text: string) => string> {
  const words = resources.flatMap(({ resourceType, content }) =>
    resourceType === 'semantic' ? listMapped(content).flatMap((text) => text.match(/\b[0-9a-f]{24}\b/g) ?? []) : [],
  );
  const ids = [...new Set(words)];
  const tables = ids.length > 0 ? await findTables(ctx, ids) : [];
  const shown = tables.filter(({ id }) => isAllowed(ctx.actor, 'managed-tables:list', id));
  const names = new Map(shown.map(({ id, displayName }) => [id, displayName]));
  return (text) => text.replaceAll(/\b[0-9a-f]{24}\b/g, (id) => names.get(id) ?? id);
}

const MAPPED_FIELDS = ['mapped_tables', 'mapped_columns', 'mapped_relations'];
const listMapped = (content: Content): string[] => MAPPED_FIELDS.flatMap((field) => content[field] as string[]);

function toEntries(
  list: ListName,
  resources: readonly ActiveResource[],
  byId: ReadonlyMap<string, ActiveResource>,
  tableNamed: (text: string) => string,
): Entry[] {
  const type = RESOURCE_TYPES[list];
  const definition = DEFINITIONS[type];
  return resources
    .filter((resource) => resource.resourceType === type)
    .flatMap(({ content }) => {
      const full = { ...definition.defaults, ...content };
      const named = new Map<string, unknown>();
      for (const { documentField, field, isList } of REFERENCES[list]) {
        const ids = [full[field]].flat().filter((id) => typeof id === 'string');
        const found = ids.flatMap((id) => byId.get(id) ?? []).map((resource) => getName(resource));
        const names = () => [...new Set(found as string[])].toSorted(compareByCodePoint);
        named.set(documentField, isList ? names() : (found[0] ?? null));
      }
      // A relation between nodes that are not active says nothing.
      if (list === 'relations' && (!named.get('subject') || !named.get('object'))) return [];
      const fields = Object.keys(SHAPES[list].shape).map((documentField) => {
        const value = named.has(documentField) ? named.get(documentField) : full[documentField];
        return [
          documentField,
          MAPPED_FIELDS.includes(documentField) ? (value as string[]).map(tableNamed) : (value ?? null),
        ] as const;
      });
      return [Object.fromEntries(fields)];
    })
    .map((entry) => [makeSortKey(list, entry), entry] as const)
    .toSorted(([a], [b]) => compareByCodePoint(a, b))
    .map(([, entry]) => entry);
}

/** The name by which a document refers to a resource. */
function getName({ resourceType, content }: { resourceType: ResourceType; content: Content }): unknown {
  return resourceType === 'ontology_node' ? { node_type: content.node_type, name: content.name } : content.name;
}

/** The text to sort entries by: kind and name, which are unique together; for a relation, its ends and predicate. */
function makeSortKey(list: ListName, entry: Entry): string {
  if (list !== 'relations') return [entry.kind ?? entry.node_type ?? '', entry.name].join('\n');
  const end = (documentField: string) => Object.values(entry[documentField] as object).join('\n');
  return [end('subject'), entry.predicate, end('object')].join('\n');
}

export const compareByCodePoint = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
