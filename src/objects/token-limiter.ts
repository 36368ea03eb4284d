import { DurableObject } from 'cloudflare:workers';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';

const WINDOW_MS = 60_000;

/** Counts the requests of one token of a share or an embed, or of one outsider, in windows of a minute. */
export class TokenLimiter extends DurableObject {
  readonly #windows = new FixedWindows(WINDOW_MS);

  /** Counts one request. `limit` is requests per minute. */
  take(limit: number): LimitState {
    return this.#windows.take('token', limit, Date.now());
  }
}
