import type { Context } from '../../context.ts';
import { countSecondsUntil, makeValidity, type RefreshToken, signToken, verifyToken } from '../sign-in/service.ts';
import type { Outsider } from './store.ts';

const ACCESS_TOKEN_SECONDS = 15 * 60;

/** The tokens of a portal session; `expiresIn` and `refreshExpiresIn` in seconds. */
export interface PortalTokens {
  accessToken: string;
  expiresIn: number;
  refreshToken: string;
  refreshExpiresIn: number;
}

interface PortalClaims {
  /** The outsider's id. */
  sub: string;
  company_id: string;
  sid: string;
  jti: string;
}

export async function issuePortalTokens(
  ctx: Context,
  { id: sub, companyId: company_id, email }: Outsider,
  refreshTokenData: RefreshToken,
): Promise<PortalTokens> {
  const claims = { sub, company_id, sid: refreshTokenData.sessionId };
  const accessClaims = { ...claims, email, jti: ctx.newId(), token_type: 'access' };
  const [accessToken, refreshToken] = await Promise.all([
    signToken(ctx, 'share-portal', accessClaims, makeValidity(ctx, ACCESS_TOKEN_SECONDS)),
    signToken(ctx, 'share-portal', { ...claims, jti: refreshTokenData.jti, token_type: 'refresh' }, refreshTokenData),
  ]);
  const refreshExpiresIn = countSecondsUntil(ctx, refreshTokenData.expiresAt);
  return { accessToken, expiresIn: ACCESS_TOKEN_SECONDS, refreshToken, refreshExpiresIn };
}

export const verifyPortalToken = (ctx: Context, token: string, type: 'access' | 'refresh'): Promise<PortalClaims> =>
  verifyToken(ctx, 'share-portal', token, type);
