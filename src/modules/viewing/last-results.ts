import type { CompanyContext } from '../../context.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { logError } from '../../platform/log.ts';
import { dataVersionOf } from '../managed-database/service.ts';

/** How long a last result is kept: from one working day to the next. Seconds. */
const MAX_AGE_SECONDS = 24 * 60 * 60;
/** The most characters of one that is kept. */
const MAX_LENGTH = 2 * 1024 * 1024;

/**
 * The last results of viewers' executions, for the moment in which the database wakes. They are kept in the cache of the
 * data centre, because a compute sleeps longer than an isolate lives, encrypted for the company. Their address holds the
 * version of the data beside all else that they depend on: after a change nobody finds what was read before it.
 */
export class LastResults {
  readonly #ctx: CompanyContext;
  readonly #key: string;

  /** @param key everything that a result depends on besides the data, digested */
  constructor(ctx: CompanyContext, key: string) {
    this.#ctx = ctx;
    this.#key = key;
  }

  /** The last result of the present data, if there is one: JSON. */
  async find(): Promise<string | undefined> {
    try {
      const address = await this.#address();
      if (address === null) return undefined;
      const found = await (await open()).match(address);
      return found && (await decrypt(this.#ctx.config.ENCRYPTION_KEYS, await found.text(), address));
    } catch (error) {
      logError('last_result_not_found', error);
      return undefined;
    }
  }

  /** Keeps a result of about so many characters, of data that was read after its version was. Nothing waits for it. */
  keep(text: () => string, length: number): void {
    if (length <= MAX_LENGTH) this.#ctx.defer(this.#put(text()));
  }

  async #put(text: string): Promise<void> {
    try {
      const address = await this.#address();
      if (address === null) return;
      const sealed = await encrypt(this.#ctx.config.ENCRYPTION_KEYS, text, address);
      const headers = { 'Cache-Control': `max-age=${MAX_AGE_SECONDS}` };
      await (await open()).put(address, new Response(sealed, { headers }));
    } catch (error) {
      logError('last_result_not_kept', error);
    }
  }

  /** Null while the data is being changed. */
  async #address(): Promise<string | null> {
    const { actor, baseUrl } = this.#ctx;
    const version = await dataVersionOf(this.#ctx);
    return version === null ? null : `${baseUrl}/.last-results/${actor.companyId}/${version}/${this.#key}`;
  }
}

const open = (): Promise<Cache> => caches.open('last-results');
