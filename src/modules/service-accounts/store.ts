import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { accounts } from '../accounts/tables.ts';
import { companies } from '../companies/tables.ts';
import { accessReads } from '../policies/service.ts';
import { apiKeys, serviceAccounts } from './tables.ts';

export type ServiceAccount = typeof serviceAccounts.$inferSelect;
export type ApiKey = typeof apiKeys.$inferSelect;

export const insertServiceAccount = (db: ControlDb, record: ServiceAccount) => db.insert(serviceAccounts).values(record);

export const insertApiKey = (db: ControlDb, record: ApiKey) => db.insert(apiKeys).values(record);

/**
 * A usable key with its owner, and the rows its owner's access is compiled from, in one batch. Revoked and expired keys,
 * and keys of an inactive or deleted service account or account, are not found.
 */
export async function readKeyAndAccess(db: ControlDb, accessKey: string, now: number) {
  const owner = (column: 'service_account_id' | 'company_id') =>
    sql<string>`(select ${sql.identifier(column)} from api_keys where access_key = ${accessKey})`;
  const key = db
    .select({
      id: apiKeys.id,
      companyId: apiKeys.companyId,
      companySlug: companies.slug,
      serviceAccountId: apiKeys.serviceAccountId,
      accountId: serviceAccounts.accountId,
      salt: apiKeys.salt,
      derivationVersion: apiKeys.derivationVersion,
      secretDigest: apiKeys.secretDigest,
    })
    .from(apiKeys)
    .innerJoin(serviceAccounts, and(eq(serviceAccounts.id, apiKeys.serviceAccountId), eq(serviceAccounts.companyId, apiKeys.companyId)))
    .innerJoin(accounts, and(eq(accounts.id, serviceAccounts.accountId), eq(accounts.companyId, apiKeys.companyId)))
    .innerJoin(companies, eq(companies.id, apiKeys.companyId))
    .where(
      and(
        eq(apiKeys.accessKey, accessKey),
        eq(apiKeys.isActive, true),
        gt(apiKeys.expiresAt, now),
        eq(serviceAccounts.isActive, true),
        isNull(serviceAccounts.deletedAt),
        eq(accounts.isActive, true),
        isNull(accounts.deletedAt),
      ),
    );
  const [[found], ...access] = await db.batch([
    key,
    ...accessReads(db, {
      companyId: owner('company_id'),
      principalType: 'service_account',
      principalId: owner('service_account_id'),
      accountId: sql<string>`(select account_id from service_accounts where id = ${owner('service_account_id')})`,
    }),
  ]);
  return { key: found, access };
}
