import { and, eq, inArray, lte, or, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable, SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from './client.ts';
import { type Condition, matchesId } from './statements.ts';

/** Table of jobs. One attempt at a time has the lease of a job: until `dueAt`, or until the attempt ends. */
type JobTable = SQLiteTable & Record<'companyId' | 'id' | 'status' | 'attempt' | 'dueAt', SQLiteColumn>;

/** Key of a job. */
export interface JobKey {
  companyId: string;
  id: string;
}

/** At most `limit` jobs that are due at `now`. Those that do not begin are due again at `nextDueAt`. */
export interface DueWindow {
  now: number;
  nextDueAt: number;
  limit: number;
}

/** Attempt of a job, which ends when another one begins. */
export interface Attempt extends JobKey {
  attempt: number;
}

/** Milliseconds for which an attempt has the lease after its last renewal. */
export const LEASE_MS = 120_000;
export const RENEWAL_MS = 30_000;

/** Milliseconds after which the scheduled run sends the message of a job again that no attempt has begun. */
export const RESUME_AFTER_MS = 120_000;

/** SQL condition, true for a job that has neither succeeded nor failed. */
export const isUnfinished = ({ status }: JobTable): SQL => inArray(status, ['queued', 'running']);

/** Builds a condition, true for a job whose lease no attempt has. */
export const isUnleased = ({ status, dueAt }: JobTable, now: number): SQL =>
  or(eq(status, 'queued'), and(eq(status, 'running'), lte(dueAt, now))) as SQL;

/** Builds a condition, true while this attempt is the job's current one. */
const isCurrentAttempt = (jobs: JobTable, { companyId, id, attempt }: Attempt): SQL =>
  and(matchesId(jobs, companyId, id), eq(jobs.status, 'running'), eq(jobs.attempt, attempt)) as SQL;

/** Begins an attempt of a job whose lease no other attempt has. @param condition what else must be true */
export const claimJob = <T extends JobTable>(
  db: ControlDb,
  jobs: T,
  { companyId, id }: JobKey,
  { now, ...changes }: SQLiteUpdateSetSource<T> & { now: number; dueAt: number },
  condition?: Condition,
) =>
  db
    .update(jobs)
    .set({ ...changes, status: 'running', attempt: sql`${jobs.attempt} + 1` } as never)
    .where(and(matchesId(jobs, companyId, id), isUnleased(jobs, now), condition))
    .returning();

/** Changes a job while this attempt is the current one. Returns no row if another attempt is the current one. */
export const updateAttempt = <T extends JobTable>(
  db: ControlDb,
  jobs: T,
  attempt: Attempt,
  changes: SQLiteUpdateSetSource<T>,
) => db.update(jobs).set(changes).where(isCurrentAttempt(jobs, attempt)).returning({ id: jobs.id });

/** Claims jobs whose message is to be sent again, each for one run only. */
export const claimDueJobs = (
  db: ControlDb,
  jobs: JobTable,
  wantedCondition: Condition,
  { now, nextDueAt, limit }: DueWindow,
) =>
  db
    .update(jobs)
    .set({ dueAt: sql`iif(${jobs.status} = 'queued', ${nextDueAt}, ${jobs.dueAt})` })
    .where(
      inArray(
        jobs.id,
        db
          .select({ id: jobs.id })
          .from(jobs)
          .where(and(isUnfinished(jobs), lte(jobs.dueAt, now), wantedCondition))
          .limit(limit),
      ),
    )
    .returning({ companyId: sql<string>`${jobs.companyId}`, id: sql<string>`${jobs.id}` });
