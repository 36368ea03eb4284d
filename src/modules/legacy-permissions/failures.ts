import { defineFailure } from '../../kernel/failure.ts';

/** @param field what names it: `id` of the path, or `permissionIds` of a body, and there the unknown ones */
export const permissionNotFound = defineFailure('permission.not_found', {
  kind: 'missing',
  describes: 'There is no such permission.',
  detail: (field: 'id' | 'permissionIds' = 'id', ids?: string[]) => ({
    field,
    reason: 'not_found',
    ...(ids && { ids }),
  }),
  says: { console: 'PERMISSION_NOT_FOUND' },
});

export const foreignPermissionTarget = defineFailure('permission.foreign_target', {
  kind: 'forbidden',
  detail: {
    message: 'You can only create permissions for your own company.',
    field: 'target.company_id',
    reason: 'foreign_company',
  },
  says: { console: 'FORBIDDEN' },
});
