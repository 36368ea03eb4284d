import { isDeepStrictEqual } from 'node:util';
import { findReadDenials } from '../../access/denials.ts';
import { dependsOnResource } from '../../access/evaluation.ts';
import { isAllowed, isRequirementMet, requireAction } from '../../access/requirements.ts';
import type { PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { concurrentChange, retryOnConcurrentChange } from '../../db/failures.ts';
import type { RunSubject } from '../../db/schema/schedules.ts';
import { type FieldProblem, invalidInput } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { isTimeZone } from '../../kernel/time-zones.ts';
import { TARGET_TYPES, type TargetType } from '../../sharing/share-event.ts';
import { selectDashboardVisualizations } from '../dashboards/service.ts';
import { listVisualizations, loadSharedItem } from '../viewing/service.ts';
import { requireNotDenied } from '../visualizations/service.ts';
import { askRecipientsForConsent } from './consent.ts';
import { findCronProblem, findNextOccurrence } from './cron.ts';
import { scheduleNotFound, tooManyRuns, tooManySchedules } from './failures.ts';
import { findRecipientProblems, type TargetChecks, VIEW_ACTIONS } from './recipients.ts';
import { insertManualRun } from './run-store.ts';
import {
  countSchedules,
  deleteSchedule as deleteRow,
  insertSchedule,
  type Recipient,
  readSchedule,
  readSchedules,
  replaceRecipients,
  type Schedule,
  selectTargets,
  type Target,
  updateSchedule,
} from './store.ts';

export type { Schedule };

/** The fields of a schedule that people set. */
export type ScheduleInput = Pick<
  Schedule,
  'name' | 'targetType' | 'targetId' | 'parameters' | 'cron' | 'timeZone' | 'format' | 'condition' | 'status'
> & { recipients: Recipient[] };

/** The maximum number of schedules of a company. */
const MAX_SCHEDULES = 1000;
/** The maximum number of runs by hand of one schedule, and the time within which they count. */
const MANUAL_RUN_LIMIT = { maxRuns: 5, withinMs: 10 * 60 * 1000 };

const makeScheduleAction = (type: TargetType) => `${type}s:schedule` as const;

const requireMaySchedule = ({ actor }: PrincipalContext, { targetType, targetId }: Target): void =>
  requireAction(actor, makeScheduleAction(targetType), targetId);

/**
 * Requires access to the visualization of a condition. Whether mails come, and the result of a run, reveal whether the condition
 * holds: so only callers who may see the visualization set the condition, have it judged, or read the results of its runs.
 */
function requireMaySeeCondition(ctx: PrincipalContext, { targetType, targetId, condition }: RunSubject): void {
  if (!condition) return;
  requireAction(ctx.actor, VIEW_ACTIONS[targetType], targetId);
  requireNotDenied(ctx, [condition.visualization_id]);
}

/** Rejects a target that the caller is denied, as a schedule must not send others what its maker may not see. */
async function requireTargetNotDenied(ctx: PrincipalContext, { targetType, targetId }: Target): Promise<void> {
  if (targetType === 'visualization') return requireNotDenied(ctx, [targetId]);
  requireNotDenied(ctx, [targetId], ['dashboards:get']);
  const placedVisualizations = await selectDashboardVisualizations(ctx.db, ctx.actor.companyId, targetId);
  requireNotDenied(
    ctx,
    placedVisualizations.map((visualization) => visualization.id),
  );
}

/** Removes the last run from a schedule if it is about something hidden from the caller. */
function hideLastRun(ctx: PrincipalContext, schedule: Schedule): Schedule {
  const { lastRun } = schedule;
  return lastRun && !isRequirementMet(() => requireMaySeeCondition(ctx, lastRun.about ?? schedule))
    ? { ...schedule, lastRun: null }
    : schedule;
}

/** Lists a page of the schedules whose targets the caller may schedule and see, the newest first. */
export async function listSchedules(
  ctx: PrincipalContext,
  pageRequest: { page: number; perPage: number; search: string },
) {
  const { companyId } = ctx.actor;
  const targets = {
    dashboard: readSchedulingScope(ctx, 'dashboard'),
    visualization: readSchedulingScope(ctx, 'visualization'),
  };
  const scheduleTargets = Object.values(targets).includes('some') ? await selectTargets(ctx.db, companyId) : [];
  const listTargetIds = (type: TargetType) => {
    if (targets[type] !== 'some') return targets[type] === 'all' ? 'all' : [];
    const allowedTargets = scheduleTargets.filter(
      (target) => target.targetType === type && maySchedule(ctx, type, target.targetId),
    );
    return allowedTargets.map(({ targetId }) => targetId);
  };
  const searchRequest = { ...pageRequest, search: pageRequest.search.toLowerCase() };
  const { records, ...rest } = await readSchedules(ctx.db, companyId, searchRequest, {
    dashboard: { ids: listTargetIds('dashboard'), denials: findReadDenials(ctx.actor, 'dashboard') },
    visualization: { ids: listTargetIds('visualization'), denials: findReadDenials(ctx.actor, 'visualization') },
  });
  return { records: records.map((schedule) => hideLastRun(ctx, schedule)), ...rest };
}

const maySchedule = ({ actor }: PrincipalContext, type: TargetType, id = '*'): boolean =>
  isAllowed(actor, makeScheduleAction(type), id);

function readSchedulingScope(ctx: PrincipalContext, type: TargetType): 'all' | 'some' | 'none' {
  if (dependsOnResource(ctx.actor.access, makeScheduleAction(type))) return 'some';
  return maySchedule(ctx, type) ? 'all' : 'none';
}

/** Returns a schedule whose target the caller may schedule and is not denied: the schedule would reveal the target, too. */
export async function getSchedule(ctx: PrincipalContext, id: string): Promise<Schedule> {
  const schedule = await findSchedule(ctx, id);
  requireNotDenied(ctx, [schedule.targetId], [`${schedule.targetType}s:get`]);
  return schedule;
}

/** Returns a schedule even if the caller is denied its target: whoever may schedule the target may end the schedule. */
export async function findSchedule(ctx: PrincipalContext, id: string): Promise<Schedule> {
  const schedule = ID_PATTERN.test(id) ? await readSchedule(ctx.db, ctx.actor.companyId, id) : undefined;
  if (!schedule) {
    // Only who may schedule everything of a type is told which schedules there are not.
    if (!TARGET_TYPES.some((type) => maySchedule(ctx, type)))
      requireMaySchedule(ctx, { targetType: 'dashboard', targetId: '*' });
    throw scheduleNotFound();
  }
  requireMaySchedule(ctx, schedule);
  return hideLastRun(ctx, schedule);
}

export async function createSchedule(ctx: PrincipalContext, input: ScheduleInput): Promise<Schedule> {
  requireMaySchedule(ctx, input);
  requireMaySeeCondition(ctx, input);
  await requireTargetNotDenied(ctx, input);
  await validateSchedule(ctx, input, { mustCheckTarget: true, mustCheckRecipient: () => true });
  const { recipients, ...rest } = input;
  const now = ctx.now();
  const record = {
    ...rest,
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    nextRunAt: computeNextRun(input, now),
    failures: 0,
    lastRun: null,
    apiUrl: ctx.baseUrl,
    version: 1,
    createdByUserId: ctx.actor.id,
    createdAt: now,
    updatedAt: now,
  };
  const schedule = await retryOnConcurrentChange(async () => {
    const { inserted } = await commit(ctx.db, {
      inserted: insertSchedule(ctx.db, record, MAX_SCHEDULES),
      recipients: replaceRecipients(ctx.db, record, recipients, true),
    });
    if (inserted.length > 0) return readSchedule(ctx.db, record.companyId, record.id);
    const [found] = await countSchedules(ctx.db, record.companyId);
    if ((found?.count ?? 0) >= MAX_SCHEDULES) throw tooManySchedules(MAX_SCHEDULES);
    await loadSharedItem(ctx, record.targetType, record.targetId);
    return undefined;
  });
  ctx.defer(askRecipientsForConsent(ctx, schedule));
  return schedule;
}

/**
 * Changes the given fields. A caller who may not see the visualization of the condition, or is denied the target, can only pause
 * the schedule. Recipients who have unsubscribed stay unsubscribed; users until they are removed from the list and added again.
 */
export async function changeSchedule(
  ctx: PrincipalContext,
  id: string,
  changes: Partial<ScheduleInput>,
): Promise<Schedule> {
  const schedule = await retryOnConcurrentChange(async () => {
    const presentSchedule = await findSchedule(ctx, id);
    const { recipients, ...merged } = { ...presentSchedule, ...changes };
    requireMaySchedule(ctx, merged);
    if (!isOnlyPause(changes)) {
      for (const checkedSchedule of [presentSchedule, merged]) requireMaySeeCondition(ctx, checkedSchedule);
      await requireTargetNotDenied(ctx, merged);
    }
    const hasChanged = (...names: Exclude<keyof ScheduleInput, 'recipients'>[]) =>
      names.some((name) => !isDeepStrictEqual(merged[name], presentSchedule[name]));
    const isTargetChanged = hasChanged('targetType', 'targetId', 'parameters');
    const presentRecipientKeys = new Set(presentSchedule.recipients.map(formatRecipientKey));
    const isResumed = hasChanged('status') && merged.status === 'active';
    await validateSchedule(
      ctx,
      { ...merged, recipients },
      {
        mustCheckTarget: isTargetChanged || isResumed || hasChanged('condition'),
        mustCheckRecipient: (recipient) => isTargetChanged || !presentRecipientKeys.has(formatRecipientKey(recipient)),
      },
    );
    const now = ctx.now();
    const scheduleUpdate = {
      ...merged,
      // What is due stays due until it is handed out, whatever else is changed meanwhile.
      nextRunAt: hasChanged('cron', 'timeZone', 'status') ? computeNextRun(merged, now) : undefined,
      // Somebody has looked after it.
      failures: 0,
      apiUrl: ctx.baseUrl,
      updatedAt: now,
    };
    const { updated } = await commit(ctx.db, {
      recipients: replaceRecipients(ctx.db, scheduleUpdate, recipients, isTargetChanged || hasChanged('condition')),
      updated: updateSchedule(ctx.db, scheduleUpdate),
    });
    if (updated.length > 0) return findSchedule(ctx, id);
    await loadSharedItem(ctx, scheduleUpdate.targetType, scheduleUpdate.targetId);
    return undefined;
  });
  ctx.defer(askRecipientsForConsent(ctx, schedule));
  return schedule;
}

const isOnlyPause = ({ status, ...others }: Partial<ScheduleInput>): boolean =>
  status === 'paused' && Object.keys(others).length === 0;

const formatRecipientKey = ({ kind, subject }: Recipient): string => `${kind}:${subject}`;

export async function removeSchedule(ctx: PrincipalContext, id: string): Promise<void> {
  const { companyId } = await findSchedule(ctx, id);
  const { deleted } = await commit(ctx.db, { deleted: deleteRow(ctx.db, companyId, id) });
  if (deleted.length === 0) throw scheduleNotFound();
}

/** Returns a schedule that the caller may run: they may see its condition, and all that it sends. */
export async function requireRunnableSchedule(ctx: PrincipalContext, id: string): Promise<Schedule> {
  const schedule = await getSchedule(ctx, id);
  requireMaySeeCondition(ctx, schedule);
  await requireTargetNotDenied(ctx, schedule);
  return schedule;
}

/** Runs a schedule at once, also a paused one; its condition still applies. @returns the id of the run */
export async function runSchedule(ctx: PrincipalContext, id: string): Promise<string> {
  const { companyId } = await requireRunnableSchedule(ctx, id);
  const now = ctx.now();
  const run = { id: ctx.newId(), companyId, scheduleId: id, occurrence: now };
  const { inserted } = await commit(
    ctx.db,
    {
      inserted: insertManualRun(ctx.db, run, {
        now,
        maxCount: MANUAL_RUN_LIMIT.maxRuns,
        startedSince: now - MANUAL_RUN_LIMIT.withinMs,
      }),
    },
    { 'schedule_runs.': concurrentChange },
  );
  if (inserted.length === 0) {
    await getSchedule(ctx, id);
    throw tooManyRuns();
  }
  await ctx.jobs.send({ type: 'schedules.run', companyId });
  return run.id;
}

const computeNextRun = (schedule: Pick<Schedule, 'cron' | 'timeZone' | 'status'>, now: number): number | null =>
  schedule.status === 'active' ? findNextOccurrence(schedule, now) : null;

/** Checks a schedule's fields, and those about its target as far as `checks` says. */
async function validateSchedule(
  ctx: PrincipalContext,
  { targetType, targetId, parameters, cron, timeZone, recipients, condition }: ScheduleInput,
  checks: TargetChecks,
): Promise<void> {
  const item = await loadSharedItem(ctx, targetType, targetId);
  const problems: FieldProblem[] = [];
  const problem = findCronProblem(cron, ctx.now());
  if (problem) problems.push({ field: 'cron', message: problem });
  if (!isTimeZone(timeZone)) {
    problems.push({
      field: 'time_zone',
      message:
        timeZone === '' ? 'must not be empty' : 'must be a time zone of the IANA database, such as America/Sao_Paulo',
    });
  }
  if (
    checks.mustCheckTarget &&
    condition &&
    !listVisualizations(item).some(({ id }) => id === condition.visualization_id)
  ) {
    const message = item.type === 'dashboard' ? 'must be on the dashboard' : 'must be the visualization that is sent';
    problems.push({ field: 'condition.visualization_id', message });
  }
  problems.push(...(await findRecipientProblems(ctx, item, parameters, recipients, checks)));
  if (problems.length > 0) throw invalidInput(problems);
}
