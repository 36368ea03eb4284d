import { defineFailure } from '../../kernel/failure.ts';

export const signingKeyNotFound = defineFailure('embed_signing_key.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such signing key.' },
  says: { sharing: 'NOT_FOUND' },
});

/** @param limit how many a company may have */
export const tooManySigningKeys = defineFailure('embed_signing_key.too_many', {
  kind: 'conflict',
  describes: 'The company has the maximum number of signing keys. Delete one first.',
  detail: (limit: number) => ({ message: `A company has at most ${limit} signing keys: delete one first.` }),
  says: { sharing: 'EMBED_SIGNING_KEY_LIMIT' },
});
