import { findListDenials } from '../../../access/denials.ts';
import { isAllowed, requireAction } from '../../../access/requirements.ts';
import type { PrincipalContext } from '../../../context.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { makeDenialCheck } from '../../../permissions/denials.ts';
import { findTables } from '../../managed-tables/service.ts';
import { findHiddenItems } from '../metrics/hidden-items.ts';
import { joinUniqueKey } from '../resources/definition.ts';
import { findResources } from '../resources/reading.ts';
import { getDeniedSuggestions, RESOURCE_DEFINITIONS } from '../suggestions/suggestion.ts';
import {
  DOCUMENT_FORMAT,
  type DocumentEntry,
  ENTRY_SHAPES,
  type KnowledgeDocument,
  LIST_NAMES,
  type ListName,
  MAX_DOCUMENT_BYTES,
  REFERENCE_FIELDS,
  RESOURCE_TYPES,
} from './document.ts';
import { exportTooLarge } from './failures.ts';
import { selectActiveResources } from './store.ts';

/** The number of resources that are read at a time. */
const EXPORT_BATCH_SIZE = 500;

export type ActiveResource = Awaited<ReturnType<typeof selectActiveResources>>[number];

/** The knowledge of the company as a document, and the resources that it was made of. */
export interface KnowledgeExport {
  document: KnowledgeDocument;
  resources: ActiveResource[];
}

/** Throws unless the caller may list concepts, semantic items and the ontology. */
export function requireMayExport({ actor }: PrincipalContext): void {
  requireAction(actor, 'concepts:list', '*');
  requireAction(actor, 'semantic:list', '*');
  requireAction(actor, 'ontology:list', '*');
}

/** Exports the active knowledge that the caller may see as a document: equal knowledge makes an equal document. */
export async function exportKnowledge(ctx: PrincipalContext, maxBytes = MAX_DOCUMENT_BYTES): Promise<KnowledgeExport> {
  requireMayExport(ctx);
  const resourcesById = new Map((await readActiveResources(ctx, maxBytes)).map((resource) => [resource.id, resource]));
  await addMissingConcepts(ctx, resourcesById);
  const resources = [...new Set(resourcesById.values())];
  const replaceTableIds = await createTableIdReplacer(ctx, resources);
  const lists = LIST_NAMES.map((list) => [list, toEntries(list, resources, resourcesById, replaceTableIds)] as const);
  return { document: { format: DOCUMENT_FORMAT, ...Object.fromEntries(lists) } as KnowledgeDocument, resources };
}

async function readActiveResources(ctx: PrincipalContext, maxBytes: number): Promise<ActiveResource[]> {
  const { targets } = getDeniedSuggestions(ctx);
  const { ids: hiddenIds } = await findHiddenItems(ctx);
  const semanticDenials = { ...targets.semantic, ids: [...targets.semantic.ids, ...hiddenIds] };
  const listDenials = { ...targets, concept: findListDenials(ctx.actor, 'concept'), semantic: semanticDenials };
  const activeResources: ActiveResource[] = [];
  let exportedBytes = 0;
  for (let afterId = ''; ; ) {
    const filter = { afterId, denialsByType: listDenials };
    const batch = await selectActiveResources(ctx.db, ctx.actor.companyId, filter, EXPORT_BATCH_SIZE);
    activeResources.push(...batch);
    exportedBytes += JSON.stringify(batch).length;
    if (exportedBytes > maxBytes) throw exportTooLarge(maxBytes);
    if (batch.length < EXPORT_BATCH_SIZE) return activeResources;
    afterId = batch.at(-1)?.id as string;
  }
}

/**
 * Adds the concepts of items that have no active concept: an item without a concept could not be imported. The id of a concept is
 * mapped to the active concept of the same name, where there is one, since a document refers to it by its name.
 */
