import { and, count, eq, getTableColumns, isNull, not, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { readPage, type SearchRequest } from '../../db/page.ts';
import { dashboards, dashboardVisualizations } from '../../db/schema/dashboards.ts';
import { groups } from '../../db/schema/groups.ts';
import { shareContexts, shareGrants, shareMembers } from '../../db/schema/share-contexts.ts';
import { dashboardShares } from '../../db/schema/shares.ts';
import { users } from '../../db/schema/users.ts';
import { visualizations } from '../../db/schema/visualizations.ts';
import { makeContainsSql, makeNocaseSql } from '../../db/search.ts';
import { existsSql, insertWhen, makeUniqueSlugSql, matchesId, matchesUndeletedId } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';
import type { FilterPolicy } from '../../sharing/filter-policy.ts';
import type { TargetType } from '../../sharing/share-event.ts';
import { areDashboardsUnchanged, type DashboardVersions } from '../dashboards/service.ts';

/** A dashboard or visualization that a context shows, and the policies that narrow it. Its fields are named as in the API. */
export interface Grant {
  target_type: TargetType;
  target_id: string;
  filter_policies: FilterPolicy[];
}

type ContextRow = typeof shareContexts.$inferSelect;
type ContextVersion = Pick<ContextRow, 'companyId' | 'id' | 'version'>;
export type ShareContext = ContextRow & { grants: Grant[]; memberCount: number };
export type MemberRow = typeof shareMembers.$inferSelect;
export type ShareMember = MemberRow & { name: string | null; email: string | null };

/** The SQL condition that a grant's dashboard or visualization is not deleted. */
const TARGET_EXISTS = sql`(target_type = 'dashboard' and exists (select 1 from ${dashboards} where dashboards.id = target_id and dashboards.company_id = share_grants.company_id)
  or target_type = 'visualization' and exists (select 1 from ${visualizations} where visualizations.id = target_id and visualizations.company_id = share_grants.company_id))`;

/** The users and groups that the caller is denied. */
export type DeniedMembers = Record<'internal_user' | 'group', Denials>;

/** Makes the SQL conditions of members that are not denied. */
const areMembersNotDenied = (deniedMembers: DeniedMembers): (SQL | undefined)[] =>
  Object.entries(deniedMembers).map(([type, ofType]) => {
    const isVisibleMember = isNotDenied(shareMembers.subject, ofType);
    return isVisibleMember && sql`(${shareMembers.memberType} <> ${type} or ${isVisibleMember})`;
  });

const selectExtraColumns = (deniedMembers: DeniedMembers) => ({
  grants: sql<Grant[]>`(select json_group_array(json_object('target_type', target_type, 'target_id', target_id,
    'filter_policies', json(filter_policies)) order by position) from ${shareGrants}
    where share_grants.context_id = share_contexts.id and ${TARGET_EXISTS})`
    .mapWith((text: string) => JSON.parse(text) as Grant[])
    .as('grants'),
  memberCount:
    sql<number>`(select count(*) from ${shareMembers} where ${and(eq(shareMembers.contextId, shareContexts.id), ...areMembersNotDenied(deniedMembers))})`.as(
      'member_count',
    ),
});

/** Makes the SQL conditions that are true for contexts that grant no denied target. */
const hasNoDeniedGrant = (denialsByType: Record<TargetType, Denials>): (SQL | undefined)[] =>
  Object.entries(denialsByType).map(([type, ofType]) => {
    const isGrantable = isNotDenied(shareGrants.targetId, ofType);
    return (
      isGrantable &&
      sql`not exists (select 1 from ${shareGrants} where share_grants.context_id = share_contexts.id
        and share_grants.target_type = ${type} and not ${isGrantable} and ${TARGET_EXISTS})`
    );
  });

const CONTEXT_ORDER_COLUMNS = { name: makeNocaseSql(shareContexts.name), created_at: shareContexts.createdAt };

export type ContextSearch = SearchRequest<keyof typeof CONTEXT_ORDER_COLUMNS>;

/** Reads a page of a company's contexts, without those that show something denied, or of a type in `hiddenTypes`. */
export const readContexts = (
  db: ControlDb,
  companyId: string,
  {
    search,
    hiddenTypes,
    denialsByType,
    deniedMembers,
    ...page
  }: ContextSearch & {
    hiddenTypes: readonly TargetType[];
    denialsByType: Record<TargetType, Denials>;
    deniedMembers: DeniedMembers;
  },
) => {
  const isNotHidden = hiddenTypes.map(
    (type) =>
      sql`not exists (select 1 from ${shareGrants} where context_id = share_contexts.id and target_type = ${type} and ${TARGET_EXISTS})`,
  );
  return readPage(
    db,
    {
      table: shareContexts,
      filter: and(
        eq(shareContexts.companyId, companyId),
        makeContainsSql([shareContexts.name], search),
        ...isNotHidden,
        ...hasNoDeniedGrant(denialsByType),
      ) as SQL,
      extra: selectExtraColumns(deniedMembers),
    },
    { ...page, by: CONTEXT_ORDER_COLUMNS[page.by] },
  );
};

/** Reads a context; undefined if there is none. */
export async function readContext(
  db: ControlDb,
  companyId: string,
  id: string,
  deniedMembers: DeniedMembers,
): Promise<ShareContext | undefined> {
  const [context] = await db
    .select({ ...getTableColumns(shareContexts), ...selectExtraColumns(deniedMembers) })
    .from(shareContexts)
    .where(matchesId(shareContexts, companyId, id));
  return context;
}

/** Inserts a context while the dashboards that it shows are unchanged. A taken slug gets a suffix if `canChangeSlug`. */
export const insertContext = (
  db: ControlDb,
  record: ContextRow,
  { canChangeSlug, dashboards }: { canChangeSlug: boolean; dashboards: DashboardVersions },
) => {
  const slug = canChangeSlug ? makeUniqueSlugSql(shareContexts, record) : record.slug;
  return insertWhen(
    db,
    shareContexts,
    { ...record, slug },
    areDashboardsUnchanged(record.companyId, dashboards),
  ).returning();
};

/** Makes the SQL condition that is true while the context is still the version that was read. */
const isContextUnchanged = ({ companyId, id, version }: ContextVersion): SQL =>
  existsSql(shareContexts, matchesId(shareContexts, companyId, id), eq(shareContexts.version, version));

/** Updates a context while it and the dashboards that it shows from now on are still the versions that were read. */
export const updateContext = (
  db: ControlDb,
  { companyId, id, version }: ContextRow,
  changes: Partial<Pick<ContextRow, 'name' | 'slug' | 'description' | 'version'>> & { updatedAt: number },
  dashboards: DashboardVersions = [],
) =>
  db
    .update(shareContexts)
    .set(changes)
    .where(
      and(
        matchesId(shareContexts, companyId, id),
        eq(shareContexts.version, version),
        areDashboardsUnchanged(companyId, dashboards),
      ),
    )
    .returning({ id: shareContexts.id });

/**
 * Replaces the grants of a context while it and the dashboards that they show are still the versions that were read. Comes before
 * the statement that makes the context's next version: a concurrent change's next version has the same number.
 */
export const replaceGrants = (
  db: ControlDb,
  context: ContextVersion,
  grants: readonly Grant[],
  dashboards: DashboardVersions = [],
) => {
  const { companyId, id } = context;
  const isUnchanged = and(isContextUnchanged(context), areDashboardsUnchanged(companyId, dashboards));
  return [
    db.delete(shareGrants).where(and(eq(shareGrants.contextId, id), eq(shareGrants.companyId, companyId), isUnchanged)),
    db.insert(shareGrants).select(
      sql`select ${companyId}, ${id}, value ->> 'target_type', value ->> 'target_id', key, value -> 'filter_policies'
        from json_each(${JSON.stringify(grants)}) where ${isUnchanged}`,
    ),
  ] as const;
};

/**
 * Deletes a context while it is still the version that was read, with its members; revokes its shares. Its grants stay, because
 * they decide who may not see its events.
 */
export const prepareDeletion = (db: ControlDb, { companyId, id, version }: ContextRow, now: number) => {
  const isDeleted = not(existsSql(shareContexts, matchesId(shareContexts, companyId, id)));
  return {
    deleted: db
      .delete(shareContexts)
      .where(and(matchesId(shareContexts, companyId, id), eq(shareContexts.version, version)))
      .returning({ id: shareContexts.id }),
    members: db
      .delete(shareMembers)
      .where(and(eq(shareMembers.contextId, id), eq(shareMembers.companyId, companyId), isDeleted)),
    shares: db
      .update(dashboardShares)
      .set({ revokedAt: now, updatedAt: now })
      .where(
        and(
          eq(dashboardShares.shareContextId, id),
          eq(dashboardShares.companyId, companyId),
          isNull(dashboardShares.revokedAt),
          isDeleted,
        ),
      ),
  };
};

const EMAIL_COLUMN = sql<string | null>`case member_type when 'external_email' then subject
  when 'internal_user' then (select email from ${users} where users.id = subject and users.company_id = share_members.company_id) end`;

const NAME_COLUMN = sql<string | null>`case member_type
  when 'internal_user' then (select name from ${users} where users.id = subject and users.company_id = share_members.company_id)
  when 'group' then (select name from ${groups} where groups.id = subject and groups.company_id = share_members.company_id) end`;

const MEMBER_ORDER_COLUMNS = {
  name: makeNocaseSql(sql`coalesce(${NAME_COLUMN}, ${EMAIL_COLUMN})`),
  created_at: shareMembers.createdAt,
};

export type MemberSearch = SearchRequest<keyof typeof MEMBER_ORDER_COLUMNS>;

/** Reads a page of a context's members, without users and groups that are denied. `search` is a part of the name or email. */
export const readMembers = (
  db: ControlDb,
  { companyId, id }: ContextRow,
  { search, deniedMembers, ...page }: MemberSearch & { deniedMembers: DeniedMembers },
) =>
  readPage(
    db,
    {
      table: shareMembers,
      filter: and(
        eq(shareMembers.companyId, companyId),
        eq(shareMembers.contextId, id),
        makeContainsSql([NAME_COLUMN, EMAIL_COLUMN], search),
        ...areMembersNotDenied(deniedMembers),
      ) as SQL,
      extra: { name: NAME_COLUMN.as('name'), email: EMAIL_COLUMN.as('email') },
    },
    { ...page, by: MEMBER_ORDER_COLUMNS[page.by] },
  );

/** Inserts a member if the context is the version that was read and not full, and its dashboards are unchanged. */
export const insertMember = (
  db: ControlDb,
  record: MemberRow,
  context: ContextVersion,
  { maxCount, dashboards }: { maxCount: number; dashboards: DashboardVersions },
) =>
  insertWhen(
    db,
    shareMembers,
    record,
    and(
      isContextUnchanged(context),
      sql`(select count(*) from ${shareMembers} where context_id = ${context.id}) < ${maxCount}`,
      areDashboardsUnchanged(context.companyId, dashboards),
    ) as SQL,
  ).returning();

const isContextMember = ({ companyId, id: contextId }: ContextRow, id: string): SQL =>
  and(matchesId(shareMembers, companyId, id), eq(shareMembers.contextId, contextId)) as SQL;

export const selectMember = (db: ControlDb, context: ContextRow, id: string) =>
  db.select().from(shareMembers).where(isContextMember(context, id));

/** Counts all members of a context. */
export const countMembers = (db: ControlDb, { companyId, id }: ContextRow) =>
  db
    .select({ members: count() })
    .from(shareMembers)
    .where(and(eq(shareMembers.companyId, companyId), eq(shareMembers.contextId, id)));

/** Removes a member. */
export const deleteMember = (db: ControlDb, context: ContextRow, id: string) =>
  db.delete(shareMembers).where(isContextMember(context, id)).returning({ id: shareMembers.id });

/** Selects the dashboards that a context shows, with the visualizations on each. */
export const selectGrantedDashboards = (db: ControlDb, { companyId, id }: ContextRow) =>
  db
    .select({
      id: dashboards.id,
      version: dashboards.version,
      visualizationIds: sql<string[]>`(select json_group_array(visualization_id) from ${dashboardVisualizations}
        where dashboard_id = dashboards.id and company_id = dashboards.company_id)`.mapWith(
        (text: string) => JSON.parse(text) as string[],
      ),
    })
    .from(shareGrants)
    .innerJoin(
      dashboards,
      and(eq(dashboards.id, shareGrants.targetId), eq(dashboards.companyId, shareGrants.companyId)),
    )
    .where(
      and(eq(shareGrants.companyId, companyId), eq(shareGrants.contextId, id), eq(shareGrants.targetType, 'dashboard')),
    );

/** Selects the group of an id, unless it is deleted. */
export const selectGroup = (db: ControlDb, companyId: string, id: string) =>
  db
    .select({ id: groups.id, name: groups.name })
    .from(groups)
    .where(matchesUndeletedId(groups, companyId, id));

/** Selects one membership of an address (lower-case) in any context of the company, if it has one. */
export const selectMembershipOfEmail = (db: ControlDb, companyId: string, email: string) =>
  db
    .select({ id: shareMembers.id })
    .from(shareMembers)
    .where(
      and(
        eq(shareMembers.companyId, companyId),
        eq(shareMembers.memberType, 'external_email'),
        eq(shareMembers.subject, email),
      ),
    )
    .limit(1);
