import type { Context } from '../../context.ts';
import { REFRESH_SECONDS, signToken, verifyToken } from '../sign-in/service.ts';
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

/** The tokens of an outsider's session. `jti` is that of the refresh token. */
export async function portalTokens(
  ctx: Context,
  { id: sub, companyId: company_id, email }: Outsider,
  sid: string,
  jti: string,
): Promise<PortalTokens> {
  const claims = { sub, company_id, sid };
  const [accessToken, refreshToken] = await Promise.all([
    signToken(ctx, 'share-portal', { ...claims, email, jti: ctx.newId(), token_type: 'access' }, ACCESS_SECONDS),
    signToken(ctx, 'share-portal', { ...claims, jti, token_type: 'refresh' }, REFRESH_SECONDS),
  ]);
  return { accessToken, expiresIn: ACCESS_SECONDS, refreshToken, refreshExpiresIn: REFRESH_SECONDS };
}

/** The claims of a good token of an outsider. @throws Failure `token.invalid` */
export const verifyPortalToken = (ctx: Context, token: string, type: 'access' | 'refresh'): Promise<Claims> =>
  verifyToken(ctx, 'share-portal', token, type);
