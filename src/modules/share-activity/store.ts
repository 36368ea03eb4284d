import { and, eq, gte, inArray, lte, type SQL, sql } from 'drizzle-orm';
import { type ControlDb, readTogether } from '../../db/client.ts';
import { readPage } from '../../db/page.ts';
import { shareEvents, shareViews } from '../../db/schema/audit/share-activity.ts';
import { dashboards } from '../../db/schema/dashboards.ts';
import { shareGrants } from '../../db/schema/share-contexts.ts';
import { dashboardShares } from '../../db/schema/shares.ts';
import type { ShareEvent, ShareEventType, TargetType } from '../../kernel/share-event.ts';

/** Selects events of a company. Times in milliseconds, both ends included. */
export interface EventFilter {
  /** Only events about a target of this type. */
  targetType?: TargetType;
  shareId?: string;
  shareContextId?: string;
  type?: ShareEventType;
  from?: number;
  to?: number;
}

/** Inserts events that are not stored yet, as one JSON value: a statement of D1 has at most 100 bound ones. */
export const insertEvents = (db: ControlDb, events: readonly ShareEvent[]) =>
  db.run(sql`
    insert into ${shareEvents} (id, company_id, type, occurred_at, actor_kind, actor_id, actor_email, target_type, target_id,
      share_id, share_context_id, ip_country, user_agent, origin, correlation_id, viewer, details)
    select value ->> 'id', value ->> 'companyId', value ->> 'type', value ->> 'occurredAt', value ->> 'actorKind',
      value ->> 'actorId', value ->> 'actorEmail', value ->> 'targetType', value ->> 'targetId', value ->> 'shareId',
      value ->> 'shareContextId', value ->> 'ipCountry', value ->> 'userAgent', value ->> 'origin',
      value ->> 'correlationId', value ->> 'viewer', value -> 'details'
    from json_each(${JSON.stringify(events)})
    where true
    on conflict do nothing`);

/** A page of a company's events, newest first. */
export const readEvents = (db: ControlDb, companyId: string, filter: EventFilter, page: number, perPage: number) =>
  readPage(
    db,
    { table: shareEvents, filter: matching(companyId, filter) },
    { by: shareEvents.occurredAt, descending: true, page, perPage },
  );

export const selectEvent = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(shareEvents)
    .where(and(eq(shareEvents.companyId, companyId), eq(shareEvents.id, id)));

/** The outcome of an event in the words of analytics: resolved, executed or denied. */
const OUTCOME = sql`case
  when ${shareEvents.type} in ('share.executed', 'embed.executed') then 'executed'
  when ${shareEvents.type} in ('share.denied', 'embed.denied') then 'denied'
  when ${shareEvents.type} = 'share.resolved' then 'resolved' end`;

const countOf = (outcome: string) => sql<number>`coalesce(sum(outcome = ${outcome}), 0)`.as(outcome);

/** The counts of some events. */
const COUNTS = {
  resolved: countOf('resolved'),
  executed: countOf('executed'),
  denied: countOf('denied'),
  unique_viewers: sql<number>`count(distinct iif(outcome in ('resolved', 'executed'), viewer, null))`.as(
    'unique_viewers',
  ),
};

/** The counts of one entry of the analytics. `bucket` is the interval's number since the epoch. */
export interface Counts {
  resolved: number;
  executed: number;
  denied: number;
  unique_viewers: number;
}

/** For each list of the most frequent: the column that is counted, and a label from the events themselves. */
const TOPS = {
  shares: { key: sql`share_id`, label: sql`null` },
  dashboards: { key: sql`iif(target_type = 'dashboard', target_id, null)`, label: sql`null` },
  viewers: { key: sql`viewer`, label: sql`actor_email` },
  countries: { key: sql`ip_country`, label: sql`ip_country` },
} as const;

export type Top = keyof typeof TOPS;

/** The number of entries of a list of the most frequent. */
const TOP_LENGTH = 10;

