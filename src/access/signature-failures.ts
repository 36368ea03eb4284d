import { defineFailure } from '../kernel/failure.ts';

const says = { organization: 'Unauthorized' } as const;

/** What a signed request can lack. All of them are 401; `details.reason` tells its sender what to put right. */
export const missingSignatureHeader = defineFailure('signature.missing_header', {
  kind: 'unauthenticated',
  describes: 'A header of the signature is missing.',
  detail: (field: string) => ({ message: `The header ${field} is missing.`, field, reason: 'missing_header' }),
  says,
});

export const malformedSignatureHeader = defineFailure('signature.malformed', {
  kind: 'unauthenticated',
  describes: 'A header of the signature is malformed.',
  detail: (field: string, message: string) => ({ message, field, reason: 'malformed' }),
  says,
});

/** @param serverTime what our clock says, where the sender can still use it */
export const clockSkew = defineFailure('signature.clock_skew', {
  kind: 'unauthenticated',
  describes: 'x-date differs from the server’s clock by more than 300 seconds.',
  detail: (serverTime?: string) => ({
    field: 'x-date',
    reason: 'clock_skew',
    ...(serverTime !== undefined && { server_time: serverTime }),
  }),
  says,
});

export const bodyDigestMismatch = defineFailure('signature.body_digest_mismatch', {
  kind: 'unauthenticated',
  detail: {
    message: 'x-content-sha256 is not the digest of the body.',
    field: 'x-content-sha256',
    reason: 'body_digest_mismatch',
  },
  says,
});

export const unknownKey = defineFailure('signature.unknown_key', {
  kind: 'unauthenticated',
  detail: {
    message: 'The access key is unknown, revoked or expired, or its service account or account is inactive.',
    field: 'authorization',
    reason: 'unknown_key',
  },
  says,
});

export const badSignature = defineFailure('signature.bad_signature', {
  kind: 'unauthenticated',
  describes:
    'The signature does not match the request. Compare `details.string_to_sign` with the text that you signed.',
  detail: (stringToSign: string) => ({
    field: 'authorization',
    reason: 'bad_signature',
    string_to_sign: stringToSign,
  }),
  says,
});

export const nonceReused = defineFailure('signature.nonce_reused', {
  kind: 'unauthenticated',
  detail: { message: 'This nonce was used before.', field: 'x-nonce', reason: 'nonce_reused' },
  says,
});
