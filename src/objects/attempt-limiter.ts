import { DurableObject } from 'cloudflare:workers';

/** An attempt that is not settled within this time counts as failed, until it is. */
const LEASE_MS = 15_000;

const WINDOW = 'window';

/** Failures since the first of them, which are forgotten together (ms). */
interface Window {
  failures: number;
  endsAt: number;
}

export type Attempt = { allowed: true } | { allowed: false; retryAfterMs: number };

/**
 * One per thing that can be guessed (an email's password, a code): lets in only as many attempts as may still fail.
 * Attempts in flight count as failures until they are settled, so that guessing in parallel gains nothing; one that
 * would be over the limit only because of others in flight waits for them.
 *
 * Anybody may name things that do not exist, so nothing is stored before a failure, and nothing is left after its window.
 */
export class AttemptLimiter extends DurableObject {
  readonly #inFlight = new Map<string, ReturnType<typeof setTimeout>>();
  /** Counted as failed because nobody settled them in time. */
  readonly #overdue = new Set<string>();
  #waiting: (() => void)[] = [];

  /**
   * Asks to try once. `limit` failures are allowed within `windowMs` of the first of them.
   * @param attemptId the caller's: asked again, because an answer got lost, it is the same attempt
   */
  async begin(attemptId: string, limit: number, windowMs: number): Promise<Attempt> {
    while (!this.#inFlight.has(attemptId)) {
      const { failures, endsAt } = this.#window(Date.now());
      if (failures >= limit) return { allowed: false, retryAfterMs: endsAt - Date.now() };
      if (failures + this.#inFlight.size < limit) {
        const lease = setTimeout(() => void this.#expire(attemptId, windowMs), LEASE_MS);
        this.#inFlight.set(attemptId, lease);
      } else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return { allowed: true };
  }

  /** Tells how an attempt that was let in ended. One that a restart forgot counts if it failed. */
  async settle(attemptId: string, failed: boolean, windowMs: number): Promise<void> {
    clearTimeout(this.#inFlight.get(attemptId));
    if (this.#inFlight.delete(attemptId)) {
      if (failed) await this.#count(1, windowMs);
    } else if (this.#overdue.delete(attemptId)) {
      if (!failed) await this.#count(-1, windowMs);
    } else if (failed) {
      await this.#count(1, windowMs);
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** The window is over: nothing of it is kept. */
  override async alarm(): Promise<void> {
    const { endsAt } = this.#window(Date.now());
    if (endsAt > Date.now()) await this.ctx.storage.setAlarm(endsAt + 1);
    else await this.ctx.storage.deleteAll();
  }

  async #expire(attemptId: string, windowMs: number): Promise<void> {
    this.#overdue.add(attemptId);
    this.#inFlight.delete(attemptId);
    await this.#count(1, windowMs);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #window(now: number): Window {
    const window = this.ctx.storage.kv.get<Window>(WINDOW);
    return window && window.endsAt > now ? window : { failures: 0, endsAt: 0 };
  }

  async #count(change: 1 | -1, windowMs: number): Promise<void> {
    const now = Date.now();
    const { failures, endsAt } = this.#window(now);
    if (failures + change < 0) return;
    const window = { failures: failures + change, endsAt: failures > 0 ? endsAt : now + windowMs };
    this.ctx.storage.kv.put(WINDOW, window);
    await this.ctx.storage.setAlarm(window.endsAt + 1);
  }
}
