import { findDeniedInLists, isDenied } from '../../../access/denials.ts';
import type { CompanyContext } from '../../../context.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { type Definition, normalizeName, toSearchText } from './definition.ts';
import * as store from './store.ts';

/** A resource as it is stored, its content of type C. */
export type Resource<C extends Content = Content> = Omit<store.ResourceRow, 'content'> & { content: C };

/** The key of a resource of the caller's company. */
export const resourceKey = (
  ctx: CompanyContext,
  { type }: Pick<Definition, 'type'>,
  id: string,
): store.ResourceKey => ({
  companyId: ctx.actor.companyId,
  resourceType: type,
  id,
});

/** A resource, archived or not. */
export async function getResource<C extends Content>(
  ctx: CompanyContext,
  definition: Definition<C>,
  id: string,
): Promise<Resource<C>> {
  const [row] = await store.selectResource(ctx.db, resourceKey(ctx, definition, id));
  if (!row) throw definition.failures.notFound();
  return row as Resource<C>;
}

/** As `getResource`, for routes that have not checked whether the caller may see it: a denied resource is as if absent. */
export async function getVisibleResource<C extends Content>(
  ctx: CompanyContext,
  definition: Definition<C>,
  id: string,
): Promise<Resource<C>> {
  if (isDenied(ctx.actor, definition.type, id)) throw definition.failures.notFound();
  return getResource(ctx, definition, id);
}

/** Finds the resources of these ids in the company, of any type, archived or not, without those denied to the caller. */
export async function findResources(ctx: CompanyContext, ids: readonly string[]): Promise<Resource[]> {
  if (ids.length === 0) return [];
  const found = await store.selectResources(ctx.db, ctx.actor.companyId, ids);
  return found.filter(({ resourceType, id }) => !isDenied(ctx.actor, resourceType, id));
}

/**
 * The resources of a type (and facet) that are not archived, last changed first.
 * @param mentionedIn a text: resources whose name stands in it come first
 */
export const unarchivedResources = (
  ctx: CompanyContext,
  { type, facet, mentionedIn, limit }: { type: ResourceType; facet?: string; mentionedIn?: string; limit: number },
): Promise<Resource[]> => {
  const of = { companyId: ctx.actor.companyId, resourceType: type };
  const options = { facet, ...(mentionedIn !== undefined && { mentionedIn: normalizeName(mentionedIn) }) };
  return store.selectUnarchived(ctx.db, { ...of, ...options }, limit).all();
};

/** The number of resources of a type (and facet) that are not archived. */
export async function countResources(ctx: CompanyContext, type: ResourceType, facet?: string): Promise<number> {
  const [row] = await store.countUnarchived(ctx.db, ctx.actor.companyId, type, facet);
  return row?.count ?? 0;
}

/** A page of the company's resources of one type that the caller is not denied, newest first. */
export async function listResources<C extends Content>(
  ctx: CompanyContext,
  definition: Definition<C>,
  filter: store.ResourceFilter,
  page: { page: number; perPage: number },
) {
  const search = filter.search === undefined ? undefined : toSearchText(filter.search);
  const of = {
    companyId: ctx.actor.companyId,
    resourceType: definition.type,
    denied: findDeniedInLists(ctx.actor, definition.type),
  };
  const found = await store.readResources(ctx.db, of, { ...filter, search }, page);
  return { ...found, records: found.records as Resource<C>[] };
}

/** A page of a resource's versions, newest first. */
export async function listVersions(
  ctx: CompanyContext,
  definition: Definition,
  id: string,
  page: { page: number; perPage: number },
) {
  await getResource(ctx, definition, id);
  return store.readVersions(ctx.db, { companyId: ctx.actor.companyId, resourceId: id }, page);
}

/** The content of a resource's version, with its status; undefined when it has no such version. */
export async function contentAtVersion(ctx: CompanyContext, id: string, version: number): Promise<Content | undefined> {
  const [row] = await store.selectVersion(ctx.db, ctx.actor.companyId, id, version);
  return row && { ...row.content, status: row.status };
}
