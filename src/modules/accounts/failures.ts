import {
  defineDeletedFailure,
  defineFailure,
  defineNotFoundFailureBy,
  defineTakenFailure,
} from '../../kernel/failure.ts';

/** The account does not exist that a field names: `id` of the path, or `account_id` of a body. */
export const accountNotFound = defineNotFoundFailureBy('account', ['id', 'account_id']);
export const accountAlreadyDeleted = defineDeletedFailure('account');

export const accountNotDeleted = defineFailure('account.not_deleted', 'conflict', {
  message: 'This account is not deleted.',
  detail: { field: 'id', reason: 'not_deleted' },
});

export const accountNameTaken = defineTakenFailure('account', 'name');

export const defaultAccountNotDeletable = defineFailure('account.is_default', 'conflict', {
  message: 'The default account cannot be deleted. Make another account the default first.',
  detail: { field: 'id', reason: 'is_default' },
});

const formatCount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The account is in use: states the numbers of attached users and service accounts. */
export const accountInUse = defineFailure('account.in_use', 'conflict', {
  message: 'Users or service accounts are still attached to this account. Remove them first.',
  detail: (userCount: number, serviceAccountCount: number) => ({
    message: `${formatCount(userCount, 'user')} and ${formatCount(serviceAccountCount, 'service account')} are still attached to this account. Remove them first.`,
    field: 'id',
    reason: 'in_use',
    users: userCount,
    service_accounts: serviceAccountCount,
  }),
});

export const defaultAccountNotDeactivatable = defineFailure('account.default_is_active', 'conflict', {
  message: 'The default account is always active. Make another, active account the default first.',
  detail: { field: 'is_active', reason: 'is_default' },
});
