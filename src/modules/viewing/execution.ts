import type { CompanyContext } from '../../context.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { makePreparedJson, type PreparedResponse } from '../../kernel/files.ts';
import { readText } from '../../platform/bounded.ts';
import type { ViewResponse } from '../../presentation/viewing.ts';
import { downloadsDisabled, policyViolation } from '../../sharing/failures.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import { computeBoundValues } from '../../sharing/values.ts';
import type { BoundValues } from '../../sql-templates/parameters.ts';
import { DEFAULT_LOCALE } from '../../texts/locales.ts';
import { type ExecutionLimits, findWidget, readAllowedOptions, runDashboard } from '../dashboards/service.ts';
import { getCachedResults, UNKNOWN_TABLES, waitUntilWaking } from '../managed-database/service.ts';
import {
  type AccessFailures,
  type Execution,
  executeRuns,
  findAccessFailures,
  type Visualization,
} from '../visualizations/service.ts';
import { buildFile, requireFormat, translateErrors, viewExecution } from '../visualizations/views.ts';
import { type CachedResponse, computeDigest, findCachedResponse } from './cached-answer.ts';
import { executeOnce } from './coalesce.ts';
import { runWithSlot } from './connection-slot.ts';
import { respondEarly } from './respond-early.ts';
import { listVisualizations, type SharedItem } from './shared-item.ts';

/** The time for which the last result is stored, to be shown while the database wakes: from one working day to the next. */
const LAST_RESULT_SECONDS = 24 * 60 * 60;
/** The maximum number of connections that one execution uses: see `ViewerGate`. */
const MAX_VIEWER_CONNECTIONS = 2;
/** The maximum age of a cached result that a request for fresh results still gets, however often it is repeated. Milliseconds. */
const FRESH_RESULT_MS = 5_000;
/** The maximum number of characters of a cached answer. */
const MAX_CACHED_LENGTH = 8 * 1024 * 1024;

/** Lists the options of a filter that the viewer may choose. */
export const listFilterOptions = (
  ctx: CompanyContext,
  { dashboard }: SharedItem & { type: 'dashboard' },
  rules: ViewerRules,
  slug: string,
  search: string,
) => readAllowedOptions(ctx, dashboard, rules, { slug, search }, (work) => runWithSlot(ctx, work));

/** The file that a viewer requests, if any, and whether results must be fresh. */
export interface ExecutionQuery {
  format?: 'csv' | 'xlsx' | undefined;
  visualization_id?: string | undefined;
  /** Whether to compute fresh results instead of returning cached ones (see `FRESH_RESULT_MS`). */
  isFresh?: boolean;
}

/** The answer to a viewer's execution, and the file that it downloads, if any. */
export interface ExecutionAnswer {
  answer: PreparedResponse;
  download?: { visualization_id: string; format: string };
}

/**
 * Executes an item for a viewer, or downloads one result as a file, from the cached execution if there is one. @returns JSON: `{
 * results }` of a dashboard, `{ result }` of a visualization; or a file
 */
export async function executeForViewer(
  ctx: CompanyContext,
  item: SharedItem,
  rules: ViewerRules,
  parameters: Readonly<Record<string, unknown>>,
  { format, visualization_id: wantedId, isFresh = false }: ExecutionQuery = {},
): Promise<ExecutionAnswer> {
  if (format && !rules.allowsDownloads) throw downloadsDisabled();
  const { values, limits } = bindParameters(ctx, item, rules, parameters);
  const cachedResponse = await findCachedResponse(ctx, item, values, limits);
  const maxAge = isFresh ? FRESH_RESULT_MS : undefined;
  if (!format) {
    requireFormat(wantedId);
    return { answer: await respondToExecution(ctx, item, values, limits, cachedResponse, maxAge) };
  }
  const visualization =
    item.type === 'dashboard' ? findWidget(item, wantedId) : requireSameVisualization(item.visualization, wantedId);
  const { id, name } = visualization;
  const result =
    (await findResult(await cachedResponse.findResponse(maxAge), id)) ??
    (await runWithSlot(ctx, () => runItem(ctx, item, values, { ...limits, onlyVisualization: visualization })))[0];
  const answer = buildFile(result as Execution, { name, format, escapesFormulas: true });
  return { answer, download: { visualization_id: id, format } };
}

/** An execution for a viewer whose result is mailed by a schedule instead of returned. */
export interface MailedExecution {
  /** The digest of the result: equal for recipients who are shown the same. */
  digest: string;
  run(): Promise<Execution[]>;
}

/**
 * Prepares the execution for one viewer, with the same rules as `executeForViewer`. @throws the problem of the parameters for
 * this viewer
 */
export async function prepareMailedExecution(
  ctx: CompanyContext,
  item: SharedItem,
  rules: ViewerRules,
  parameters: Readonly<Record<string, unknown>>,
): Promise<MailedExecution> {
  const { values, limits } = bindParameters(ctx, item, rules, parameters);
  const digest = await computeDigest(ctx, item, values, limits);
  return { digest, run: () => runWithSlot(ctx, () => runItem(ctx, item, values, limits)) };
}

function bindParameters(
  ctx: CompanyContext,
  item: SharedItem,
  rules: ViewerRules,
  parameters: Readonly<Record<string, unknown>>,
) {
  const values = computeBoundValues(rules, parameters);
  return {
    values,
    limits: { refusals: findRefusals(ctx, item, rules), enforced: new Set(rules.enforcedValues.keys()) },
  };
}

