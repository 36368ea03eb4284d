import { and, eq, getTableColumns, inArray, lte, ne, type SQL, sql } from 'drizzle-orm';
import { selectDefaultAccount } from '../../access/sources.ts';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { type PageRequest, readPage } from '../../db/page.ts';
import { groupBindings, groupPermissions, groupPolicies } from '../../db/schema/groups.ts';
import { events } from '../../db/schema/outbox.ts';
import { type SigningSecret, webhookEndpoints } from '../../db/schema/webhooks.ts';
import { insertWhen, makeIdListSql, matchesId } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type Endpoint = typeof webhookEndpoints.$inferSelect;
export type StoredEvent = typeof events.$inferSelect;

/** Inserts an endpoint while the company has fewer than `maxEndpoints` endpoints. */
export const insertEndpoint = (db: ControlDb, record: Endpoint, maxEndpoints: number) =>
  insertWhen(
    db,
    webhookEndpoints,
    record,
    sql`(select count(*) from ${webhookEndpoints} where company_id = ${record.companyId}) < ${maxEndpoints}`,
  ).returning({ id: webhookEndpoints.id });

export const selectEndpoint = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(webhookEndpoints)
    .where(matchesId(webhookEndpoints, companyId, id));

/** Reads a page of a company's endpoints, without denied ones. */
export const readEndpoints = (
  db: ControlDb,
  companyId: string,
  denials: Denials,
  pageRequest: Omit<PageRequest<'created_at'>, 'by'>,
) =>
  readPage(
    db,
    {
      table: webhookEndpoints,
      filter: and(eq(webhookEndpoints.companyId, companyId), isNotDenied(webhookEndpoints.id, denials)) as SQL,
    },
    { by: webhookEndpoints.createdAt, ...pageRequest },
  );

/** Selects a company's endpoints that are active or paused: a paused endpoint still gets events from before its pause. */
export const selectSubscribedEndpoints = (db: ControlDb, companyId: string) =>
  db
    .select({ id: webhookEndpoints.id, eventTypes: webhookEndpoints.eventTypes, pauses: webhookEndpoints.pauses })
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.companyId, companyId), ne(webhookEndpoints.status, 'disabled')));

export type EndpointChanges = Partial<
  Pick<Endpoint, 'url' | 'description' | 'eventTypes' | 'status' | 'disabledReason'>
>;

export const updateEndpoint = (db: ControlDb, companyId: string, id: string, changes: EndpointChanges, now: number) =>
  db
    .update(webhookEndpoints)
    .set({ ...changes, updatedAt: now })
    .where(matchesId(webhookEndpoints, companyId, id))
    .returning();

/** Replaces an endpoint's secrets, if they are unchanged since they were read. */
export const replaceSecrets = (
  db: ControlDb,
  { companyId, id, secrets }: Pick<Endpoint, 'companyId' | 'id' | 'secrets'>,
  newSecrets: SigningSecret[],
  now?: number,
) =>
  db
    .update(webhookEndpoints)
    .set({ secrets: newSecrets, ...(now !== undefined && { updatedAt: now }) })
    .where(and(matchesId(webhookEndpoints, companyId, id), eq(webhookEndpoints.secrets, secrets)))
    .returning({ id: webhookEndpoints.id });

export const deleteEndpoint = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(webhookEndpoints)
    .where(matchesId(webhookEndpoints, companyId, id))
    .returning({ id: webhookEndpoints.id });

/** Selects endpoints of all companies with a secret that does not begin with the prefix of the newest encryption key. */
export const selectEndpointsUnderOlderKey = (db: ControlDb, prefix: string, limit: number) =>
  db
    .select()
    .from(webhookEndpoints)
    .where(
      sql`exists (select 1 from json_each(${webhookEndpoints.secrets}) as each where each.value ->> 'secret' not like ${`${prefix}%`})`,
    )
    .limit(limit);

