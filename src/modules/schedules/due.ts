import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import { log, logError } from '../../platform/log.ts';
import { computeCountStart } from './consent.ts';
import { deleteCountedMails } from './consent-store.ts';
import { findNextOccurrence, MIN_INTERVAL_MS } from './cron.ts';
import {
  type DueSchedule,
  deleteOldRuns,
  insertDueRuns,
  selectDueSchedules,
  selectStalledCompanies,
} from './run-store.ts';

/** The maximum number of schedules for which one transaction creates runs. */
const BATCH_SIZE = 1000;
/** The maximum number of transactions with which one scheduled run creates runs. */
const MAX_TRANSACTIONS = 30;

/** The number of a company's runs at the same time: each uses two of its reader's forty connections, which viewers need, too. */
const MAX_CONCURRENT_RUNS = 4;

/** The time after which the message of a run counts as lost. Milliseconds. */
const RESUME_AFTER_MS = 120_000;
const COMPANIES_PER_BATCH = 500;

const RUN_RETENTION_MS = 7 * DAY_MS;
const DELETED_RUNS_PER_BATCH = 1000;

/**
 * Creates runs of the due schedules: each occurrence becomes a run, once, and each company gets a few messages that do its runs
 * one after another. So a company with many runs delays only its own. After an outage a schedule runs once, however many
 * occurrences were missed.
 */
export async function createDueRuns(ctx: Context): Promise<void> {
  const now = ctx.now();
  const sentMessageCounts = new Map<string, number>();
  for (let unit = 0; unit < MAX_TRANSACTIONS; unit += 1) {
    const dueSchedules = await selectDueSchedules(ctx.db, now, BATCH_SIZE);
    if (dueSchedules.length === 0) return;
    const dueRuns = dueSchedules.map((schedule) => ({
      ...schedule,
      runId: ctx.newId(),
      nextOccurrence: findNextOccurrenceAfter(schedule, now),
    }));
    const { runs } = await commit(ctx.db, insertDueRuns(ctx.db, dueRuns, now));
    await ctx.jobs.sendAll(runs.flatMap(({ companyId }) => makeRunMessages(companyId, sentMessageCounts)));
    log('schedules_handed_out', { count: runs.length });
    if (dueSchedules.length < BATCH_SIZE) return;
  }
}

function makeRunMessages(companyId: string, sentMessageCounts: Map<string, number>): JobMessage[] {
  const count = sentMessageCounts.get(companyId) ?? 0;
  if (count >= MAX_CONCURRENT_RUNS) return [];
  sentMessageCounts.set(companyId, count + 1);
  return [{ type: 'schedules.run', companyId }];
}

/** Returns the next occurrence, at least the shortest interval after the current one, even at a clock change; null if none. */
function findNextOccurrenceAfter(schedule: DueSchedule, now: number): number | null {
  try {
    return findNextOccurrence(schedule, Math.max(now, schedule.nextRunAt + MIN_INTERVAL_MS - 1));
  } catch (error) {
    logError('schedule_without_next', error, { schedule_id: schedule.id, company_id: schedule.companyId });
    return null;
  }
}

/** Sends messages again for runs that no attempt has begun, or whose attempt was cut off. */
export async function resumeRuns(ctx: Context): Promise<void> {
  const now = ctx.now();
  const stalledCompanies = await selectStalledCompanies(ctx.db, {
    now,
    dueBefore: now - RESUME_AFTER_MS,
    limit: COMPANIES_PER_BATCH,
  });
  await ctx.jobs.sendAll(stalledCompanies.map(({ companyId }) => ({ type: 'schedules.run', companyId })));
}

/** Deletes old runs, and counted mails that no longer count towards a limit. */
export const purgeRuns = (ctx: Context) =>
  commit(ctx.db, {
    runs: deleteOldRuns(ctx.db, ctx.now() - RUN_RETENTION_MS, DELETED_RUNS_PER_BATCH),
    counted: deleteCountedMails(ctx.db, computeCountStart(ctx), DELETED_RUNS_PER_BATCH),
  });
