import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import type { Metadata } from '../../db/columns.ts';
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
  clearDefaultForNew,
  insertAccount,
  readAccounts,
  selectAccount,
  selectAccountEvenDeleted,
  selectAttached,
  softDeleteAccount,
  undeleteAccount,
  updateAccount,
  type Which,
} from './store.ts';

export { accountNotFound } from './failures.ts';
export { selectAccount } from './store.ts';
export type { Account };

const NAME_IS_UNIQUE = { 'accounts.name': accountNameTaken };

/** A new account and the statement that stores it. */
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

/** A page of the company's accounts. */
export function listAccounts(
  ctx: PrincipalContext,
  which: Which,
  page: { by: AccountOrder; descending: boolean; page: number; perPage: number },
) {
  return readAccounts(ctx.db, ctx.actor.companyId, which, page);
}

/** A living account of the company. @throws Failure `account.not_found` */
export async function getAccount(ctx: PrincipalContext, id: string): Promise<Account> {
  const [account] = await selectAccount(ctx.db, ctx.actor.companyId, id);
  if (!account) throw accountNotFound();
  return account;
}

/** Makes an account; as the default it takes that over in the same unit. @throws Failure `account.name_taken` */
export async function createAccount(
  ctx: PrincipalContext,
  input: { name: string; isDefault: boolean; metadata: Metadata },
): Promise<Account> {
  const { companyId } = ctx.actor;
  const { record, statement } = prepareAccount(ctx, companyId, input);
  const statements = input.isDefault
    ? ([clearDefaultForNew(ctx.db, companyId, record.createdAt), statement] as const)
    : ([statement] as const);
  await commit(ctx.db, statements, NAME_IS_UNIQUE);
  return record;
}

/**
 * Changes what is sent. `isDefault: true` moves the default here, from the account that has it, in one unit.
 * @throws Failure `account.not_found`, `account.name_taken`, `account.default_is_active`
 */
export async function changeAccount(ctx: PrincipalContext, id: string, changes: AccountChanges): Promise<Account> {
  const { companyId } = ctx.actor;
  const now = ctx.now();
  if (changes.isDefault && changes.isActive === false) {
    await getAccount(ctx, id);
    throw defaultAccountNotDeactivatable();
  }
  const update = updateAccount(ctx.db, companyId, id, now, changes);
  const move = clearDefault(ctx.db, companyId, now, { id, activates: changes.isActive === true });
  const results = await commit(ctx.db, changes.isDefault ? [move, update] : [update], NAME_IS_UNIQUE);
  const [changed] = results.at(-1) as Account[];
  if (changed) return changed;
  await getAccount(ctx, id);
  throw defaultAccountNotDeactivatable();
}

/**
 * Deletes an account that nothing uses.
 * @throws Failure `account.not_found`, `account.already_deleted`, `account.is_default`, `account.in_use`
 */
export async function deleteAccount(ctx: PrincipalContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  const [[account], [attached], deleted] = await commit(ctx.db, [
    selectAccountEvenDeleted(ctx.db, companyId, id),
    selectAttached(ctx.db, companyId, id),
    softDeleteAccount(ctx.db, companyId, id, ctx.now()),
  ]);
  if (deleted.length > 0) return;
  if (!account) throw accountNotFound();
  if (account.deletedAt !== null) throw accountAlreadyDeleted();
  if (account.isDefault || !attached) throw defaultAccountNotDeletable();
  throw accountInUse(attached.users, attached.serviceAccounts);
}

/**
 * Brings a deleted account back.
 * @throws Failure `account.not_found`, `account.not_deleted`, `account.name_taken` when its name was given away since
 */
export async function restoreAccount(ctx: PrincipalContext, id: string): Promise<Account> {
  const [[restored]] = await commit(
    ctx.db,
    [undeleteAccount(ctx.db, ctx.actor.companyId, id, ctx.now())],
    NAME_IS_UNIQUE,
  );
  if (restored) return restored;
  await getAccount(ctx, id);
  throw accountNotDeleted();
}
