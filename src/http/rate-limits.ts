import type { Context, Principal } from '../context.ts';
import { Failure } from '../kernel/failure.ts';
import type { LimitState } from '../kernel/fixed-window.ts';
import type { Admission } from '../objects/organization-gate.ts';

/** The failure of a request that a limit refuses. */
export function rateLimited(state: LimitState, now: number): Failure {
  return new Failure('too_many', 'rate_limit.exceeded', { retryAfter: Math.ceil((state.resetAt - now) / 1000) });
}

/** Counts the request against the limit of the caller's address. */
export async function countByIp(ctx: Context): Promise<LimitState> {
  const limiter = ctx.bindings.IP_LIMITER.getByName(ctx.ip ?? 'unknown');
  return limiter.take(ctx.config.RATE_LIMIT_IP_PER_SECOND);
}

/** Counts the request against the limit of a token. `tokenId` is an id of it, never itself. */
export async function countByToken(ctx: Context, tokenId: string): Promise<LimitState> {
  return ctx.bindings.TOKEN_LIMITER.getByName(tokenId).take(ctx.config.RATE_LIMIT_TOKEN_PER_MINUTE);
}

/**
 * Asks the organization's gate, in one call, whether the nonce is new and both limits have room.
 * @throws Failure `signature.nonce_reused`
 */
export async function countByPrincipal(
  ctx: Context,
  actor: Principal,
  nonce: Admission['nonce'],
): Promise<LimitState[]> {
  const gate = ctx.bindings.ORGANIZATION_GATE.getByName(actor.companyId);
  const verdict = await gate.admit({
    principalId: actor.id,
    limits: {
      organization: ctx.config.RATE_LIMIT_ORGANIZATION_PER_MINUTE,
      principal: ctx.config.RATE_LIMIT_PRINCIPAL_PER_MINUTE,
    },
    nonce,
  });
  if (verdict.nonceReused) {
    throw new Failure('unauthenticated', 'signature.nonce_reused', {
      message: 'This nonce was used before.',
      field: 'x-nonce',
      reason: 'nonce_reused',
    });
  }
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
