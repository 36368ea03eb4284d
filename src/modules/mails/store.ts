import { and, eq, gt, inArray, isNotNull, isNull, lt, lte, notInArray, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { mailRequests } from '../../db/schema/mails.ts';
import { type Condition, existsSql, HAS_CHANGED_ROWS, insertWhen } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type MailRequestRecord = typeof mailRequests.$inferSelect;

const BASE_WAIT_MS = 60_000;
const MAX_BACKOFF_DOUBLINGS = 6;

export const insertRequest = (db: ControlDb, record: MailRequestRecord) => db.insert(mailRequests).values(record);

/** Stores a request, if the previous statement of the batch changed a row. */
export const insertRequestAfterChange = (db: ControlDb, record: MailRequestRecord) =>
  insertWhen(db, mailRequests, record, HAS_CHANGED_ROWS);

/** Stores a request if `condition` holds, unless `limit` requests that count as the same were stored after `since`. */
export const insertLimitedRequest = (
  db: ControlDb,
  record: MailRequestRecord,
  { limit, since }: { limit: number; since: number },
  condition: Condition = sql`true`,
) => {
  const earlierRequests = db
    .select({ count: sql`count(*)` })
    .from(mailRequests)
    .where(and(eq(mailRequests.countedAs, record.countedAs), gt(mailRequests.requestedAt, since)));
  return insertWhen(db, mailRequests, record, sql`${earlierRequests} < ${limit} and ${condition}`);
};

/**
 * Claims a request until `dueAt`, unless it is not stored, is done, or somebody else has claimed it since `record` was read. A
 * request that would exceed the company's quota is stored as done.
 */
export const extendClaim = (db: ControlDb, record: MailRequestRecord, dueAt: number) =>
  db
    .update(mailRequests)
    .set({ dueAt })
    .where(and(eq(mailRequests.id, record.id), sql`${mailRequests.dueAt} = ${record.dueAt}`));

/** Returns the SQL condition that the request is stored; for other writes of its transaction. */
export const isRequestStored = (id: string): SQL => existsSql(mailRequests, eq(mailRequests.id, id));

export const finishRequest = (db: ControlDb, id: string) =>
  db.update(mailRequests).set({ dueAt: null }).where(eq(mailRequests.id, id));

/** Claims up to `limit` requests that are due: for a minute, and after each failure twice as long, up to an hour. */
export const claimDueRequests = (db: ControlDb, now: number, limit: number) =>
  db
    .update(mailRequests)
    .set({
      dueAt: sql`${now} + (${BASE_WAIT_MS} << min(${mailRequests.attempts}, ${MAX_BACKOFF_DOUBLINGS}))`,
      attempts: sql`${mailRequests.attempts} + 1`,
    })
    .where(
      inArray(
        mailRequests.id,
        db
          .select({ id: mailRequests.id })
          .from(mailRequests)
          .where(and(lte(mailRequests.dueAt, now), isCompanyActive(mailRequests.companyId)))
          .orderBy(mailRequests.dueAt)
          .limit(limit),
      ),
    )
    .returning();

/** Gives up on requests of a kind that were made before a time. */
export const giveUpRequests = (db: ControlDb, kind: MailRequestRecord['kind'], cutoff: number) =>
  db
    .update(mailRequests)
    .set({ dueAt: null })
    .where(and(isNotNull(mailRequests.dueAt), eq(mailRequests.kind, kind), lt(mailRequests.requestedAt, cutoff)));

/** The mail kinds that are counted for a day. */
const KINDS_COUNTED_DAILY = ['invitation', 'schedule_consent'] as const;

/** Deletes finished requests no longer counted: daily counted kinds before `dailyCutoff`, others before `otherCutoff`. */
export const deleteFinishedRequests = (db: ControlDb, cutoffs: { dailyCutoff: number; otherCutoff: number }) =>
  db
    .delete(mailRequests)
    .where(
      and(
        isNull(mailRequests.dueAt),
        lt(mailRequests.requestedAt, cutoffs.otherCutoff),
        or(notInArray(mailRequests.kind, [...KINDS_COUNTED_DAILY]), lt(mailRequests.requestedAt, cutoffs.dailyCutoff)),
      ),
    );
