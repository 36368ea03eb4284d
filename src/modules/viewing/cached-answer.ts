import type { CompanyContext } from '../../context.ts';
import type { BoundValues } from '../../kernel/parameters.ts';
import { canonicalValues } from '../../kernel/sharing-values.ts';
import { logError } from '../../platform/log.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { settledVersion } from '../managed-database/service.ts';
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

/** Where the answer to an execution is cached for equal ones, for so many seconds unless the data changes. */
export interface CachedAnswer {
  digest: string;
  key: string;
  /** Of the data; null while that is being changed. */
  version: number | null;
  isCacheable: boolean;
  lookUp(): Promise<Response | undefined>;
  store(text: string): Promise<void>;
}

/** The place of the answer to this execution. */
export async function cachedAnswer(
  ctx: CompanyContext,
  item: SharedItem,
  values: BoundValues,
  limits: Limits,
): Promise<CachedAnswer> {
  const seconds = item.type === 'dashboard' ? item.dashboard.cacheSeconds : DEFAULT_CACHE_SECONDS;
  const digest = await digestOf(ctx, item, values, limits);
  // Read before any of the data: what is found under it, or stored, was read of this version or a later one.
  const version = item.data ? settledVersion(item.data, ctx.now()) : null;
  // Under our own host, as Cloudflare caches nothing under others.
  const key = `${ctx.baseUrl}/.results/${ctx.actor.companyId}/${version ?? 'changing'}/${digest}`;
  const isCacheable = seconds > 0 && version !== null;
  const cache = await caches.open('results');
  return {
    digest,
    key,
    version,
    isCacheable,
    async lookUp() {
      const known = isCacheable ? await cache.match(key) : undefined;
      return known && json(known.body);
    },
    async store(text) {
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
export async function digestOf(
  ctx: CompanyContext,
  item: SharedItem,
  values: BoundValues,
  limits: Limits,
): Promise<string> {
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
