import { DurableObject } from 'cloudflare:workers';

/** The time after which an unsettled attempt counts as failed, until it is settled. */
const LEASE_MS = 15_000;

const WINDOW_KEY = 'window';

/** The number of failures since the first one, and when their window ends (ms). A window's failures are deleted together. */
interface FailureWindow {
  /** The number of failed attempts in the window. */
  failures: number;
  endsAt: number;
}

export type AttemptPermission = { allowed: true } | { allowed: false; retryAfterMs: number };

/**
 * Limits the failed attempts at one secret (the password for an email address, a code). Attempts in flight count as failures
 * until they are settled, so that guessing in parallel gains nothing; an attempt that exceeds the limit only because of other
 * attempts in flight waits for them. Callers may name secrets that do not exist, so nothing is stored before a failure, and
 * nothing remains after its window.
 */
export class AttemptLimiter extends DurableObject {
  readonly #inFlight = new Map<string, ReturnType<typeof setTimeout>>();
  /** Attempts counted as failed because they were not settled in time. */
  readonly #overdue = new Set<string>();
  #waiting: (() => void)[] = [];

  /**
   * Asks for permission to try once. `limit` failures are allowed within `windowMs` of the first failure. @param attemptId chosen
   * by the caller, who sends it again after a lost answer: it is then the same attempt
   */
  async begin(attemptId: string, limit: number, windowMs: number): Promise<AttemptPermission> {
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

  /** Reports the result of an allowed attempt. An attempt that was lost in a restart counts if it failed. */
  async settle(attemptId: string, hasFailed: boolean, windowMs: number): Promise<void> {
    clearTimeout(this.#inFlight.get(attemptId));
    if (this.#inFlight.delete(attemptId)) {
      if (hasFailed) await this.#count(1, windowMs);
    } else if (this.#overdue.delete(attemptId)) {
      if (!hasFailed) await this.#count(-1, windowMs);
    } else if (hasFailed) {
      await this.#count(1, windowMs);
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Deletes the window after its end. */
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

  #window(now: number): FailureWindow {
    const window = this.ctx.storage.kv.get<FailureWindow>(WINDOW_KEY);
    return window && window.endsAt > now ? window : { failures: 0, endsAt: 0 };
  }

  async #count(change: 1 | -1, windowMs: number): Promise<void> {
    const now = Date.now();
    const { failures, endsAt } = this.#window(now);
    if (failures + change < 0) return;
    const window = { failures: failures + change, endsAt: failures > 0 ? endsAt : now + windowMs };
    this.ctx.storage.kv.put(WINDOW_KEY, window);
    await this.ctx.storage.setAlarm(window.endsAt + 1);
  }
}
