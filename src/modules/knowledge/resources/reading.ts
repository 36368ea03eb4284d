import { findListDenials, isDenied } from '../../../access/denials.ts';
import type { CompanyContext } from '../../../context.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { normalizeName, type ResourceDefinition, toSearchText } from './definition.ts';
import * as store from './store.ts';

/** A resource as it is stored, with content of type C. */
export type Resource<C extends Content = Content> = Omit<store.ResourceRow, 'content'> & { content: C };

/** Makes the key of a resource of the caller's company. */
export const makeResourceKey = (
  ctx: CompanyContext,
  { type }: Pick<ResourceDefinition, 'type'>,
  id: string,
): store.ResourceKey => ({
  companyId: ctx.actor.companyId,
  resourceType: type,
  id,
});

/** Returns a resource, archived or not. */
export async function getResource<C extends Content>(
  ctx: CompanyContext,
  definition: ResourceDefinition<C>,
  id: string,
): Promise<Resource<C>> {
  const [row] = await store.selectResource(ctx.db, makeResourceKey(ctx, definition, id));
  if (!row) throw definition.failures.notFound();
  return row as Resource<C>;
}

/** Returns a resource like `getResource`, for routes that have not checked access: a denied resource counts as absent. */
export async function getVisibleResource<C extends Content>(
  ctx: CompanyContext,
  definition: ResourceDefinition<C>,
  id: string,
): Promise<Resource<C>> {
  if (isDenied(ctx.actor, definition.type, id)) throw definition.failures.notFound();
  return getResource(ctx, definition, id);
}

/** Finds the resources of these ids in the company, of any type, archived or not, without those denied to the caller. */
export async function findResources(ctx: CompanyContext, ids: readonly string[]): Promise<Resource[]> {
  if (ids.length === 0) return [];
  const foundRows = await store.selectResources(ctx.db, ctx.actor.companyId, ids);
  return foundRows.filter(({ resourceType, id }) => !isDenied(ctx.actor, resourceType, id));
}

/**
 * Returns the resources of a type (and facet) that are not archived, last changed first. @param mentionedIn a text: resources
 * whose name occurs in it come first
 */
export const listUnarchivedResources = (
  ctx: CompanyContext,
  { type, facet, mentionedIn, limit }: { type: ResourceType; facet?: string; mentionedIn?: string; limit: number },
): Promise<Resource[]> => {
  const scope = { companyId: ctx.actor.companyId, resourceType: type, facet };
  const text = mentionedIn === undefined ? undefined : normalizeName(mentionedIn);
  return store.selectUnarchivedResources(ctx.db, scope, text, limit).all();
};

/** Counts the resources of a type (and facet) that are not archived, without those that lists hide from the caller. */
export async function countResources(ctx: CompanyContext, type: ResourceType, facet?: string): Promise<number> {
  const scope = { companyId: ctx.actor.companyId, resourceType: type, facet };
  const [row] = await store.countUnarchivedResources(ctx.db, scope, findListDenials(ctx.actor, type));
  return row?.count ?? 0;
}

/** Returns a page of the company's resources of one type that the caller is not denied, newest first. */
export async function listResources<C extends Content>(
  ctx: CompanyContext,
  definition: ResourceDefinition<C>,
  filter: store.ResourceFilter,
  page: { page: number; perPage: number },
) {
  const searchText = filter.search === undefined ? undefined : toSearchText(filter.search);
  const scope = { companyId: ctx.actor.companyId, resourceType: definition.type };
  const denials = findListDenials(ctx.actor, definition.type);
  const resourcePage = await store.readResources(ctx.db, scope, { ...filter, search: searchText, denials }, page);
  return { ...resourcePage, records: resourcePage.records as Resource<C>[] };
}

/** Returns a page of a resource's versions, newest first. */
export async function listVersions(
  ctx: CompanyContext,
  definition: ResourceDefinition,
  id: string,
  page: { page: number; perPage: number },
) {
  await getResource(ctx, definition, id);
  return store.readVersions(ctx.db, ctx.actor.companyId, id, page);
}

/** Returns the content of a resource's version, with its status; undefined when there is no such version. */
export async function getContentAtVersion(
  ctx: CompanyContext,
  id: string,
  version: number,
): Promise<Content | undefined> {
  const [row] = await store.selectVersion(ctx.db, ctx.actor.companyId, id, version);
  return row && { ...row.content, status: row.status };
}
