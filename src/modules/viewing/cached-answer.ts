import type { CompanyContext } from '../../context.ts';
import { makePreparedJson, type PreparedResponse } from '../../kernel/files.ts';
import { findCached, putCached } from '../../platform/edge-cache.ts';
import { logError } from '../../platform/log.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { formatCanonicalValues } from '../../sharing/values.ts';
import type { BoundValues } from '../../sql-templates/parameters.ts';
import type { ExecutionLimits } from '../dashboards/service.ts';
import { DataVersions, type ResultSource } from '../managed-database/service.ts';
import { getSharedRecord, listVisualizations, type SharedItem } from './shared-item.ts';

/** The time for which the result of a single visualization is cached, in seconds. Dashboards have a setting for this. */
const DEFAULT_CACHE_SECONDS = 60;

/** The cache entry of an execution, valid for some seconds and until a table that its result was read from changes. */
export interface CachedResponse {
  /** The digest of everything that the response depends on except the data. */
  digest: string;
  /** The key that equal executions on the same version of the data share, whichever tables they read. */
  key: string;
  /** Whether a table is being changed, so that different data may have the same key. */
  isChanging: boolean;
  /** Looks up the cached response. @param maxAge the maximum number of milliseconds since the result was computed */
  findResponse(maxAge?: number): Promise<(PreparedResponse & { hasErrors: boolean }) | undefined>;
  /** Caches a result read from these tables, unless one of them was being changed when the execution began. */
  storeResponse(text: string, tables: readonly string[], hasErrors: boolean): Promise<void>;
}

/** Returns the cache entry of an execution's result. */
export async function findCachedResponse(
  ctx: CompanyContext,
  item: SharedItem,
  values: BoundValues,
  limits: ExecutionLimits,
): Promise<CachedResponse> {
  const seconds = item.type === 'dashboard' ? item.dashboard.cacheSeconds : DEFAULT_CACHE_SECONDS;
  const digest = await computeDigest(ctx, item, values, limits);
  // Read before any of the data: what is found current by it, or stored, was read of this version or a later one.
  const versions = item.dataState && new DataVersions(item.dataState, ctx.now());
  const url = `${ctx.baseUrl}/.results/${ctx.actor.companyId}/${digest}`;
  const isChanging = !versions?.isSettled;
  return {
    digest,
    key: `${url}/${isChanging ? 'changing' : versions.version}`,
    isChanging,
    async findResponse(maxAge = Number.POSITIVE_INFINITY) {
      const cachedEntry = versions && seconds > 0 ? await findCached('results', url) : undefined;
      if (!cachedEntry) return undefined;
      const about = JSON.parse(cachedEntry.metadata) as ResultSource & { at?: number; hasErrors?: boolean };
      const { at = 0, hasErrors = true, ...source } = about;
      if (!versions?.isCurrent(source) || ctx.now() - at > maxAge) return undefined;
      return Object.assign(makePreparedJson(cachedEntry.body), { hasErrors });
    },
    async storeResponse(text, tables, hasErrors) {
      const source = versions?.readVersions(tables);
      if (!source || seconds === 0) return;
      const entryOptions = { seconds, metadata: JSON.stringify({ ...source, at: ctx.now(), hasErrors }) };
      await putCached('results', url, text, entryOptions).catch((error) => logError('result_not_kept', error));
    },
  };
}

/**
 * Computes the digest that identifies a result among the results of the same data. It covers everything else on which the result
 * depends: the company, the version of the executed item, all bound values, the enforced slugs, and the refused visualizations.
 */
export async function computeDigest(
  ctx: CompanyContext,
  item: SharedItem,
  values: BoundValues,
  limits: ExecutionLimits,
): Promise<string> {
  const { companyId } = ctx.actor;
  const record = getSharedRecord(item);
  const chartVersions = listVisualizations(item).map(({ id, version }) => `${id}.${version}`);
  const refusedReasons = [...limits.refusals].map(([id, { reason }]) => `${id} ${reason}`);
  const parts = [
    companyId,
    item.type,
    record.id,
    record.version,
    chartVersions.sort(),
    formatCanonicalValues(values),
    refusedReasons.sort(),
    [...limits.enforced].sort(),
  ];
  return computeSha256Hex(JSON.stringify(parts));
}
