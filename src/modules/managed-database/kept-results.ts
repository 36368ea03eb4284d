import type { CompanyContext } from '../../context.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { logError } from '../../platform/log.ts';

/** The most characters of a result that is kept. */
const MAX_LENGTH = 2 * 1024 * 1024;

/**
 * Results of what reads the company's tables, in the cache of the data centre, because a compute sleeps longer than an isolate
 * lives; encrypted for the company. Their address holds the version of the data beside all else that they depend on: after a
 * change nobody finds what was read before it.
 */
export class KeptResults {
  readonly #ctx: CompanyContext;
  readonly #versionOf: (ctx: CompanyContext) => Promise<number | null>;
  readonly #kind: string;
  readonly #key: string;

  /**
   * @param versionOf tells the version of the company's data
   * @param kind what they are kept for: each has a cache of its own
   * @param key everything that a result depends on besides the data, digested
   */
  constructor(
    ctx: CompanyContext,
    versionOf: (ctx: CompanyContext) => Promise<number | null>,
    kind: 'last-results' | 'data-results',
    key: string,
  ) {
    this.#ctx = ctx;
    this.#versionOf = versionOf;
    this.#kind = kind;
    this.#key = key;
  }

  /** The result of the present data, if one is kept. */
  async find(): Promise<string | undefined> {
    try {
      const address = await this.#address();
      if (address === null) return undefined;
      const found = await (await caches.open(this.#kind)).match(address);
      return found && (await decrypt(this.#ctx.config.ENCRYPTION_KEYS, await found.text(), address));
    } catch (error) {
      logError('kept_result_not_found', error);
      return undefined;
    }
  }

  /** Keeps a result of about so many characters, of data that was read after its version was. Nothing waits for it. */
  keep(text: () => string, length: number, seconds: number): void {
    if (length <= MAX_LENGTH) this.#ctx.defer(this.#put(text(), seconds));
  }

  async #put(text: string, seconds: number): Promise<void> {
    try {
      const address = await this.#address();
      if (address === null) return;
      const sealed = await encrypt(this.#ctx.config.ENCRYPTION_KEYS, text, address);
      const headers = { 'Cache-Control': `max-age=${seconds}` };
      await (await caches.open(this.#kind)).put(address, new Response(sealed, { headers }));
    } catch (error) {
      logError('result_not_kept', error);
    }
  }

  /** Null while the data is being changed. */
  async #address(): Promise<string | null> {
    const { actor, baseUrl } = this.#ctx;
    const version = await this.#versionOf(this.#ctx);
    return version === null ? null : `${baseUrl}/.${this.#kind}/${actor.companyId}/${version}/${this.#key}`;
  }
}
