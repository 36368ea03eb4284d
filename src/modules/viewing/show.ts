import type { CompanyContext } from '../../context.ts';
import type { BoundValues } from '../../kernel/parameters.ts';
import {
  boundValues,
  canonicalValues,
  optionsRule,
  policyViolation,
  type ViewerRules,
} from '../../kernel/sharing-rules.ts';
import { logError } from '../../platform/log.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { executeLoaded, filterOptions, usedInOptions } from '../dashboards/service.ts';
import { denials, type Execution, execute, type Refusals, viewExecution } from '../visualizations/service.ts';
import { chartsOf, type Exhibit, subjectOf } from './exhibit.ts';
import { inTurn } from './turn.ts';

/** How long a result of a visualization shown alone is kept. Dashboards say it themselves. Seconds. */
const STANDARD_CACHE_SECONDS = 60;
/** Characters of the largest answer that is kept. */
const MOST_KEPT = 8 * 1024 * 1024;

/**
 * The options of a filter that the viewer may use.
 * @param search a literal part of label or value, in any case
 */
export async function optionsFor(
  ctx: CompanyContext,
  exhibit: Exhibit & { type: 'dashboard' },
  rules: ViewerRules,
  slug: string,
  search: string,
) {
  const { filters } = exhibit.dashboard;
  const filter = filters.find((each) => each.slug === slug) ?? { options: null };
  const { allowed, bound } = optionsRule(rules, slug, usedInOptions(filter));
  const find = () => filterOptions(ctx, filter, filters, { allowed, bound, search });
  // Options that stand in the dashboard ask no database.
  const isDynamic = filter.options !== null && !Array.isArray(filter.options);
  return { filter_slug: slug, ...(await (isDynamic ? inTurn(ctx, find) : find())) };
}

/**
 * Executes for a viewer, or answers with what was executed a short time ago for somebody who is bound to the same.
 * @returns JSON: `{ results }` of a dashboard, `{ result }` of a visualization
 */
export async function executeFor(
  ctx: CompanyContext,
  exhibit: Exhibit,
  rules: ViewerRules,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const values = boundValues(rules, parameters);
  const limits = { refusals: refusalsFor(ctx, exhibit, rules), held: new Set(rules.held.keys()) };
  const seconds = exhibit.type === 'dashboard' ? exhibit.dashboard.cacheSeconds : STANDARD_CACHE_SECONDS;
  if (seconds === 0) return json(written(exhibit, await inTurn(ctx, () => run(ctx, exhibit, values, limits))));

  const cache = await caches.open('results');
  const key = await cacheKey(ctx, exhibit, values, limits);
  const lookUp = async () => {
    const known = await cache.match(key);
    return known && new Response(known.body, { headers: { 'Content-Type': 'application/json' } });
  };
  const compute = async () => {
    const executions = await run(ctx, exhibit, values, limits);
    const text = written(exhibit, executions);
    // A failure may be gone by the next request; and two copies of a large result are more than an isolate should hold.
    const isLasting = executions.every((each) => 'result' in each || each.failure.kind === 'forbidden');
    if (text.length <= MOST_KEPT && isLasting) {
      const kept = written(
        exhibit,
        executions.map((execution) => ({ ...execution, cached: true })),
      );
      const response = new Response(kept, { headers: { 'Cache-Control': `max-age=${seconds}` } });
      await cache.put(key, response).catch((error) => logError('result_not_kept', error));
    }
    return json(text);
  };
  // Whose turn comes later finds what those before computed: a crowd that opens one dashboard runs it a few times.
  return (await lookUp()) ?? inTurn(ctx, async () => (await lookUp()) ?? compute());
}

/** What a viewer is not shown, and the slugs that they are held to. */
interface Limits {
  refusals: Refusals;
  held: ReadonlySet<string>;
}

/** What is not shown: what the viewer is held to does not reach it, or somebody of the company is denied it. */
function refusalsFor(ctx: CompanyContext, exhibit: Exhibit, rules: ViewerRules): Refusals {
  const denied = denials(
    ctx,
    chartsOf(exhibit).map(({ id }) => id),
  );
  const failure = policyViolation();
  return new Map([...denied, ...[...rules.refused].map((id) => [id, failure] as const)]);
}

async function run(ctx: CompanyContext, exhibit: Exhibit, values: BoundValues, limits: Limits): Promise<Execution[]> {
  if (exhibit.type === 'dashboard') return executeLoaded(ctx, exhibit, values, limits);
  const { visualization } = exhibit;
  const failure = limits.refusals.get(visualization.id);
  if (failure) return [{ visualizationId: visualization.id, durationMs: 0, cached: false, failure }];
  return execute(ctx, [{ visualization, values, held: limits.held }]);
}

function written(exhibit: Exhibit, executions: readonly Execution[]): string {
  const results = executions.map((execution) => viewExecution(execution));
  return JSON.stringify(exhibit.type === 'dashboard' ? { results } : { result: results[0] });
}

const json = (text: string): Response => new Response(text, { headers: { 'Content-Type': 'application/json' } });

/**
 * The address that a result is kept under, below our own host: Cloudflare keeps nothing under others. It is made of all
 * that the result depends on: whose it is, what is executed, in which version, every value that it is bound to, what the
 * viewer is held to, and what is not shown.
 */
async function cacheKey(ctx: CompanyContext, exhibit: Exhibit, values: BoundValues, limits: Limits): Promise<string> {
  const { companyId } = ctx.actor;
  const subject = subjectOf(exhibit);
  const charts = chartsOf(exhibit).map(({ id, version }) => `${id}.${version}`);
  const refused = [...limits.refusals].map(([id, { reason }]) => `${id} ${reason}`);
  const parts = [
    companyId,
    exhibit.type,
    subject.id,
    subject.version,
    charts.sort(),
    canonicalValues(values),
    refused.sort(),
    [...limits.held].sort(),
  ];
  return `${ctx.baseUrl}/.results/${companyId}/${await sha256Hex(JSON.stringify(parts))}`;
}
