import { commitAccess, makeAffectedEverybody } from '../../access/commit-access.ts';
import { findListDenials, isDenied } from '../../access/denials.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import type { Metadata } from '../../db/columns.ts';
import type { DeletionFilter } from '../../db/statements.ts';
import { invalidInput } from '../../kernel/failure.ts';
import {
  accountAlreadyDeleted,
  accountInUse,
  accountNameTaken,
  accountNotDeleted,
  accountNotFound,
  defaultAccountNotDeactivatable,
  defaultAccountNotDeletable,
} from './failures.ts';
import {
  type Account,
  type AccountChanges,
  type AccountOrder,
  clearDefault,
  insertAccount,
  readAccounts,
  selectAccount,
  selectAccountEvenDeleted,
  selectAccountUse,
  softDeleteAccount,
  undeleteAccount,
  updateAccount,
} from './store.ts';

export { accountNotFound } from './failures.ts';
export { selectAccount } from './store.ts';
export type { Account };

const UNIQUE_NAME_FAILURES = { 'accounts.name': accountNameTaken };

/**
 * Tells whether a Deny hides from the caller the account that a body or a filter names. It is then treated as one that does not
 * exist: a body is refused, and a list is empty.
 */
export const isAccountHidden = ({ actor }: PrincipalContext, id: string | undefined): boolean =>
  id !== undefined && isDenied(actor, 'account', id);

/** Makes a new account and the statement that stores it. */
export function prepareAccount(
  ctx: Context,
  companyId: string,
  input: { name: string; isDefault: boolean; metadata: Metadata },
) {
  const now = ctx.now();
  const record: Account = {
    ...input,
    id: ctx.newId(),
    companyId,
    isActive: true,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
  return { record, statement: insertAccount(ctx.db, record) };
}

/** Returns a page of the company's accounts. */
export function listAccounts(
  ctx: PrincipalContext,
  deletionFilter: DeletionFilter,
  page: { by: AccountOrder; descending: boolean; page: number; perPage: number },
) {
  return readAccounts(
    ctx.db,
    ctx.actor.companyId,
    { deletionFilter, denials: findListDenials(ctx.actor, 'account') },
    page,
  );
}

/** Returns an account of the company that is not deleted. */
export async function getAccount(ctx: PrincipalContext, id: string): Promise<Account> {
  const [account] = await selectAccount(ctx.db, ctx.actor.companyId, id);
  if (!account) throw accountNotFound();
  return account;
}

/** Creates an account; a new default account replaces the former one in the same transaction. */
export async function createAccount(
  ctx: PrincipalContext,
  input: { name: string; isDefault: boolean; metadata: Metadata },
): Promise<Account> {
  const { companyId } = ctx.actor;
  const { record, statement } = prepareAccount(ctx, companyId, input);
  const clearStatements = input.isDefault ? [clearDefault(ctx.db, companyId, record.createdAt)] : [];
  await commit(ctx.db, { cleared: clearStatements, inserted: statement }, UNIQUE_NAME_FAILURES);
  return record;
}

/** Changes the fields that are sent. `isDefault: true` takes the default from the current one in the same commit. */
export async function changeAccount(ctx: PrincipalContext, id: string, changes: AccountChanges): Promise<Account> {
  const { companyId } = ctx.actor;
  const now = ctx.now();
  if (changes.isDefault === false) await requireNotDefault(ctx, id, changes);
  if (changes.isDefault && changes.isActive === false) {
    await getAccount(ctx, id);
    throw defaultAccountNotDeactivatable();
  }
  const newDefault = { id, isActivated: changes.isActive === true };
  const { updated } = await commitAccess(
    ctx,
    makeAffectedEverybody(companyId),
    {
      cleared: changes.isDefault ? [clearDefault(ctx.db, companyId, now, newDefault)] : [],
      updated: updateAccount(ctx.db, companyId, id, now, changes),
    },
    UNIQUE_NAME_FAILURES,
  );
  const [changedAccount] = updated;
  if (changedAccount) return changedAccount;
  await getAccount(ctx, id);
  throw defaultAccountNotDeactivatable();
}

/**
 * Rejects `isDefault: false` for the default account, and as the only change of any account. For other accounts it is accepted
 * among other fields without effect, so that clients can send back a record as they read it.
 */
async function requireNotDefault(ctx: PrincipalContext, id: string, changes: AccountChanges): Promise<void> {
  const { isDefault } = await getAccount(ctx, id);
  const isOnlyChange = Object.keys(changes).length === 1;
  if (isDefault || isOnlyChange) throw invalidInput([{ field: 'is_default', message: DEFAULT_NOT_REMOVABLE_MESSAGE }]);
}

const DEFAULT_NOT_REMOVABLE_MESSAGE = 'must be true; to take the default away, make another account the default';

/** Deletes an account that nothing uses. */
export async function deleteAccount(ctx: PrincipalContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  const {
    found: [account],
    attachments: [attached],
    deleted,
  } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    found: selectAccountEvenDeleted(ctx.db, companyId, id),
    attachments: selectAccountUse(ctx.db, companyId, id),
    deleted: softDeleteAccount(ctx.db, companyId, id, ctx.now()),
  });
  if (deleted.length > 0) return;
  if (!account) throw accountNotFound();
  if (account.deletedAt !== null) throw accountAlreadyDeleted();
  if (account.isDefault || !attached) throw defaultAccountNotDeletable();
  throw accountInUse(attached.users, attached.serviceAccounts);
}

/** Restores a deleted account. */
export async function restoreAccount(ctx: PrincipalContext, id: string): Promise<Account> {
  const {
    restored: [restored],
  } = await commitAccess(
    ctx,
    makeAffectedEverybody(ctx.actor.companyId),
    { restored: undeleteAccount(ctx.db, ctx.actor.companyId, id, ctx.now()) },
    UNIQUE_NAME_FAILURES,
  );
  if (restored) return restored;
  await getAccount(ctx, id);
  throw accountNotDeleted();
}
