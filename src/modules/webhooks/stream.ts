import type { CompanyContext } from '../../context.ts';
import type { FollowedRecords } from '../../logs/following.ts';
import { LOG_KINDS, type Logged, type LogKey, type LogKind, toKey } from '../../logs/log.ts';
import type { DeliveryInput } from '../../objects/webhook-sender.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import { callObject } from '../../platform/objects.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { exportLog } from '../company-log/service.ts';
import { AUDIT_RECORDS, findEventType } from './event-types.ts';
import { callSender, listLogKinds } from './service.ts';
import { selectEndpoint, selectListeners } from './store.ts';
import {
  deliverToListeners,
  type EventToSend,
  type Listener,
  passToSender,
  toDeliveryInput,
  wasActive,
} from './tell.ts';

/** The maximum number of records in one event. */
const MAX_RECORDS_PER_EVENT = 500;
/** The number of batches that one job message of a backfill sends before it queues the next message. */
const BATCHES_A_MESSAGE = 20;

/**
 * Streams log records from the cursor on to a company's webhook endpoints. The cursor advances once they are handed over; after
 * an interruption the same records are handed over again under the same ids. A kind that no endpoint subscribes to any more is
 * no longer followed.
 */
export async function streamLog(ctx: CompanyContext): Promise<void> {
  for (const kind of LOG_KINDS) while (await streamNextRecords(ctx, kind));
}

/** @returns whether there may be more */
async function streamNextRecords(ctx: CompanyContext, kind: LogKind): Promise<boolean> {
  const { companyId } = ctx.actor;
  const ask = <T>(call: (log: Log) => Promise<T>) => callObject(ctx.bindings.COMPANY_LOG, companyId, call);
  const next = (await ask(async (log) => await log.following(kind, MAX_RECORDS_PER_EVENT))) as
    | FollowedRecords
    | undefined;
  if (!next) return false;
  const listeners = await selectListeners(ctx.db, companyId);
  if (!listeners.some(({ eventTypes }) => listLogKinds(eventTypes).includes(kind))) {
    await ask(async (log) => await log.unfollow([kind], next.follows));
    return false;
  }
  const { records, upTo, lateRecords, late, redactions } = next;
  if (records.length + late.length === 0) return false;
  if (kind === 'share') await deliverToListeners(ctx, listeners, toShareEvents(ctx, [...records, ...lateRecords]));
  else await deliverAuditRecords(ctx, listeners, next);
  // Of somebody who was taken out of the log meanwhile, endpoints are told again without them.
  const isKept = await ask(async (log) => await log.followed(kind, { upTo, late, redactions }));
  return !isKept || records.length === MAX_RECORDS_PER_EVENT || late.length === MAX_RECORDS_PER_EVENT;
}

type Log = ReturnType<CompanyContext['bindings']['COMPANY_LOG']['getByName']>;

const toShareEvents = ({ actor: { companyId } }: CompanyContext, records: readonly Logged[]): EventToSend[] =>
  records.map((record) => {
    const event = record as Logged<'share'>;
    const { view } = findEventType(event.type);
    const data = view({ ...event, companyId } as never, undefined as never);
    return { id: event.id, type: event.type, at: event.occurredAt, data };
  });

/** Passes audit records to each endpoint that subscribes to them: those of the times when it was active. */
async function deliverAuditRecords(
  ctx: CompanyContext,
  listeners: readonly Listener[],
  { records, lateRecords }: FollowedRecords,
): Promise<void> {
  const parts = [records, lateRecords] as Logged<'audit'>[][];
  for (const listener of listeners.filter(({ eventTypes }) => eventTypes.includes(AUDIT_RECORDS))) {
    const wanted = parts.map((some) => some.filter(({ occurredAt }) => wasActive(listener, occurredAt)));
    const batches = wanted.filter((some) => some.length > 0).map((some) => buildBatch(ctx, some));
    await passToSender(ctx, listener, await Promise.all(batches));
  }
}

/**
 * Builds the delivery of a batch of audit records. Equal first and last records give the same id.
 * @param of the id of a backfill, whose batches get other ids
 */
async function buildBatch(ctx: CompanyContext, records: readonly Logged<'audit'>[], of = ''): Promise<DeliveryInput> {
  const { companyId } = ctx.actor;
  const [first, last] = [records[0], records.at(-1)] as [Logged, Logged];
  const id = (await sha256Hex([companyId, AUDIT_RECORDS, of, first.id, last.id].join('\n'))).slice(0, 24);
  const whole = records.map((record) => ({ ...record, companyId }));
  const data = findEventType(AUDIT_RECORDS).view({ records: whole } as never, undefined as never);
  return toDeliveryInput({ id, type: AUDIT_RECORDS, at: Math.max(first.occurredAt, last.occurredAt), data });
}

/** Sends an endpoint the stored audit records, newest first, with lower priority than its other deliveries. */
export async function backfillAudit(
  ctx: CompanyContext,
  message: Extract<JobMessage, { type: 'webhooks.backfill' }>,
): Promise<void> {
  const { companyId } = ctx.actor;
  const { endpointId, backfillId, from, to, before } = message;
  const [endpoint] = await selectEndpoint(ctx.db, companyId, endpointId);
  if (endpoint?.status !== 'active') return;
  const send = async (records: Logged<'audit'>[]) => {
    const sending = { ...(await buildBatch(ctx, records, backfillId)), later: true };
    await callSender(ctx, endpointId, async (sender) => await sender.take({ companyId, endpointId }, [sending]));
  };
  const reader = { actor: ctx.actor as never, bindings: ctx.bindings, files: ctx.files };
  let batch: Logged<'audit'>[] = [];
  let sent = 0;
  let last: LogKey | undefined;
  for await (const { companyId: _, ...record } of exportLog(reader, 'audit', { from, to, values: {} })) {
    const key = toKey(record);
    if (before && (key.at > before.at || (key.at === before.at && key.id >= before.id))) continue;
    batch.push(record as Logged<'audit'>);
    if (batch.length < MAX_RECORDS_PER_EVENT) continue;
    await send(batch);
    batch = [];
    last = key;
    sent += 1;
    if (sent < BATCHES_A_MESSAGE) continue;
    await ctx.jobs.send({ ...message, to: last.at, before: last });
    return;
  }
  if (batch.length > 0) await send(batch);
}
