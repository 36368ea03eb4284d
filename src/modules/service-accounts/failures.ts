import { defineAlreadyDeleted, defineFailure, defineNotFoundBy, invalid } from '../../kernel/failure.ts';

export const serviceAccountNotFound = defineNotFoundBy('service_account', ['id', 'principal_id', 'principal.id']);
export const serviceAccountAlreadyDeleted = defineAlreadyDeleted('service_account');

export const keyNotFound = defineNotFoundBy('api_key', ['key_id'], {
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

export const expiryInPast = () => invalid([{ field: 'expires_at', message: 'must be in the future' }]);
