/** The state of a limit after a request was counted, or refused. */
export interface LimitState {
  /** Requests allowed in a window. */
  limit: number;
  /** Requests left in the present window. */
  remaining: number;
  /** When the present window ends, in milliseconds since the epoch. */
  resetAt: number;
  /** False when this request is one too many. */
  allowed: boolean;
}

interface Window {
  count: number;
  endsAt: number;
}

/** More keys than this and windows that have ended are thrown away. */
const SWEEP_AT = 10_000;

/** Counts requests in fixed windows that start with the first request counted in them. Lives in memory. */
export class FixedWindows {
  readonly #windows = new Map<string, Window>();
  readonly #lengthMs: number;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** The answer that `take` would give for this key, without counting. */
  peek(key: string, limit: number, now: number): LimitState {
    const { count, endsAt } = this.#openWindow(key, now);
    return { limit, remaining: Math.max(0, limit - count), resetAt: endsAt, allowed: count < limit };
  }

  /** Counts one request of `key`, unless its window is full. `now` in milliseconds. */
  take(key: string, limit: number, now: number): LimitState {
    const state = this.peek(key, limit, now);
    if (!state.allowed) return state;
    const window = this.#openWindow(key, now);
    window.count += 1;
    if (!this.#windows.has(key)) this.#store(key, window, now);
    return { ...state, remaining: state.remaining - 1 };
  }

  /** Takes back one request of `key` that was counted. */
  giveBack(key: string, now: number): void {
    const window = this.#openWindow(key, now);
    window.count = Math.max(0, window.count - 1);
  }

  #openWindow(key: string, now: number): Window {
    const known = this.#windows.get(key);
    if (known && known.endsAt > now) return known;
    this.#windows.delete(key);
    return { count: 0, endsAt: now + this.#lengthMs };
  }

  #store(key: string, window: Window, now: number): void {
    if (this.#windows.size >= SWEEP_AT) {
      for (const [name, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(name);
    }
    this.#windows.set(key, window);
  }
}
