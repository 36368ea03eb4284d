/** Signs embed tokens in the host's own server: no call is needed for a page view. Needs the package `jose`. */
import { SignJWT } from 'jose';

/** A key as it was issued: POST /api/v1/embed/signing-keys answers both members, the secret only once. */
export interface SigningKey {
  id: string;
  secret: string;
}

/**
 * Signs a token for an hour. `claims` name what is shown (`dashboard_id` or `visualization_id`) and the viewer, and may
 * set `exp`.
 */
export function signEmbedToken({ id, secret }: SigningKey, claims: Record<string, unknown>): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ aud: 'embed', iat: now, exp: now + 3600, ...claims })
    .setProtectedHeader({ alg: 'HS256', kid: id })
    .sign(new TextEncoder().encode(secret));
}
