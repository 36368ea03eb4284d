import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';

/** The pattern of base64url with one spelling for each sequence of bytes: no padding, and unused bits are zero. */
const SEGMENT_PATTERN = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** Rejects other than canonical spellings: jose ignores spaces, padding and unused bits. @throws JOSEError */
export function requireCanonicalJwt(token: string): void {
  const segments = token.split('.');
  if (segments.length !== 3 || !segments.every((segment) => SEGMENT_PATTERN.test(segment))) {
    throw new errors.JWTInvalid('not a compact JWT in base64url');
  }
}

/** Verifies a JWT; every JWT is verified by this function. @throws JOSEError */
export const verifyJwt = ((token: string, ...verifyOptions: [never, never]) => {
  requireCanonicalJwt(token);
  return jwtVerify(token, ...verifyOptions);
}) as typeof jwtVerify;

/** Reads the header and claims of a JWT without verifying it. @throws JOSEError */
export function readJwt<Claims>(token: string) {
  requireCanonicalJwt(token);
  return { header: decodeProtectedHeader(token), claims: decodeJwt<Claims>(token) };
}
