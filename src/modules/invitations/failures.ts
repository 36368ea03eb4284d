import { Failure } from '../../kernel/failure.ts';

/** Wrong, used, replaced or expired: whoever asks learns no more. */
export const invalidInvitation = () =>
  new Failure('invalid', 'invitation.invalid_token', { message: 'The invitation is unknown, used or expired.' });
