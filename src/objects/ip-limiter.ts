import { DurableObject } from 'cloudflare:workers';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';

const WINDOW_MS = 1000;

/** One per caller's address: counts its requests in windows of a second. */
export class IpLimiter extends DurableObject {
  readonly #windows = new FixedWindows(WINDOW_MS);

  /** Counts one request. `limit` is requests per second. */
  take(limit: number): LimitState {
    return this.#windows.take('ip', limit, Date.now());
  }
}