async function addMissingConcepts(ctx: PrincipalContext, resourcesById: Map<string, ActiveResource>): Promise<void> {
  const storedResources = [...resourcesById.values()];
  const missingIds = storedResources.flatMap(({ resourceType, content }) => {
    const ids =
      resourceType === 'semantic' && content.kind !== 'mapping' ? (content.source_concept_ids as string[]) : [];
    return ids.some((id) => resourcesById.has(id)) ? [] : ids;
  });
  const concepts = storedResources.filter(({ resourceType }) => resourceType === 'concept');
  const conceptsByKey = new Map(concepts.map((concept) => [joinUniqueKey(concept.content.name as string), concept]));
  const isHidden = makeDenialCheck(findListDenials(ctx.actor, 'concept'));
  const foundConcepts = (await findResources(ctx, [...new Set(missingIds)])).filter(({ id }) => !isHidden(id));
  for (const concept of foundConcepts.toSorted((a, b) => compareByCodePoint(b.id, a.id))) {
    const activeConcept = conceptsByKey.get(concept.uniqueKey) ?? concept;
    conceptsByKey.set(concept.uniqueKey, activeConcept);
    resourcesById.set(concept.id, activeConcept);
  }
}

/** Returns a function that replaces table ids in a text by table names: an id means nothing elsewhere. */
async function createTableIdReplacer(
  ctx: PrincipalContext,
  resources: readonly ActiveResource[],
): Promise<(text: string) => string> {
  const mappedIds = resources.flatMap(({ resourceType, content }) =>
    resourceType === 'semantic'
      ? listMappedNames(content).flatMap((text) => text.match(/\b[0-9a-f]{24}\b/g) ?? [])
      : [],
  );
  const ids = [...new Set(mappedIds)];
  const tables = ids.length > 0 ? await findTables(ctx, ids) : [];
  const visibleTables = tables.filter(({ id }) => isAllowed(ctx.actor, 'managed-tables:list', id));
  const names = new Map(visibleTables.map(({ id, displayName }) => [id, displayName]));
  return (text) => text.replaceAll(/\b[0-9a-f]{24}\b/g, (id) => names.get(id) ?? id);
}

const MAPPED_FIELDS = ['mapped_tables', 'mapped_columns', 'mapped_relations'];
const listMappedNames = (content: Content): string[] => MAPPED_FIELDS.flatMap((field) => content[field] as string[]);

function toEntries(
  list: ListName,
  resources: readonly ActiveResource[],
  resourcesById: ReadonlyMap<string, ActiveResource>,
  replaceTableIds: (text: string) => string,
): DocumentEntry[] {
  const type = RESOURCE_TYPES[list];
  const definition = RESOURCE_DEFINITIONS[type];
  return resources
    .filter((resource) => resource.resourceType === type)
    .flatMap(({ content }) => {
      const completeContent = { ...definition.defaults, ...content };
      const namesByField = new Map<string, unknown>();
      for (const { documentField, field, isList } of REFERENCE_FIELDS[list]) {
        const ids = [completeContent[field]].flat().filter((id) => typeof id === 'string');
        const foundNames = ids.flatMap((id) => resourcesById.get(id) ?? []).map((resource) => getName(resource));
        const listNames = () => [...new Set(foundNames as string[])].toSorted(compareByCodePoint);
        namesByField.set(documentField, isList ? listNames() : (foundNames[0] ?? null));
      }
      // A relation between nodes that are not active says nothing.
      if (list === 'relations' && (!namesByField.get('subject') || !namesByField.get('object'))) return [];
      const fields = Object.keys(ENTRY_SHAPES[list].shape).map((field) => {
        const value = namesByField.has(field) ? namesByField.get(field) : completeContent[field];
        return [field, MAPPED_FIELDS.includes(field) ? (value as string[]).map(replaceTableIds) : (value ?? null)];
      });
      return [Object.fromEntries(fields)];
    })
    .map((entry) => [makeSortKey(list, entry), entry] as const)
    .toSorted(([a], [b]) => compareByCodePoint(a, b))
    .map(([, entry]) => entry);
}

/** Returns the name by which a document refers to a resource. */
function getName({ resourceType, content }: { resourceType: ResourceType; content: Content }): unknown {
  return resourceType === 'ontology_node' ? { node_type: content.node_type, name: content.name } : content.name;
}

/** Returns the text to sort entries by: kind and name, which are unique together; for a relation, its ends and predicate. */
function makeSortKey(list: ListName, entry: DocumentEntry): string {
  if (list !== 'relations') return [entry.kind ?? entry.node_type ?? '', entry.name].join('\n');
  const formatRelationEnd = (documentField: string) => Object.values(entry[documentField] as object).join('\n');
  return [formatRelationEnd('subject'), entry.predicate, formatRelationEnd('object')].join('\n');
}

export const compareByCodePoint = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
