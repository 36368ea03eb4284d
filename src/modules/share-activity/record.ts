import type { Actor } from '../../access/actors.ts';
import type { Context } from '../../context.ts';
import type { Condition } from '../../db/statements.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { Failure } from '../../kernel/failure.ts';
import { formatIdPrefix } from '../../kernel/ids.ts';
import { RecentlyUsed } from '../../kernel/recently-used.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import { computeKeyedDigest } from '../../platform/keyed-digest.ts';
import { log, logError } from '../../platform/log.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import type { ShareActorKind, ShareEvent, ShareEventType, TargetType } from '../../sharing/share-event.ts';
import { storeInLog } from '../company-log/service.ts';
import { prepareMessage, prepareMessages } from '../outbox/service.ts';
import { insertShareMessages, type ShareGroup } from './store.ts';

/** An event to record; its other fields come from the context. */
export interface NewShareEvent {
  type: ShareEventType;
  /** The company of the event, for an actor that belongs to no company. */
  companyId?: string;
  /** The actor of the event, if it is not the context's. */
  actor?: { kind: ShareActorKind; id: string | null; email: string | null };
  target?: { type: TargetType; id: string | null };
  shareId?: string | null;
  shareContextId?: string | null;
  details?: Record<string, unknown>;
  /** A key for events that anyone can cause, such as the use of a revoked token: one event a minute is stored for each key. */
  minuteKey?: string | undefined;
}

/** Returns the reason for which a viewer was refused, where an error names one. */
const findRefusalReason = (error: unknown): string | undefined =>
  error instanceof Failure && (error.kind === 'forbidden' || error.kind === 'unauthenticated')
    ? error.reason
    : undefined;

/** Runs `work`. Where it refuses the viewer, `record` is called with the reason and the error, before that is thrown. */
export async function runRecordingRefusal<T>(
  work: () => Promise<T>,
  record: (reason: string, error: unknown) => void,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = findRefusalReason(error);
    if (reason !== undefined) record(reason, error);
    throw error;
  }
}

/** Records an event that is independent of any change, after the answer, so that the caller does not wait for it. */
export function recordShareEvent(ctx: Context, event: NewShareEvent): void {
  ctx.defer(storeEvent(ctx, toEventRecord(ctx, event), event.minuteKey));
}

/**
 * Prepares the event of a change. Its statement comes in the unit of work right after the one that makes the change, so
 * that both are committed or neither; call `send` with the rows that the statement returned, to write the event to the
 * log and notify the log's followers.
 */
export function prepareShareEvent(ctx: Context, event: Omit<NewShareEvent, 'minuteKey'>, condition?: Condition) {
  const { message, work } = prepareEventMessage(ctx, event);
  return prepareMessage(ctx, message, { ...(condition && { condition }), work: () => work(message) });
}

/**
 * Prepares the events of the shares that are revoked with a dashboard or a context, like `prepareShareEvent`. Their statement
 * comes before those that revoke the shares; `condition` is the SQL condition on which these are revoked.
 */
export function prepareRevocations(ctx: Context, group: ShareGroup, condition?: Condition) {
  const { message, work } = prepareEventMessage(ctx, {
    type: 'share.revoked',
    target: { type: 'dashboard', id: null },
  });
  const insertMessages = (dueAt: number) =>
    insertShareMessages(ctx.db, group, { message, now: ctx.now(), dueAt }, condition);
  return prepareMessages(ctx, insertMessages, work);
}

/** Makes the message that stores an event, and the function that stores it at once. */
function prepareEventMessage(ctx: Context, event: NewShareEvent) {
  const record = toEventRecord(ctx, event);
  const message: EventMessage = {
    type: 'share.keep',
    companyId: record.companyId,
    event: { ...record, viewer: record.actorId ?? '' },
  };
  const storeMessage = (storedMessage: JobMessage) =>
    storeInLog(ctx.bindings, 'share', (storedMessage as EventMessage).event);
  return { message, work: storeMessage };
}

type EventMessage = { type: 'share.keep'; companyId: string; event: ShareEvent & Record<string, unknown> };

function toEventRecord(ctx: Context, event: NewShareEvent): Omit<ShareEvent, 'viewer'> {
  const companyId = event.companyId ?? ('companyId' in ctx.actor ? ctx.actor.companyId : undefined);
  if (companyId === undefined) throw new Error('an event of no company');
  const actor = event.actor ?? toEventActor(ctx.actor);
  const caller = ctx.caller();
  return {
    id: ctx.newId(),
    companyId,
    type: event.type,
    occurredAt: ctx.now(),
    actorKind: actor.kind,
    actorId: actor.id,
    actorEmail: actor.email,
    targetType: event.target?.type ?? null,
    targetId: event.target?.id ?? null,
    shareId: event.shareId ?? null,
    shareContextId: event.shareContextId ?? null,
    ipCountry: caller.country,
    userAgent: caller.userAgent,
    origin: caller.origin,
    correlationId: ctx.correlationId,
    details: event.details ?? {},
  };
}

