import type { Principal } from '../access/actors.ts';
import { clockSkew, nonceReused } from '../access/signature-failures.ts';
import type { Context } from '../context.ts';
import type { Failure } from '../kernel/failure.ts';
import type { LimitState } from '../kernel/fixed-window.ts';
import { limiterOf } from '../objects/ip-limiter.ts';
import type { Admission } from '../objects/organization-gate.ts';
import { callObject } from '../platform/objects.ts';
import { rateLimitExceeded } from './failures.ts';

/** The failure of a request that a limit refuses. */
export function rateLimited(state: LimitState, now: number): Failure {
  return rateLimitExceeded(Math.ceil((state.resetAt - now) / 1000));
}

/** Counts the request against the limit of the caller's address. */
export async function countByIp(ctx: Context): Promise<LimitState> {
  const limit = ctx.config.RATE_LIMIT_IP_PER_SECOND;
  return callObject(ctx.bindings.IP_LIMITER, limiterOf(ctx.ip), async (limiter) => await limiter.take(limit));
}

/** Counts the request against the limit of a token. `tokenId` is an id of it, never itself. */
export async function countByToken(ctx: Context, tokenId: string): Promise<LimitState> {
  const limit = ctx.config.RATE_LIMIT_TOKEN_PER_MINUTE;
  return callObject(ctx.bindings.TOKEN_LIMITER, tokenId, async (limiter) => await limiter.take(limit));
}

/**
 * Asks the organization's gate, in one call, whether the nonce is new and both limits have room. The date of a request can
 * have grown too old on the way here.
 */
export async function countByPrincipal(
  ctx: Context,
  actor: Principal,
  nonce: Admission['nonce'],
): Promise<LimitState[]> {
  const admission: Admission = {
    principalId: actor.id,
    requestId: ctx.correlationId,
    limits: {
      organization: ctx.config.RATE_LIMIT_ORGANIZATION_PER_MINUTE,
      principal: ctx.config.RATE_LIMIT_PRINCIPAL_PER_MINUTE,
    },
    nonce,
  };
  const verdict = await callObject(
    ctx.bindings.ORGANIZATION_GATE,
    actor.companyId,
    async (gate) => await gate.admit(admission),
  );
  if (verdict.refused !== null) throw verdict.refused === 'nonce_reused' ? nonceReused() : clockSkew();
  return [verdict.organization, verdict.principal];
}

/** The headers of the limit that has the fewest requests left. */
export function limitHeaders(states: LimitState[]): [name: string, value: string][] {
  const [tightest] = states.toSorted((a, b) => a.remaining - b.remaining);
  if (!tightest) return [];
  return [
    ['X-RateLimit-Limit', String(tightest.limit)],
    ['X-RateLimit-Remaining', String(tightest.remaining)],
    ['X-RateLimit-Reset', String(Math.ceil(tightest.resetAt / 1000))],
  ];
}
