import { and, eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { type PageRequest, readPage } from '../../db/page.ts';
import { accounts } from '../../db/schema/accounts.ts';
import { serviceAccounts } from '../../db/schema/service-accounts.ts';
import { accountUserCounts } from '../../db/schema/users.ts';
import { type DeletionFilter, existsSql, matchesDeletion, matchesId, matchesUndeletedId } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';

export type Account = typeof accounts.$inferSelect;

export const insertAccount = (db: ControlDb, record: Account) => db.insert(accounts).values(record);

/** Selects the account of an id unless it is deleted. */
export const selectAccount = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(accounts)
    .where(matchesUndeletedId(accounts, companyId, id));

/** Selects the account of an id, deleted or not. */
export const selectAccountEvenDeleted = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(accounts)
    .where(matchesId(accounts, companyId, id));

const ORDER_COLUMNS = { created_at: accounts.createdAt, updated_at: accounts.updatedAt, name: accounts.name };
export type AccountOrder = keyof typeof ORDER_COLUMNS;

/** Reads a page of a company's accounts, without denied ones. */
export const readAccounts = (
  db: ControlDb,
  companyId: string,
  { deletionFilter, denials }: { deletionFilter: DeletionFilter; denials: Denials },
  page: PageRequest<AccountOrder>,
) =>
  readPage(
    db,
    {
      table: accounts,
      filter: and(
        eq(accounts.companyId, companyId),
        matchesDeletion(accounts, deletionFilter),
        isNotDenied(accounts.id, denials),
      ) as SQL,
    },
    { ...page, by: ORDER_COLUMNS[page.by] },
  );

/**
 * Clears the default flag of the current default account, in the batch that sets it on another: on one that the batch
 * inserts, or on the account `newDefault`, if that account exists and is active or is activated by the change.
 */
export const clearDefault = (
  db: ControlDb,
  companyId: string,
  now: number,
  newDefault?: { id: string; isActivated: boolean },
) =>
  db
    .update(accounts)
    .set({ isDefault: false, updatedAt: now })
    .where(
      and(
        eq(accounts.companyId, companyId),
        eq(accounts.isDefault, true),
        isNull(accounts.deletedAt),
        newDefault &&
          existsSql(
            accounts,
            matchesUndeletedId(accounts, companyId, newDefault.id),
            newDefault.isActivated ? undefined : eq(accounts.isActive, true),
          ),
      ),
    );

export type AccountChanges = Partial<Pick<Account, 'name' | 'metadata' | 'isActive' | 'isDefault'>>;

/**
 * Changes an account that is not deleted, unless it would be an inactive default. `isDefault: false` is ignored: only
 * `clearDefault` takes the default away.
 */
export const updateAccount = (db: ControlDb, companyId: string, id: string, now: number, changes: AccountChanges) =>
  db
    .update(accounts)
    .set({ ...changes, isDefault: changes.isDefault || undefined, updatedAt: now })
    .where(
      and(
        matchesUndeletedId(accounts, companyId, id),
        changes.isActive === false ? eq(accounts.isDefault, false) : undefined,
        changes.isDefault && !changes.isActive ? eq(accounts.isActive, true) : undefined,
      ),
    )
    .returning();

const countAttachedUsers = (companyId: string, id: string) =>
  sql<number>`coalesce((select users from ${accountUserCounts} where company_id = ${companyId} and account_id = ${id}), 0)`;
const countAttachedServiceAccounts = (companyId: string, id: string) =>
  sql<number>`(select count(*) from ${serviceAccounts} where company_id = ${companyId} and account_id = ${id} and deleted_at is null)`;

/** Selects whether users or service accounts are attached to an account, which prevents its deletion. */
export const selectAccountUse = (db: ControlDb, companyId: string, id: string) =>
  db
    .select({
      users: countAttachedUsers(companyId, id).as('users'),
      serviceAccounts: countAttachedServiceAccounts(companyId, id).as('service_accounts'),
    })
    .from(sql`(select 1)`);

/** Deletes an account, unless it is deleted, the default (so that one always remains) or still used. */
export const softDeleteAccount = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(accounts)
    .set({ deletedAt: now, updatedAt: now })
    .where(
      and(
        matchesUndeletedId(accounts, companyId, id),
        eq(accounts.isDefault, false),
        sql`${countAttachedUsers(companyId, id)} = 0`,
        sql`${countAttachedServiceAccounts(companyId, id)} = 0`,
      ),
    )
    .returning({ id: accounts.id });

/** Restores a deleted account. It is no longer the default. */
export const undeleteAccount = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(accounts)
    .set({ deletedAt: null, isDefault: false, updatedAt: now })
    .where(and(matchesId(accounts, companyId, id), isNotNull(accounts.deletedAt)))
    .returning();
