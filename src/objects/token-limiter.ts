import { DurableObject } from 'cloudflare:workers';
import { clock, MINUTE_MS } from '../kernel/clock.ts';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';
import { eraseStorage } from './erase-storage.ts';
import { IdempotencyKeys, type KeyEnd, type KeyState, type KeyUse } from './idempotency-keys.ts';

const WINDOW_MS = MINUTE_MS;

/**
 * Counts the requests of one token of a share or an embed, or of one outsider, in windows of a minute. It also keeps the
 * idempotency keys of an outsider, so that a request of theirs asks one place.
 */
export class TokenLimiter extends DurableObject {
  readonly #windows = new FixedWindows(WINDOW_MS);
  #opened: IdempotencyKeys | undefined;

  /** Counts one request, and begins to use its key. @returns its state; null without one, or where it is refused */
  async take(perMinute: number, use?: KeyUse): Promise<{ limit: LimitState; key: KeyState | null }> {
    const limit = this.#windows.take('token', perMinute, Date.now());
    if (!use || !limit.allowed) return { limit, key: null };
    const now = clock.now();
    const key = this.#keys.begin(use, now);
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(this.#keys.nextEnd as number);
    return { limit, key };
  }

  /** Opened when they are needed: the token of a share or an embed has none, and asks no disk. */
  get #keys(): IdempotencyKeys {
    this.#opened ??= new IdempotencyKeys(this.ctx.storage.sql);
    return this.#opened;
  }

  /** Deletes all that it keeps. */
  async erase(): Promise<void> {
    this.#opened = undefined;
    await eraseStorage(this.ctx.storage);
  }

  /** The request is still at work under its key. */
  extendKey(use: KeyUse): void {
    this.#keys.extend(use, clock.now());
  }

  /** The request that used a key has ended. */
  endKey(use: KeyUse, end: KeyEnd): void {
    this.#keys.end(use, end);
  }

  /** Deletes keys of the days before yesterday. */
  override async alarm(): Promise<void> {
    this.#keys.dropOld(clock.now());
    const next = this.#keys.nextEnd;
    if (next !== null) await this.ctx.storage.setAlarm(next);
  }
}