async function storeEvent(ctx: Context, event: Omit<ShareEvent, 'viewer'>, minuteKey?: string): Promise<void> {
  if (minuteKey !== undefined) {
    event.id = await makeEventIdOfMinute(event, minuteKey);
    if (recordedEventIds.get(event.id)) return;
    recordedEventIds.set(event.id, true);
  }
  try {
    await storeInLog(ctx.bindings, 'share', { ...event, viewer: await identifyViewer(ctx, event) });
  } catch (error) {
    // The Worker's log has it, without what identifies the person.
    logError('share_event_not_kept', error);
    log('share_event', { id: event.id, company_id: event.companyId, type: event.type, share_id: event.shareId });
  }
}

/** The ids, recorded by this isolate, of events with a `minuteKey` key. */
const recordedEventIds = new RecentlyUsed<string, true>(1000);

/** Makes the id that all events of a key in one minute share, in every isolate, so that only the first is stored. */
async function makeEventIdOfMinute(
  { companyId, type, occurredAt }: Omit<ShareEvent, 'viewer'>,
  minuteKey: string,
): Promise<string> {
  const minuteStart = Math.floor(occurredAt / MINUTE_MS) * MINUTE_MS;
  const digest = await computeSha256Hex([companyId, type, minuteKey, minuteStart].join('\n'));
  return formatIdPrefix(minuteStart) + digest.slice(0, 16);
}

/** Identifies users and outsiders by id, others by a keyed digest of address and browser, which are not stored. */
async function identifyViewer(
  ctx: Context,
  { actorId, companyId, userAgent }: Omit<ShareEvent, 'viewer'>,
): Promise<string> {
  if (actorId !== null) return actorId;
  const traits = `${companyId}\n${ctx.ip}\n${userAgent}`;
  return (await computeKeyedDigest(ctx.config.ENCRYPTION_KEYS, 'viewer', traits)).slice(0, 24);
}

function toEventActor(actor: Actor): NonNullable<NewShareEvent['actor']> {
  switch (actor.kind) {
    case 'user':
      return { kind: 'user', id: actor.id, email: actor.email };
    case 'service_account':
      return { kind: 'service_account', id: actor.id, email: null };
    case 'outsider':
      return { kind: 'external', id: actor.id, email: actor.email };
    case 'viewer':
      return { kind: 'viewer', id: null, email: null };
    default:
      return { kind: 'anonymous', id: null, email: null };
  }
}

/** Views in this isolate that are not yet stored, by share. A share's views stay in the map while they are being written. */
const pendingViews = new Map<string, PendingViews>();

interface PendingViews {
  executionCount: number;
  lastAccessedAt: number;
  writeStartedAt: number;
}

/** The maximum time of a write of views; an older one counts as aborted with its request. Milliseconds. */
const MAX_WRITE_MS = 30_000;

/**
 * Counts a view of a share whose event names no single share (others are counted by their event). An isolate writes the views
 * of a share once at a time; a running write includes the views that come meanwhile.
 * @param executionCount 0 for a share that was only opened
 */
export function countView(ctx: Context, share: { companyId: string; id: string }, executionCount: 0 | 1): void {
  const runningWrite = pendingViews.get(share.id);
  if (runningWrite && ctx.now() - runningWrite.writeStartedAt < MAX_WRITE_MS) {
    runningWrite.executionCount += executionCount;
    runningWrite.lastAccessedAt = ctx.now();
    return;
  }
  const views = {
    executionCount: executionCount + (runningWrite?.executionCount ?? 0),
    lastAccessedAt: ctx.now(),
    writeStartedAt: ctx.now(),
  };
  pendingViews.set(share.id, views);
  ctx.defer(writeViews(ctx, share, views));
}

async function writeViews(
  ctx: Context,
  { companyId, id: shareId }: { companyId: string; id: string },
  views: PendingViews,
): Promise<void> {
  try {
    for (let isFirst = true; isFirst || views.executionCount > 0; isFirst = false) {
      const { executionCount: viewCount, lastAccessedAt } = views;
      views.executionCount = 0;
      // Not tried again: what was added may be there although no answer came.
      await ctx.bindings.COMPANY_LOG.getByName(companyId).addViews({ shareId, viewCount, lastAccessedAt });
    }
  } catch (error) {
    logError('share_views_not_counted', error, { share_id: shareId });
  } finally {
    if (pendingViews.get(shareId) === views) pendingViews.delete(shareId);
  }
}
