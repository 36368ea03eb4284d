import { defineFailure, defineNotFoundFailureBy } from '../../kernel/failure.ts';

/** The permission does not exist that a field names: `id` of the path, or `permissionIds` of a body, with the unknown ids. */
export const permissionNotFound = defineNotFoundFailureBy('permission', ['id', 'permissionIds']);

export const foreignPermissionTarget = defineFailure('permission.foreign_target', 'forbidden', {
  message: 'You can only create permissions for your own company.',
  detail: { field: 'target.company_id', reason: 'foreign_company' },
});
