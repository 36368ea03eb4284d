import { selectAdministrators } from '../../access/administrators.ts';
import type { CompanyContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { updateAttempt } from '../../db/job-leases.ts';
import { type LastRun, type RunProblem, scheduleRuns } from '../../db/schema/schedules.ts';
import { Failure } from '../../kernel/failure.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { logError } from '../../platform/log.ts';
import { readCompanyState } from '../companies/service.ts';
import {
  composeSchedulePausedMail,
  type MailedProblem,
  type MailRequest,
  prepareMailsAfterChange,
  readMailedCompany,
  readRecipient,
  type SendingContext,
} from '../mails/service.ts';
import { selectUser } from '../users/service.ts';
import { loadSharedItem } from '../viewing/service.ts';
import { recordRefusal, sendToRecipients, toOutcome } from './delivery.ts';
import { type ResultReader, resolveResultReader } from './recipients.ts';
import {
  claimRun,
  type Delivery,
  endDelivery,
  endRun,
  insertOutcome,
  type ScheduleRun,
  selectDeliveries,
} from './run-store.ts';
import { type Recipient, readSchedule, type Schedule } from './store.ts';

/** The maximum number of runs that one message does, and the time after which it leaves the rest to another message. */
const MESSAGE_LIMITS = { runs: 25, milliseconds: 60_000 };
/** The lease of an attempt since its last renewal: longer than one execution and its mails take. Milliseconds. */
const LEASE_MS = 5 * 60_000;
const MAX_ATTEMPTS = 3;
const RETRY_WAIT_MS = 60_000;

/** Executes the waiting runs of a company, one after another. */
export async function runSchedules(ctx: CompanyContext): Promise<void> {
  const { companyId } = ctx.actor;
  const startedAt = performance.now();
  for (
    let count = 0;
    count < MESSAGE_LIMITS.runs && performance.now() - startedAt < MESSAGE_LIMITS.milliseconds;
    count += 1
  ) {
    const now = ctx.now();
    const [run] = await claimRun(ctx.db, companyId, { now, leaseUntil: now + LEASE_MS });
    if (!run) return;
    await attemptRun(ctx, run);
  }
  await ctx.jobs.send({ type: 'schedules.run', companyId });
}

/** Makes one attempt of a run. While something is unavailable, the run is postponed; after the last attempt it fails. */
async function attemptRun(ctx: CompanyContext, run: ScheduleRun): Promise<void> {
  const schedule = await readSchedule(ctx.db, run.companyId, run.scheduleId);
  if (!schedule) return;
  try {
    const outcome = await tryRun(ctx, run, schedule);
    if (outcome === 'later') await postponeRun(ctx, run);
    if (outcome === 'suspended') await waitForEndOfSuspension(ctx, run);
  } catch (error) {
    logError('schedule_run_failed', error, { schedule_id: run.scheduleId, company_id: run.companyId });
    if (run.attempt < MAX_ATTEMPTS) await postponeRun(ctx, run);
    else await finishRun(ctx, run, schedule, ['unavailable']);
  }
}

async function postponeRun(ctx: CompanyContext, run: ScheduleRun): Promise<void> {
  await updateAttempt(ctx.db, scheduleRuns, run, { status: 'queued', dueAt: ctx.now() + RETRY_WAIT_MS * run.attempt });
  await ctx.jobs.send({ type: 'schedules.run', companyId: run.companyId }, (RETRY_WAIT_MS * run.attempt) / 1000);
}

/** Postpones a run until the scheduled run resumes those of active companies. The attempt does not count. */
const waitForEndOfSuspension = (ctx: CompanyContext, run: ScheduleRun) =>
  updateAttempt(ctx.db, scheduleRuns, run, {
    status: 'queued',
    attempt: run.attempt - 1,
    dueAt: ctx.now() + RETRY_WAIT_MS,
  });

async function tryRun(
  ctx: CompanyContext,
  run: ScheduleRun,
  schedule: Schedule,
): Promise<'ended' | 'later' | 'suspended'> {
  // It was paused since it was due. Unless the run has come to a recipient, the last result stays, which may be why.
  if (run.kind === 'scheduled' && schedule.status === 'paused') {
    if ((await selectDeliveries(ctx.db, run)).length > 0) return finishRun(ctx, run, schedule);
    await updateAttempt(ctx.db, scheduleRuns, run, { status: 'ended' });
    return 'ended';
  }
  if ((await readCompanyState(ctx)) === 'suspended') return 'suspended';
  // Earlier tries did not even live to fail.
  if (run.attempt > MAX_ATTEMPTS) return finishRun(ctx, run, schedule, ['unavailable']);
  const item = await loadSharedItem(ctx, schedule.targetType, schedule.targetId).catch((error: unknown) => {
    if (error instanceof Failure && error.kind === 'missing') return undefined;
    throw error;
  });
  if (!item) return finishRun(ctx, run, schedule, ['target_deleted']);
  const groups = new Map<string, { recipient: Recipient; reader: ResultReader }[]>();
  for (const recipient of await listRemainingRecipients(ctx, run, schedule)) {
    const reader = await resolveResultReader(ctx, item, schedule.parameters, recipient);
    if (typeof reader === 'string') await insertOutcome(ctx.db, run, recipient, toOutcome(reader));
    else if (!(await recordRefusal(ctx, run, schedule, recipient))) {
      groups.set(reader.view.digest, [...(groups.get(reader.view.digest) ?? []), { recipient, reader }]);
    }
  }
  let isMailLeft = false;
  for (const group of groups.values()) {
    const renewedRun = await updateAttempt(ctx.db, scheduleRuns, run, { dueAt: ctx.now() + LEASE_MS });
    // Another try has begun: it does what is left.
    if (renewedRun.length === 0) return 'ended';
    const sendResult = await sendToRecipients(
      ctx,
      { run, schedule, item, isLastTry: run.attempt >= MAX_ATTEMPTS },
      group,
    );
    if (sendResult === 'suspended') return 'suspended';
    isMailLeft ||= sendResult === 'later';
  }
  return isMailLeft ? 'later' : finishRun(ctx, run, schedule);
}

/**
 * Lists the recipients that this run has not handled. A delivery that an earlier attempt began and did not end is recorded as
 * `unconfirmed`: its mail may have gone, and a mail goes at most once.
 */
async function listRemainingRecipients(
  ctx: CompanyContext,
  run: ScheduleRun,
  { recipients }: Schedule,
): Promise<Schedule['recipients']> {
  const storedDeliveries = await selectDeliveries(ctx.db, run);
  for (const delivery of storedDeliveries) {
    if (delivery.status === 'sending') await endDelivery(ctx.db, run, delivery, toOutcome('unconfirmed'));
  }
  const isHandled = (recipient: Recipient) =>
    storedDeliveries.some(({ kind, subject }) => kind === recipient.kind && subject === recipient.subject);
  return recipients.filter((recipient) => recipient.unsubscribedAt === null && !isHandled(recipient));
}

/** Ends a run, and records the result on its schedule. A run that should have sent mails and sent none is a failure. */
async function finishRun(
  ctx: CompanyContext,
  run: ScheduleRun,
  { targetType, targetId, condition, createdByUserId }: Schedule,
  problems: RunProblem[] = [],
): Promise<'ended'> {
  const deliveries = await selectDeliveries(ctx.db, run);
  const count = (status: Delivery['status']) => deliveries.filter((delivery) => delivery.status === status).length;
  const [sentCount, failedCount] = [count('sent'), count('failed')];
  const allProblems = [...new Set([...problems, ...deliveries.flatMap(({ problem }) => problem ?? [])])];
  const now = ctx.now();
  const lastRun: LastRun = {
    about: { targetType, targetId, condition },
    id: run.id,
    kind: run.kind,
    occurrence: formatIsoTimestamp(run.occurrence),
    ended_at: formatIsoTimestamp(now),
    status: sentCount === 0 && (failedCount > 0 || problems.length > 0) ? 'failed' : 'done',
    sent: sentCount,
    skipped: count('skipped'),
    failed: failedCount,
    problems: allProblems,
  };
  const notices = lastRun.status === 'failed' ? await preparePauseNotices(ctx, run, createdByUserId) : undefined;
  const { paused } = await commit(ctx.db, {
    ...endRun(ctx.db, run, lastRun, now),
    notices: notices?.statements ?? [],
  });
  if (paused.length > 0) notices?.send();
  return 'ended';
}

/**
 * Prepares the mail to the schedule's maker, or to the administrators if the maker is a program or inactive; it is stored if the
 * previous statement paused the schedule.
 */
async function preparePauseNotices(ctx: CompanyContext, { companyId, scheduleId }: ScheduleRun, makerId: string) {
  const [maker] = await selectUser(ctx.db, companyId, makerId);
  const recipients = maker?.isActive ? [maker] : await selectAdministrators(ctx.db, companyId);
  const requests = recipients.map(({ email }) => ({
    kind: 'schedule_paused' as const,
    companyId,
    email,
    about: scheduleId,
  }));
  return prepareMailsAfterChange(ctx, requests, mailPausedSchedule);
}

const UNREPORTED_PROBLEMS: readonly RunProblem[] = [
  'condition_not_met',
  'files_too_large',
  'not_agreed',
  'too_many_mails',
  'quota_exceeded',
];

const isReported = (problem: RunProblem): problem is MailedProblem => !UNREPORTED_PROBLEMS.includes(problem);

/** Mails the maker of a schedule, or an administrator, that it is paused, and why. */
export async function mailPausedSchedule(
  ctx: SendingContext,
  { companyId, email, about }: MailRequest<'schedule_paused'>,
): Promise<void> {
  const { user, company } = await readRecipient(ctx, { companyId, email });
  const schedule = await readSchedule(ctx.db, companyId, about ?? '');
  if (!user || !company || !schedule) return;
  await ctx.sendToMailService(
    companyId,
    composeSchedulePausedMail({
      to: email,
      name: user.name,
      company: await readMailedCompany(ctx, company),
      schedule: schedule.name,
      isMaker: user.id === schedule.createdByUserId,
      problems: schedule.lastRun?.problems.filter(isReported) ?? [],
    }),
  );
}
