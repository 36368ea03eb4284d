import { findDeniedEverywhere } from '../../access/denials.ts';
import { isAllowed, requireAction } from '../../access/requirements.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { Page } from '../../db/page.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { invalid } from '../../kernel/failure.ts';
import { getCreatedAt, ID_PATTERN } from '../../kernel/ids.ts';
import { type Interval, listIntervals } from '../../kernel/time-zones.ts';
import type { Counts } from '../../logs/analytics.ts';
import { type DeniedRecords, type LogFilter, makeRecordMatcher } from '../../logs/log.ts';
import type { ShareViews } from '../../logs/views.ts';
import type { CompanyLog } from '../../objects/company-log.ts';
import { isNothingDenied, NOTHING_DENIED } from '../../permissions/denials.ts';
import { callObject } from '../../platform/objects.ts';
import { type ShareEvent, type ShareEventType, TARGET_TYPES, type TargetType } from '../../sharing/share-event.ts';
import { exportLog, readAnalytics, readLog } from '../company-log/service.ts';
import { shareEventNotFound, tooManyIntervals } from './failures.ts';
import { selectDeniedContexts, selectGrantTypes, selectNames } from './store.ts';

export {
  countView,
  findRefusalReason,
  type NewShareEvent,
  prepareRevocations,
  prepareShareEvent,
  recordShareEvent,
} from './record.ts';

/** The events of a company that a list is for. Times in milliseconds, both ends included. */
export interface EventFilter {
  /** Only events about something of this type. */
  targetType?: TargetType;
  shareId?: string;
  shareContextId?: string;
  type?: ShareEventType;
  from?: number;
  to?: number;
}

/** The filter in the terms of the log, without events that the caller may not see. */
function logFilter({ from, to, ...values }: EventFilter, hidden: readonly DeniedRecords[]): LogFilter {
  const asked = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  const denied = hidden.filter((records) => !isNothingDenied(records.denied));
  return { from, to, values: asked, ...(denied.length > 0 && { denied }) };
}

/**
 * Events about a dashboard or visualization that the caller is denied, or about a context that grants one; of downloads of one; of
 * members that are users or groups which the caller is denied; and of what such users, or service accounts, did.
 */
async function selectDeniedEvents(ctx: PrincipalContext): Promise<DeniedRecords[]> {
  const members = (
    [
      ['internal_user', 'user'],
      ['group', 'group'],
    ] as const
  ).map(([value, kind]) => ({
    field: 'details.member_id',
    denied: findDeniedEverywhere(ctx.actor, kind),
    where: { field: 'details.member_type', value },
  }));
  // A download of a dashboard is of one visualization on it.
  const downloads = {
    field: 'details.visualization_id',
    denied: findDeniedEverywhere(ctx.actor, 'shared_visualization'),
  };
  return [...(await deniedViews(ctx)), downloads, ...members];
}

/** Events that would be counted: those of members and downloads are not. */
async function deniedViews(ctx: PrincipalContext): Promise<DeniedRecords[]> {
  const actors = (
    [
      ['user', 'user'],
      ['service_account', 'named_service_account'],
    ] as const
  ).map(([value, kind]) => ({
    field: 'actorId',
    denied: findDeniedEverywhere(ctx.actor, kind),
    where: { field: 'actorKind', value },
  }));
  return [...(await selectDeniedTargets(ctx)), ...actors];
}

/** Events about a target that the caller is denied. */
async function selectDeniedTargets({ db, actor }: PrincipalContext): Promise<DeniedRecords[]> {
  const targets = {
    dashboard: findDeniedEverywhere(actor, 'shared_dashboard'),
    visualization: findDeniedEverywhere(actor, 'shared_visualization'),
  };
  if (Object.values(targets).every(isNothingDenied)) return [];
  const contexts = await selectDeniedContexts(db, actor.companyId, targets);
  return [
    ...TARGET_TYPES.map((type) => ({
      field: 'targetId',
      denied: targets[type],
      where: { field: 'targetType', value: type },
    })),
    { field: 'shareContextId', denied: { ...NOTHING_DENIED, ids: contexts.map(({ id }) => id) } },
  ];
}

/** Returns the executions of shares, and when they were last opened (ms), by id. Shares never opened are missing. */
export async function readViews(ctx: PrincipalContext, shareIds: readonly string[]) {
  if (shareIds.length === 0) return new Map<string, never>();
  const found = await queryLog(ctx, async (log) => (await log.views(shareIds)) as ShareViews[]);
  return new Map(found.map((views) => [views.shareId, views]));
}

/** A page of events, newest first. */
export async function listShareEvents(
  ctx: PrincipalContext,
  filter: EventFilter,
  page: number,
  perPage: number,
): Promise<Page<ShareEvent>> {
  const unsharable = await requireSharing(ctx, filter);
  return readLog(ctx, 'share', logFilter(filter, [unsharable, ...(await selectDeniedEvents(ctx))]), page, perPage);
}

export async function getShareEvent(ctx: PrincipalContext, id: string): Promise<ShareEvent> {
  const event = await findEvent(ctx, id);
  await requireSharing(ctx, event ?? {});
  if (!event || !makeRecordMatcher({ values: {}, denied: await selectDeniedEvents(ctx) })(event))
    throw shareEventNotFound();
  return event;
}

