import { Failure } from '../../kernel/failure.ts';

export const userNotFound = () => new Failure('missing', 'user.not_found', { message: 'There is no such user.' });

export const emailTaken = () =>
  new Failure('conflict', 'user.email_taken', { message: 'A user of this email exists already.', field: 'email' });
