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
    message: 'Permissions can be given within your own company only.',
    field: 'target.company_id',
    reason: 'foreign_company',
  },
  says: { console: 'FORBIDDEN' },
});
