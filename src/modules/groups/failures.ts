import { Failure, invalid } from '../../kernel/failure.ts';

/** @param field the member that names it: `id` of the path, or `group_ids` of a body, and there the unknown ones */
export const groupNotFound = (field: 'id' | 'group_ids' = 'id', ids?: string[]) =>
  new Failure('missing', 'group.not_found', {
    message: 'There is no such group.',
    field,
    reason: 'not_found',
    ...(ids && { ids }),
  });

export const groupAlreadyDeleted = () =>
  new Failure('missing', 'group.already_deleted', {
    message: 'This group is already deleted.',
    field: 'id',
    reason: 'already_deleted',
  });

export const groupNameTaken = () =>
  new Failure('conflict', 'group.name_taken', {
    message: 'A group of this name exists already.',
    field: 'name',
    reason: 'taken',
  });

export const groupSlugTaken = () =>
  new Failure('conflict', 'group.slug_taken', {
    message: 'A group of this slug exists already.',
    field: 'slug',
    reason: 'taken',
  });

export const globalGroupNotDeletable = () =>
  new Failure('conflict', 'group.global_not_deletable', {
    message: 'A global group cannot be deleted.',
    field: 'id',
    reason: 'is_global',
  });

export const globalGroupNotModifiable = () =>
  new Failure('conflict', 'group.global_not_modifiable', {
    message: 'Name, slug and description of a global group cannot be changed.',
    field: 'id',
    reason: 'is_global',
  });

export const bindingNotFound = () =>
  new Failure('missing', 'group_binding.not_found', {
    message: 'This group has no such binding.',
    field: 'binding_id',
    reason: 'not_found',
  });

export const bindingExists = () =>
  new Failure('conflict', 'group_binding.exists', {
    message: 'This principal is in the group within this account already.',
    field: 'principal_id',
    reason: 'taken',
  });

export const outsideOwnAccount = () =>
  invalid([{ field: 'account_id', message: 'must be the account that the service account belongs to' }]);

export const policyNotAttached = () =>
  new Failure('missing', 'group_policy.not_found', {
    message: 'This policy is not attached to the group.',
    field: 'policy_id',
    reason: 'not_found',
  });
