import type { CompanyContext } from '../../context.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import type { BoundValues } from '../../kernel/parameters.ts';
import { policyViolation } from '../../kernel/sharing-failures.ts';
import { optionsRule } from '../../kernel/sharing-filters.ts';
import type { ViewerRules } from '../../kernel/sharing-rules.ts';
import { boundValues, canonicalValues } from '../../kernel/sharing-values.ts';
import { logError } from '../../platform/log.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { filterOptions, runDashboard, usedInOptions } from '../dashboards/service.ts';
import { keptResults, untilWaking } from '../managed-database/service.ts';
import { denials, type Execution, execute, type Refusals, viewExecution } from '../visualizations/service.ts';
import { answerEarly } from './answer-early.ts';
import { recordOf, type SharedItem, visualizationsOf } from './shared-item.ts';
import { withSlot } from './slot.ts';
import { executeTogether } from './together.ts';

/** How long the result of a single visualization is cached, in seconds. Dashboards have a setting for it. */
const DEFAULT_CACHE_SECONDS = 60;
/** How long a last result is kept: from one working day to the next. */
const LAST_SECONDS = 24 * 60 * 60;
/** How many connections one execution uses at once: see `ViewerGate`. */
const VIEWER_CONNECTIONS = 2;
/** The most characters of an answer that is cached. */
const MAX_CACHED = 8 * 1024 * 1024;

/**
 * The options of a filter that the viewer may choose.
 * @param search a literal part of label or value, in any case
 */
export async function optionsFor(
  ctx: CompanyContext,
  item: SharedItem & { type: 'dashboard' },
  rules: ViewerRules,
  slug: string,
  search: string,
) {
  const { filters } = item.dashboard;
  const filter = filters.find((each) => each.slug === slug) ?? { options: null };
  const { allowed, bound } = optionsRule(rules, slug, usedInOptions(filter));
  const find = () => filterOptions(ctx, filter, filters, { allowed, bound, search });
  // Static options need no database.
  const isDynamic = filter.options !== null && !Array.isArray(filter.options);
  return { filter_slug: slug, ...(await (isDynamic ? withSlot(ctx, find) : find())) };
}

/**
 * Executes for a viewer, or answers a cached result for the same values. While the database wakes, which takes half a second,
 * the last result of the present data is answered if there is one, and renewed after the answer.
 * @returns JSON: `{ results }` of a dashboard, `{ result }` of a visualization; with `as_of` and `waking` where the database
 *   is waking
 */
export async function executeFor(
  ctx: CompanyContext,
  item: SharedItem,
  rules: ViewerRules,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const values = boundValues(rules, parameters);
  const limits = { refusals: refusalsFor(ctx, item, rules), enforced: new Set(rules.enforced.keys()) };
  const seconds = item.type === 'dashboard' ? item.dashboard.cacheSeconds : DEFAULT_CACHE_SECONDS;
  const digest = await digestOf(ctx, item, values, limits);
  // Under our own host, as Cloudflare caches nothing under others.
  const key = `${ctx.baseUrl}/.results/${ctx.actor.companyId}/${digest}`;
  const cache = await caches.open('results');
  const lookUp = async () => {
    const known = seconds === 0 ? undefined : await cache.match(key);
    return known && new Response(known.body, { headers: { 'Content-Type': 'application/json' } });
  };
  const keep = async (text: string) => {
    const response = new Response(text, { headers: { 'Cache-Control': `max-age=${seconds}` } });
    await cache.put(key, response).catch((error) => logError('result_not_kept', error));
  };
  const compute = async (own: CompanyContext, tell: (last: string) => void) => {
    const last = keptResults(own, 'last-results', digest);
    void untilWaking(own).then(async () => {
      const known = await last.find();
      if (known !== undefined) tell(known);
    });
    const asOf = isoTimestamp(ctx.now());
    const executions = await run(own, item, values, limits);
    const text = jsonOf(item, executions);
    // Failures are not cached, as they may be gone by the next request; and a large result is not held twice in memory.
    const isLasting = executions.every((each) => 'result' in each || each.failure.kind === 'forbidden');
    if (text.length <= MAX_CACHED && isLasting) {
      const known = executions.map((execution) => ({ ...execution, cached: true }));
      if (seconds > 0) await keep(jsonOf(item, known));
      last.keep(() => jsonOf(item, known, { as_of: asOf, waking: true }), text.length, LAST_SECONDS);
    }
    return text;
  };
  const answer = () =>
    executeTogether(ctx, key, (begin) =>
      answerEarly<string>(ctx, (own, tell) =>
        withSlot(own, async () => {
          begin();
          // A viewer who waited for a slot looks the result up again: others may have computed it meanwhile.
          return (await lookUp())?.text() ?? compute(own, tell);
        }),
      ),
    );
  return (await lookUp()) ?? json(await answer());
}

/** What a viewer may not see, and the slugs with enforced values. */
interface Limits {
  refusals: Refusals;
  enforced: ReadonlySet<string>;
}

/**
 * The visualizations that a viewer may not see: an enforced value does not apply to them, or the caller is denied them.
 */
function refusalsFor(ctx: CompanyContext, item: SharedItem, rules: ViewerRules): Refusals {
  const denied = denials(
    ctx,
    visualizationsOf(item).map(({ id }) => id),
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

function jsonOf(item: SharedItem, executions: readonly Execution[], more = {}): string {
  const results = executions.map((execution) => viewExecution(execution));
  return JSON.stringify({ ...(item.type === 'dashboard' ? { results } : { result: results[0] }), ...more });
}

const json = (text: string): Response => new Response(text, { headers: { 'Content-Type': 'application/json' } });

/**
 * What distinguishes a result from others of the same data. It is made of everything that the result depends on: the
 * company, the version of what is executed, all bound values, the enforced slugs, and the refused visualizations.
 */
async function digestOf(ctx: CompanyContext, item: SharedItem, values: BoundValues, limits: Limits): Promise<string> {
  const { companyId } = ctx.actor;
  const record = recordOf(item);
  const charts = visualizationsOf(item).map(({ id, version }) => `${id}.${version}`);
  const refused = [...limits.refusals].map(([id, { reason }]) => `${id} ${reason}`);
  const parts = [
    companyId,
    item.type,
    record.id,
    record.version,
    charts.sort(),
    canonicalValues(values),
    refused.sort(),
    [...limits.enforced].sort(),
  ];
  return sha256Hex(JSON.stringify(parts));
}