function requireSameVisualization(visualization: Visualization, wantedId: string | undefined): Visualization {
  if (wantedId === undefined || wantedId === visualization.id) return visualization;
  throw invalidInput([{ field: 'visualization_id', message: 'must be the visualization that the token shows' }]);
}

/** Finds the result of a visualization in an answer, unless it failed there. */
async function findResult(
  answer: PreparedResponse | undefined,
  visualizationId: string,
): Promise<Execution | undefined> {
  if (!answer) return undefined;
  const storedResponse = JSON.parse(await readText(answer.body)) as ViewResponse;
  const results = 'results' in storedResponse ? storedResponse.results : [storedResponse.result];
  const {
    columns,
    rows,
    truncated = false,
  } = results.find((result) => result.visualization_id === visualizationId) ?? {};
  return columns && rows && { visualizationId, durationMs: 0, isCached: true, result: { columns, rows, truncated } };
}

/**
 * Executes, or returns a cached result for the same values. While the database wakes, which takes half a second, the last
 * result of the current data is returned if there is one, and recomputed after the response.
 * @param maxAge the maximum age of a cached result in milliseconds
 * @returns JSON, with `as_of` if it was computed before the request, and `waking` while the database wakes
 */
async function respondToExecution(
  ctx: CompanyContext,
  item: SharedItem,
  values: BoundValues,
  limits: ExecutionLimits,
  { digest, key, isChanging, findResponse, storeResponse }: CachedResponse,
  maxAge?: number,
): Promise<PreparedResponse> {
  const compute = async (workContext: CompanyContext, respond: (lastResponse: string) => void) => {
    const lastResults = getCachedResults(workContext, 'last-results', digest);
    void waitUntilWaking(workContext).then(async () => {
      const lastResult = await lastResults.findResult();
      if (lastResult !== undefined) respond(lastResult);
    });
    const asOf = formatIsoTimestamp(ctx.now());
    const executions = await runItem(workContext, item, values, limits);
    const text = formatResponse(item, executions);
    // Failures are not cached, as they may be gone by the next request; and a large result is not held twice in memory.
    const failures = executions.flatMap((execution) => ('failure' in execution ? execution.failure : []));
    if (text.length <= MAX_CACHED_LENGTH && failures.every(({ kind }) => kind === 'forbidden')) {
      const cachedExecutions = executions.map((execution) => ({ ...execution, isCached: true }));
      const tables = listTables(executions);
      const hasErrors = failures.length > 0;
      await storeResponse(formatResponse(item, cachedExecutions, { as_of: asOf }), tables, hasErrors);
      const makeLastResult = () => formatResponse(item, cachedExecutions, { as_of: asOf, waking: true });
      lastResults.storeResult(makeLastResult, { length: text.length, cacheSeconds: LAST_RESULT_SECONDS, tables });
    }
    return text;
  };
  const computeOnce = () =>
    executeOnce(ctx, maxAge === undefined ? key : `${key}/fresh`, (begin) =>
      respondEarly<string>(ctx, (workContext, respond) =>
        runWithSlot(workContext, async () => {
          // Of one version of the data all see the same, also those who come while it is read.
          if (isChanging) begin();
          // A viewer who waited for a slot looks the result up again: others may have computed it meanwhile.
          const cachedResponse = await findResponse(maxAge);
          return cachedResponse ? readText(cachedResponse.body) : compute(workContext, respond);
        }),
      ),
    );
  const foundResponse = await findResponse(maxAge);
  const { locale } = ctx.caller();
  if (foundResponse && (locale === DEFAULT_LOCALE || !foundResponse.hasErrors)) return foundResponse;
  const text = foundResponse ? await readText(foundResponse.body) : await computeOnce();
  return makePreparedJson(locale === DEFAULT_LOCALE ? text : translateErrors(text, locale));
}

/**
 * Returns the failures of visualizations that a viewer may not see: either an enforced value cannot be applied to them, or the
 * caller is denied them.
 */
function findRefusals(ctx: CompanyContext, item: SharedItem, rules: ViewerRules): AccessFailures {
  const ids = listVisualizations(item).map(({ id }) => id);
  const failure = policyViolation();
  return new Map([...findAccessFailures(ctx, ids), ...[...rules.refusedIds].map((id) => [id, failure] as const)]);
}

async function runItem(
  ctx: CompanyContext,
  item: SharedItem,
  values: BoundValues,
  limits: ExecutionLimits,
): Promise<Execution[]> {
  if (item.type === 'dashboard')
    return runDashboard(ctx, item, values, { ...limits, maxConnections: MAX_VIEWER_CONNECTIONS });
  const { visualization } = item;
  const failure = limits.refusals.get(visualization.id);
  if (failure) return [{ visualizationId: visualization.id, durationMs: 0, isCached: false, failure }];
  return executeRuns(ctx, [{ visualization, values, enforced: limits.enforced }]);
}

/** Lists the tables that all executions read; a refused execution reads none. */
const listTables = (executions: readonly Execution[]): string[] => [
  ...new Set(
    executions.flatMap((execution) => ('result' in execution ? (execution.result.tables ?? UNKNOWN_TABLES) : [])),
  ),
];

function formatResponse(item: SharedItem, executions: readonly Execution[], extraFields = {}): string {
  const results = executions.map((execution) => viewExecution(execution));
  return JSON.stringify({ ...(item.type === 'dashboard' ? { results } : { result: results[0] }), ...extraFields });
}
