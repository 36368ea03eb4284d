import { and, eq, gt, isNull, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { isBindingOfPrincipal, selectAccess } from '../../access/sources.ts';
import { type ControlDb, readTogether } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { type PageRequest, readPage } from '../../db/page.ts';
import { prepareReads } from '../../db/prepared-reads.ts';
import { accounts } from '../../db/schema/accounts.ts';
import { companies } from '../../db/schema/companies.ts';
import { groupBindings } from '../../db/schema/groups.ts';
import { apiKeys, serviceAccounts } from '../../db/schema/service-accounts.ts';
import { makeContainsSql, makeNocaseSql } from '../../db/search.ts';
import { existsSql, insertWhen, matchesDeletion, matchesId, matchesUndeletedId } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';

export type ServiceAccount = typeof serviceAccounts.$inferSelect;
/** A service account to be stored; in the company's default account where `accountId` is missing. */
export type NewServiceAccount = Omit<ServiceAccount, 'accountId'> & { accountId?: string };
export type ApiKey = typeof apiKeys.$inferSelect;

/** Inserts a service account if its account is not deleted. The default account is found at that moment. */
export function insertServiceAccount(db: ControlDb, record: NewServiceAccount) {
  const { companyId, accountId } = record;
  const account =
    accountId === undefined
      ? (and(eq(accounts.companyId, companyId), eq(accounts.isDefault, true)) as SQL)
      : matchesUndeletedId(accounts, companyId, accountId);
  const insertedRecord = { ...record, accountId: sql`(select ${accounts.id} from ${accounts} where ${account})` };
  return insertWhen(db, serviceAccounts, insertedRecord, existsSql(accounts, account)).returning({
    accountId: serviceAccounts.accountId,
  });
}

/** Selects the service account of an id, unless it is deleted. */
export const selectServiceAccount = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(serviceAccounts)
    .where(matchesUndeletedId(serviceAccounts, companyId, id));

/** Selects the service account of an id, even a deleted one. */
export const selectServiceAccountEvenDeleted = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(serviceAccounts)
    .where(matchesId(serviceAccounts, companyId, id));

const ORDER_COLUMNS = {
  created_at: serviceAccounts.createdAt,
  updated_at: serviceAccounts.updatedAt,
  name: serviceAccounts.name,
  name_in_any_case: makeNocaseSql(serviceAccounts.name),
  last_used_at: serviceAccounts.lastUsedAt,
};

/** The filter of a list of service accounts. */
export interface ServiceAccountFilter {
  accountId?: string;
  includesInactive: boolean;
  lifecycle: 'living' | 'all';
  /** Part of the name. */
  search?: string;
  denials: Denials;
}

export type ServiceAccountPageRequest = PageRequest<keyof typeof ORDER_COLUMNS>;

/** Reads a page of a company's service accounts. */
export const readServiceAccounts = (
  db: ControlDb,
  companyId: string,
  { accountId, includesInactive, lifecycle, search = '', denials }: ServiceAccountFilter,
  page: ServiceAccountPageRequest,
) =>
  readPage(
    db,
    {
      table: serviceAccounts,
      filter: and(
        eq(serviceAccounts.companyId, companyId),
        accountId === undefined ? undefined : eq(serviceAccounts.accountId, accountId),
        includesInactive ? undefined : eq(serviceAccounts.isActive, true),
        matchesDeletion(serviceAccounts, lifecycle),
        makeContainsSql([serviceAccounts.name], search),
        isNotDenied(serviceAccounts.id, denials),
      ) as SQL,
    },
    { ...page, by: ORDER_COLUMNS[page.by] },
  );

export type ServiceAccountChanges = Partial<Pick<ServiceAccount, 'name' | 'description' | 'isActive' | 'metadata'>>;

export const updateServiceAccount = (
  db: ControlDb,
  companyId: string,
  id: string,
  now: number,
  changes: ServiceAccountChanges,
) =>
  db
    .update(serviceAccounts)
    .set({ ...changes, updatedAt: now })
    .where(matchesUndeletedId(serviceAccounts, companyId, id))
    .returning();

/** Marks a service account that is not deleted yet as deleted. */
export const softDeleteServiceAccount = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(serviceAccounts)
    .set({ deletedAt: now, updatedAt: now })
    .where(matchesUndeletedId(serviceAccounts, companyId, id))
    .returning({ id: serviceAccounts.id });

/** Revokes the keys and removes the memberships, for the batch that deletes the service account. */
export const endServiceAccount = (db: ControlDb, companyId: string, id: string, now: number) =>
  [
    db
      .update(apiKeys)
      .set({ isActive: false, updatedAt: now })
      .where(and(eq(apiKeys.companyId, companyId), eq(apiKeys.serviceAccountId, id), eq(apiKeys.isActive, true))),
    db
      .delete(groupBindings)
      .where(isBindingOfPrincipal({ companyId, principalType: 'service_account', principalId: id })),
  ] as const;

/** Inserts a key if its service account is not deleted. */
export const insertApiKey = (db: ControlDb, record: ApiKey) =>
  insertWhen(
    db,
    apiKeys,
    record,
    existsSql(serviceAccounts, matchesUndeletedId(serviceAccounts, record.companyId, record.serviceAccountId)),
  ).returning({ id: apiKeys.id });

const KEY_ORDER_COLUMNS = {
  created_at: apiKeys.createdAt,
  updated_at: apiKeys.updatedAt,
  last_used_at: apiKeys.lastUsedAt,
};
export type KeyPageRequest = PageRequest<keyof typeof KEY_ORDER_COLUMNS>;

/** Reads a page of a service account's keys, revoked ones included. */
export const readKeys = (
  db: ControlDb,
  companyId: string,
  { serviceAccountId, denials }: { serviceAccountId: string; denials: Denials },
  page: KeyPageRequest,
) =>
  readPage(
    db,
    {
      table: apiKeys,
      filter: and(
        eq(apiKeys.companyId, companyId),
        eq(apiKeys.serviceAccountId, serviceAccountId),
        isNotDenied(apiKeys.id, denials),
      ) as SQL,
    },
    { ...page, by: KEY_ORDER_COLUMNS[page.by] },
  );

const isKey = (companyId: string, serviceAccountId: string, id: string) =>
  and(eq(apiKeys.companyId, companyId), eq(apiKeys.serviceAccountId, serviceAccountId), eq(apiKeys.id, id)) as SQL;

export const selectKey = (db: ControlDb, companyId: string, serviceAccountId: string, id: string) =>
  db
    .select()
    .from(apiKeys)
    .where(isKey(companyId, serviceAccountId, id));

/** Revokes a key that is not revoked yet. */
export const deactivateKey = (db: ControlDb, companyId: string, serviceAccountId: string, id: string, now: number) =>
  db
    .update(apiKeys)
    .set({ isActive: false, updatedAt: now })
    .where(and(isKey(companyId, serviceAccountId, id), eq(apiKeys.isActive, true)))
    .returning({ id: apiKeys.id });

/**
 * Reads a usable key with its owner, and the rows its owner's access is compiled from, in one batch. Revoked and expired keys,
 * and keys of an inactive or deleted service account or account, are not found.
 */
export async function readKeyAndAccess(db: ControlDb, accessKey: string, now: number) {
  const {
    key: [key],
    access,
  } = await readTogether(db, selectKeyAndAccess(db, { accessKey, now }));
  return { key, access };
}

export type UsableKey = NonNullable<Awaited<ReturnType<typeof readKeyAndAccess>>['key']>;

const selectKeyAndAccess = prepareReads((db, makePlaceholder: (name: 'accessKey' | 'now') => SQL<string>) => {
  const selectKeyColumn = (column: SQLiteColumn) =>
    sql<string>`(select ${column} from ${apiKeys} where ${eq(apiKeys.accessKey, makePlaceholder('accessKey'))})`;
  const key = db
    .select({
      id: apiKeys.id,
      accessKey: apiKeys.accessKey,
      companyId: apiKeys.companyId,
      companySlug: companies.slug,
      suspendedAt: companies.suspendedAt,
      serviceAccountId: apiKeys.serviceAccountId,
      accountId: serviceAccounts.accountId,
      name: serviceAccounts.name,
      salt: apiKeys.salt,
      derivationVersion: apiKeys.derivationVersion,
      secretDigest: apiKeys.secretDigest,
      expiresAt: apiKeys.expiresAt,
      lastUsedAt: apiKeys.lastUsedAt,
    })
    .from(apiKeys)
    .innerJoin(
      serviceAccounts,
      and(eq(serviceAccounts.id, apiKeys.serviceAccountId), eq(serviceAccounts.companyId, apiKeys.companyId)),
    )
    .innerJoin(accounts, and(eq(accounts.id, serviceAccounts.accountId), eq(accounts.companyId, apiKeys.companyId)))
    .innerJoin(companies, eq(companies.id, apiKeys.companyId))
    .where(
      and(
        eq(apiKeys.accessKey, makePlaceholder('accessKey')),
        eq(apiKeys.isActive, true),
        gt(apiKeys.expiresAt, makePlaceholder('now')),
        eq(serviceAccounts.isActive, true),
        isNull(serviceAccounts.deletedAt),
        eq(accounts.isActive, true),
        isNull(accounts.deletedAt),
      ),
    );
  return {
    key,
    access: selectAccess(db, {
      companyId: selectKeyColumn(apiKeys.companyId),
      principalType: 'service_account',
      principalId: selectKeyColumn(apiKeys.serviceAccountId),
      accountId: sql<string>`(select ${serviceAccounts.accountId} from ${serviceAccounts} where ${matchesId(serviceAccounts, selectKeyColumn(apiKeys.companyId), selectKeyColumn(apiKeys.serviceAccountId))})`,
    }),
  };
});
