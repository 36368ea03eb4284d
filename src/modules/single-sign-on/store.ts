import { and, eq, gt, lte, notLike, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from '../../db/schema/companies.ts';
import { ssoAssertions, ssoCodes, ssoConfigurations, ssoLogins } from '../../db/schema/single-sign-on.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type { OidcSettings, SamlSettings } from '../../db/schema/single-sign-on.ts';
export type Configuration = typeof ssoConfigurations.$inferSelect;

export const selectConfiguration = (db: ControlDb, companyId: string) =>
  db.select().from(ssoConfigurations).where(eq(ssoConfigurations.companyId, companyId));

/**
 * Stores the configuration of a company, in place of the previous one. @param keepsSecret whether it keeps the previous secret:
 * then nothing is stored if that secret was changed since it was read
 */
export const putConfiguration = (db: ControlDb, { createdAt, ...record }: Configuration, keepsSecret: boolean) =>
  db
    .insert(ssoConfigurations)
    .values({ ...record, createdAt })
    .onConflictDoUpdate({
      target: ssoConfigurations.companyId,
      set: record,
      ...(keepsSecret &&
        record.clientSecret !== null && { setWhere: eq(ssoConfigurations.clientSecret, record.clientSecret) }),
    })
    .returning();

export const deleteConfiguration = (db: ControlDb, companyId: string) =>
  db.delete(ssoConfigurations).where(eq(ssoConfigurations.companyId, companyId));

/** Selects configurations whose client secret is encrypted under an older key: it does not begin with `prefix`. */
export const selectConfigurationsUnderOlderKey = (db: ControlDb, prefix: string, limit: number) =>
  db
    .select({ companyId: ssoConfigurations.companyId, clientSecret: ssoConfigurations.clientSecret })
    .from(ssoConfigurations)
    .where(notLike(ssoConfigurations.clientSecret, `${prefix}%`))
    .limit(limit);

/** Stores a client secret encrypted again under another key, unless it was changed since it was read. */
export const replaceClientSecret = (
  db: ControlDb,
  oldConfiguration: Pick<Configuration, 'companyId' | 'clientSecret'>,
  secret: string | null,
) =>
  db
    .update(ssoConfigurations)
    .set({ clientSecret: secret })
    .where(
      and(
        eq(ssoConfigurations.companyId, oldConfiguration.companyId),
        sql`${ssoConfigurations.clientSecret} is ${oldConfiguration.clientSecret}`,
      ),
    );

/** Ends the company's sign-ins in progress, and its codes that are not exchanged yet. */
export const endPendingSignIns = (db: ControlDb, companyId: string) =>
  [
    db.delete(ssoLogins).where(eq(ssoLogins.companyId, companyId)),
    db.delete(ssoCodes).where(eq(ssoCodes.companyId, companyId)),
  ] as const;

export const insertLogin = (db: ControlDb, record: typeof ssoLogins.$inferInsert) =>
  db.insert(ssoLogins).values(record);

/** Deletes a sign-in in progress and returns it, so that it can be finished only once. */
export const consumeLogin = (db: ControlDb, companyId: string, stateDigest: string, now: number) =>
  db
    .delete(ssoLogins)
    .where(
      and(eq(ssoLogins.stateDigest, stateDigest), eq(ssoLogins.companyId, companyId), gt(ssoLogins.expiresAt, now)),
    )
    .returning();

export const insertAssertion = (db: ControlDb, record: typeof ssoAssertions.$inferInsert) =>
  db.insert(ssoAssertions).values(record);

export const insertCode = (db: ControlDb, record: typeof ssoCodes.$inferInsert) => db.insert(ssoCodes).values(record);

type CodeDigests = Record<'codeDigest' | 'exchangeDigest', string>;

const isLiveCode = (digests: CodeDigests, now: number) =>
  and(
    eq(ssoCodes.codeDigest, digests.codeDigest),
    eq(ssoCodes.exchangeDigest, digests.exchangeDigest),
    gt(ssoCodes.expiresAt, now),
  );

export const selectCompanyOfCode = (db: ControlDb, digests: CodeDigests, now: number) =>
  db
    .select({ id: companies.id, suspendedAt: companies.suspendedAt })
    .from(ssoCodes)
    .innerJoin(companies, eq(companies.id, ssoCodes.companyId))
    .where(isLiveCode(digests, now));

/**
 * Deletes and returns a code, so that only the client that began its sign-in can exchange it, once. While the company is
 * suspended it is kept.
 */
export const consumeCode = (db: ControlDb, digests: CodeDigests, now: number) =>
  db
    .delete(ssoCodes)
    .where(and(isLiveCode(digests, now), isCompanyActive(ssoCodes.companyId)))
    .returning();

/** Deletes expired rows of every company. */
export const deleteExpired = (db: ControlDb, now: number) =>
  [
    db.delete(ssoLogins).where(lte(ssoLogins.expiresAt, now)),
    db.delete(ssoCodes).where(lte(ssoCodes.expiresAt, now)),
    db.delete(ssoAssertions).where(lte(ssoAssertions.expiresAt, now)),
  ] as const;
