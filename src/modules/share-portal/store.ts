import { and, count, eq, isNotNull, type SQL, sql } from 'drizzle-orm';
import type { OutsiderActor, Principal } from '../../access/actors.ts';
import { findListDenials } from '../../access/denials.ts';
import { getCallerSubject, isBindingOfPrincipal } from '../../access/sources.ts';
import type { Context } from '../../context.ts';
import { type ControlDb, readTogether } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { type Page, readPage } from '../../db/page.ts';
import { dashboards } from '../../db/schema/dashboards.ts';
import { groupBindings, groups } from '../../db/schema/groups.ts';
import { shareContexts, shareGrants, shareMembers } from '../../db/schema/share-contexts.ts';
import { matchesId } from '../../db/statements.ts';
import type { TargetType } from '../../sharing/share-event.ts';

export type PortalActor = Principal | OutsiderActor;

/** An entry of the portal's lists: a context, or a dashboard of a context. */
export interface PortalEntry {
  id: string;
  name: string;
  slug: string;
  description: string;
  contextId: string;
}

type PageRequest = { page: number; perPage: number };

/** Makes the SQL condition for memberships of the caller: by address, as a user, or through a group. */
function isMembershipOfCaller(actor: PortalActor): SQL {
  if (actor.kind === 'outsider') {
    return sql`(share_members.member_type = 'external_email' and share_members.subject = ${actor.email})`;
  }
  return sql`(share_members.member_type = 'internal_user' and share_members.subject = ${actor.id}
    or share_members.member_type = 'group' and share_members.subject in (select group_bindings.group_id from ${groupBindings}
      join ${groups} on groups.id = group_bindings.group_id and groups.deleted_at is null
      where ${isBindingOfPrincipal(getCallerSubject(actor))}))`;
}

/** Makes the SQL condition for contexts (by this id) of which the caller is a member. */
const isCallerMember = (actor: PortalActor, contextId: SQL): SQL =>
  sql`exists (select 1 from ${shareMembers} where share_members.context_id = ${contextId}
    and share_members.company_id = ${actor.companyId} and ${isMembershipOfCaller(actor)})`;

/** Reads a page of the contexts of which the caller is a member, the newest first. */
export async function readOwnContexts(
  db: ControlDb,
  actor: PortalActor,
  { page, perPage }: PageRequest,
): Promise<Page<PortalEntry>> {
  const filter = and(
    eq(shareContexts.companyId, actor.companyId),
    isCallerMember(actor, sql`share_contexts.id`),
  ) as SQL;
  const pageRequest = { by: shareContexts.createdAt, descending: true, page, perPage };
  const contextPage = await readPage(db, { table: shareContexts, filter }, pageRequest);
  return { ...contextPage, records: contextPage.records.map((context) => ({ ...context, contextId: context.id })) };
}

/**
 * Reads a page of the dashboards that the caller's contexts grant, or those of one context; a dashboard once for each context
 * that grants it. Leaves out dashboards that a caller of the company is denied.
 */
export async function readOwnDashboards(
  db: ControlDb,
  actor: PortalActor,
  { page, perPage, contextId }: PageRequest & { contextId?: string },
): Promise<Page<PortalEntry>> {
  const isGrantedDashboard = and(
    eq(dashboards.id, shareGrants.targetId),
    eq(dashboards.companyId, shareGrants.companyId),
  );
  const isGranted = and(
    eq(shareGrants.companyId, actor.companyId),
    eq(shareGrants.targetType, 'dashboard'),
    contextId === undefined ? undefined : eq(shareGrants.contextId, contextId),
    isCallerMember(actor, sql`share_grants.context_id`),
    isNotDenied(shareGrants.targetId, findListDenials(actor, 'dashboard')),
  );
  const { id, name, slug, description } = dashboards;
  const { counted, records } = await readTogether(db, {
    counted: db.select({ total: count() }).from(shareGrants).innerJoin(dashboards, isGrantedDashboard).where(isGranted),
    records: db
      .select({ id, name, slug, description, contextId: shareGrants.contextId })
      .from(shareGrants)
      .innerJoin(dashboards, isGrantedDashboard)
      .where(isGranted)
      .orderBy(name, id, shareGrants.contextId)
      .limit(perPage)
      .offset((page - 1) * perPage),
  });
  return { total: counted[0]?.total ?? 0, page, perPage, records };
}

/** Selects a context, if the caller is a member of it. */
export const selectOwnContext = (ctx: Context<PortalActor>, contextId: string) =>
  ctx.db
    .select({ id: shareContexts.id })
    .from(shareContexts)
    .where(
      and(matchesId(shareContexts, ctx.actor.companyId, contextId), isCallerMember(ctx.actor, sql`share_contexts.id`)),
    );

/** Reads the attributes of the caller's memberships in a context. */
export const selectOwnAttributes = ({ db, actor }: Context<PortalActor>, contextId: string) =>
  db
    .select({ attributes: shareMembers.attributes })
    .from(shareMembers)
    .where(
      and(
        eq(shareMembers.companyId, actor.companyId),
        eq(shareMembers.contextId, contextId),
        isNotNull(shareMembers.attributes),
        isMembershipOfCaller(actor),
      ),
    );

/** Selects the policies under which a context grants a dashboard; no row if it does not. The id may be a subquery. */
export const selectGrant = (db: ControlDb, companyId: string, contextId: string, dashboardId: string | SQL) =>
  db
    .select({ filterPolicies: shareGrants.filterPolicies })
    .from(shareGrants)
    .where(
      and(
        eq(shareGrants.companyId, companyId),
        eq(shareGrants.contextId, contextId),
        eq(shareGrants.targetType, 'dashboard'),
        eq(shareGrants.targetId, dashboardId),
      ),
    );

/** Selects the grants of a target to the contexts that an address is a member of, the oldest membership first. */
export const selectGrantsToAddress = (
  db: ControlDb,
  companyId: string,
  target: { type: TargetType; id: string },
  email: string,
) =>
  db
    .select({
      contextId: shareGrants.contextId,
      filterPolicies: shareGrants.filterPolicies,
      attributes: shareMembers.attributes,
    })
    .from(shareMembers)
    .innerJoin(
      shareGrants,
      and(eq(shareGrants.contextId, shareMembers.contextId), eq(shareGrants.companyId, shareMembers.companyId)),
    )
    .where(
      and(
        eq(shareMembers.companyId, companyId),
        eq(shareMembers.memberType, 'external_email'),
        eq(shareMembers.subject, email),
        eq(shareGrants.targetType, target.type),
        eq(shareGrants.targetId, target.id),
      ),
    )
    .orderBy(shareMembers.createdAt, shareMembers.id)
    .limit(1);

/** Makes a subquery for a dashboard's id by its slug, for reads in the same batch. */
export const selectDashboardIdBySlug = (companyId: string, slug: string): SQL =>
  sql`(select dashboards.id from ${dashboards} where dashboards.company_id = ${companyId} and dashboards.slug = ${slug})`;
