import { defineFailure, invalid } from '../../kernel/failure.ts';

/** @param field the field that names it: `id` of the path, or `group_ids` of a body, and there the unknown ones */
export const groupNotFound = defineFailure('group.not_found', {
  kind: 'missing',
  describes: 'There is no such group.',
  detail: (field: 'id' | 'group_ids' = 'id', ids?: string[]) => ({
    field,
    reason: 'not_found',
    ...(ids && { ids }),
  }),
  says: { organization: 'NotFound', console: 'GROUP_NOT_FOUND', sharing: 'NOT_FOUND' },
});

export const groupAlreadyDeleted = defineFailure('group.already_deleted', {
  kind: 'missing',
  detail: { message: 'This group is already deleted.', field: 'id', reason: 'already_deleted' },
  says: {
    organization: { status: 400, code: 'AlreadyDeleted' },
    // As if it had never been there.
    console: {
      code: 'GROUP_NOT_FOUND',
      message: 'There is no such group.',
      details: { field: 'id', reason: 'not_found' },
    },
  },
});

export const groupNameTaken = defineFailure('group.name_taken', {
  kind: 'conflict',
  detail: { message: 'Another group has this name.', field: 'name', reason: 'taken' },
  says: { organization: 'AlreadyExists', console: 'GROUP_NAME_DUPLICATE' },
});

export const groupSlugTaken = defineFailure('group.slug_taken', {
  kind: 'conflict',
  detail: { message: 'Another group has this slug.', field: 'slug', reason: 'taken' },
  says: { organization: 'AlreadyExists', console: 'GROUP_SLUG_DUPLICATE' },
});

export const globalGroupNotDeletable = defineFailure('group.global_not_deletable', {
  kind: 'conflict',
  detail: { message: 'A global group cannot be deleted.', field: 'id', reason: 'is_global' },
  says: { organization: 'AlreadyExists', console: { status: 400, code: 'CANNOT_DELETE_GLOBAL' } },
});

export const globalGroupNotModifiable = defineFailure('group.global_not_modifiable', {
  kind: 'conflict',
  detail: {
    message: 'The name, slug and description of a global group cannot be changed.',
    field: 'id',
    reason: 'is_global',
  },
  says: { organization: 'AlreadyExists', console: { status: 400, code: 'CANNOT_MODIFY_GLOBAL' } },
});

export const bindingNotFound = defineFailure('group_binding.not_found', {
  kind: 'missing',
  detail: { message: 'This group has no such binding.', field: 'binding_id', reason: 'not_found' },
  says: { organization: 'NotFound' },
});

export const bindingExists = defineFailure('group_binding.exists', {
  kind: 'conflict',
  detail: {
    message: 'This principal is in the group within this account already.',
    field: 'principal_id',
    reason: 'taken',
  },
  says: { organization: 'AlreadyExists' },
});

export const outsideOwnAccount = () =>
  invalid([{ field: 'account_id', message: 'must be the account that the service account belongs to' }]);

export const policyNotAttached = defineFailure('group_policy.not_found', {
  kind: 'missing',
  detail: { message: 'This policy is not attached to the group.', field: 'policy_id', reason: 'not_found' },
  says: { organization: 'NotFound', console: 'POLICY_NOT_FOUND' },
});