/**
 * The range of times around the one in an event's id: the id begins with the second of the event, or with its minute for events
 * recorded once a minute.
 */
const EVENT_TIME_RANGE = { beforeMs: 2_000, behindMs: 62_000 };

async function findEvent(ctx: PrincipalContext, id: string): Promise<ShareEvent | undefined> {
  if (!ID_PATTERN.test(id)) return undefined;
  const at = getCreatedAt(id);
  const range = { from: at - EVENT_TIME_RANGE.beforeMs, to: at + EVENT_TIME_RANGE.behindMs, values: {} };
  for await (const event of exportLog(ctx, 'share', range)) if (event.id === id) return event;
  return undefined;
}

/** Asks the log of the caller's company. */
const queryLog = <T>(
  { actor, bindings }: PrincipalContext,
  ask: (log: DurableObjectStub<CompanyLog>) => Promise<T>,
): Promise<T> => callObject(bindings.COMPANY_LOG, actor.companyId, ask);

const MAX_INTERVALS = 1000;
const DEFAULT_DAYS = 30;

interface TopEntry {
  key: string;
  label: string;
  count: number;
}

/** Counts of how often shares and embeds were opened and executed, and by how many viewers. */
export interface Analytics {
  totals: Counts;
  /** One entry for each interval, also for those without events. `start` in milliseconds. */
  series: (Counts & { start: number })[];
  /** Ordered by executions, the most first. */
  top: Record<'shares' | 'dashboards' | 'viewers' | 'countries', TopEntry[]>;
}

const NO_EVENTS: Counts = { resolved: 0, executed: 0, denied: 0, unique_viewers: 0 };

/**
 * Counts the views and executions of shares and embeds. Without `from`, of the 30 days before `to`; without `to`, until now.
 * Intervals are those of the clock of a time zone (IANA).
 */
export async function readShareAnalytics(
  ctx: PrincipalContext,
  filter: EventFilter,
  { interval, timeZone }: { interval: Interval; timeZone: string },
): Promise<Analytics> {
  const unsharable = await requireSharing(ctx, filter);
  const to = filter.to ?? ctx.now();
  const from = filter.from ?? to - DEFAULT_DAYS * DAY_MS;
  if (from > to) throw invalid([{ field: 'from', message: 'must not be after `to`' }]);
  const starts = listIntervals({ from, to }, interval, timeZone, MAX_INTERVALS + 1);
  if (starts.length > MAX_INTERVALS) throw tooManyIntervals(MAX_INTERVALS);

  const { companyId } = ctx.actor;
  const range = logFilter({ ...filter, from, to }, [unsharable, ...(await deniedViews(ctx))]);
  const found = await readAnalytics(ctx, range, starts);
  const byStart = new Map(found.series.map((counts) => [counts.start, counts]));
  const { shares, dashboards } = await readTogether(
    ctx.db,
    selectNames(ctx.db, companyId, {
      shares: found.top.shares.map(({ key }) => key),
      dashboards: found.top.dashboards.map(({ key }) => key),
    }),
  );
  const names = new Map([...shares, ...dashboards].map(({ id, name }) => [id, name]));
  const entries = (list: { key: string; label: string | null; count: number }[], unnamed: (key: string) => string) =>
    list.map(({ key, label, count }) => ({ key, label: label ?? names.get(key) ?? unnamed(key), count }));
  return {
    totals: found.totals,
    series: starts.map((start) => ({ ...NO_EVENTS, ...byStart.get(start), start })),
    top: {
      shares: entries(found.top.shares, (key) => key),
      dashboards: entries(found.top.dashboards, (key) => key),
      viewers: entries(found.top.viewers, () => 'anonymous'),
      countries: entries(found.top.countries, (key) => key),
    },
  };
}

/** What an event is about, or the events of a filter. */
type EventSubject = { [F in 'targetType' | 'shareId' | 'shareContextId']?: ShareEvent[F] };

/**
 * Requires the permission to read events: those about dashboards or visualizations need the permission to share these; those about
 * neither, such as sign-ins, need both.
 * @returns the events of a share or a context that are left out: about what the caller may not share
 */
async function requireSharing(ctx: PrincipalContext, subject: EventSubject): Promise<DeniedRecords> {
  for (const type of await findEffectiveTypes(ctx, subject)) requireAction(ctx.actor, `${type}s:share`, '*');
  const unsharable = TARGET_TYPES.filter((type) => !isAllowed(ctx.actor, `${type}s:share`, '*'));
  return { field: 'targetType', denied: { ...NOTHING_DENIED, ids: unsharable } };
}

/** The target types that are meant: the one named, that of the share (a dashboard), or those that the context grants. */
async function findEffectiveTypes(ctx: PrincipalContext, subject: EventSubject): Promise<readonly TargetType[]> {
  if (subject.targetType) return [subject.targetType];
  if (subject.shareId) return ['dashboard'];
  if (!subject.shareContextId) return TARGET_TYPES;
  const granted = await selectGrantTypes(ctx.db, ctx.actor.companyId, subject.shareContextId);
  return granted.length === 0 ? TARGET_TYPES : granted.map(({ type }) => type);
}
