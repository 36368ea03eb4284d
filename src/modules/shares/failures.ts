import { defineFailure, defineNotFoundFailure } from '../../kernel/failure.ts';

export const shareNotFound = defineNotFoundFailure('share');

/** A revoked share cannot be changed or activated again. */
export const shareRevoked = defineFailure('share.revoked', 'conflict', {
  message: 'The share is revoked. Create another one.',
  sharing: 'SHARE_REVOKED',
});

/** The caller must sign in to the portal: only members of the share's context may see the share. */
export const signInNeeded = defineFailure('share.sign_in_needed', 'unauthenticated', {
  message: 'Sign in to the portal to see this.',
  sharing: 'AUTH_REQUIRED',
});
