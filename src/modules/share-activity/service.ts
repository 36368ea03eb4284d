import { requireAction } from '../../access/requirements.ts';
import type { Context, UserContext } from '../../context.ts';
import { openAuditDb } from '../../db/audit.ts';
import { readTogether } from '../../db/client.ts';
import type { Page } from '../../db/page.ts';
import { shareEvents } from '../../db/schema/audit/share-activity.ts';
import { defineFailure, invalid } from '../../kernel/failure.ts';
import { type ShareEvent, TARGET_TYPES, type TargetType } from '../../kernel/share-event.ts';
import { archiveOld } from '../audit/service.ts';
import {
  type Counts,
  type EventFilter,
  insertEvents,
  nameReads,
  readAnalytics,
  readEvents,
  selectEvent,
  selectGrantTypes,
  selectViews,
} from './store.ts';

export { countView, type NewShareEvent, recordShareEvent } from './record.ts';
export type { EventFilter };

export const shareEventNotFound = defineFailure('share_event.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such event.' },
  says: { sharing: 'NOT_FOUND' },
});

/** @param limit how many intervals an answer holds */
export const tooManyIntervals = (limit: number) =>
  invalid([{ field: 'interval', message: `is too short for this time: at most ${limit} intervals are answered` }]);

/** Stores events in one statement; those already stored stay unchanged. */
export async function keepShareEvents(database: D1Database, events: readonly ShareEvent[]): Promise<void> {
  if (events.length > 0) await insertEvents(openAuditDb(database), events);
}

/** How often shares were executed, and when they were last opened (ms), by id. Shares never opened are missing. */
export async function viewsOf(ctx: UserContext, shareIds: readonly string[]) {
  if (shareIds.length === 0) return new Map<string, never>();
  const found = await selectViews(openAuditDb(ctx.bindings.AUDIT_DB), ctx.actor.companyId, shareIds);
  return new Map(found.map((views) => [views.shareId, views]));
}

/** A page of events, newest first. */
export async function listShareEvents(
  ctx: UserContext,
  filter: EventFilter,
  page: number,
  perPage: number,
): Promise<Page<ShareEvent>> {
  const narrowed = await visibleFilter(ctx, filter);
  return readEvents(openAuditDb(ctx.bindings.AUDIT_DB), ctx.actor.companyId, narrowed, page, perPage);
}

export async function getShareEvent(ctx: UserContext, id: string): Promise<ShareEvent> {
  const [event] = await selectEvent(openAuditDb(ctx.bindings.AUDIT_DB), ctx.actor.companyId, id);
  requireTypes(ctx, event?.targetType ? [event.targetType] : TARGET_TYPES);
  if (!event) throw shareEventNotFound();
  return event;
}

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;

/** Lengths of the intervals in milliseconds; weeks begin on Monday, and the epoch was a Thursday. */
export const INTERVALS = {
  hour: { ms: HOUR, offset: 0 },
  day: { ms: DAY, offset: 0 },
  week: { ms: 7 * DAY, offset: 4 * DAY },
} as const;

export type Interval = keyof typeof INTERVALS;

const MAX_INTERVALS = 1000;
const DEFAULT_DAYS = 30;

interface TopEntry {
  key: string;
  label: string;
  count: number;
}

/** How often shares and embeds were opened and executed, and by how many viewers. */
export interface Analytics {
  totals: Counts;
  /** One entry for each interval, also for those without events. `start` in milliseconds. */
  series: (Counts & { start: number })[];
  /** Ordered by executions, the most first. */
  top: Record<'shares' | 'dashboards' | 'viewers' | 'countries', TopEntry[]>;
}

const NO_EVENTS: Counts = { resolved: 0, executed: 0, denied: 0, unique_viewers: 0 };

/** Without `from`, the 30 days before `to`; without `to`, until now. */
export async function shareAnalytics(ctx: UserContext, filter: EventFilter, interval: Interval): Promise<Analytics> {
  const narrowed = await visibleFilter(ctx, filter);
  const to = filter.to ?? ctx.now();
  const from = filter.from ?? to - DEFAULT_DAYS * DAY;
  if (from > to) throw invalid([{ field: 'from', message: 'must not be after `to`' }]);
  const { ms, offset } = INTERVALS[interval];
  const bucketOf = (time: number) => Math.floor((time - offset) / ms);
  const first = bucketOf(from);
  const length = bucketOf(to) - first + 1;
  if (length > MAX_INTERVALS) throw tooManyIntervals(MAX_INTERVALS);

  const { companyId } = ctx.actor;
  const db = openAuditDb(ctx.bindings.AUDIT_DB);
  const found = await readAnalytics(db, companyId, { ...narrowed, from, to }, { ms, offset });
  const byBucket = new Map(found.series.map(({ bucket, ...counts }) => [bucket, counts]));
  const { shares, dashboards } = await readTogether(
    ctx.db,
    nameReads(ctx.db, companyId, {
      shares: found.top.shares.map(({ key }) => key),
      dashboards: found.top.dashboards.map(({ key }) => key),
    }),
  );
  const names = new Map([...shares, ...dashboards].map(({ id, name }) => [id, name]));
  const entries = (list: { key: string; label: string | null; count: number }[], unnamed: (key: string) => string) =>
    list.map(({ key, label, count }) => ({ key, label: label ?? names.get(key) ?? unnamed(key), count }));
  return {
    totals: found.totals,
    series: Array.from({ length }, (_, index) => ({
      start: (first + index) * ms + offset,
      ...(byBucket.get(first + index) ?? NO_EVENTS),
    })),
    top: {
      shares: entries(found.top.shares, (key) => key),
      dashboards: entries(found.top.dashboards, (key) => key),
      viewers: entries(found.top.viewers, () => 'anonymous'),
      countries: entries(found.top.countries, (key) => key),
    },
  };
}

/**
 * Narrows the filter to the events that the caller may see: those about dashboards or visualizations need the
 * permission to share these; those about neither, such as sign-ins, need both.
 */
async function visibleFilter(ctx: UserContext, filter: EventFilter): Promise<EventFilter> {
  const types = await effectiveTypes(ctx, filter);
  requireTypes(ctx, types);
  const [only, ...others] = types;
  return others.length === 0 && only !== undefined ? { ...filter, targetType: only } : filter;
}

/** The target types of the filter: the one it names, that of its share (a dashboard), or those of its context. */
async function effectiveTypes(ctx: UserContext, filter: EventFilter): Promise<readonly TargetType[]> {
  if (filter.targetType) return [filter.targetType];
  if (filter.shareId !== undefined) return ['dashboard'];
  if (filter.shareContextId === undefined) return TARGET_TYPES;
  const granted = await selectGrantTypes(ctx.db, ctx.actor.companyId, filter.shareContextId);
  return granted.length === 1 ? granted.map(({ type }) => type) : TARGET_TYPES;
}

function requireTypes({ actor }: UserContext, types: readonly TargetType[]): void {
  for (const type of types) requireAction(actor, `${type}s:share`, '*');
}

/** Moves events past their retention to R2; the scheduled run calls it. */
export const archiveOldEvents = (ctx: Context): Promise<number> => archiveOld(ctx, shareEvents, 'share-events');
