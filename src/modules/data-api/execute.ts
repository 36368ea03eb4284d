import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { readOnce, readTogether } from '../../db/client.ts';
import { Failure, invalidInput } from '../../kernel/failure.ts';
import { makeResourceArn } from '../../permissions/arn.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { makeViewerRules } from '../../sharing/rules.ts';
import { computeBoundValues, formatCanonicalValues } from '../../sharing/values.ts';
import type { BoundValues } from '../../sql-templates/parameters.ts';
import { userSqlFailures } from '../../tenant-sql/failures.ts';
import type { UserSqlResult } from '../../tenant-sql/user-sql.ts';
import { getCachedResults, UNKNOWN_TABLES } from '../managed-database/service.ts';
import { executionFailed } from '../visualizations/failures.ts';
import {
  executeRuns,
  listVisualizationInputs,
  requireNotDenied,
  type Visualization,
} from '../visualizations/service.ts';
import { endpointNotFound } from './failures.ts';
import { parseParameters } from './parameters.ts';
import { selectEndpointBySlug, type VizApiEndpoint } from './store.ts';

/** Selects the endpoint of a slug, active or not, and its visualization, read once per request. */
const readEndpointBySlug = ({ db, actor: { companyId } }: PrincipalContext, slug: string) =>
  readOnce(db, `endpoint ${slug}`, () => readTogether(db, selectEndpointBySlug(db, companyId, slug)));

/** Returns the ARN of the endpoint of a slug, active or not; the ARN of all endpoints where there is none. */
export async function readEndpointArn(ctx: PrincipalContext, slug: string): Promise<string> {
  const { endpoint } = await readEndpointBySlug(ctx, slug);
  return makeResourceArn('data_api:execute', ctx.actor.companyId, endpoint[0]?.id);
}

/** Throws if a Deny policy denies the caller the endpoint, or the visualization that it publishes. */
export function requireEndpointNotDenied(
  ctx: PrincipalContext,
  { endpointId, visualizationId }: { endpointId: string; visualizationId: string },
): void {
  requireNotDenied(ctx, [endpointId], ['viz_api_endpoints:get']);
  requireNotDenied(ctx, [visualizationId]);
}

/** Returns the active endpoint of a slug and its visualization, for a caller who is denied neither. @throws endpointNotFound */
export async function readPublishedVisualization(ctx: PrincipalContext, slug: string) {
  const {
    endpoint: [endpoint],
    visualization: [visualization],
  } = await readEndpointBySlug(ctx, slug);
  if (endpoint?.status !== 'active' || !visualization) throw endpointNotFound();
  requireEndpointNotDenied(ctx, { endpointId: endpoint.id, visualizationId: visualization.id });
  return { endpoint, visualization };
}

/** Computes the values of a visualization's parameters from those that a request sends. */
export const chooseValues = (visualization: Visualization, sentValues: Record<string, unknown>): BoundValues =>
  computeBoundValues(makeViewerRules(listVisualizationInputs(visualization), { isInsider: true }), sentValues);

/** A result, and whether it comes from the cache. */
export type EndpointResult = UserSqlResult & { isCached: boolean };

/** Runs the visualization of a slug with the values of a query, or returns the recent cached result of an equal query. */
export async function executeEndpoint(
  ctx: PrincipalContext,
  slug: string,
  query: URLSearchParams,
): Promise<EndpointResult> {
  const { endpoint, visualization } = await readPublishedVisualization(ctx, slug);
  return nameQueryParameters(async () => {
    const values = chooseValues(visualization, parseParameters(query, visualization.parameters));
    const cacheTtlSeconds = endpoint.cacheSeconds;
    if (cacheTtlSeconds === 0) return { ...(await runVisualization(ctx, visualization, values)), isCached: false };
    const cachedResults = getCachedResults(ctx, 'data-results', await computeCacheKey(endpoint, visualization, values));
    const cachedResult = await cachedResults.findResult();
    if (cachedResult !== undefined) return { ...JSON.parse(cachedResult), isCached: true };
    const { tables = UNKNOWN_TABLES, ...result } = await runVisualization(ctx, visualization, values);
    const text = JSON.stringify(result);
    cachedResults.storeResult(() => text, { length: text.length, cacheSeconds: cacheTtlSeconds, tables });
    return { ...result, isCached: false };
  });
}

/** Returns a digest of everything that a result depends on except the data. */
const computeCacheKey = (
  endpoint: VizApiEndpoint,
  visualization: Visualization,
  values: BoundValues,
): Promise<string> =>
  computeSha256Hex(
    JSON.stringify([
      endpoint.id,
      endpoint.version,
      visualization.id,
      visualization.version,
      formatCanonicalValues(values),
    ]),
  );

async function runVisualization(
  ctx: CompanyContext,
  visualization: Visualization,
  values: BoundValues,
): Promise<UserSqlResult> {
  const [execution] = await executeRuns(ctx, [{ visualization, values }]);
  if (execution && 'result' in execution) return execution.result;
  throw execution ? toExecutionFailure(execution.failure) : endpointNotFound();
}

/** Converts a failure of the visualization's SQL to the Data API's failure; returns any other failure unchanged. */
export const toExecutionFailure = (failure: Failure): Failure =>
  userSqlFailures.some((type) => type.matches(failure))
    ? executionFailed(failure.message).addCause(failure.cause ?? failure)
    : failure;

/** Runs `work`, and names parameters in its field problems as the query does: without the prefix `parameters.`. */
async function nameQueryParameters<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || !error.detail.problems) throw error;
    throw invalidInput(
      error.detail.problems.map(({ field, message }) => ({ field: field.replace(/^parameters\./, ''), message })),
    );
  }
}