/**
 * Selects the events of a company that are not delivered yet, the oldest first, each with the text of its record. @param after the
 * event after which they follow
 */
export const selectEvents = (
  db: ControlDb,
  companyId: string,
  limit: number,
  after?: { occurredAt: number; id: string },
) =>
  db
    .select({ ...getTableColumns(events), text: sql<string>`${events.record} || ''`.as('text') })
    .from(events)
    .where(
      and(
        eq(events.companyId, companyId),
        after && sql`(${events.occurredAt}, ${events.id}) > (${after.occurredAt}, ${after.id})`,
      ),
    )
    .orderBy(events.occurredAt, events.id)
    .limit(limit);

/** Deletes events whose record is unchanged: one from which a user was redacted since it was read is sent again. */
export const deleteEvents = (db: ControlDb, companyId: string, readEvents: readonly { id: string; text: string }[]) =>
  db.delete(events).where(
    and(
      eq(events.companyId, companyId),
      inArray(events.id, makeIdListSql(readEvents.map(({ id }) => id))),
      sql`exists (select 1 from json_each(${JSON.stringify(readEvents.map(({ id, text }) => [id, text]))}) as read
          where read.value ->> 0 = ${events.id} and read.value ->> 1 = ${events.record})`,
    ),
  );

/** Inserts events from a company's Postgres, each only once, if the company has an endpoint that is not disabled. */
export const insertEvents = (db: ControlDb, companyId: string, records: readonly Omit<StoredEvent, 'companyId'>[]) =>
  db
    .insert(events)
    .select(
      sql`select value ->> 'id', ${companyId}, value ->> 'type', value -> 'record', value ->> 'occurredAt'
        from json_each(${JSON.stringify(records)})
        where exists (select 1 from ${webhookEndpoints} where ${webhookEndpoints.companyId} = ${companyId} and ${ne(webhookEndpoints.status, 'disabled')})`,
    )
    .onConflictDoNothing();

/** Selects active companies with events that have waited since a time (ms), others each time: those of some may be stuck. */
export const selectCompaniesWithPendingEvents = (db: ControlDb, waitingSince: number, limit: number) =>
  db
    .selectDistinct({ companyId: events.companyId })
    .from(events)
    .where(and(lte(events.occurredAt, waitingSince), isCompanyActive(events.companyId)))
    .orderBy(sql`random()`)
    .limit(limit);

/** Deletes events from before a time (ms) of companies without a webhook endpoint. */
export const deleteEventsWithoutEndpoint = (db: ControlDb, cutoff: number) =>
  db
    .delete(events)
    .where(
      and(
        lte(events.occurredAt, cutoff),
        sql`not exists (select 1 from ${webhookEndpoints} where ${webhookEndpoints.companyId} = ${events.companyId} and ${ne(webhookEndpoints.status, 'disabled')})`,
      ),
    );

/** Makes the queries for the groups of users on the console, and for the permissions and policies of groups. */
export const selectRelatedIds = (db: ControlDb, companyId: string, ids: readonly string[]) => ({
  memberships: db
    .select({ of: groupBindings.principalId, id: groupBindings.groupId })
    .from(groupBindings)
    .where(
      and(
        eq(groupBindings.companyId, companyId),
        eq(groupBindings.accountId, selectDefaultAccount(companyId)),
        eq(groupBindings.principalType, 'user'),
        inArray(groupBindings.principalId, makeIdListSql(ids)),
      ),
    ),
  policies: db
    .select({ of: groupPolicies.groupId, id: groupPolicies.policyId })
    .from(groupPolicies)
    .where(and(eq(groupPolicies.companyId, companyId), inArray(groupPolicies.groupId, makeIdListSql(ids)))),
  permissions: db
    .select({ of: groupPermissions.groupId, id: groupPermissions.permissionId })
    .from(groupPermissions)
    .where(and(eq(groupPermissions.companyId, companyId), inArray(groupPermissions.groupId, makeIdListSql(ids)))),
});
