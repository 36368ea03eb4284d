import type { CompanyContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { Pause } from '../../db/schema/webhooks.ts';
import { splitIntoParameters } from '../../db/statements.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import type { DeliveryInput } from '../../objects/webhook-sender.ts';
import { openDatabaseIfAny, readConnectionId } from '../managed-database/service.ts';
import { findEventType, isWantedType } from './event-types.ts';
import type { RelatedData } from './events/views.ts';
import { callSender } from './service.ts';
import { deleteEvents, insertEvents, listReads, type StoredEvent, selectEvents, selectListeners } from './store.ts';

/** The number of events read at once, from the control database and from the company's Postgres. */
const BATCH_SIZE = 100;

/** An event as it is sent, in the API's format. `at` in milliseconds. */
export interface EventToSend {
  /** The `webhook-id`. */
  id: string;
  type: string;
  at: number;
  data: object;
}

/** A webhook endpoint: its id, the event types it subscribes to, and its latest pauses. */
export type Listener = { id: string; eventTypes: string[]; pauses: Pause[] };

/**
 * Whether an endpoint was active at a time (ms): it never gets events that occurred during a pause, but does get those from
 * before it.
 */
export const wasActive = ({ pauses }: Listener, at: number): boolean =>
  !pauses.some(({ from, to }) => at >= from && (to === null || at < to));

export const toDeliveryInput = ({ id, type, at, data }: EventToSend): DeliveryInput => ({
  id,
  type,
  body: JSON.stringify({ type, timestamp: isoTimestamp(at), data }),
});

/**
 * Passes each endpoint's sender the events that the endpoint subscribes to. Can be repeated: senders recognize events by their
 * ids.
 */
export async function deliverToListeners(
  ctx: CompanyContext,
  listeners: readonly Listener[],
  events: readonly EventToSend[],
): Promise<void> {
  const told = events.map((event) => ({ ...event, sending: toDeliveryInput(event) }));
  await Promise.all(
    listeners.map(async (listener) => {
      const wanted = told.filter(({ type, at }) => isWantedType(listener.eventTypes, type) && wasActive(listener, at));
      await passToSender(
        ctx,
        listener,
        wanted.map(({ sending }) => sending),
      );
    }),
  );
}

/** Passes deliveries to an endpoint's sender. */
export async function passToSender(ctx: CompanyContext, { id }: Listener, sendings: DeliveryInput[]): Promise<void> {
  const { companyId } = ctx.actor;
  if (sendings.length === 0) return;
  await callSender(ctx, id, async (sender) => await sender.take({ companyId, endpointId: id }, sendings));
}

/** Delivers a company's pending events to its webhook endpoints. An event is deleted once all subscribed endpoints have it. */
export async function deliverEvents(ctx: CompanyContext): Promise<void> {
  const { companyId } = ctx.actor;
  for (;;) {
    const { found, listeners } = await readTogether(ctx.db, {
      found: selectEvents(ctx.db, companyId, BATCH_SIZE),
      listeners: selectListeners(ctx.db, companyId),
    });
    if (found.length === 0) return;
    const wanted = found.filter(({ type }) => listeners.some(({ eventTypes }) => isWantedType(eventTypes, type)));
    if (wanted.length > 0) {
      const also = await readRelatedData(ctx, wanted);
      await deliverToListeners(
        ctx,
        listeners,
        wanted.map((event) => toEventToSend(event, also)),
      );
    }
    for (const some of splitIntoParameters(found)) await deleteEvents(ctx.db, companyId, some).run();
  }
}

const toEventToSend = (
  { id, type, record, occurredAt }: StoredEvent,
  also: (id: unknown) => RelatedData,
): EventToSend => ({
  id,
  type,
  at: occurredAt,
  data: findEventType(type).view(record as never, also(record.id)),
});

/** Reads further data for the records of events: lists as they are now. */
async function readRelatedData(
  ctx: CompanyContext,
  events: readonly StoredEvent[],
): Promise<(id: unknown) => RelatedData> {
  const ids = [...new Set(events.map(({ record }) => String(record.id)))];
  const ofTables = events.some(({ type }) => type.startsWith('table.'));
  const [lists, connectionId] = await Promise.all([
    readTogether(ctx.db, listReads(ctx.db, ctx.actor.companyId, ids)),
    ofTables ? readConnectionId(ctx) : null,
  ]);
  const of = (rows: readonly { of: string; id: string }[], id: unknown) =>
    rows.filter((row) => row.of === id).map((row) => row.id);
  return (id) => ({
    groupIds: of(lists.memberships, id),
    permissionIds: of(lists.permissions, id),
    policyIds: of(lists.policies, id),
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
    const found = rows.map(({ id, type, record, at }) => ({ id, type, record, occurredAt: Number(at) }));
    for (const some of splitIntoParameters(found)) await insertEvents(ctx.db, ctx.actor.companyId, some).run();
    await database.execute('DELETE FROM console.events WHERE id = ANY($1::text[])', [rows.map(({ id }) => id)]);
  }
  await deliverEvents(ctx);
}
