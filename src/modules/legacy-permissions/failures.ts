import { defineFailure, notFoundBy } from '../../kernel/failure.ts';

/** @param field the field that names it: `id` of the path, or `permissionIds` of a body, and there the unknown ones */
export const permissionNotFound = notFoundBy('permission', ['id', 'permissionIds']);

export const foreignPermissionTarget = defineFailure('permission.foreign_target', 'forbidden', {
  message: 'You can only create permissions for your own company.',
  detail: { field: 'target.company_id', reason: 'foreign_company' },
});
