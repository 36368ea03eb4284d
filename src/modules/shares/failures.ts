import { defineFailure } from '../../kernel/failure.ts';

export const shareNotFound = defineFailure('share.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such share.' },
  says: { sharing: 'NOT_FOUND' },
});

/** A revoked share stays revoked. */
export const shareRevoked = defineFailure('share.revoked', {
  kind: 'conflict',
  detail: { message: 'The share is revoked. Create another one.' },
  says: { sharing: 'SHARE_REVOKED' },
});

/** Only members of the share's context may see this, in the portal. */
export const signInNeeded = defineFailure('share.sign_in_needed', {
  kind: 'unauthenticated',
  detail: { message: 'Sign in to the portal to see this.' },
  says: { sharing: 'AUTH_REQUIRED' },
});
