import { defineDeletedFailure, defineFailure, defineNotFoundFailureBy, invalidInput } from '../../kernel/failure.ts';

export const serviceAccountNotFound = defineNotFoundFailureBy('service_account', [
  'id',
  'principal_id',
  'principal.id',
]);
export const serviceAccountAlreadyDeleted = defineDeletedFailure('service_account');

export const keyNotFound = defineNotFoundFailureBy('api_key', ['key_id'], {
  message: 'This service account has no such key.',
});

export const keyAlreadyRevoked = defineFailure('api_key.already_revoked', 'missing', {
  message: 'This key is already revoked.',
  detail: { field: 'key_id', reason: 'already_deleted' },
  organization: { status: 400, code: 'AlreadyDeleted' },
  console: {
    code: 'API_KEY_NOT_FOUND',
    message: 'This service account has no such key.',
    details: { field: 'key_id', reason: 'not_found' },
  },
});

export const expiryInPast = () => invalidInput([{ field: 'expires_at', message: 'must be in the future' }]);
