import type { CompanyContext } from '../../context.ts';
import { type PreparedResponse, preparedJson } from '../../kernel/files.ts';
import { findCached, putCached } from '../../platform/edge-cache.ts';
import { logError } from '../../platform/log.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { canonicalValues } from '../../sharing/values.ts';
import type { BoundValues } from '../../sql-templates/parameters.ts';
import { DataVersions, type ResultSource } from '../managed-database/service.ts';
import type { AccessFailures, Visualization } from '../visualizations/service.ts';
import { getRecord, listVisualizations, type SharedItem } from './shared-item.ts';

/** The time for which the result of a single visualization is cached, in seconds. Dashboards have a setting for it. */
const DEFAULT_CACHE_SECONDS = 60;

/**
 * Restrictions of an execution: the failures of visualizations that the viewer may not see, the slugs with enforced values, and
 * the visualization to run if it is only one.
 */
export interface Limits {
  refusals: AccessFailures;
  enforced: ReadonlySet<string>;
  only?: Visualization;
}

/** The cache entry of an execution, valid for some seconds and until a table that its result was read from changes. */
export interface CachedResponse {
  digest: string;
  /** The key of equal executions on the same version of the data, whichever tables they read. */
  key: string;
  /** Whether a table is being changed, so that equal keys may stand for different data. */
  isChanging: boolean;
  /** @param maxAge the most milliseconds since it was computed */
  lookUp(maxAge?: number): Promise<PreparedResponse | undefined>;
  /** Caches a result read from these tables, unless one of them was being changed when the execution began. */
  store(text: string, tables: readonly string[]): Promise<void>;
}

/** Returns the cache entry of an execution's result. */
export async function findCachedResponse(
  ctx: CompanyContext,
  item: SharedItem,
  values: BoundValues,
  limits: Limits,
): Promise<CachedResponse> {
  const seconds = item.type === 'dashboard' ? item.dashboard.cacheSeconds : DEFAULT_CACHE_SECONDS;
  const digest = await computeDigest(ctx, item, values, limits);
  // Read before any of the data: what is found current by it, or stored, was read of this version or a later one.
  const versions = item.data && new DataVersions(item.data, ctx.now());
  const address = `${ctx.baseUrl}/.results/${ctx.actor.companyId}/${digest}`;
  const isChanging = !versions?.isSettled;
  return {
    digest,
    key: `${address}/${isChanging ? 'changing' : versions.version}`,
    isChanging,
    async lookUp(maxAge = Number.POSITIVE_INFINITY) {
      const known = versions && seconds > 0 ? await findCached('results', address) : undefined;
      if (!known) return undefined;
      const { at = 0, ...of } = JSON.parse(known.about) as ResultSource & { at?: number };
      return versions?.isCurrent(of) && ctx.now() - at <= maxAge ? preparedJson(known.body) : undefined;
    },
    async store(text, tables) {
      const of = versions?.readVersions(tables);
      if (!of || seconds === 0) return;
      const kept = { seconds, about: JSON.stringify({ ...of, at: ctx.now() }) };
      await putCached('results', address, text, kept).catch((error) => logError('result_not_kept', error));
    },
  };
}

/**
 * Returns the digest that identifies a result among those of the same data. It covers everything else the result depends on:
 * the company, the version of what is executed, all bound values, the enforced slugs, and the refused visualizations.
 */
export async function computeDigest(
  ctx: CompanyContext,
  item: SharedItem,
  values: BoundValues,
  limits: Limits,
): Promise<string> {
  const { companyId } = ctx.actor;
  const record = getRecord(item);
  const charts = listVisualizations(item).map(({ id, version }) => `${id}.${version}`);
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
