/** The state of a rate limit after a request was counted or refused. */
export interface LimitState {
  /** Requests allowed in a window. */
  limit: number;
  /** Requests left in the current window. */
  remaining: number;
  /** The end of the current window, in milliseconds since the epoch. */
  resetAt: number;
  /** False when this request exceeds the limit. */
  allowed: boolean;
}

interface Window {
  count: number;
  endsAt: number;
}

/** The number of keys above which windows that have ended are removed. */
const SWEEP_KEY_COUNT = 10_000;

/** Counts requests, in memory only, in fixed windows that start with the first request in them. */
export class FixedWindows {
  readonly #windows = new Map<string, Window>();
  readonly #lengthMs: number;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** Returns the state that `countRequest` would return for this key, without counting a request. */
  getState(key: string, limit: number, now: number): LimitState {
    const { count, endsAt } = this.#openWindow(key, now);
    return { limit, remaining: Math.max(0, limit - count), resetAt: endsAt, allowed: count < limit };
  }

  /** Counts one request of `key`, unless its window is full. `now` in milliseconds. */
  countRequest(key: string, limit: number, now: number): LimitState {
    const state = this.getState(key, limit, now);
    if (!state.allowed) return state;
    const window = this.#openWindow(key, now);
    window.count += 1;
    if (!this.#windows.has(key)) this.#store(key, window, now);
    return { ...state, remaining: state.remaining - 1 };
  }

  /** Takes back one request of `key` that was counted before. */
  uncountRequest(key: string, now: number): void {
    const window = this.#openWindow(key, now);
    window.count = Math.max(0, window.count - 1);
  }

  #openWindow(key: string, now: number): Window {
    const storedWindow = this.#windows.get(key);
    if (storedWindow && storedWindow.endsAt > now) return storedWindow;
    this.#windows.delete(key);
    return { count: 0, endsAt: now + this.#lengthMs };
  }

  #store(key: string, window: Window, now: number): void {
    if (this.#windows.size >= SWEEP_KEY_COUNT) {
      for (const [name, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(name);
    }
    this.#windows.set(key, window);
  }
}
