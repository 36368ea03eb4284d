import { and, eq, gt, inArray, isNotNull, isNull, lt, lte, ne, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { insertWhen } from '../../db/insert-when.ts';
import { mailRequests } from '../../db/schema/mails.ts';

export type MailRequestRecord = typeof mailRequests.$inferSelect;

const BASE_WAIT_MS = 60_000;
const LONGEST_DOUBLINGS = 6;

/** Keeps a request. */
export const insertRequest = (db: ControlDb, record: MailRequestRecord) => db.insert(mailRequests).values(record);

/** Keeps a request, if the statement before it in the batch changed a row. */
export const insertRequestAfterChange = (db: ControlDb, record: MailRequestRecord) =>
  insertWhen(db, mailRequests, record, sql`changes() > 0`);

/** Keeps a request unless `limit` of the same count came after `since`. */
export const insertLimitedRequest = (
  db: ControlDb,
  record: MailRequestRecord,
  { limit, since }: { limit: number; since: number },
) => {
  const earlier = db
    .select({ count: sql`count(*)` })
    .from(mailRequests)
    .where(and(eq(mailRequests.countedAs, record.countedAs), gt(mailRequests.requestedAt, since)));
  return insertWhen(db, mailRequests, record, sql`${earlier} < ${limit}`);
};

/** Whether a request was kept. */
export const selectRequest = (db: ControlDb, id: string) =>
  db.select({ id: mailRequests.id }).from(mailRequests).where(eq(mailRequests.id, id));

/** What is true where a request was kept: for other writes of its batch. */
export const isKept = (id: string): SQL => sql`exists (select 1 from ${mailRequests} where ${mailRequests.id} = ${id})`;

/** Notes that a request is done. */
export const finishRequest = (db: ControlDb, id: string) =>
  db.update(mailRequests).set({ dueAt: null }).where(eq(mailRequests.id, id));

/** Takes up to `limit` requests that are due, for the next minute or, after failures, up to an hour. */
export const claimDue = (db: ControlDb, now: number, limit: number) =>
  db
    .update(mailRequests)
    .set({
      dueAt: sql`${now} + (${BASE_WAIT_MS} << min(${mailRequests.attempts}, ${LONGEST_DOUBLINGS}))`,
      attempts: sql`${mailRequests.attempts} + 1`,
    })
    .where(
      inArray(
        mailRequests.id,
        db
          .select({ id: mailRequests.id })
          .from(mailRequests)
          .where(lte(mailRequests.dueAt, now))
          .orderBy(mailRequests.dueAt)
          .limit(limit),
      ),
    )
    .returning();

/** Gives up on requests of a kind that were made before `before`. */
export const giveUp = (db: ControlDb, kind: MailRequestRecord['kind'], before: number) =>
  db
    .update(mailRequests)
    .set({ dueAt: null })
    .where(and(isNotNull(mailRequests.dueAt), eq(mailRequests.kind, kind), lt(mailRequests.requestedAt, before)));

/** Forgets requests that are done and no longer counted: invitations made before `invitations`, others before `others`. */
export const deleteDone = (db: ControlDb, before: { invitations: number; others: number }) =>
  db
    .delete(mailRequests)
    .where(
      and(
        isNull(mailRequests.dueAt),
        lt(mailRequests.requestedAt, before.others),
        or(ne(mailRequests.kind, 'invitation'), lt(mailRequests.requestedAt, before.invitations)),
      ),
    );
