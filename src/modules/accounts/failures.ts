import { defineAlreadyDeleted, defineFailure, defineNotFoundBy, defineTaken } from '../../kernel/failure.ts';

/** The account does not exist that a field names: `id` of the path, or `account_id` of a body. */
export const accountNotFound = defineNotFoundBy('account', ['id', 'account_id']);
export const accountAlreadyDeleted = defineAlreadyDeleted('account');

export const accountNotDeleted = defineFailure('account.not_deleted', 'conflict', {
  message: 'This account is not deleted.',
  detail: { field: 'id', reason: 'not_deleted' },
});

export const accountNameTaken = defineTaken('account', 'name');

export const defaultAccountNotDeletable = defineFailure('account.is_default', 'conflict', {
  message: 'The default account cannot be deleted. Make another account the default first.',
  detail: { field: 'id', reason: 'is_default' },
});

const formatCount = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;

/** The account is in use: states the numbers of attached users and service accounts. */
export const accountInUse = defineFailure('account.in_use', 'conflict', {
  message: 'Users or service accounts are still attached to this account. Remove them first.',
  detail: (users: number, serviceAccounts: number) => ({
    message: `${formatCount(users, 'user')} and ${formatCount(serviceAccounts, 'service account')} are still attached to this account. Remove them first.`,
    field: 'id',
    reason: 'in_use',
    users,
    service_accounts: serviceAccounts,
  }),
});

export const defaultAccountNotDeactivatable = defineFailure('account.default_is_active', 'conflict', {
  message: 'The default account is always active. Make another, active account the default first.',
  detail: { field: 'is_active', reason: 'is_default' },
});
