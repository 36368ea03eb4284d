import { findReadDenials } from '../../access/denials.ts';
import { isAllowed, requireAction } from '../../access/requirements.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { Page } from '../../db/page.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { invalidInput } from '../../kernel/failure.ts';
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
  type NewShareEvent,
  prepareRevocations,
  prepareShareEvent,
  recordShareEvent,
  runRecordingRefusal,
} from './record.ts';

/** The filter of a list of a company's events. Times in milliseconds, both ends included. */
export interface EventFilter {
  /** The type of target to which the list is limited. */
  targetType?: TargetType;
  shareId?: string;
  shareContextId?: string;
  type?: ShareEventType;
  from?: number;
  to?: number;
}

/** Converts the filter into a filter of the log, without events that the caller may not see. */
function makeLogFilter({ from, to, ...values }: EventFilter, hiddenRecords: readonly DeniedRecords[]): LogFilter {
  const definedValues = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  const deniedRecords = hiddenRecords.filter((records) => !isNothingDenied(records.denied));
  return { from, to, values: definedValues, ...(deniedRecords.length > 0 && { denied: deniedRecords }) };
}

/**
 * Selects the events to hide from the caller: about a denied dashboard or visualization, or a context that grants one;
 * about downloads of a denied visualization; about members that are denied users or groups; and events caused by denied
 * users or service accounts.
 */
async function readDeniedEvents(ctx: PrincipalContext): Promise<DeniedRecords[]> {
  const members = (
    [
      ['internal_user', 'user'],
      ['group', 'group'],
    ] as const
  ).map(([value, kind]) => ({
    field: 'details.member_id',
    denied: findReadDenials(ctx.actor, kind),
    where: { field: 'details.member_type', value },
  }));
  // A download of a dashboard is of one visualization on it.
  const deniedDownloads = {
    field: 'details.visualization_id',
    denied: findReadDenials(ctx.actor, 'shared_visualization'),
  };
  return [...(await readDeniedViewEvents(ctx)), deniedDownloads, ...members];
}

/** Selects the hidden events among those that are counted as views: events of members and downloads are not counted. */
async function readDeniedViewEvents(ctx: PrincipalContext): Promise<DeniedRecords[]> {
  const actors = (
    [
      ['user', 'user'],
      ['service_account', 'named_service_account'],
    ] as const
  ).map(([value, kind]) => ({
    field: 'actorId',
    denied: findReadDenials(ctx.actor, kind),
    where: { field: 'actorKind', value },
  }));
  return [...(await readDeniedTargets(ctx)), ...actors];
}

