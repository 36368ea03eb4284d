import type { Context } from '../context.ts';
import type { Failure } from '../kernel/failure.ts';
import type { LimitState } from '../kernel/fixed-window.ts';
import type { KeyState, KeyUse } from '../objects/idempotency-keys.ts';
import { formatLimiterName } from '../objects/ip-limiter.ts';
import { callObject } from '../platform/objects.ts';
import { rateLimitExceeded } from './failures.ts';

/** Makes the failure of a request that a limit refuses. */
export const makeRateLimitFailure = (state: LimitState, now: number): Failure =>
  rateLimitExceeded(Math.ceil((state.resetAt - now) / 1000));

/** Counts the request against the limit of the caller's address. */
export async function countByIp({ config, bindings, ip }: Context): Promise<LimitState> {
  const limit = config.RATE_LIMIT_IP_PER_SECOND;
  return callObject(bindings.IP_LIMITER, formatLimiterName(ip), async (limiter) => await limiter.take(limit));
}

/** Number of preflights that an address may send for each allowed request. */
const PREFLIGHTS_PER_REQUEST = 10;

/** Counts a preflight. Browsers send them by themselves, so they have a limit apart from that of requests. */
export async function countPreflight({ config, bindings, ip }: Context): Promise<LimitState> {
  const limit = config.RATE_LIMIT_IP_PER_SECOND * PREFLIGHTS_PER_REQUEST;
  const name = formatLimiterName(ip);
  return callObject(bindings.IP_LIMITER, name, async (limiter) => await limiter.take(limit, 'preflight'));
}

/** Counts the request against the limit of a token's id, or of an outsider, and begins to use the request's idempotency key. */
export async function countByToken(
  { config, bindings }: Context,
  tokenId: string,
  use?: KeyUse,
): Promise<{ limit: LimitState; key: KeyState | null }> {
  const maxRequests = config.RATE_LIMIT_TOKEN_PER_MINUTE;
  return callObject(bindings.TOKEN_LIMITER, tokenId, async (limiter) => await limiter.take(maxRequests, use));
}

/** Makes the headers of the limit that has the fewest requests left. */
export function makeLimitHeaders(states: LimitState[]): [name: string, value: string][] {
  const [tightest] = states.toSorted((a, b) => a.remaining - b.remaining);
  if (!tightest) return [];
  return [
    ['X-RateLimit-Limit', String(tightest.limit)],
    ['X-RateLimit-Remaining', String(tightest.remaining)],
    ['X-RateLimit-Reset', String(Math.ceil(tightest.resetAt / 1000))],
  ];
}
