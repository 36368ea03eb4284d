import type { CompanyContext } from '../../context.ts';
import { readText } from '../../platform/bounded.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { findCached, putCached } from '../../platform/edge-cache.ts';
import { logError } from '../../platform/log.ts';
import type { DataVersions, ResultSource } from './data-versions.ts';

/** The maximum length of a cached result, in characters. */
const MAX_RESULT_LENGTH = 2 * 1024 * 1024;

/** The use of cached results: each has a cache of its own. */
export type ResultKind = 'last-results' | 'data-results';

/**
 * Opens cached results of queries on the company's tables, in the cache of the data centre, because a compute sleeps longer than
 * an isolate lives; encrypted for the company. A result's address contains everything it depends on except the data; its source
 * is stored with it, so that after a change of its tables it is no longer found.
 * @param readVersions reads the versions of the company's tables, as they were before any table was read
 * @param key a digest of everything that a result depends on except the data
 */
export function openCachedResults(
  ctx: CompanyContext,
  readVersions: () => Promise<DataVersions | null>,
  kind: ResultKind,
  key: string,
) {
  const { ENCRYPTION_KEYS: encryptionKeys } = ctx.config;
  const address = `${ctx.baseUrl}/.${kind}/${ctx.actor.companyId}/${key}`;
  const putResult = async (text: string, seconds: number, tables: readonly string[]): Promise<void> => {
    try {
      const source = (await readVersions())?.readVersions(tables);
      if (!source) return;
      const encryptedText = await encrypt(encryptionKeys, `${JSON.stringify(source)}\n${text}`, address);
      await putCached(kind, address, encryptedText, { seconds });
    } catch (error) {
      logError('result_not_kept', error);
    }
  };
  return {
    /** Returns the cached result, if there is one for the current data. */
    async findResult(): Promise<string | undefined> {
      try {
        const versions = await readVersions();
        const cachedText = versions && (await findCached(kind, address));
        if (!cachedText) return undefined;
        const text = await decrypt(encryptionKeys, await readText(cachedText.body), address);
        const end = text.indexOf('\n');
        return versions.isCurrent(JSON.parse(text.slice(0, end)) as ResultSource) ? text.slice(end + 1) : undefined;
      } catch (error) {
        logError('kept_result_not_found', error);
        return undefined;
      }
    },

    /**
     * Caches a result of about `length` characters whose tables were read after the context had read their versions; does not wait
     * for the cache.
     */
    storeResult(
      makeText: () => string,
      { length, cacheSeconds, tables }: { length: number; cacheSeconds: number; tables: readonly string[] },
    ): void {
      if (length <= MAX_RESULT_LENGTH) ctx.defer(putResult(makeText(), cacheSeconds, tables));
    },
  };
}
