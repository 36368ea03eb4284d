import { and, eq, gt, inArray, isNotNull, isNull, lt, not, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { mailConsents, scheduledMails } from '../../db/schema/schedules.ts';
import { outsiders } from '../../db/schema/share-contexts.ts';
import { users } from '../../db/schema/users.ts';
import { existsSql, HAS_CHANGED_ROWS, insertWhen, matchesId } from '../../db/statements.ts';

export type MailConsent = typeof mailConsents.$inferSelect;

/** An email address, in lower case, and the company whose schedules will send to it. */
export interface MailAddress {
  companyId: string;
  email: string;
}

/** The maximum number of scheduled mails that one outside address gets within a day, from all companies together. */
const MAX_MAILS_PER_ADDRESS = 50;

const isConsentOfAddress = ({ companyId, email }: MailAddress): SQL =>
  and(eq(mailConsents.companyId, companyId), eq(mailConsents.email, email)) as SQL;

/** Returns the SQL condition that the address has ended all mails of the company. */
const hasEndedMails = (to: MailAddress): SQL =>
  existsSql(mailConsents, isConsentOfAddress(to), isNotNull(mailConsents.endedAt));

/** Returns the SQL condition that the address belongs to an active user of the company, who needs no consent and has no limit. */
const isAddressOfUser = ({ companyId, email }: MailAddress): SQL =>
  existsSql(
    users,
    eq(users.companyId, companyId),
    eq(users.email, email),
    eq(users.isActive, true),
    isNull(users.deletedAt),
  );

/** Returns the SQL condition that the address has consented, or has signed in to the portal. */
const hasConsented = (to: MailAddress): SQL =>
  or(
    existsSql(mailConsents, isConsentOfAddress(to), isNotNull(mailConsents.agreedAt)),
    existsSql(outsiders, eq(outsiders.companyId, to.companyId), eq(outsiders.email, to.email)),
  ) as SQL;

const isBelowMailLimit = ({ email }: MailAddress, sentSince: number): SQL =>
  sql`(select count(*) from ${scheduledMails} where ${and(eq(scheduledMails.email, email), gt(scheduledMails.sentAt, sentSince))}) < ${MAX_MAILS_PER_ADDRESS}`;

/** Returns the SQL condition that the address may be mailed; evaluated by the write that starts the mail. */
export const mayBeMailed = (to: MailAddress, sentSince: number): SQL =>
  and(not(hasEndedMails(to)), or(isAddressOfUser(to), and(hasConsented(to), isBelowMailLimit(to, sentSince)))) as SQL;

/** Counts a mail, if the previous statement of the batch started a mail. */
export const countMail = (db: ControlDb, record: typeof scheduledMails.$inferSelect) =>
  insertWhen(db, scheduledMails, record, HAS_CHANGED_ROWS);

/** Removes a mail from the count, as it was not sent. */
export const uncountMail = (db: ControlDb, { companyId, email }: MailAddress, runId: string) =>
  db
    .delete(scheduledMails)
    .where(
      and(eq(scheduledMails.companyId, companyId), eq(scheduledMails.runId, runId), eq(scheduledMails.email, email)),
    );

/** Deletes mails that no longer count, as they were sent before a moment. */
export const deleteCountedMails = (db: ControlDb, cutoff: number, limit: number) =>
  db
    .delete(scheduledMails)
    .where(
      inArray(
        sql`rowid`,
        db.select({ rowid: sql`rowid` }).from(scheduledMails).where(lt(scheduledMails.sentAt, cutoff)).limit(limit),
      ),
    );

/** Selects the consent of an address to mails of a company: always one row. */
export const selectConsentStatus = (db: ControlDb, to: MailAddress, since: number) =>
  db.all<
    Record<'hasEnded' | 'isUsers' | 'hasAgreed' | 'isBelowLimit' | 'wasAsked', 0 | 1>
  >(sql`select ${hasEndedMails(to)} as hasEnded, ${isAddressOfUser(to)} as isUsers,
    ${hasConsented(to)} as hasAgreed, ${isBelowMailLimit(to, since)} as isBelowLimit,
    ${existsSql(mailConsents, isConsentOfAddress(to), isNotNull(mailConsents.askedAt))} as wasAsked`);

/** Records that an address is about to be asked for consent: once, and not if it has answered. Without a row no mail is sent. */
export const recordConsentRequest = (
  db: ControlDb,
  { id, companyId, email }: MailAddress & { id: string },
  now: number,
) =>
  db
    .insert(mailConsents)
    .values({ id, companyId, email, askedAt: now, agreedAt: null, endedAt: null })
    .onConflictDoUpdate({
      target: [mailConsents.companyId, mailConsents.email],
      set: { askedAt: now },
      setWhere: and(isNull(mailConsents.askedAt), isNull(mailConsents.agreedAt), isNull(mailConsents.endedAt)) as SQL,
    })
    .returning();

/** Removes the record of a consent request, as the mail service did not accept the mail. */
export const deleteConsentRequest = (db: ControlDb, { companyId, id }: Pick<MailConsent, 'companyId' | 'id'>) =>
  db
    .update(mailConsents)
    .set({ askedAt: null })
    .where(matchesId(mailConsents, companyId, id));

export const selectConsent = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(mailConsents)
    .where(matchesId(mailConsents, companyId, id));

/** Records the consent of an address, unless it has ended all mails. */
export const recordConsent = (db: ControlDb, { companyId, id }: Pick<MailConsent, 'companyId' | 'id'>, now: number) =>
  db
    .update(mailConsents)
    .set({ agreedAt: sql`coalesce(${mailConsents.agreedAt}, ${now})` })
    .where(and(matchesId(mailConsents, companyId, id), isNull(mailConsents.endedAt)))
    .returning({ id: mailConsents.id });

/** Records, for good, that an address has ended all mails of the company. */
export const endAllMails = (db: ControlDb, { id, companyId, email }: MailAddress & { id: string }, now: number) =>
  db
    .insert(mailConsents)
    .values({ id, companyId, email, askedAt: null, agreedAt: null, endedAt: now })
    .onConflictDoUpdate({
      target: [mailConsents.companyId, mailConsents.email],
      set: { endedAt: sql`coalesce(${mailConsents.endedAt}, ${now})` },
    });
