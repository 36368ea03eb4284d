import type { CompanyContext } from '../../context.ts';
import { logError } from '../../platform/log.ts';
import type { TenantSql } from '../../tenant-sql/client.ts';
import { databaseUnavailable } from '../../tenant-sql/failures.ts';
import { databaseOf } from '../managed-database/service.ts';
import { purgeTrash } from '../managed-tables/service.ts';
import { endAt, stagingTable } from './ending.ts';
import { expired, Superseded } from './problems.ts';
import { filesOf, forgetKeys, jobIdOf } from './receive.ts';
import { SILENCE_MS } from './service.ts';
import * as store from './sweep-store.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** A job waits so long for its confirm. */
const WAITING_MS = DAY_MS;
/** The files of an ended job, and those that no job came of, are kept so long. */
const KEEPING_MS = DAY_MS;
/** What a job says of itself is kept so long after its end. */
const REMEMBERING_MS = 90 * DAY_MS;
const JOBS_PER_LOOK = 1000;
const KEYS_PER_PAGE = 1000;

/**
 * One look at a company's uploads: takes up jobs that fell silent, ends those that waited too long for their confirm,
 * deletes files whose time has come, whether or not a job ever came of them, and with them what was made of them; forgets
 * jobs that ended long ago, rows that no load will come back to, and deleted tables.
 * @returns when the next look is due, in milliseconds; null when nothing is left to wait for
 */
export async function sweepCompany(ctx: CompanyContext): Promise<number | null> {
  const database = await databaseOf(ctx);
  if (!database) return null;
  const parts: Record<string, () => Promise<number>> = {
    jobs: () => sweepJobs(ctx, database),
    files: () => sweepFiles(ctx, database),
    ended: () => forgetEnded(ctx, database),
    trash: () => purgeTrash(ctx),
    orphans: () => dropOrphans(ctx, database),
  };
  let due = Number.POSITIVE_INFINITY;
  for (const [part, sweep] of Object.entries(parts)) {
    const next = await unlessItFails(ctx, { part }, sweep);
    due = Math.min(due, next ?? ctx.now() + SILENCE_MS);
  }
  return Number.isFinite(due) ? due : null;
}

/**
 * One part, job or table that cannot be swept is left for the next look and keeps nothing else from being swept.
 * @returns undefined for what failed
 * @throws when the database is out of reach: then nothing else can be done either
 */
async function unlessItFails<T>(
  { actor }: CompanyContext,
  told: Record<string, string>,
  sweep: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await sweep();
  } catch (error) {
    if (databaseUnavailable.matches(error)) throw error;
    logError('sweep_part_failed', error, { company_id: actor.companyId, ...told });
    return undefined;
  }
}

async function sweepJobs(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const { companyId } = ctx.actor;
  const before = (milliseconds: number) => new Date(ctx.now() - milliseconds).toISOString();
  const since = { waiting: before(WAITING_MS), working: before(SILENCE_MS) };
  for (const job of await store.glanceAtSilent(database, companyId, since, JOBS_PER_LOOK)) {
    await unlessItFails(ctx, { job_id: job.id }, () =>
      job.status === 'waiting_confirm' ? expire(ctx, database, job) : takeUpAgain(ctx, job),
    );
  }
  const left = await store.untilNextSilent(database, companyId, since);
  // What is silent already (just taken up, or one too many for this look) is looked at again a while later.
  return left === null ? Number.POSITIVE_INFINITY : ctx.now() + (left > 0 ? left : SILENCE_MS);
}

async function expire(ctx: CompanyContext, database: TenantSql, job: store.JobGlance): Promise<void> {
  try {
    await endAt(database, ctx, job.id, job.step, expired);
  } catch (error) {
    // Confirmed or cancelled at the last moment.
    if (!(error instanceof Superseded)) throw error;
  }
}

async function takeUpAgain(ctx: CompanyContext, job: store.JobGlance): Promise<void> {
  const type = job.status === 'inserting' ? 'upload.load' : 'upload.analyse';
  await ctx.jobs.send({ type, companyId: ctx.actor.companyId, jobId: job.id });
}

/** Tables of loads go with their jobs, in one transaction; here goes what any mistake leaves over. */
async function dropOrphans(ctx: CompanyContext, database: TenantSql): Promise<number> {
  for (const name of await store.orphanedStagings(database)) {
    await unlessItFails(ctx, { table: name }, () => database.execute(`DROP TABLE IF EXISTS ${stagingTable(name)}`));
  }
  return Number.POSITIVE_INFINITY;
}

async function forgetEnded(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const until = new Date(ctx.now() - REMEMBERING_MS).toISOString();
  const { deleted, oldest } = await store.deleteEnded(database, ctx.actor.companyId, until, JOBS_PER_LOOK);
  if (oldest === null) return Number.POSITIVE_INFINITY;
  return deleted === JOBS_PER_LOOK ? ctx.now() : oldest + REMEMBERING_MS;
}

/** R2 itself says what there is to delete, so that nothing is forgotten, whatever broke off where. */
async function sweepFiles(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const { companyId } = ctx.actor;
  let due = Number.POSITIVE_INFINITY;
  let cursor: string | undefined;
  do {
    const page = await ctx.files.list({
      prefix: `${filesOf(companyId)}/`,
      limit: KEYS_PER_PAGE,
      ...(cursor !== undefined && { cursor }),
    });
    const ids = new Set(page.objects.map(({ key }) => jobIdOf(key)));
    const jobs = await store.glanceAt(database, companyId, [...ids]);
    const ends = new Map(
      [...ids].map((id) => [
        id,
        endOf(
          id,
          jobs.find((job) => job.id === id),
        ),
      ]),
    );
    const overdue: string[] = [];
    for (const { key } of page.objects) {
      const end = ends.get(jobIdOf(key)) ?? Number.POSITIVE_INFINITY;
      if (end + KEEPING_MS <= ctx.now()) overdue.push(key);
      else due = Math.min(due, end + KEEPING_MS);
    }
    await forgetKeys(ctx.files, overdue);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
  return due;
}

/** When the need for a job's files ended: never yet for one in work; for an upload that no job came of, when it began. */
function endOf(id: string, job: store.JobGlance | undefined): number {
  if (!job) return Number.parseInt(id.slice(0, 8), 16) * 1000;
  return job.status === 'done' || job.status === 'failed' ? job.updatedAt : Number.POSITIVE_INFINITY;
}
