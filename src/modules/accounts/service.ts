import type { Context } from '../../context.ts';
import type { Metadata } from '../../db/columns.ts';
import { type Account, insertAccount } from './store.ts';

export type { Account };

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
