import { Failure } from '../../kernel/failure.ts';

export const shareNotFound = () => new Failure('missing', 'share.not_found', { message: 'There is no such share.' });

/** A share that was revoked stays so. */
export const shareRevoked = () =>
  new Failure('conflict', 'share.revoked', { message: 'The share is revoked. Create another one.' });

/** Only members of the share's context may see this, in the portal. */
export const signInNeeded = () =>
  new Failure('unauthenticated', 'share.sign_in_needed', { message: 'Sign in to the portal to see this.' });
