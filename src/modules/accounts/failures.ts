import { Failure } from '../../kernel/failure.ts';

/** @param field the member that names it: `id` of the path, or `account_id` of a body */
export const accountNotFound = (field: 'id' | 'account_id' = 'id') =>
  new Failure('missing', 'account.not_found', { message: 'There is no such account.', field, reason: 'not_found' });

export const accountAlreadyDeleted = () =>
  new Failure('missing', 'account.already_deleted', {
    message: 'This account is already deleted.',
    field: 'id',
    reason: 'already_deleted',
  });

export const accountNameTaken = () =>
  new Failure('conflict', 'account.name_taken', {
    message: 'An account of this name exists already.',
    field: 'name',
    reason: 'taken',
  });

export const defaultAccountStays = () =>
  new Failure('conflict', 'account.is_default', {
    message: 'The default account cannot be deleted. Make another account the default first.',
    field: 'id',
    reason: 'is_default',
  });

export const lastAccountStays = () =>
  new Failure('conflict', 'account.is_last', {
    message: 'The last account of an organization cannot be deleted.',
    field: 'id',
    reason: 'is_last',
  });

const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;

/** Says how many of each are attached. */
export const accountInUse = (users: number, serviceAccounts: number) =>
  new Failure('conflict', 'account.in_use', {
    message: `${counted(users, 'user')} and ${counted(serviceAccounts, 'service account')} are still attached to this account. Migrate them first.`,
    field: 'id',
    reason: 'in_use',
    users,
    service_accounts: serviceAccounts,
  });

export const defaultAccountStaysActive = () =>
  new Failure('conflict', 'account.default_is_active', {
    message: 'The default account is always active. Make another, active account the default first.',
    field: 'is_active',
    reason: 'is_default',
  });

export const accountNotDeleted = () =>
  new Failure('conflict', 'account.not_deleted', {
    message: 'This account is not deleted.',
    field: 'id',
    reason: 'not_deleted',
  });
