import { DurableObject } from 'cloudflare:workers';
import { clock, MINUTE_MS } from '../kernel/clock.ts';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';
import { eraseStorage } from './erase-storage.ts';
import { IdempotencyKeys, type KeyEnd, type KeyState, type KeyUse } from './idempotency-keys.ts';

const WINDOW_MS = MINUTE_MS;

/**
 * Counts the requests of one token of a share or an embed, or of one outsider, in windows of a minute. It also stores the
 * idempotency keys of an outsider, so that an outsider's request needs only one object.
 */
export class TokenLimiter extends DurableObject {
  readonly #windows = new FixedWindows(WINDOW_MS);
  #opened: IdempotencyKeys | undefined;

  /**
   * Counts one request, and begins to use its idempotency key. @returns the key's state; null without a key, or where the request
   * is rejected
   */
  async take(perMinute: number, use?: KeyUse): Promise<{ limit: LimitState; key: KeyState | null }> {
    const limit = this.#windows.countRequest('token', perMinute, Date.now());
    if (!use || !limit.allowed) return { limit, key: null };
    const now = clock.now();
    const key = this.#keys.begin(use, now);
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(this.#keys.nextEnd as number);
    return { limit, key };
  }

  /** Returns the idempotency keys, opened when they are needed: the token of a share or an embed has none, and reads no disk. */
  get #keys(): IdempotencyKeys {
    this.#opened ??= new IdempotencyKeys(this.ctx.storage.sql);
    return this.#opened;
  }

  /** Deletes everything that the limiter stores. */
  async erase(): Promise<void> {
    this.#opened = undefined;
    await eraseStorage(this.ctx.storage);
  }

  /** Extends the lease of a request that is still in progress under its key. */
  extendKey(use: KeyUse): void {
    this.#keys.extendLease(use, clock.now());
  }

  /** Ends the use of a key by a request. */
  endKey(use: KeyUse, end: KeyEnd): void {
    this.#keys.end(use, end);
  }

  /** Deletes keys of the days before yesterday. */
  override async alarm(): Promise<void> {
    this.#keys.dropOldDays(clock.now());
    const nextEnd = this.#keys.nextEnd;
    if (nextEnd !== null) await this.ctx.storage.setAlarm(nextEnd);
  }
}
