import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';

/** Base64url without padding, and with nothing in the bits that stand for no byte: a text for each sequence of bytes. */
const SEGMENT = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/**
 * Refuses all spellings of a token but one. jose reads base64 as browsers do, past spaces, padding and stray bits, so that
 * many texts would pass as the same signed token.
 * @throws JOSEError
 */
export function requireCompact(token: string): void {
  const segments = token.split('.');
  if (segments.length !== 3 || !segments.every((segment) => SEGMENT.test(segment))) {
    throw new errors.JWTInvalid('not a compact JWT in base64url');
  }
}

/** The claims of a token whose signature and claims are as they should be. Every JWT is verified here. @throws JOSEError */
export const verifyJwt = ((token: string, ...how: [never, never]) => {
  requireCompact(token);
  return jwtVerify(token, ...how);
}) as typeof jwtVerify;

/** What a token says of itself, before anything is verified. @throws JOSEError */
export function readJwt<Claims>(token: string) {
  requireCompact(token);
  return { header: decodeProtectedHeader(token), claims: decodeJwt<Claims>(token) };
}
