import type { CompanyContext } from '../../context.ts';
import { readText } from '../../platform/bounded.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { findCached, putCached } from '../../platform/edge-cache.ts';
import { logError } from '../../platform/log.ts';
import type { DataVersions, ResultSource } from './data-versions.ts';

/** The maximum length of a cached result, in characters. */
const MAX_RESULT_LENGTH = 2 * 1024 * 1024;

/** The approximate length of a result in characters, the time to cache it, and the tables that it was read from. */
interface CacheEntry {
  length: number;
  cacheSeconds: number;
  tables: readonly string[];
}

/**
 * Cached results of queries on the company's tables, in the cache of the data centre, because a compute sleeps longer than an
 * isolate lives; encrypted for the company. A result's address contains everything it depends on except the data; its source is
 * stored with it, so that after a change of its tables it is no longer found.
 */
export class CachedResults {
  readonly #ctx: CompanyContext;
  readonly #readVersions: (ctx: CompanyContext) => Promise<DataVersions | null>;
  readonly #kind: string;
  readonly #key: string;

  /**
   * @param readVersions reads the versions of the company's tables @param kind the use of the results: each has a cache of its
   * own @param key a digest of everything that a result depends on except the data
   */
  constructor(
    ctx: CompanyContext,
    readVersions: (ctx: CompanyContext) => Promise<DataVersions | null>,
    kind: 'last-results' | 'data-results',
    key: string,
  ) {
    this.#ctx = ctx;
    this.#readVersions = readVersions;
    this.#kind = kind;
    this.#key = key;
  }

  /** Returns the cached result, if there is one for the current data. */
  async findResult(): Promise<string | undefined> {
    try {
      const versions = await this.#readVersions(this.#ctx);
      const cachedText = versions && (await findCached(this.#kind, this.#address));
      if (!cachedText) return undefined;
      const text = await decrypt(this.#ctx.config.ENCRYPTION_KEYS, await readText(cachedText.body), this.#address);
      const end = text.indexOf('\n');
      return versions.isCurrent(JSON.parse(text.slice(0, end)) as ResultSource) ? text.slice(end + 1) : undefined;
    } catch (error) {
      logError('kept_result_not_found', error);
      return undefined;
    }
  }

  /**
   * Caches a result whose tables were read after the context had read their versions. Returns before the result is
   * stored.
   */
  storeResult(text: () => string, { length, cacheSeconds, tables }: CacheEntry): void {
    if (length <= MAX_RESULT_LENGTH) this.#ctx.defer(this.#put(text(), cacheSeconds, tables));
  }

  async #put(text: string, seconds: number, tables: readonly string[]): Promise<void> {
    try {
      const source = (await this.#readVersions(this.#ctx))?.readVersions(tables);
      if (!source) return;
      const encryptedText = await encrypt(
        this.#ctx.config.ENCRYPTION_KEYS,
        `${JSON.stringify(source)}\n${text}`,
        this.#address,
      );
      await putCached(this.#kind, this.#address, encryptedText, { seconds });
    } catch (error) {
      logError('result_not_kept', error);
    }
  }

  get #address(): string {
    const { actor, baseUrl } = this.#ctx;
    return `${baseUrl}/.${this.#kind}/${actor.companyId}/${this.#key}`;
  }
}
