import { findListDenials } from '../../access/denials.ts';
import { requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { getVisualization, hasFormatParameter, requireNotDenied } from '../visualizations/service.ts';
import { endpointNotFound, endpointSlugTaken, makeFormatConflictFailure } from './failures.ts';
import {
  deleteEndpoint as deleteRow,
  insertEndpoint,
  readEndpoints,
  selectEndpoint,
  updateEndpoint,
  type VizApiEndpoint,
} from './store.ts';

export type { VizApiEndpoint };

/** The fields of an endpoint that users set. */
export type EndpointInput = Pick<
  VizApiEndpoint,
  'name' | 'slug' | 'description' | 'visualizationId' | 'cacheSeconds' | 'status'
>;

const UNIQUE_SLUG_FAILURES = { 'viz_api_endpoints.slug': endpointSlugTaken };

/** Returns a page of the company's endpoints, newest first. */
export const listEndpoints = (ctx: CompanyContext, pageRequest: { page: number; perPage: number; search: string }) => {
  const denials = findListDenials(ctx.actor, 'endpoint');
  return readEndpoints(ctx.db, ctx.actor.companyId, {
    ...pageRequest,
    search: pageRequest.search.toLowerCase(),
    denials,
  });
};

export async function getEndpoint(ctx: CompanyContext, id: string): Promise<VizApiEndpoint> {
  if (!ID_PATTERN.test(id)) throw endpointNotFound();
  const [endpoint] = await selectEndpoint(ctx.db, ctx.actor.companyId, id);
  if (!endpoint) throw endpointNotFound();
  return endpoint;
}

/** Publishes a visualization that the caller may execute. */
export async function createEndpoint(ctx: PrincipalContext, input: EndpointInput): Promise<VizApiEndpoint> {
  await requirePublishable(ctx, input.visualizationId);
  const now = ctx.now();
  const { companyId } = ctx.actor;
  const record = { ...input, id: ctx.newId(), companyId, version: 1, createdAt: now, updatedAt: now };
  return retryOnConcurrentChange(async () => {
    const { inserted } = await commit(ctx.db, { inserted: insertEndpoint(ctx.db, record) }, UNIQUE_SLUG_FAILURES);
    if (inserted.length === 0) await requirePublishable(ctx, input.visualizationId);
    return inserted[0];
  });
}

/** Changes the given fields. A caller who publishes a visualization by this must be allowed to execute it. */
export function changeEndpoint(
  ctx: PrincipalContext,
  id: string,
  changes: Partial<EndpointInput>,
): Promise<VizApiEndpoint> {
  return retryOnConcurrentChange(async () => {
    const storedEndpoint = await getEndpoint(ctx, id);
    const changedEndpoint = { ...storedEndpoint, ...changes, updatedAt: ctx.now() };
    const isActivated = changedEndpoint.status === 'active' && storedEndpoint.status !== 'active';
    const isNewlyPublished = isActivated || changedEndpoint.visualizationId !== storedEndpoint.visualizationId;
    if (isNewlyPublished) await requirePublishable(ctx, changedEndpoint.visualizationId);
    return (await commit(ctx.db, { updated: updateEndpoint(ctx.db, changedEndpoint) }, UNIQUE_SLUG_FAILURES))
      .updated[0];
  });
}

export async function deleteEndpoint(ctx: CompanyContext, id: string): Promise<void> {
  const { deleted } = await commit(ctx.db, { deleted: deleteRow(ctx.db, ctx.actor.companyId, id) });
  if (deleted.length === 0) throw endpointNotFound();
}

async function requirePublishable(ctx: PrincipalContext, visualizationId: string): Promise<void> {
  requireAction(ctx.actor, 'visualizations:execute', visualizationId);
  requireNotDenied(ctx, [visualizationId]);
  if (hasFormatParameter(await getVisualization(ctx, visualizationId))) throw makeFormatConflictFailure();
}
