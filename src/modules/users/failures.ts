import { defineFailure, Failure } from '../../kernel/failure.ts';

/** @param field the field that names it: `id` of the path, or the one of a body */
export const userNotFound = defineFailure('user.not_found', {
  kind: 'missing',
  detail: (field: 'id' | 'principal_id' | 'principal.id' = 'id') => ({
    message: 'There is no such user.',
    field,
    reason: 'not_found',
  }),
  says: { organization: 'NotFound', console: 'USER_NOT_FOUND', sharing: 'NOT_FOUND' },
});

export const userAlreadyDeleted = () =>
  new Failure('missing', 'user.already_deleted', {
    message: 'This user is already deleted.',
    field: 'id',
    reason: 'already_deleted',
  });

export const emailTaken = defineFailure('user.email_taken', {
  kind: 'conflict',
  detail: { message: 'A user of this email exists already.', field: 'email', reason: 'taken' },
  says: { organization: 'AlreadyExists', console: { status: 400, code: 'USER_EMAIL_DUPLICATE' } },
});

export const ownerCannotBeDeleted = () =>
  new Failure('conflict', 'user.owner_not_deletable', {
    message: 'The owner cannot be deleted.',
    field: 'id',
    reason: 'is_owner',
  });

export const ownerCannotBeDeactivated = () =>
  new Failure('conflict', 'user.owner_not_deactivatable', {
    message: 'The owner cannot be deactivated.',
    field: 'is_active',
    reason: 'is_owner',
  });

export const selfNotDeactivatable = () =>
  new Failure('conflict', 'user.self_not_deactivatable', {
    message: 'Nobody can deactivate themself.',
    field: 'id',
    reason: 'is_self',
  });

export const userStillInvited = () =>
  new Failure('conflict', 'user.still_invited', {
    message: 'This user has not accepted the invitation yet.',
    field: 'is_active',
    reason: 'invited',
  });
