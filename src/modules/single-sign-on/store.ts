import { and, eq, gt, lte, notLike, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { ssoAssertions, ssoCodes, ssoConfigurations, ssoLogins } from '../../db/schema/single-sign-on.ts';

export type { OidcSettings, SamlSettings } from '../../db/schema/single-sign-on.ts';
export type Configuration = typeof ssoConfigurations.$inferSelect;

export const selectConfiguration = (db: ControlDb, companyId: string) =>
  db.select().from(ssoConfigurations).where(eq(ssoConfigurations.companyId, companyId));

/**
 * Stores the configuration of a company, in place of the one before.
 * @param keeps whether its secret is that of the one before: then nothing is stored where that has another one by now
 */
export const putConfiguration = (db: ControlDb, { createdAt, ...record }: Configuration, keeps: boolean) =>
  db
    .insert(ssoConfigurations)
    .values({ ...record, createdAt })
    .onConflictDoUpdate({
      target: ssoConfigurations.companyId,
      set: record,
      ...(keeps &&
        record.clientSecret !== null && { setWhere: eq(ssoConfigurations.clientSecret, record.clientSecret) }),
    })
    .returning();

export const deleteConfiguration = (db: ControlDb, companyId: string) =>
  db.delete(ssoConfigurations).where(eq(ssoConfigurations.companyId, companyId));

/** Configurations whose client secret does not begin with `prefix`: it is encrypted under an older key. */
export const selectConfigurationsNotUnder = (db: ControlDb, prefix: string, limit: number) =>
  db
    .select({ companyId: ssoConfigurations.companyId, clientSecret: ssoConfigurations.clientSecret })
    .from(ssoConfigurations)
    .where(notLike(ssoConfigurations.clientSecret, `${prefix}%`))
    .limit(limit);

/** Puts the same secret under another key in the place of the company's, unless that has changed. */
export const renewClientSecret = (
  db: ControlDb,
  old: Pick<Configuration, 'companyId' | 'clientSecret'>,
  renewed: string | null,
) =>
  db
    .update(ssoConfigurations)
    .set({ clientSecret: renewed })
    .where(
      and(
        eq(ssoConfigurations.companyId, old.companyId),
        sql`${ssoConfigurations.clientSecret} is ${old.clientSecret}`,
      ),
    );

/** Ends what is under way with the provider that a company had: sign-ins and codes not yet exchanged. */
export const endPending = (db: ControlDb, companyId: string) =>
  [
    db.delete(ssoLogins).where(eq(ssoLogins.companyId, companyId)),
    db.delete(ssoCodes).where(eq(ssoCodes.companyId, companyId)),
  ] as const;

export const insertLogin = (db: ControlDb, record: typeof ssoLogins.$inferInsert) =>
  db.insert(ssoLogins).values(record);

/** Takes a sign-in that is under way, so that nobody takes it again. */
export const takeLogin = (db: ControlDb, companyId: string, stateDigest: string, now: number) =>
  db
    .delete(ssoLogins)
    .where(
      and(eq(ssoLogins.stateDigest, stateDigest), eq(ssoLogins.companyId, companyId), gt(ssoLogins.expiresAt, now)),
    )
    .returning();

export const insertAssertion = (db: ControlDb, record: typeof ssoAssertions.$inferInsert) =>
  db.insert(ssoAssertions).values(record);

export const insertCode = (db: ControlDb, record: typeof ssoCodes.$inferInsert) => db.insert(ssoCodes).values(record);

/**
 * Takes a code, so that nobody takes it again, for the client that began its sign-in. The code itself says which company it
 * belongs to.
 */
export const takeCode = (db: ControlDb, digests: { code: string; exchange: string }, now: number) =>
  db
    .delete(ssoCodes)
    .where(
      and(
        eq(ssoCodes.codeDigest, digests.code),
        eq(ssoCodes.exchangeDigest, digests.exchange),
        gt(ssoCodes.expiresAt, now),
      ),
    )
    .returning();

/** What has expired, of every company. */
export const deleteExpired = (db: ControlDb, now: number) =>
  [
    db.delete(ssoLogins).where(lte(ssoLogins.expiresAt, now)),
    db.delete(ssoCodes).where(lte(ssoCodes.expiresAt, now)),
    db.delete(ssoAssertions).where(lte(ssoAssertions.expiresAt, now)),
  ] as const;
