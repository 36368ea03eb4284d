import type { CompanyContext } from '../../../context.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { type Definition, searchable } from './definition.ts';
import { resourceNotFound } from './failures.ts';
import * as store from './store.ts';

/** A resource as it is stored, its content of type C. */
export type Resource<C extends Content = Content> = Omit<store.ResourceRow, 'content'> & { content: C };

/** How the store knows a resource of the caller's company. */
export const keyOf = (ctx: CompanyContext, { type }: Pick<Definition, 'type'>, id: string): store.ResourceKey => ({
  companyId: ctx.actor.companyId,
  resourceType: type,
  id,
});

/** A resource, archived or not. @throws Failure `{noun}.not_found` */
export async function getResource<C extends Content>(
  ctx: CompanyContext,
  definition: Definition<C>,
  id: string,
): Promise<Resource<C>> {
  const [row] = await store.selectResource(ctx.db, keyOf(ctx, definition, id));
  if (!row) throw resourceNotFound(definition);
  return row as Resource<C>;
}

/** Those of the ids that exist in the company, whatever their type. */
export async function findResources(ctx: CompanyContext, ids: readonly string[]): Promise<Resource[]> {
  return ids.length === 0 ? [] : store.selectResources(ctx.db, ctx.actor.companyId, ids);
}

/** The living resources of a type (and facet), those changed last first. */
export const livingResources = (
  ctx: CompanyContext,
  { type, facet, limit }: { type: ResourceType; facet?: string; limit: number },
): Promise<Resource[]> =>
  store.selectLiving(ctx.db, { companyId: ctx.actor.companyId, resourceType: type, facet }, limit).all();

/** How many living resources of a type and facet the company has. */
export async function countResources(ctx: CompanyContext, type: ResourceType, facet: string): Promise<number> {
  const [row] = await store.countLiving(ctx.db, ctx.actor.companyId, type, facet);
  return row?.count ?? 0;
}

/** A page of the company's resources of one type, newest first. */
export async function listResources<C extends Content>(
  ctx: CompanyContext,
  definition: Definition<C>,
  filter: store.ResourceFilter,
  part: { page: number; perPage: number },
) {
  const search = filter.search === undefined ? undefined : searchable(filter.search);
  const of = { companyId: ctx.actor.companyId, resourceType: definition.type };
  const page = await store.readResources(ctx.db, of, { ...filter, search }, part);
  return { ...page, records: page.records as Resource<C>[] };
}

/** A page of a resource's versions, newest first. @throws Failure `{noun}.not_found` */
export async function listVersions(
  ctx: CompanyContext,
  definition: Definition,
  id: string,
  part: { page: number; perPage: number },
) {
  await getResource(ctx, definition, id);
  return store.readVersions(ctx.db, { companyId: ctx.actor.companyId, resourceId: id }, part);
}

/** What a resource was at a version, its status included; undefined for a version that it never had. */
export async function membersAt(ctx: CompanyContext, id: string, version: number): Promise<Content | undefined> {
  const [row] = await store.selectVersion(ctx.db, ctx.actor.companyId, id, version);
  return row && { ...row.content, status: row.status };
}
