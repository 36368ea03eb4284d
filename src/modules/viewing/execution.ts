import type { CompanyContext } from '../../context.ts';
import { invalid } from '../../kernel/failure.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import { type PreparedResponse, preparedJson } from '../../kernel/files.ts';
import { readText } from '../../platform/bounded.ts';
import type { ViewResponse } from '../../presentation/viewing.ts';
import { downloadsDisabled, policyViolation } from '../../sharing/failures.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import { boundValues } from '../../sharing/values.ts';
import type { BoundValues } from '../../sql-templates/parameters.ts';
import { DEFAULT_LOCALE } from '../../texts/locales.ts';
import { findWidget, readAllowedOptions, runDashboard } from '../dashboards/service.ts';
import { openCachedResults, UNKNOWN_TABLES, waitUntilWaking } from '../managed-database/service.ts';
import {
  type AccessFailures,
  buildFile,
  type Execution,
  execute,
  findAccessFailures,
  requireFormat,
  translateErrors,
  type Visualization,
  viewExecution,
} from '../visualizations/service.ts';
import { respondEarly } from './answer-early.ts';
import { type CachedResponse, computeDigest, findCachedResponse, type Limits } from './cached-answer.ts';
import { executeOnce } from './coalesce.ts';
import { listVisualizations, type SharedItem } from './shared-item.ts';
import { withSlot } from './slot.ts';

/** How long the last result is stored, to be shown while the database wakes: from one working day to the next. */
const LAST_RESULT_SECONDS = 24 * 60 * 60;
/** The number of connections that one execution uses at once: see `ViewerGate`. */
const VIEWER_CONNECTIONS = 2;
/** The maximum age of a cached result that a request for fresh ones still gets, however often it is repeated. Milliseconds. */
const FRESH_MS = 5_000;
/** The maximum number of characters of an answer that is cached. */
const MAX_CACHED = 8 * 1024 * 1024;

/** The options of a filter that the viewer may choose. */
export const listFilterOptions = (
  ctx: CompanyContext,
  { dashboard }: SharedItem & { type: 'dashboard' },
  rules: ViewerRules,
  slug: string,
  search: string,
) => readAllowedOptions(ctx, dashboard, rules, { slug, search }, (work) => withSlot(ctx, work));

/** The file that a viewer asks for, if any. */
export interface ExecutionQuery {
  format?: 'csv' | 'xlsx' | undefined;
  visualization_id?: string | undefined;
  /** Requests fresh results instead of cached ones (see `FRESH_MS`). */
  isFresh?: boolean;
}

/** An answer to a viewer, and the file that was downloaded by it. */
export interface Executed {
  answer: PreparedResponse;
  downloaded?: { visualization_id: string; format: string };
}

/**
 * Executes for a viewer, or downloads one result as a file, from the cached execution if there is one.
 * @returns JSON: `{ results }` of a dashboard, `{ result }` of a visualization; or a file
 */
export async function executeFor(
  ctx: CompanyContext,
  item: SharedItem,
  rules: ViewerRules,
  parameters: Readonly<Record<string, unknown>>,
  { format, visualization_id: wanted, isFresh = false }: ExecutionQuery = {},
): Promise<Executed> {
  if (format && !rules.downloads) throw downloadsDisabled();
  const { values, limits } = bindParameters(ctx, item, rules, parameters);
  const cached = await findCachedResponse(ctx, item, values, limits);
  if (!format) {
    requireFormat(wanted);
    const maxAge = isFresh ? FRESH_MS : undefined;
    return { answer: await respondToExecution(ctx, item, values, limits, cached, maxAge) };
  }
  const visualization =
    item.type === 'dashboard' ? findWidget(item, wanted) : requireSameVisualization(item.visualization, wanted);
  const { id, name } = visualization;
  const result =
    (await findResult(await cached.lookUp(), id)) ??
    (await withSlot(ctx, () => run(ctx, item, values, { ...limits, only: visualization })))[0];
  const answer = buildFile(result as Execution, { name, format, safe: true });
  return { answer, downloaded: { visualization_id: id, format } };
}

/** An execution for a viewer whose result is mailed by a schedule instead of returned. */
export interface MailedExecution {
  /** Equal for those who are shown the same of the same data. */
  digest: string;
  run(): Promise<Execution[]>;
}

/**
 * Prepares the execution for one viewer, with the same rules as `executeFor`.
 * @throws the problem of the parameters for this viewer
 */
export async function prepareMailedExecution(
  ctx: CompanyContext,
  item: SharedItem,
  rules: ViewerRules,
  parameters: Readonly<Record<string, unknown>>,
): Promise<MailedExecution> {
  const { values, limits } = bindParameters(ctx, item, rules, parameters);
  const digest = await computeDigest(ctx, item, values, limits);
  return { digest, run: () => withSlot(ctx, () => run(ctx, item, values, limits)) };
}

