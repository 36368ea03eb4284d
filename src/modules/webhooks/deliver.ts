import type { CompanyContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { Pause } from '../../db/schema/webhooks.ts';
import { splitIntoParameters } from '../../db/statements.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import type { DeliveryInput } from '../../objects/webhook-sender.ts';
import { openDatabaseIfAny, readConnectionId } from '../managed-database/service.ts';
import { findEventType, isWantedType } from './event-types.ts';
import type { RelatedData } from './events/views.ts';
import { callSender } from './service.ts';
import {
  deleteEvents,
  insertEvents,
  type StoredEvent,
  selectEvents,
  selectRelatedIds,
  selectSubscribedEndpoints,
} from './store.ts';

/** The number of events read at a time, from the control database and from the company's Postgres. */
const BATCH_SIZE = 100;

/** An event to be sent, in the API's format. `at` in milliseconds. */
export interface EventToSend {
  /** The id of the event, sent as `webhook-id`. */
  id: string;
  type: string;
  at: number;
  data: object;
}

/** A webhook endpoint: its id, the event types it subscribes to, and its latest pauses. */
export type SubscribedEndpoint = { id: string; eventTypes: string[]; pauses: Pause[] };

/** Tells whether an endpoint was active at a time (ms): it gets no events of a pause, but those from before it. */
export const wasActive = ({ pauses }: SubscribedEndpoint, at: number): boolean =>
  !pauses.some(({ from, to }) => at >= from && (to === null || at < to));

export const toDeliveryInput = ({ id, type, at, data }: EventToSend): DeliveryInput => ({
  id,
  type,
  body: JSON.stringify({ type, timestamp: formatIsoTimestamp(at), data }),
});

/**
 * Passes each endpoint's sender what is for it: an endpoint that fails keeps nothing from the others. Can be repeated: senders
 * recognize deliveries by their ids. @returns the failures of endpoints, of which others did not fail @throws if all failed
 */
export async function passToEndpoints(
  ctx: CompanyContext,
  endpoints: readonly SubscribedEndpoint[],
  makeDeliveries: (endpoint: SubscribedEndpoint) => DeliveryInput[] | Promise<DeliveryInput[]>,
): Promise<unknown[]> {
  const results = await Promise.allSettled(
    endpoints.map(async (endpoint) => passToSender(ctx, endpoint, await makeDeliveries(endpoint))),
  );
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  if (failures.length > 0 && failures.length === endpoints.length) throw failures[0];
  return failures;
}

/** Passes each endpoint's sender the events it subscribes to. @returns as `passToEndpoints` */
export function deliverToEndpoints(
  ctx: CompanyContext,
  endpoints: readonly SubscribedEndpoint[],
  events: readonly EventToSend[],
): Promise<unknown[]> {
  const eventsWithDelivery = events.map((event) => ({ ...event, sending: toDeliveryInput(event) }));
  return passToEndpoints(ctx, endpoints, (endpoint) =>
    eventsWithDelivery
      .filter(({ type, at }) => isWantedType(endpoint.eventTypes, type) && wasActive(endpoint, at))
      .map(({ sending }) => sending),
  );
}

/** Passes deliveries to an endpoint's sender. */
export async function passToSender(
  ctx: CompanyContext,
  { id }: SubscribedEndpoint,
  deliveries: DeliveryInput[],
): Promise<void> {
  const { companyId } = ctx.actor;
  if (deliveries.length === 0) return;
  await callSender(ctx, id, async (sender) => await sender.take({ companyId, endpointId: id }, deliveries));
}

/**
 * Delivers a company's pending events to its webhook endpoints. An event is deleted once all subscribed endpoints have it: what
 * one endpoint fails to take is kept, while the others get the events after it.
 */
export async function deliverEvents(ctx: CompanyContext): Promise<void> {
  const { companyId } = ctx.actor;
  let kept: { last: StoredEvent | undefined; error: unknown } | undefined;
  for (;;) {
    const { found, listeners } = await readTogether(ctx.db, {
      found: selectEvents(ctx.db, companyId, BATCH_SIZE, kept?.last),
      listeners: selectSubscribedEndpoints(ctx.db, companyId),
    });
    if (found.length === 0) break;
    const wantedEvents = found.filter(({ type }) => listeners.some(({ eventTypes }) => isWantedType(eventTypes, type)));
    if (wantedEvents.length > 0) {
      const getRelatedData = await readRelatedData(ctx, wantedEvents);
      const eventsToSend = wantedEvents.map((event) => toEventToSend(event, getRelatedData));
      const failures = await deliverToEndpoints(ctx, listeners, eventsToSend);
      if (failures.length > 0) {
        kept = { last: found.at(-1), error: failures[0] };
        continue;
      }
    }
    for (const eventPart of splitIntoParameters(found)) await deleteEvents(ctx.db, companyId, eventPart).run();
  }
  if (kept) throw kept.error;
}

const toEventToSend = (
  { id, type, record, occurredAt }: StoredEvent,
  getRelatedData: (id: unknown) => RelatedData,
): EventToSend => ({
  id,
  type,
  at: occurredAt,
  data: findEventType(type).view(record as never, getRelatedData(record.id)),
});

/**
 * Reads the current data related to the records of events, such as the groups of a user. @returns a function that returns the
 * related data of a record by its id
 */
async function readRelatedData(
  ctx: CompanyContext,
  events: readonly StoredEvent[],
): Promise<(id: unknown) => RelatedData> {
  const ids = [...new Set(events.map(({ record }) => String(record.id)))];
  const hasTableEvents = events.some(({ type }) => type.startsWith('table.'));
  const [lists, connectionId] = await Promise.all([
    readTogether(ctx.db, selectRelatedIds(ctx.db, ctx.actor.companyId, ids)),
    hasTableEvents ? readConnectionId(ctx) : null,
  ]);
  const selectIds = (rows: readonly { of: string; id: string }[], id: unknown) =>
    rows.filter((row) => row.of === id).map((row) => row.id);
  return (id) => ({
    groupIds: selectIds(lists.memberships, id),
    permissionIds: selectIds(lists.permissions, id),
    policyIds: selectIds(lists.policies, id),
    connectionId,
  });
}

/**
 * Moves events from the company's Postgres to the control database, and delivers them to webhook endpoints. Can be repeated
 * after an interruption: events keep their ids.
 */
export async function collectEvents(ctx: CompanyContext): Promise<void> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) return;
  for (;;) {
    const rows = await database.query<{ id: string; type: string; record: Record<string, unknown>; at: string }>(
      `SELECT id, type, record, (extract(epoch FROM occurred_at) * 1000)::bigint AS at FROM console.events
       ORDER BY occurred_at, id LIMIT $1`,
      [BATCH_SIZE],
    );
    if (rows.length === 0) break;
    const collectedEvents = rows.map(({ id, type, record, at }) => ({ id, type, record, occurredAt: Number(at) }));
    for (const eventPart of splitIntoParameters(collectedEvents))
      await insertEvents(ctx.db, ctx.actor.companyId, eventPart).run();
    await database.execute('DELETE FROM console.events WHERE id = ANY($1::text[])', [rows.map(({ id }) => id)]);
  }
  await deliverEvents(ctx);
}
