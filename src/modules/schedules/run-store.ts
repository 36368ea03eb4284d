import { and, eq, inArray, isNull, lt, lte, ne, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { updateAttempt } from '../../db/job-leases.ts';
import {
  type Condition,
  type LastRun,
  scheduleDeliveries,
  scheduleRecipients,
  scheduleRuns,
  schedules,
} from '../../db/schema/schedules.ts';
import { existsSql, HAS_CHANGED_ROWS, insertWhen, matchesId } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';
import { countUse, mayMail } from '../usage/queries.ts';
import { countMail, mayBeMailed, uncountMail } from './consent-store.ts';
import { isRecipient, type Recipient, type Schedule } from './store.ts';

export type ScheduleRun = typeof scheduleRuns.$inferSelect;
export type Delivery = typeof scheduleDeliveries.$inferSelect;

/** A schedule that is due. */
export type DueSchedule = Pick<typeof schedules.$inferSelect, 'id' | 'companyId' | 'cron' | 'timeZone'> & {
  nextRunAt: number;
};

/** Selects due schedules of active companies, the first of each company before the second of any. */
export const selectDueSchedules = (db: ControlDb, now: number, limit: number) =>
  db.all<DueSchedule>(sql`select id, company_id as companyId, cron, time_zone as timeZone, next_run_at as nextRunAt from (
    select id, company_id, cron, time_zone, next_run_at, row_number() over (partition by company_id order by next_run_at, id) as place
    from ${schedules} where next_run_at <= ${now} and ${isCompanyActive(schedules.companyId)})
    order by place, next_run_at, id limit ${limit}`);

/** Inserts the runs of occurrences, each once even if concurrent workers insert them too, and sets the next occurrences. */
export function insertDueRuns(
  db: ControlDb,
  dueRuns: readonly (DueSchedule & { runId: string; nextOccurrence: number | null })[],
  now: number,
) {
  const dueRunsJson = JSON.stringify(
    dueRuns.map(({ id, nextRunAt, nextOccurrence, runId }) => ({ id, at: nextRunAt, next: nextOccurrence, runId })),
  );
  return {
    runs: db
      .insert(scheduleRuns)
      .select(
        sql`select value ->> 'runId', schedules.company_id, schedules.id, 'scheduled', schedules.next_run_at, 'queued', 0, ${now}, ${now}
          from json_each(${dueRunsJson}) cross join ${schedules} on schedules.id = value ->> 'id' and schedules.next_run_at = value ->> 'at'
          where true`,
      )
      .onConflictDoNothing()
      .returning({ companyId: scheduleRuns.companyId }),
    // From the list to the rows: the other way round each row would read the whole list.
    next: db
      .update(schedules)
      .set({ nextRunAt: sql`handed.value ->> 'next'` })
      .from(sql`json_each(${dueRunsJson}) as handed`)
      .where(sql`schedules.id = handed.value ->> 'id' and schedules.next_run_at = handed.value ->> 'at'`),
  };
}

/** Inserts a run started by hand, while the schedule exists and had fewer than `maxCount` such runs since a moment. */
export const insertManualRun = (
  db: ControlDb,
  { id, companyId, scheduleId, occurrence }: Pick<ScheduleRun, 'id' | 'companyId' | 'scheduleId' | 'occurrence'>,
  { now, maxCount, startedSince }: { now: number; maxCount: number; startedSince: number },
) => {
  const recentRunCount = sql`(select count(*) from ${scheduleRuns} where schedule_id = ${scheduleId} and kind = 'manual' and occurrence > ${startedSince})`;
  const record = { id, companyId, scheduleId, kind: 'manual', occurrence, status: 'queued', attempt: 0 } as const;
  return insertWhen(
    db,
    scheduleRuns,
    { ...record, dueAt: now, createdAt: now },
    and(existsSql(schedules, matchesId(schedules, companyId, scheduleId)), sql`${recentRunCount} < ${maxCount}`) as SQL,
  ).returning({ id: scheduleRuns.id });
};

/** Claims the company's longest waiting run that no attempt holds. */
export const claimRun = (db: ControlDb, companyId: string, { now, leaseUntil }: { now: number; leaseUntil: number }) =>
  db
    .update(scheduleRuns)
    .set({ status: 'running', attempt: sql`${scheduleRuns.attempt} + 1`, dueAt: leaseUntil })
    .where(
      inArray(
        scheduleRuns.id,
        db
          .select({ id: scheduleRuns.id })
          .from(scheduleRuns)
          .where(
            and(eq(scheduleRuns.companyId, companyId), ne(scheduleRuns.status, 'ended'), lte(scheduleRuns.dueAt, now)),
          )
          .orderBy(scheduleRuns.dueAt, scheduleRuns.occurrence)
          .limit(1),
      ),
    )
    .returning();

/** The number of consecutive failures after which a schedule is paused. */
const MAX_CONSECUTIVE_FAILURES = 3;

/**
 * Ends a run while this attempt holds it, and records the result on its schedule. `paused` returns a row if that has now failed
 * too often and is paused.
 */
export function endRun(db: ControlDb, run: ScheduleRun, lastRun: LastRun, now: number) {
  const { companyId, scheduleId } = run;
  const hasFailed = lastRun.status === 'failed';
  return {
    ended: updateAttempt(db, scheduleRuns, run, { status: 'ended' }),
    lastRun: db
      .update(schedules)
      .set({ lastRun, failures: hasFailed ? sql`${schedules.failures} + 1` : 0 })
      .where(and(matchesId(schedules, companyId, scheduleId), HAS_CHANGED_ROWS)),
    paused: db
      .update(schedules)
      .set({ status: 'paused', nextRunAt: null, version: sql`${schedules.version} + 1`, updatedAt: now })
      .where(
        and(
          matchesId(schedules, companyId, scheduleId),
          eq(schedules.status, 'active'),
          sql`${schedules.failures} >= ${MAX_CONSECUTIVE_FAILURES}`,
        ),
      )
      .returning({ id: schedules.id }),
  };
}

export const selectDeliveries = (db: ControlDb, { companyId, id }: ScheduleRun) =>
  db
    .select()
    .from(scheduleDeliveries)
    .where(and(eq(scheduleDeliveries.companyId, companyId), eq(scheduleDeliveries.runId, id)));

/**
 * Records that a mail of a run is about to be sent to a recipient: once over all attempts, while the recipient is subscribed,
 * an address may be mailed, and the company has mails left for the day and is not suspended. If `begun` has no row, the mail
 * must not be sent.
 * @param since the moment from which on mails to an address count
 */
export const beginDelivery = (
  db: ControlDb,
  { companyId, id: runId, scheduleId }: ScheduleRun,
  recipient: Recipient,
  { now, since }: { now: number; since: number },
) => {
  const { kind, subject } = recipient;
  const isWanted = and(isRecipient(companyId, scheduleId, recipient), isNull(scheduleRecipients.unsubscribedAt)) as SQL;
  const isAllowed = kind === 'email' ? mayBeMailed({ companyId, email: subject }, since) : undefined;
  return {
    begun: insertWhen(
      db,
      scheduleDeliveries,
      { companyId, runId, kind, subject, status: 'sending', problem: null },
      and(
        existsSql(scheduleRecipients, isWanted),
        isAllowed,
        mayMail({ companyId, at: now }),
        isCompanyActive(sql`${companyId}`),
      ) as SQL,
    )
      .onConflictDoNothing()
      .returning({ runId: scheduleDeliveries.runId }),
    counted: kind === 'email' ? [countMail(db, { companyId, runId, email: subject, sentAt: now })] : [],
    used: countUse(db, { companyId, at: now }, 'mails', 1, HAS_CHANGED_ROWS),
  };
};

const isDeliveryTo = (run: ScheduleRun, { kind, subject }: Recipient): SQL =>
  and(
    eq(scheduleDeliveries.companyId, run.companyId),
    eq(scheduleDeliveries.runId, run.id),
    eq(scheduleDeliveries.kind, kind),
    eq(scheduleDeliveries.subject, subject),
  ) as SQL;

/** Records the outcome of a delivery that was begun. */
export const endDelivery = (
  db: ControlDb,
  run: ScheduleRun,
  recipient: Recipient,
  outcome: Pick<Delivery, 'status' | 'problem'>,
) => db.update(scheduleDeliveries).set(outcome).where(isDeliveryTo(run, recipient));

/** Subtracts a mail from the company's use, as the mail service did not accept it. @param at when the delivery was begun */
export const subtractMailFromUse = (db: ControlDb, { companyId }: ScheduleRun, at: number) =>
  countUse(db, { companyId, at }, 'mails', -1);

/** Selects whether the company has mails left for the day. */
export const selectMailsLeft = (db: ControlDb, { companyId }: ScheduleRun, at: number) =>
  db.all<{ isLeft: 0 | 1 }>(sql`select ${mayMail({ companyId, at })} as isLeft`);

/** Deletes the record of a started delivery, because the mail service did not accept the mail. */
export const undoDelivery = (db: ControlDb, run: ScheduleRun, recipient: Recipient, at: number) => ({
  used: subtractMailFromUse(db, run, at),
  delivery: db.delete(scheduleDeliveries).where(isDeliveryTo(run, recipient)),
  count: uncountMail(db, { companyId: run.companyId, email: recipient.subject }, run.id),
});

/** Records that a recipient gets no mail of a run, with the reason. */
export const insertOutcome = (
  db: ControlDb,
  { companyId, id: runId }: ScheduleRun,
  { kind, subject }: Recipient,
  outcome: Pick<Delivery, 'status' | 'problem'>,
) =>
  db
    .insert(scheduleDeliveries)
    .values({ companyId, runId, kind, subject, ...outcome })
    .onConflictDoNothing();

/**
 * Records the present value of the column of a `changed` condition for a recipient, unless the condition or the target has been
 * changed since the schedule was read: the next run has nothing to compare with then.
 */
export const recordValue = (
  db: ControlDb,
  { companyId, id, targetType, targetId, condition }: Schedule,
  recipient: Recipient,
  value: string,
) => {
  const isAboutSameValue = existsSql(
    schedules,
    matchesId(schedules, companyId, id),
    eq(schedules.targetType, targetType),
    eq(schedules.targetId, targetId),
    eq(schedules.condition, condition as Condition),
  );
  return db
    .update(scheduleRecipients)
    .set({ lastValue: value })
    .where(and(isRecipient(companyId, id, recipient), isAboutSameValue));
};

/** Selects companies with runs that were due before a moment while no attempt holds any run: their message was lost. */
export const selectStalledCompanies = (
  db: ControlDb,
  { now, dueBefore, limit }: { now: number; dueBefore: number; limit: number },
) =>
  db
    .selectDistinct({ companyId: scheduleRuns.companyId })
    .from(scheduleRuns)
    .where(
      and(
        ne(scheduleRuns.status, 'ended'),
        lte(scheduleRuns.dueAt, dueBefore),
        isCompanyActive(scheduleRuns.companyId),
        sql`not exists (select 1 from ${scheduleRuns} as other where other.company_id = schedule_runs.company_id
          and other.status = 'running' and other.due_at > ${now})`,
      ),
    )
    .limit(limit);

/** Deletes ended runs made before a moment, with their deliveries. */
export const deleteOldRuns = (db: ControlDb, cutoff: number, limit: number) =>
  db.delete(scheduleRuns).where(
    inArray(
      scheduleRuns.id,
      db
        .select({ id: scheduleRuns.id })
        .from(scheduleRuns)
        .where(and(lt(scheduleRuns.createdAt, cutoff), eq(scheduleRuns.status, 'ended')))
        .limit(limit),
    ),
  );