function bindParameters(
  ctx: CompanyContext,
  item: SharedItem,
  rules: ViewerRules,
  parameters: Readonly<Record<string, unknown>>,
) {
  const values = boundValues(rules, parameters);
  return { values, limits: { refusals: refusalsFor(ctx, item, rules), enforced: new Set(rules.enforced.keys()) } };
}

function requireSameVisualization(visualization: Visualization, wanted: string | undefined): Visualization {
  if (wanted === undefined || wanted === visualization.id) return visualization;
  throw invalid([{ field: 'visualization_id', message: 'must be the visualization that the token shows' }]);
}

/** The result of a visualization in an answer, unless it failed there. */
async function findResult(
  answer: PreparedResponse | undefined,
  visualizationId: string,
): Promise<Execution | undefined> {
  if (!answer) return undefined;
  const known = JSON.parse(await readText(answer.body)) as ViewResponse;
  const results = 'results' in known ? known.results : [known.result];
  const { columns, rows, truncated = false } = results.find((each) => each.visualization_id === visualizationId) ?? {};
  return columns && rows && { visualizationId, durationMs: 0, cached: true, result: { columns, rows, truncated } };
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
  limits: Limits,
  { digest, key, isChanging, lookUp, store }: CachedResponse,
  maxAge?: number,
): Promise<PreparedResponse> {
  const compute = async (own: CompanyContext, tell: (last: string) => void) => {
    const last = openCachedResults(own, 'last-results', digest);
    void waitUntilWaking(own).then(async () => {
      const known = await last.find();
      if (known !== undefined) tell(known);
    });
    const asOf = isoTimestamp(ctx.now());
    const executions = await run(own, item, values, limits);
    const text = toJson(item, executions);
    // Failures are not cached, as they may be gone by the next request; and a large result is not held twice in memory.
    const isLasting = executions.every((each) => 'result' in each || each.failure.kind === 'forbidden');
    if (text.length <= MAX_CACHED && isLasting) {
      const known = executions.map((execution) => ({ ...execution, cached: true }));
      const tables = listTables(executions);
      await store(toJson(item, known, { as_of: asOf }), tables);
      const keeping = { length: text.length, seconds: LAST_RESULT_SECONDS, tables };
      last.store(() => toJson(item, known, { as_of: asOf, waking: true }), keeping);
    }
    return text;
  };
  const answer = () =>
    executeOnce(ctx, maxAge === undefined ? key : `${key}/fresh`, (begin) =>
      respondEarly<string>(ctx, (own, tell) =>
        withSlot(own, async () => {
          // Of one version of the data all see the same, also those who come while it is read.
          if (isChanging) begin();
          // A viewer who waited for a slot looks the result up again: others may have computed it meanwhile.
          const known = await lookUp(maxAge);
          return known ? readText(known.body) : compute(own, tell);
        }),
      ),
    );
  const cached = await lookUp(maxAge);
  const { locale } = ctx.caller();
  // Only who may see less than all is shown errors from the cache: other failures are not cached.
  const mayFail = !cached || limits.refusals.size > 0 || limits.enforced.size > 0;
  if (locale === DEFAULT_LOCALE || !mayFail) return cached ?? preparedJson(await answer());
  return preparedJson(translateErrors(cached ? await readText(cached.body) : await answer(), locale));
}

/**
 * Returns the failures of visualizations that a viewer may not see: either an enforced value cannot be applied to them, or the
 * caller is denied them.
 */
function refusalsFor(ctx: CompanyContext, item: SharedItem, rules: ViewerRules): AccessFailures {
  const denied = findAccessFailures(
    ctx,
    listVisualizations(item).map(({ id }) => id),
  );
  const failure = policyViolation();
  return new Map([...denied, ...[...rules.refused].map((id) => [id, failure] as const)]);
}

async function run(ctx: CompanyContext, item: SharedItem, values: BoundValues, limits: Limits): Promise<Execution[]> {
  if (item.type === 'dashboard')
    return runDashboard(ctx, item, values, { ...limits, maxConnections: VIEWER_CONNECTIONS });
  const { visualization } = item;
  const failure = limits.refusals.get(visualization.id);
  if (failure) return [{ visualizationId: visualization.id, durationMs: 0, cached: false, failure }];
  return execute(ctx, [{ visualization, values, enforced: limits.enforced }]);
}

/** The tables that all executions read; a refused one reads none. */
const listTables = (executions: readonly Execution[]): string[] => [
  ...new Set(executions.flatMap((each) => ('result' in each ? (each.result.tables ?? UNKNOWN_TABLES) : []))),
];

function toJson(item: SharedItem, executions: readonly Execution[], more = {}): string {
  const results = executions.map((execution) => viewExecution(execution));
  return JSON.stringify({ ...(item.type === 'dashboard' ? { results } : { result: results[0] }), ...more });
}
