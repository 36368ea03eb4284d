import { and, eq, inArray, lte, or, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable, SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from './client.ts';
import { byId, type Condition } from './statements.ts';

/** A table of jobs. One attempt at a time has the lease of a job: until `dueAt`, or until the attempt ends. */
type JobTable = SQLiteTable & Record<'companyId' | 'id' | 'status' | 'attempt' | 'dueAt', SQLiteColumn>;

/** A job by its key. */
export interface JobKey {
  companyId: string;
  id: string;
}

/** The jobs that a scheduled run takes up: at most `limit` that are due at `now`. Those not begun are due again at `next`. */
export interface DueWindow {
  now: number;
  next: number;
  limit: number;
}

/** An attempt of a job, which ends when another one begins. */
export interface Attempt extends JobKey {
  attempt: number;
}

/** The time for which an attempt has the lease since its last renewal, and the interval of renewals. Milliseconds. */
export const LEASE_MS = 120_000;
export const RENEWAL_MS = 30_000;

/** The time after which the scheduled run sends the message of a job again that no attempt has begun. Milliseconds. */
export const RESUME_AFTER_MS = 120_000;

/** SQL condition, true for a job that has neither succeeded nor failed. */
export const isUnfinished = ({ status }: JobTable): SQL => inArray(status, ['queued', 'running']);

/** SQL condition, true for a job that no attempt has the lease of. */
export const isFree = ({ status, dueAt }: JobTable, now: number): SQL =>
  or(eq(status, 'queued'), and(eq(status, 'running'), lte(dueAt, now))) as SQL;

/** SQL condition, true while this attempt is the job's present one. */
const isPresent = (jobs: JobTable, { companyId, id, attempt }: Attempt): SQL =>
  and(byId(jobs, companyId, id), eq(jobs.status, 'running'), eq(jobs.attempt, attempt)) as SQL;

/** Begins an attempt of a job that no other one has the lease of. */
export const claimJob = <T extends JobTable>(
  db: ControlDb,
  jobs: T,
  { companyId, id }: JobKey,
  { now, ...changes }: SQLiteUpdateSetSource<T> & { now: number; dueAt: number },
  isWanted?: Condition,
) =>
  db
    .update(jobs)
    .set({ ...changes, status: 'running', attempt: sql`${jobs.attempt} + 1` } as never)
    .where(and(byId(jobs, companyId, id), isFree(jobs, now), isWanted))
    .returning();

/** Changes a job while this attempt is the present one. Returns no row where it is not. */
export const updateAttempt = <T extends JobTable>(
  db: ControlDb,
  jobs: T,
  attempt: Attempt,
  changes: SQLiteUpdateSetSource<T>,
) => db.update(jobs).set(changes).where(isPresent(jobs, attempt)).returning({ id: jobs.id });

/** Claims jobs whose message is to be sent again, each for one run only. */
export const claimDueJobs = (db: ControlDb, jobs: JobTable, isWanted: Condition, { now, next, limit }: DueWindow) =>
  db
    .update(jobs)
    .set({ dueAt: sql`iif(${jobs.status} = 'queued', ${next}, ${jobs.dueAt})` })
    .where(
      inArray(
        jobs.id,
        db
          .select({ id: jobs.id })
          .from(jobs)
          .where(and(isUnfinished(jobs), lte(jobs.dueAt, now), isWanted))
          .limit(limit),
      ),
    )
    .returning({ companyId: sql<string>`${jobs.companyId}`, id: sql<string>`${jobs.id}` });