/** Totals, the series and the lists of the most frequent, all from one state of the database. */
export async function readAnalytics(
  db: ControlDb,
  companyId: string,
  filter: EventFilter,
  interval: { ms: number; offset: number },
) {
  const events = sql`(select *, ${OUTCOME} as outcome from ${shareEvents} where ${matching(companyId, filter)})`;
  // D1 binds every number as a double: without the cast each timestamp would be an interval of its own.
  const bucket = sql<number>`cast((occurred_at - ${interval.offset}) / ${interval.ms} as integer)`.as('bucket');
  const top = (name: Top) => {
    const { key, label } = TOPS[name];
    return db
      .select({
        key: sql<string>`${key}`.as('key'),
        label: sql<string | null>`max(${label})`.as('label'),
        count: sql<number>`count(*)`.as('count'),
      })
      .from(events)
      .where(sql`outcome = 'executed' and ${key} is not null`)
      .groupBy(sql`1`)
      .orderBy(sql`3 desc, 1`)
      .limit(TOP_LENGTH);
  };
  const {
    totals: [totals],
    ...found
  } = await readTogether(db, {
    totals: db.select(COUNTS).from(events).where(sql`outcome is not null`),
    series: db
      .select({ bucket, ...COUNTS })
      .from(events)
      .where(sql`outcome is not null`)
      .groupBy(sql`1`),
    top: {
      shares: top('shares'),
      dashboards: top('dashboards'),
      viewers: top('viewers'),
      countries: top('countries'),
    },
  });
  return { totals: totals as Counts, ...found };
}

function matching(companyId: string, filter: EventFilter): SQL {
  const { targetType, shareId, shareContextId, type, from, to } = filter;
  return and(
    eq(shareEvents.companyId, companyId),
    targetType === undefined ? undefined : eq(shareEvents.targetType, targetType),
    shareId === undefined ? undefined : eq(shareEvents.shareId, shareId),
    shareContextId === undefined ? undefined : eq(shareEvents.shareContextId, shareContextId),
    type === undefined ? undefined : eq(shareEvents.type, type),
    from === undefined ? undefined : gte(shareEvents.occurredAt, from),
    to === undefined ? undefined : lte(shareEvents.occurredAt, to),
  ) as SQL;
}

/** Adds executions of a share (0 if it was only opened), and when it was last opened. */
export const addViews = (db: ControlDb, view: typeof shareViews.$inferSelect) =>
  db
    .insert(shareViews)
    .values(view)
    .onConflictDoUpdate({
      target: shareViews.shareId,
      set: {
        viewCount: sql`${shareViews.viewCount} + ${view.viewCount}`,
        lastAccessedAt: sql`max(${shareViews.lastAccessedAt}, ${view.lastAccessedAt})`,
      },
    });

const idsIn = (ids: readonly string[]): SQL => sql`(select value from json_each(${JSON.stringify(ids)}))`;

export const selectViews = (db: ControlDb, companyId: string, shareIds: readonly string[]) =>
  db
    .select()
    .from(shareViews)
    .where(and(eq(shareViews.companyId, companyId), inArray(shareViews.shareId, idsIn(shareIds))));

/** The types of what the company's contexts grant. From the control database. */
export const selectGrantTypes = (db: ControlDb, companyId: string, contextId: string) =>
  db
    .selectDistinct({ type: shareGrants.targetType })
    .from(shareGrants)
    .where(and(eq(shareGrants.companyId, companyId), eq(shareGrants.contextId, contextId)));

/** Names of shares and dashboards. From the control database. */
export const nameReads = (db: ControlDb, companyId: string, ids: { shares: string[]; dashboards: string[] }) => ({
  shares: db
    .select({ id: dashboardShares.id, name: dashboardShares.name })
    .from(dashboardShares)
    .where(and(eq(dashboardShares.companyId, companyId), inArray(dashboardShares.id, idsIn(ids.shares)))),
  dashboards: db
    .select({ id: dashboards.id, name: dashboards.name })
    .from(dashboards)
    .where(and(eq(dashboards.companyId, companyId), inArray(dashboards.id, idsIn(ids.dashboards)))),
});
