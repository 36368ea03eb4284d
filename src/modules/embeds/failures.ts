import { defineFailure, defineNotFoundFailure } from '../../kernel/failure.ts';

export const signingKeyNotFound = defineNotFoundFailure('embed_signing_key', {
  message: 'There is no such signing key.',
});

/** A company has the maximum number of signing keys. @param limit the maximum number of keys of a company */
export const tooManySigningKeys = defineFailure('embed_signing_key.too_many', 'conflict', {
  message: 'The company has the maximum number of signing keys. Delete one first.',
  detail: (limit: number) => ({ message: `A company has at most ${limit} signing keys: delete one first.` }),
  sharing: 'EMBED_SIGNING_KEY_LIMIT',
});
