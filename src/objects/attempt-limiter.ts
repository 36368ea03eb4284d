import { DurableObject } from 'cloudflare:workers';

/** An attempt that is not settled within this time counts as failed. */
const LEASE_MS = 15_000;

export type Attempt = { allowed: true; attemptId: string } | { allowed: false; retryAfterMs: number };

/**
 * One per thing that can be guessed (an email's password, a code): lets in only as many attempts as may still fail.
 * Attempts in flight count as failures until they are settled, so that guessing in parallel gains nothing; one that
 * would be over the limit only because of others in flight waits for them.
 */
export class AttemptLimiter extends DurableObject {
  readonly #inFlight = new Map<string, ReturnType<typeof setTimeout>>();
  #waiting: (() => void)[] = [];

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    this.#createTable();
  }

  /** Asks to try once. `limit` failures are allowed within `windowMs` of the first of them. */
  async begin(limit: number, windowMs: number): Promise<Attempt> {
    for (;;) {
      const { count, endsAt } = this.#failures();
      if (count >= limit) return { allowed: false, retryAfterMs: endsAt - Date.now() };
      if (count + this.#inFlight.size < limit) break;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    const attemptId = crypto.randomUUID();
    const lease = setTimeout(() => void this.settle(attemptId, true, windowMs), LEASE_MS);
    this.#inFlight.set(attemptId, lease);
    return { allowed: true, attemptId };
  }

  /** Tells how an attempt that was let in ended. */
  async settle(attemptId: string, failed: boolean, windowMs: number): Promise<void> {
    const lease = this.#inFlight.get(attemptId);
    if (lease === undefined) return;
    clearTimeout(lease);
    this.#inFlight.delete(attemptId);
    if (failed) await this.#countFailure(windowMs);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** The window is over: nothing of it needs to be kept. */
  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
    this.#createTable();
  }

  #createTable(): void {
    this.ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS failures (failed_at INTEGER NOT NULL, window_ends_at INTEGER NOT NULL)',
    );
  }

  #failures(): { count: number; endsAt: number } {
    const { sql } = this.ctx.storage;
    const found = sql.exec<{ count: number; ends_at: number | null }>(
      'SELECT count(*) AS count, min(window_ends_at) AS ends_at FROM failures WHERE window_ends_at > ?',
      Date.now(),
    );
    const { count, ends_at } = found.one();
    return { count, endsAt: ends_at ?? 0 };
  }

  async #countFailure(windowMs: number): Promise<void> {
    const { storage } = this.ctx;
    const now = Date.now();
    const { count, endsAt } = this.#failures();
    const windowEndsAt = count > 0 ? endsAt : now + windowMs;
    storage.sql.exec('INSERT INTO failures VALUES (?, ?)', now, windowEndsAt);
    await storage.setAlarm(windowEndsAt + 1);
  }
}
