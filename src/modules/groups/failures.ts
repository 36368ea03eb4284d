import {
  defineDeletedFailure,
  defineFailure,
  defineNotFoundFailureBy,
  defineTakenFailure,
  invalidInput,
} from '../../kernel/failure.ts';

/**
 * The group that a field names does not exist: `id` of the path, or of a body `member_id` or `group_ids` (with the unknown
 * ids).
 */
export const groupNotFound = defineNotFoundFailureBy('group', ['id', 'group_ids', 'member_id']);

export const groupAlreadyDeleted = defineDeletedFailure('group');

export const groupNameTaken = defineTakenFailure('group', 'name', {
  directory: { code: 'uniqueness', details: { field: 'displayName', reason: 'taken' } },
});
export const groupSlugTaken = defineTakenFailure('group', 'slug');

export const groupExternalIdTaken = defineTakenFailure('group', 'external_id', {
  message: 'Another group has this externalId.',
  directory: { code: 'uniqueness', details: { field: 'externalId', reason: 'taken' } },
});

export const globalGroupNotDeletable = defineFailure('group.global_not_deletable', 'conflict', {
  message: 'A global group cannot be deleted.',
  detail: { field: 'id', reason: 'is_global' },
  console: { status: 400, code: 'CANNOT_DELETE_GLOBAL' },
  directory: { status: 403, code: 'mutability' },
});

export const globalGroupNotModifiable = defineFailure('group.global_not_modifiable', 'conflict', {
  message: 'The name, slug and description of a global group cannot be changed.',
  detail: { field: 'id', reason: 'is_global' },
  console: { status: 400, code: 'CANNOT_MODIFY_GLOBAL' },
});

export const membersUnknown = defineFailure('group.members_unknown', 'invalid', {
  message: 'Some members are no users of this company.',
  detail: (ids: string[]) => ({ field: 'members', reason: 'not_found', ids }),
  directory: { status: 400 },
});

export const bindingNotFound = defineNotFoundFailureBy('group_binding', ['binding_id'], {
  message: 'This group has no such binding.',
});

export const bindingExists = defineFailure('group_binding.exists', 'conflict', {
  message: 'This principal is in the group within this account already.',
  detail: { field: 'principal_id', reason: 'taken' },
});

export const makeOutsideAccountFailure = () =>
  invalidInput([{ field: 'account_id', message: 'must be the account that the service account belongs to' }]);

export const policyNotAttached = defineNotFoundFailureBy('group_policy', ['policy_id'], {
  message: 'This policy is not attached to the group.',
  console: 'POLICY_NOT_FOUND',
});
