import { defineFailure, defineNotFoundFailureBy } from '../../kernel/failure.ts';

/**
 * The passkey could not be verified. The response is the same for an unknown passkey, a bad signature, another origin, and a
 * challenge that was used or is too old.
 */
export const invalidPasskey = defineFailure('passkey.invalid', 'invalid', {
  message: 'The passkey could not be verified. Ask for new options and try again.',
  console: { status: 400, code: 'INVALID_PASSKEY' },
});

export const passkeyNotFound = defineNotFoundFailureBy('passkey', ['id'], { message: 'You have no such passkey.' });

export const tooManyPasskeys = defineFailure('passkey.limit', 'conflict', {
  message: 'You have the maximum number of passkeys. Delete one first.',
  console: 'PASSKEY_LIMIT',
});
