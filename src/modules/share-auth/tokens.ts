import type { Context } from '../../context.ts';
import { type RefreshToken, secondsUntil, signToken, validFor, verifyToken } from '../sign-in/service.ts';
import type { Outsider } from './store.ts';

const ACCESS_SECONDS = 15 * 60;

/** Seconds in `expiresIn`s. */
export interface PortalTokens {
  accessToken: string;
  expiresIn: number;
  refreshToken: string;
  refreshExpiresIn: number;
}

interface Claims {
  /** The outsider's id. */
  sub: string;
  company_id: string;
  sid: string;
  jti: string;
}

export async function issuePortalTokens(
  ctx: Context,
  { id: sub, companyId: company_id, email }: Outsider,
  refresh: RefreshToken,
): Promise<PortalTokens> {
  const claims = { sub, company_id, sid: refresh.sessionId };
  const access = { ...claims, email, jti: ctx.newId(), token_type: 'access' };
  const [accessToken, refreshToken] = await Promise.all([
    signToken(ctx, 'share-portal', access, validFor(ctx, ACCESS_SECONDS)),
    signToken(ctx, 'share-portal', { ...claims, jti: refresh.jti, token_type: 'refresh' }, refresh),
  ]);
  const refreshExpiresIn = secondsUntil(ctx, refresh.expiresAt);
  return { accessToken, expiresIn: ACCESS_SECONDS, refreshToken, refreshExpiresIn };
}

export const verifyPortalToken = (ctx: Context, token: string, type: 'access' | 'refresh'): Promise<Claims> =>
  verifyToken(ctx, 'share-portal', token, type);
