import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';

/** Canonical base64url: without padding, and with unused bits zero, so that each sequence of bytes has one spelling. */
const SEGMENT = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** Accepts one spelling of a token only: jose ignores spaces, padding and unused bits of base64. @throws JOSEError */
export function requireCanonicalJwt(token: string): void {
  const segments = token.split('.');
  if (segments.length !== 3 || !segments.every((segment) => SEGMENT.test(segment))) {
    throw new errors.JWTInvalid('not a compact JWT in base64url');
  }
}

/** Verifies a JWT. Every JWT is verified by this function. @throws JOSEError */
export const verifyJwt = ((token: string, ...rest: [never, never]) => {
  requireCanonicalJwt(token);
  return jwtVerify(token, ...rest);
}) as typeof jwtVerify;

/** The header and claims of a JWT, not verified. @throws JOSEError */
export function readJwt<Claims>(token: string) {
  requireCanonicalJwt(token);
  return { header: decodeProtectedHeader(token), claims: decodeJwt<Claims>(token) };
}