/** Selects events about a target that the caller is denied. */
async function readDeniedTargets({ db, actor }: PrincipalContext): Promise<DeniedRecords[]> {
  const targets = {
    dashboard: findReadDenials(actor, 'shared_dashboard'),
    visualization: findReadDenials(actor, 'shared_visualization'),
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
  const shareViews = await queryLog(ctx, async (log) => (await log.views(shareIds)) as ShareViews[]);
  return new Map(shareViews.map((views) => [views.shareId, views]));
}

/** Lists a page of events, newest first. */
export async function listShareEvents(
  ctx: PrincipalContext,
  filter: EventFilter,
  page: number,
  perPage: number,
): Promise<Page<ShareEvent>> {
  const hiddenRecords = await requireReadEvents(ctx, filter);
  return readLog(ctx, 'share', makeLogFilter(filter, [hiddenRecords, ...(await readDeniedEvents(ctx))]), page, perPage);
}

export async function getShareEvent(ctx: PrincipalContext, id: string): Promise<ShareEvent> {
  const event = await findEvent(ctx, id);
  await requireReadEvents(ctx, event ?? {});
  if (!event || !makeRecordMatcher({ values: {}, denied: await readDeniedEvents(ctx) })(event))
    throw shareEventNotFound();
  return event;
}

/** The range in which an event is searched around the time in its id: its second, or its minute if recorded once a minute. */
const EVENT_TIME_RANGE = { beforeMs: 2_000, behindMs: 62_000 };

async function findEvent(ctx: PrincipalContext, id: string): Promise<ShareEvent | undefined> {
  if (!ID_PATTERN.test(id)) return undefined;
  const at = getCreatedAt(id);
  const range = { from: at - EVENT_TIME_RANGE.beforeMs, to: at + EVENT_TIME_RANGE.behindMs, values: {} };
  for await (const event of exportLog(ctx, 'share', range)) if (event.id === id) return event;
  return undefined;
}

/** Queries the log of the caller's company. */
const queryLog = <T>(
  { actor, bindings }: PrincipalContext,
  query: (log: DurableObjectStub<CompanyLog>) => Promise<T>,
): Promise<T> => callObject(bindings.COMPANY_LOG, actor.companyId, query);

const MAX_INTERVALS = 1000;
const DEFAULT_RANGE_DAYS = 30;

const ZERO_COUNTS: Counts = { resolved: 0, executed: 0, denied: 0, unique_viewers: 0 };

/**
 * Counts the views and executions of shares and embeds between `from` (by default 30 days before `to`) and `to` (by default now).
 * Intervals follow the clock of a time zone (IANA). `series` has an entry for each, also without events, with its `start` in
 * milliseconds; `top` is ordered by executions, the most first.
 */
export async function readShareAnalytics(
  ctx: PrincipalContext,
  filter: EventFilter,
  { interval, timeZone }: { interval: Interval; timeZone: string },
) {
  const hiddenRecords = await requireReadEvents(ctx, filter);
  const to = filter.to ?? ctx.now();
  const from = filter.from ?? to - DEFAULT_RANGE_DAYS * DAY_MS;
  if (from > to) throw invalidInput([{ field: 'from', message: 'must not be after `to`' }]);
  const intervalStarts = listIntervals({ from, to }, interval, timeZone, MAX_INTERVALS + 1);
  if (intervalStarts.length > MAX_INTERVALS) throw tooManyIntervals(MAX_INTERVALS);

  const { companyId } = ctx.actor;
  const range = makeLogFilter({ ...filter, from, to }, [hiddenRecords, ...(await readDeniedViewEvents(ctx))]);
  const analytics = await readAnalytics(ctx, range, intervalStarts);
  const countsByStart = new Map(analytics.series.map((counts) => [counts.start, counts]));
  const { shares, dashboards } = await readTogether(
    ctx.db,
    selectNames(ctx.db, companyId, {
      shareIds: analytics.top.shares.map(({ key }) => key),
      dashboardIds: analytics.top.dashboards.map(({ key }) => key),
    }),
  );
  const names = new Map([...shares, ...dashboards].map(({ id, name }) => [id, name]));
  const labelEntries = (
    list: { key: string; label: string | null; count: number }[],
    makeLabel: (key: string) => string,
  ) => list.map(({ key, label, count }) => ({ key, label: label ?? names.get(key) ?? makeLabel(key), count }));
  return {
    totals: analytics.totals,
    series: intervalStarts.map((start) => ({ ...ZERO_COUNTS, ...countsByStart.get(start), start })),
    top: {
      shares: labelEntries(analytics.top.shares, (key) => key),
      dashboards: labelEntries(analytics.top.dashboards, (key) => key),
      viewers: labelEntries(analytics.top.viewers, () => 'anonymous'),
      countries: labelEntries(analytics.top.countries, (key) => key),
    },
  };
}

/** The subject of an event, or of the events of a filter. */
type EventSubject = { [F in 'targetType' | 'shareId' | 'shareContextId']?: ShareEvent[F] };

/**
 * Requires the permission to read events: for events about dashboards or visualizations the permission to share these; for events
 * about neither, such as sign-ins, both permissions. @returns the events of a share or a context that are left out, as the caller
 * may not share what they are about
 */
async function requireReadEvents(ctx: PrincipalContext, eventSubject: EventSubject): Promise<DeniedRecords> {
  for (const type of await findEffectiveTypes(ctx, eventSubject)) requireAction(ctx.actor, `${type}s:share`, '*');
  const unsharableTypes = TARGET_TYPES.filter((type) => !isAllowed(ctx.actor, `${type}s:share`, '*'));
  return { field: 'targetType', denied: { ...NOTHING_DENIED, ids: unsharableTypes } };
}

/** Finds the target types concerned: the one named, that of the share (a dashboard), or those that the context grants. */
async function findEffectiveTypes(ctx: PrincipalContext, eventSubject: EventSubject): Promise<readonly TargetType[]> {
  if (eventSubject.targetType) return [eventSubject.targetType];
  if (eventSubject.shareId) return ['dashboard'];
  if (!eventSubject.shareContextId) return TARGET_TYPES;
  const grantedTypes = await selectGrantTypes(ctx.db, ctx.actor.companyId, eventSubject.shareContextId);
  return grantedTypes.length === 0 ? TARGET_TYPES : grantedTypes.map(({ type }) => type);
}
