import { defineFailure } from '../../kernel/failure.ts';

/** @param field what names the user: `id` of the path, or a field of the body */
export const userNotFound = defineFailure('user.not_found', {
  kind: 'missing',
  describes: 'There is no such user.',
  detail: (field: 'id' | 'principal_id' | 'principal.id' = 'id') => ({
    field,
    reason: 'not_found',
  }),
  says: { organization: 'NotFound', console: 'USER_NOT_FOUND', sharing: 'NOT_FOUND' },
});

export const userAlreadyDeleted = defineFailure('user.already_deleted', {
  kind: 'missing',
  detail: { message: 'This user is already deleted.', field: 'id', reason: 'already_deleted' },
  says: { organization: { status: 400, code: 'AlreadyDeleted' } },
});

export const emailTaken = defineFailure('user.email_taken', {
  kind: 'conflict',
  detail: { message: 'Another user has this email address.', field: 'email', reason: 'taken' },
  says: { organization: 'AlreadyExists', console: { status: 400, code: 'USER_EMAIL_DUPLICATE' } },
});

export const ownerNotDeletable = defineFailure('user.owner_not_deletable', {
  kind: 'conflict',
  detail: { message: 'The owner cannot be deleted.', field: 'id', reason: 'is_owner' },
  says: { organization: 'AlreadyExists' },
});

export const ownerNotDeactivatable = defineFailure('user.owner_not_deactivatable', {
  kind: 'conflict',
  detail: { message: 'The owner cannot be deactivated.', field: 'is_active', reason: 'is_owner' },
  says: { organization: 'AlreadyExists', console: { status: 400, code: 'CANNOT_DEACTIVATE_OWNER' } },
});

export const selfNotDeactivatable = defineFailure('user.self_not_deactivatable', {
  kind: 'conflict',
  detail: { message: 'You cannot deactivate yourself.', field: 'id', reason: 'is_self' },
  says: { console: { status: 400, code: 'CANNOT_DEACTIVATE_SELF' } },
});

export const userStillInvited = defineFailure('user.still_invited', {
  kind: 'conflict',
  detail: { message: 'This user has not accepted the invitation yet.', field: 'is_active', reason: 'invited' },
  says: { organization: 'AlreadyExists', console: 'USER_STILL_INVITED' },
});
