import type { CompanyContext } from '../../context.ts';
import type { BoundValues } from '../../kernel/parameters.ts';
import { canonicalValues } from '../../kernel/sharing-values.ts';
import { logError } from '../../platform/log.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import type { Refusals, Visualization } from '../visualizations/service.ts';
import { recordOf, type SharedItem, visualizationsOf } from './shared-item.ts';

/** How long the result of a single visualization is cached, in seconds. Dashboards have a setting for it. */
const DEFAULT_CACHE_SECONDS = 60;

/** What a viewer may not see, the slugs with enforced values, and the only visualization to run, if it is one. */
export interface Limits {
  refusals: Refusals;
  enforced: ReadonlySet<string>;
  only?: Visualization;
}

/** Where the answer to an execution is kept for others that are equal. */
export interface Kept {
  digest: string;
  key: string;
  seconds: number;
  lookUp(): Promise<Response | undefined>;
  keep(text: string): Promise<void>;
}

/** The place of the answer to this execution. */
export async function keptAnswer(
  ctx: CompanyContext,
  item: SharedItem,
  values: BoundValues,
  limits: Limits,
): Promise<Kept> {
  const seconds = item.type === 'dashboard' ? item.dashboard.cacheSeconds : DEFAULT_CACHE_SECONDS;
  const digest = await digestOf(ctx, item, values, limits);
  // Under our own host, as Cloudflare caches nothing under others.
  const key = `${ctx.baseUrl}/.results/${ctx.actor.companyId}/${digest}`;
  const cache = await caches.open('results');
  return {
    digest,
    key,
    seconds,
    async lookUp() {
      const known = seconds === 0 ? undefined : await cache.match(key);
      return known && json(known.body);
    },
    async keep(text) {
      const response = new Response(text, { headers: { 'Cache-Control': `max-age=${seconds}` } });
      await cache.put(key, response).catch((error) => logError('result_not_kept', error));
    },
  };
}

export const json = (body: BodyInit | null): Response =>
  new Response(body, { headers: { 'Content-Type': 'application/json' } });

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
