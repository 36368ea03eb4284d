import type { CompanyContext } from '../../context.ts';
import type { BoundValues } from '../../kernel/parameters.ts';
import { boundValues, canonicalValues, optionsRule, type ViewerRules } from '../../kernel/sharing-rules.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { executeLoaded, filterOptions } from '../dashboards/service.ts';
import { type Execution, execute, viewExecution } from '../visualizations/service.ts';
import { chartsOf, type Exhibit, subjectOf } from './exhibit.ts';

/** How long a result of a visualization shown alone is kept. Dashboards say it themselves. Seconds. */
const STANDARD_CACHE_SECONDS = 60;
/** Characters of the largest answer that is kept. */
const MOST_KEPT = 8 * 1024 * 1024;

/**
 * The options of a filter that the viewer may use.
 * @param search a literal part of label or value, in any case
 * @throws Failure `sharing.filter_disabled`, `sharing.filter_not_found`, `people_sql.*`
 */
export async function optionsFor(
  ctx: CompanyContext,
  exhibit: Exhibit & { type: 'dashboard' },
  rules: ViewerRules,
  slug: string,
  search: string,
) {
  const { allowed } = optionsRule(rules, slug);
  const filter = exhibit.dashboard.filters.find((each) => each.slug === slug) ?? { options: null };
  return { filter_slug: slug, ...(await filterOptions(ctx, filter, { allowed, search })) };
}

/**
 * Executes for a viewer, or answers with what was executed a short time ago for somebody who is bound to the same.
 * @returns JSON: `{ results }` of a dashboard, `{ result }` of a visualization
 * @throws Failure `sharing.policy_violation`, validation of the parameters, `managed_database.not_provisioned`,
 *   `tenant_sql.unavailable`
 */
export async function executeFor(
  ctx: CompanyContext,
  exhibit: Exhibit,
  rules: ViewerRules,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const values = boundValues(rules, parameters);
  const seconds = exhibit.type === 'dashboard' ? exhibit.dashboard.cacheSeconds : STANDARD_CACHE_SECONDS;
  if (seconds === 0) return json(written(exhibit, await run(ctx, exhibit, values)));

  const cache = await caches.open('results');
  const key = await cacheKey(ctx.actor.companyId, exhibit, values);
  const known = await cache.match(key);
  if (known) return new Response(known.body, { headers: { 'Content-Type': 'application/json' } });
  const executions = await run(ctx, exhibit, values);
  const text = written(exhibit, executions);
  // A failure may be gone by the next request; and two copies of a large result are more than an isolate should hold.
  if (text.length <= MOST_KEPT && executions.every((execution) => 'result' in execution)) {
    const kept = written(
      exhibit,
      executions.map((execution) => ({ ...execution, cached: true })),
    );
    ctx.defer(cache.put(key, new Response(kept, { headers: { 'Cache-Control': `max-age=${seconds}` } })));
  }
  return json(text);
}

const run = (ctx: CompanyContext, exhibit: Exhibit, values: BoundValues): Promise<Execution[]> =>
  exhibit.type === 'dashboard'
    ? executeLoaded(ctx, exhibit, values)
    : execute(ctx, [{ visualization: exhibit.visualization, values }]);

function written(exhibit: Exhibit, executions: readonly Execution[]): string {
  const results = executions.map((execution) => viewExecution(execution));
  return JSON.stringify(exhibit.type === 'dashboard' ? { results } : { result: results[0] });
}

const json = (text: string): Response => new Response(text, { headers: { 'Content-Type': 'application/json' } });

/**
 * The address that a result is kept under. It is made of all that the result depends on: whose it is, what is executed, in
 * which version, and every value that it is bound to.
 */
async function cacheKey(companyId: string, exhibit: Exhibit, values: BoundValues): Promise<string> {
  const subject = subjectOf(exhibit);
  const charts = chartsOf(exhibit).map(({ id, version }) => `${id}.${version}`);
  const parts = [companyId, exhibit.type, subject.id, subject.version, charts.sort(), canonicalValues(values)];
  return `https://results.invalid/${companyId}/${await sha256Hex(JSON.stringify(parts))}`;
}
