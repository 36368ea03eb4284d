import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { readOnce, readTogether } from '../../db/client.ts';
import { Failure, invalid } from '../../kernel/failure.ts';
import { resourceArn } from '../../permissions/arn.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { viewerRules } from '../../sharing/rules.ts';
import { boundValues, canonicalValues } from '../../sharing/values.ts';
import type { BoundValues } from '../../sql-templates/parameters.ts';
import { userSqlFailures } from '../../tenant-sql/failures.ts';
import type { UserSqlResult } from '../../tenant-sql/user-sql.ts';
import { openCachedResults, UNKNOWN_TABLES } from '../managed-database/service.ts';
import { executionFailed } from '../visualizations/failures.ts';
import { execute, requireNotDenied, type Visualization, visualizationInputs } from '../visualizations/service.ts';
import { endpointNotFound } from './failures.ts';
import { parseParameters } from './parameters.ts';
import { selectPublished, type VizApiEndpoint } from './store.ts';

/** An active endpoint and the visualization that it publishes. */
export interface Published {
  endpoint: VizApiEndpoint;
  visualization: Visualization;
}

/** The active endpoint of a slug and its visualization, read once by a request. */
const readSlug = ({ db, actor: { companyId } }: PrincipalContext, slug: string) =>
  readOnce(db, `endpoint ${slug}`, () => readTogether(db, selectPublished(db, companyId, slug)));

/** The ARN of the active endpoint of a slug; of all endpoints where there is none. */
export async function readEndpointArn(ctx: PrincipalContext, slug: string): Promise<string> {
  const { endpoint } = await readSlug(ctx, slug);
  return resourceArn('data_api:execute', ctx.actor.companyId, endpoint[0]?.id);
}

/** Throws where a Deny keeps the endpoint, or the visualization that it publishes, from the caller. */
export function requireNeitherDenied(
  ctx: PrincipalContext,
  { endpointId, visualizationId }: { endpointId: string; visualizationId: string },
): void {
  requireNotDenied(ctx, [endpointId], ['viz_api_endpoints:get']);
  requireNotDenied(ctx, [visualizationId]);
}

/** Returns the endpoint and visualization of a slug, for a caller who is denied neither. @throws endpointNotFound */
export async function readPublished(ctx: PrincipalContext, slug: string): Promise<Published> {
  const {
    endpoint: [endpoint],
    visualization: [visualization],
  } = await readSlug(ctx, slug);
  if (!endpoint || !visualization) throw endpointNotFound();
  requireNeitherDenied(ctx, { endpointId: endpoint.id, visualizationId: visualization.id });
  return { endpoint, visualization };
}

/** The values that a visualization runs with. */
export const chooseValues = (visualization: Visualization, sent: Record<string, unknown>): BoundValues =>
  boundValues(viewerRules(visualizationInputs(visualization), { isInsider: true }), sent);

/** A result, and whether it comes from the cache. */
export type EndpointResult = UserSqlResult & { cached: boolean };

/** Runs the visualization of a slug with the values of a query, or returns the recent cached result of an equal query. */
export async function executeEndpoint(
  ctx: PrincipalContext,
  slug: string,
  query: URLSearchParams,
): Promise<EndpointResult> {
  const { endpoint, visualization } = await readPublished(ctx, slug);
  return nameQueryParameters(async () => {
    const values = chooseValues(visualization, parseParameters(query, visualization.parameters));
    const seconds = endpoint.cacheSeconds;
    if (seconds === 0) return { ...(await runVisualization(ctx, visualization, values)), cached: false };
    const kept = openCachedResults(ctx, 'data-results', await computeKey(endpoint, visualization, values));
    const known = await kept.find();
    if (known !== undefined) return { ...JSON.parse(known), cached: true };
    const { tables = UNKNOWN_TABLES, ...result } = await runVisualization(ctx, visualization, values);
    const text = JSON.stringify(result);
    kept.store(() => text, { length: text.length, seconds, tables });
    return { ...result, cached: false };
  });
}

/** A digest of all that a result depends on besides the data. */
const computeKey = (endpoint: VizApiEndpoint, visualization: Visualization, values: BoundValues): Promise<string> =>
  sha256Hex(
    JSON.stringify([endpoint.id, endpoint.version, visualization.id, visualization.version, canonicalValues(values)]),
  );

async function runVisualization(
  ctx: CompanyContext,
  visualization: Visualization,
  values: BoundValues,
): Promise<UserSqlResult> {
  const [execution] = await execute(ctx, [{ visualization, values }]);
  if (execution && 'result' in execution) return execution.result;
  throw execution ? toExecutionFailure(execution.failure) : endpointNotFound();
}

/** A failure of the visualization's SQL as the Data API reports it; any other failure stays. */
export const toExecutionFailure = (failure: Failure): Failure =>
  userSqlFailures.some((type) => type.matches(failure))
    ? executionFailed(failure.message).because(failure.cause ?? failure)
    : failure;

/** Runs work, and names parameters in its problems as the query does: without `parameters.` before them. */
async function nameQueryParameters<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || !error.detail.problems) throw error;
    throw invalid(
      error.detail.problems.map(({ field, message }) => ({ field: field.replace(/^parameters\./, ''), message })),
    );
  }
}
