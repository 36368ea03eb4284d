import { defineFailure, invalid } from '../../kernel/failure.ts';

/** @param field what names it: `id` of the path, or a field of the body */
export const serviceAccountNotFound = defineFailure('service_account.not_found', {
  kind: 'missing',
  describes: 'There is no such service account.',
  detail: (field: 'id' | 'principal_id' | 'principal.id' = 'id') => ({
    field,
    reason: 'not_found',
  }),
  says: { organization: 'NotFound', console: 'SERVICE_ACCOUNT_NOT_FOUND' },
});

export const serviceAccountAlreadyDeleted = defineFailure('service_account.already_deleted', {
  kind: 'missing',
  detail: { message: 'This service account is already deleted.', field: 'id', reason: 'already_deleted' },
  says: { organization: { status: 400, code: 'AlreadyDeleted' } },
});

export const keyNotFound = defineFailure('api_key.not_found', {
  kind: 'missing',
  detail: { message: 'This service account has no such key.', field: 'key_id', reason: 'not_found' },
  says: { organization: 'NotFound' },
});

export const keyAlreadyRevoked = defineFailure('api_key.already_revoked', {
  kind: 'missing',
  detail: {
    message: 'This key is already revoked.',
    field: 'key_id',
    reason: 'already_deleted',
  },
  says: { organization: { status: 400, code: 'AlreadyDeleted' } },
});

export const expiryInPast = () => invalid([{ field: 'expires_at', message: 'must be in the future' }]);
