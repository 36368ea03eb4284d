import { defineFailure } from '../../kernel/failure.ts';

/** @param field what names it: `id` of the path, or `account_id` of a body */
export const accountNotFound = defineFailure('account.not_found', {
  kind: 'missing',
  describes: 'There is no such account.',
  detail: (field: 'id' | 'account_id' = 'id') => ({ field, reason: 'not_found' }),
  says: { organization: 'NotFound' },
});

export const accountAlreadyDeleted = defineFailure('account.already_deleted', {
  kind: 'missing',
  detail: { message: 'This account is already deleted.', field: 'id', reason: 'already_deleted' },
  says: { organization: { status: 400, code: 'AlreadyDeleted' } },
});

export const accountNotDeleted = defineFailure('account.not_deleted', {
  kind: 'conflict',
  detail: { message: 'This account is not deleted.', field: 'id', reason: 'not_deleted' },
  says: { organization: 'AlreadyExists' },
});

export const accountNameTaken = defineFailure('account.name_taken', {
  kind: 'conflict',
  detail: { message: 'Another account has this name.', field: 'name', reason: 'taken' },
  says: { organization: 'AlreadyExists' },
});

export const defaultAccountNotDeletable = defineFailure('account.is_default', {
  kind: 'conflict',
  detail: {
    message: 'The default account cannot be deleted. Make another account the default first.',
    field: 'id',
    reason: 'is_default',
  },
  says: { organization: 'AlreadyExists' },
});

const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;

/** Says how many of each are attached. */
export const accountInUse = defineFailure('account.in_use', {
  kind: 'conflict',
  describes: 'Users or service accounts are still attached to this account. Remove them first.',
  detail: (users: number, serviceAccounts: number) => ({
    message: `${counted(users, 'user')} and ${counted(serviceAccounts, 'service account')} are still attached to this account. Remove them first.`,
    field: 'id',
    reason: 'in_use',
    users,
    service_accounts: serviceAccounts,
  }),
  says: { organization: 'AlreadyExists' },
});

export const defaultAccountNotDeactivatable = defineFailure('account.default_is_active', {
  kind: 'conflict',
  detail: {
    message: 'The default account is always active. Make another, active account the default first.',
    field: 'is_active',
    reason: 'is_default',
  },
  says: { organization: 'AlreadyExists' },
});
