import {
  defineDeletedFailure,
  defineFailure,
  defineNotFoundFailureBy,
  defineTakenFailure,
} from '../../kernel/failure.ts';

export const userNotFound = defineNotFoundFailureBy('user', ['id', 'principal_id', 'principal.id', 'member_id']);
export const userAlreadyDeleted = defineDeletedFailure('user');

export const emailTaken = defineTakenFailure('user', 'email', {
  message: 'Another user has this email address.',
  console: { status: 400, code: 'USER_EMAIL_DUPLICATE' },
  directory: { code: 'uniqueness', details: { field: 'userName', reason: 'taken' } },
});

export const externalIdTaken = defineTakenFailure('user', 'external_id', {
  message: 'Another user has this externalId.',
  directory: { code: 'uniqueness', details: { field: 'externalId', reason: 'taken' } },
});

export const ownerEmailNotChangeable = defineFailure('user.owner_email_not_changeable', 'conflict', {
  message: 'The email address of the owner cannot be changed by others.',
  detail: { field: 'email', reason: 'is_owner' },
  directory: { status: 403, code: 'mutability', details: { field: 'userName', reason: 'is_owner' } },
});

export const invitedEmailNotChangeable = defineFailure('user.invited_email_not_changeable', 'conflict', {
  message: 'The email address of a user who has not accepted the invitation yet cannot be changed.',
  detail: { field: 'email', reason: 'invited' },
  directory: { details: { field: 'userName', reason: 'invited' } },
});

export const ownerNotDeletable = defineFailure('user.owner_not_deletable', 'conflict', {
  message: 'The owner cannot be deleted.',
  detail: { field: 'id', reason: 'is_owner' },
  console: { status: 400, code: 'CANNOT_DEACTIVATE_OWNER' },
  directory: { status: 403, code: 'mutability' },
});

export const selfNotDeletable = defineFailure('user.self_not_deletable', 'conflict', {
  message: 'You cannot delete yourself.',
  detail: { field: 'id', reason: 'is_self' },
  console: { status: 400, code: 'CANNOT_DELETE_SELF' },
});

export const ownerNotDeactivatable = defineFailure('user.owner_not_deactivatable', 'conflict', {
  message: 'The owner cannot be deactivated.',
  detail: { field: 'is_active', reason: 'is_owner' },
  console: { status: 400, code: 'CANNOT_DEACTIVATE_OWNER' },
  directory: { status: 403, code: 'mutability', details: { field: 'active', reason: 'is_owner' } },
});

export const selfNotDeactivatable = defineFailure('user.self_not_deactivatable', 'conflict', {
  message: 'You cannot deactivate yourself.',
  detail: { field: 'id', reason: 'is_self' },
  console: { status: 400, code: 'CANNOT_DEACTIVATE_SELF' },
});

export const userStillInvited = defineFailure('user.still_invited', 'conflict', {
  message: 'This user has not accepted the invitation yet.',
  detail: { field: 'is_active', reason: 'invited' },
  console: 'USER_STILL_INVITED',
  directory: { details: { field: 'active', reason: 'invited' } },
});
