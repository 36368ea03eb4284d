import { defineFailure } from '../kernel/failure.ts';

/** A header of the signature is missing. Whatever is wrong with a signature, it is a 401: `details.reason` says what. */
export const missingSignatureHeader = defineFailure('signature.missing_header', 'unauthenticated', {
  message: 'A header of the signature is missing.',
  detail: (field: string) => ({ message: `The header ${field} is missing.`, field, reason: 'missing_header' }),
});

export const malformedSignatureHeader = defineFailure('signature.malformed', 'unauthenticated', {
  message: 'A header of the signature is malformed.',
  detail: (field: string, message: string) => ({ message, field, reason: 'malformed' }),
});

/**
 * A token, valid or not, was sent where a signature is required.
 * @param counterpartPath route that takes tokens for the same purpose
 */
export const signedRequestsOnly = defineFailure('signature.token_sent', 'unauthenticated', {
  message: 'This route takes signed requests, not tokens. Tokens are taken by the routes of the console, below `/v1`.',
  detail: (counterpartPath: string | null) => ({
    ...(counterpartPath !== null && {
      message: `This route takes signed requests, not tokens. With a token, use \`${counterpartPath}\` of the console.`,
    }),
    field: 'authorization',
    reason: 'malformed',
    takes: 'signature',
    counterpart: counterpartPath ?? '/v1',
  }),
});

/** A person's token was sent to a route that takes a service account's token or signature. */
export const serviceAccountsOnly = defineFailure('signature.person_token_sent', 'unauthenticated', {
  message: 'This route takes signed requests or service tokens, not the tokens of people.',
  detail: { field: 'authorization', reason: 'malformed', takes: 'signature' },
});

/** The request's date is too far from our clock. @param serverTime our clock's time, where the sender can still use it */
export const clockSkew = defineFailure('signature.clock_skew', 'unauthenticated', {
  message: 'x-date differs from the server’s clock by more than 300 seconds.',
  detail: (serverTime?: string) => ({
    field: 'x-date',
    reason: 'clock_skew',
    ...(serverTime !== undefined && { server_time: serverTime }),
  }),
});

export const bodyDigestMismatch = defineFailure('signature.body_digest_mismatch', 'unauthenticated', {
  message: 'x-content-sha256 is not the digest of the body.',
  detail: { field: 'x-content-sha256', reason: 'body_digest_mismatch' },
});

export const unknownKey = defineFailure('signature.unknown_key', 'unauthenticated', {
  message: 'The access key is unknown, revoked or expired, or its service account or account is inactive.',
  detail: { field: 'authorization', reason: 'unknown_key' },
});

export const badSignature = defineFailure('signature.bad_signature', 'unauthenticated', {
  message: 'The signature does not match the request. Compare `details.string_to_sign` with the text that you signed.',
  detail: (stringToSign: string) => ({ field: 'authorization', reason: 'bad_signature', string_to_sign: stringToSign }),
});

export const nonceReused = defineFailure('signature.nonce_reused', 'unauthenticated', {
  message: 'This nonce was used before.',
  detail: { field: 'x-nonce', reason: 'nonce_reused' },
});
