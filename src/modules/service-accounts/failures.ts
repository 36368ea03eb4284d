import { Failure, invalid } from '../../kernel/failure.ts';

/** @param field the member that names it: `id` of the path, or the one of a body */
export const serviceAccountNotFound = (field: 'id' | 'principal_id' | 'principal.id' = 'id') =>
  new Failure('missing', 'service_account.not_found', {
    message: 'There is no such service account.',
    field,
    reason: 'not_found',
  });

export const serviceAccountAlreadyDeleted = () =>
  new Failure('missing', 'service_account.already_deleted', {
    message: 'This service account is already deleted.',
    field: 'id',
    reason: 'already_deleted',
  });

export const keyNotFound = () =>
  new Failure('missing', 'api_key.not_found', {
    message: 'This service account has no such key.',
    field: 'key_id',
    reason: 'not_found',
  });

export const keyAlreadyRevoked = () =>
  new Failure('missing', 'api_key.already_revoked', {
    message: 'This key is already deleted: it was revoked before.',
    field: 'key_id',
    reason: 'already_deleted',
  });

export const expiryPassed = () => invalid([{ field: 'expires_at', message: 'must be in the future' }]);
