import { Failure } from '../../kernel/failure.ts';

/** @param field the member that names it: `id` of the path, or `permissionIds` of a body, and there the unknown ones */
export const permissionNotFound = (field: 'id' | 'permissionIds' = 'id', ids?: string[]) =>
  new Failure('missing', 'permission.not_found', {
    message: 'There is no such permission.',
    field,
    reason: 'not_found',
    ...(ids && { ids }),
  });

export const onlyOwnCompany = () =>
  new Failure('forbidden', 'permission.foreign_target', {
    message: 'Permissions can be given within your own company only.',
    field: 'target.company_id',
    reason: 'foreign_company',
  });
