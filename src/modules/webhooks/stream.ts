import type { CompanyContext } from '../../context.ts';
import type { FollowedRecords } from '../../logs/followed-records.ts';
import { LOG_KINDS, type LogKey, type LogKind, type LogRecord, toLogKey } from '../../logs/log.ts';
import type { DeliveryInput } from '../../objects/webhook-sender.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import { callObject } from '../../platform/objects.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { exportLog } from '../company-log/service.ts';
import {
  deliverToEndpoints,
  type EventToSend,
  passToEndpoints,
  type SubscribedEndpoint,
  toDeliveryInput,
  wasActive,
} from './deliver.ts';
import { AUDIT_RECORDS_TYPE, findEventType } from './event-types.ts';
import { callSender, listLogKinds } from './service.ts';
import { selectEndpoint, selectSubscribedEndpoints } from './store.ts';

/** The maximum number of records in one event. */
const MAX_RECORDS_PER_EVENT = 500;
/** The number of batches that one job message of a backfill sends before it queues the next message. */
const BATCHES_PER_MESSAGE = 20;
/** The number of batches of backfills that may wait to be sent: a backfill pauses at it, as its batches fill the sender's storage. */
const MAX_WAITING_BATCHES = 100;
/** The time after which a paused backfill looks again. */
const BACKFILL_PAUSE_SECONDS = 60;

/**
 * Streams log records from the cursor on to a company's webhook endpoints. The cursor advances once the records are handed over;
 * after an interruption the same records are handed over again under the same ids. A kind that no endpoint subscribes to any more
 * is no longer followed.
 */
export async function streamLog(ctx: CompanyContext): Promise<void> {
  for (const kind of LOG_KINDS) while (await streamNextRecords(ctx, kind));
}

/** Streams the next records of a kind. @returns whether there may be more */
async function streamNextRecords(ctx: CompanyContext, kind: LogKind): Promise<boolean> {
  const { companyId } = ctx.actor;
  const callCompanyLog = <T>(call: (log: CompanyLogStub) => Promise<T>) =>
    callObject(ctx.bindings.COMPANY_LOG, companyId, call);
  const followedRecords = (await callCompanyLog(async (log) => await log.following(kind, MAX_RECORDS_PER_EVENT))) as
    | FollowedRecords
    | undefined;
  if (!followedRecords) return false;
  const endpoints = await selectSubscribedEndpoints(ctx.db, companyId);
  if (!endpoints.some(({ eventTypes }) => listLogKinds(eventTypes).includes(kind))) {
    await callCompanyLog(async (log) => await log.unfollow([kind], followedRecords.follows));
    return false;
  }
  const { records, upTo, lateRecords, late, redactions } = followedRecords;
  if (records.length + late.length === 0) return false;
  const failures =
    kind === 'share'
      ? await deliverToEndpoints(ctx, endpoints, toShareEvents(ctx, [...records, ...lateRecords]))
      : await deliverAuditRecords(ctx, endpoints, followedRecords);
  if (failures.length > 0) throw failures[0];
  // Of somebody who was taken out of the log meanwhile, endpoints are told again without them.
  const isKept = await callCompanyLog(async (log) => await log.followed(kind, { upTo, late, redactions }));
  return !isKept || records.length === MAX_RECORDS_PER_EVENT || late.length === MAX_RECORDS_PER_EVENT;
}

type CompanyLogStub = ReturnType<CompanyContext['bindings']['COMPANY_LOG']['getByName']>;

const toShareEvents = ({ actor: { companyId } }: CompanyContext, records: readonly LogRecord[]): EventToSend[] =>
  records.map((record) => {
    const event = record as LogRecord<'share'>;
    const { view } = findEventType(event.type);
    const data = view({ ...event, companyId } as never, undefined as never);
    return { id: event.id, type: event.type, at: event.occurredAt, data };
  });

/** Passes audit records to each endpoint that subscribes to them, only records of times when the endpoint was active. */
function deliverAuditRecords(
  ctx: CompanyContext,
  endpoints: readonly SubscribedEndpoint[],
  { records, lateRecords }: FollowedRecords,
): Promise<unknown[]> {
  const parts = [records, lateRecords] as LogRecord<'audit'>[][];
  const auditEndpoints = endpoints.filter(({ eventTypes }) => eventTypes.includes(AUDIT_RECORDS_TYPE));
  return passToEndpoints(ctx, auditEndpoints, (endpoint) => {
    const wantedParts = parts.map((part) => part.filter(({ occurredAt }) => wasActive(endpoint, occurredAt)));
    const batches = wantedParts
      .filter((wantedPart) => wantedPart.length > 0)
      .map((wantedPart) => buildBatch(ctx, wantedPart));
    return Promise.all(batches);
  });
}

/**
 * Builds the delivery of a batch of audit records. The same records give the same id, and one more another: it is not sent yet.
 * @param sourceBackfillId the id of a backfill, whose batches get other ids
 */
async function buildBatch(
  ctx: CompanyContext,
  records: readonly LogRecord<'audit'>[],
  sourceBackfillId = '',
): Promise<DeliveryInput> {
  const { companyId } = ctx.actor;
  const [firstRecord, lastRecord] = [records[0], records.at(-1)] as [LogRecord, LogRecord];
  const recordIds = records.map((record) => record.id);
  const id = (await computeSha256Hex([companyId, AUDIT_RECORDS_TYPE, sourceBackfillId, ...recordIds].join('\n'))).slice(
    0,
    24,
  );
  const fullRecords = records.map((record) => ({ ...record, companyId }));
  const data = findEventType(AUDIT_RECORDS_TYPE).view({ records: fullRecords } as never, undefined as never);
  return toDeliveryInput({
    id,
    type: AUDIT_RECORDS_TYPE,
    at: Math.max(firstRecord.occurredAt, lastRecord.occurredAt),
    data,
  });
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
  const waitingCount = await callSender(ctx, endpointId, async (sender) => await sender.countLater());
  if (waitingCount >= MAX_WAITING_BATCHES) return ctx.jobs.send(message, BACKFILL_PAUSE_SECONDS);
  const sendRecords = async (records: LogRecord<'audit'>[]) => {
    const delivery = { ...(await buildBatch(ctx, records, backfillId)), later: true };
    await callSender(ctx, endpointId, async (sender) => await sender.take({ companyId, endpointId }, [delivery]));
  };
  const reader = { actor: ctx.actor as never, bindings: ctx.bindings, files: ctx.files };
  let batch: LogRecord<'audit'>[] = [];
  let sentBatchCount = 0;
  let lastKey: LogKey | undefined;
  for await (const { companyId: _, ...record } of exportLog(reader, 'audit', { from, to, values: {} })) {
    const key = toLogKey(record);
    if (before && (key.at > before.at || (key.at === before.at && key.id >= before.id))) continue;
    batch.push(record as LogRecord<'audit'>);
    if (batch.length < MAX_RECORDS_PER_EVENT) continue;
    await sendRecords(batch);
    batch = [];
    lastKey = key;
    sentBatchCount += 1;
    if (sentBatchCount < BATCHES_PER_MESSAGE) continue;
    await ctx.jobs.send({ ...message, to: lastKey.at, before: lastKey });
    return;
  }
  if (batch.length > 0) await sendRecords(batch);
}
