import type { CompanyContext, Context } from '../../context.ts';
import type { Statement } from '../../db/client.ts';
import type { Condition } from '../../db/statements.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import { logError } from '../../platform/log.ts';
import * as store from './store.ts';

/** The time after which the scheduled run sends a message that the request itself did not. */
const WAIT_MS = MINUTE_MS;
/** The maximum number of messages that one scheduled run sends. */
const MESSAGE_BATCH_SIZE = 1000;

/**
 * Prepares a message about a unit of work. Its statement stores the message if the previous statement of the batch changed a
 * row; call `send` with the rows that it returned. If sending fails, the scheduled run sends it.
 * @param options `work`: does directly what the message requests, so that it need not be sent
 */
export function prepareMessage(
  ctx: Context,
  message: JobMessage,
  { when, delaySeconds = 0, work }: { when?: Condition; delaySeconds?: number; work?: () => Promise<void> } = {},
) {
  const row = toOutboxRow(ctx, message, WAIT_MS + delaySeconds * 1000);
  return {
    statement: store.insertRowAfterChange(ctx.db, row, when),
    send(stored: readonly { id: string }[]): void {
      const deliver = work ?? (() => ctx.jobs.send(message, delaySeconds || undefined));
      if (stored.length > 0) ctx.defer(sendStored(ctx, [row], deliver, delaySeconds));
    },
  };
}

/**
 * Prepares messages about a unit of work, as `prepareMessage` does, where the database creates one for each row that it
 * selects.
 * @param insert the statement that stores them, due at `dueAt`, and returns them
 */
export const prepareMessages = <S extends Statement>(
  ctx: Context,
  insert: (dueAt: number) => S,
  work: (message: JobMessage) => Promise<void>,
) => ({
  statement: insert(ctx.now() + WAIT_MS),
  send(stored: readonly store.OutboxRow[]): void {
    ctx.defer(sendStored(ctx, stored, () => Promise.all(stored.map(({ message }) => work(message)))));
  },
});

/** A message about a change in another database than the one that it is stored in. */
export interface StoredMessage {
  /** Resolves once it is stored: to be waited for before the change is committed. */
  stored: Promise<unknown>;
  /** The change is committed: sends this message, which may say more. */
  send(message: JobMessage): void;
  /** For when it is not known whether the change was committed: the scheduled run sends the message as it is stored. */
  sendLater(): void;
  /** For when nothing was changed: deletes the message. */
  withdraw(): void;
}

/**
 * Stores a message about a change in progress.
 * @param longestMs the time after which the scheduled run sends it, if none of the returned functions is called
 */
export function storeMessage(ctx: CompanyContext, message: JobMessage, longestMs: number): StoredMessage {
  const row = toOutboxRow(ctx, message, longestMs);
  const stored = store.insertRow(ctx.db, row).run();
  // It is thrown where it is waited for, if the work comes so far.
  const settled = stored.catch(() => undefined);
  const afterwards = (work: () => Promise<unknown>) =>
    ctx.defer(settled.then(work).catch((error) => logFailure(ctx, message, error)));
  return {
    stored,
    send: (sent) => afterwards(() => sendStored(ctx, [row], () => ctx.jobs.send(sent))),
    sendLater: () => afterwards(() => store.makeDue(ctx.db, [row], ctx.now()).run()),
    withdraw: () => afterwards(() => store.deleteRows(ctx.db, [row]).run()),
  };
}

/** Keeps a message of a suspended company. It is sent once the company is active again. */
export async function keepMessage(ctx: CompanyContext, message: JobMessage): Promise<void> {
  await store.insertRow(ctx.db, toOutboxRow(ctx, message, 0));
}

/** Sends due messages that were not sent, but for suspended companies. For the scheduled run. */
export async function sendDueMessages(ctx: Context): Promise<void> {
  const now = ctx.now();
  const due = await store.claimDue(ctx.db, { now, next: now + WAIT_MS, limit: MESSAGE_BATCH_SIZE });
  for (const rows of Map.groupBy(due, ({ message }) => message.type).values()) {
    await sendStored(ctx, rows, () => ctx.jobs.sendAll(rows.map(({ message }) => message)));
  }
}

const toOutboxRow = (ctx: Context, message: JobMessage, waitMs: number): store.OutboxRow => ({
  id: ctx.newId(),
  companyId: message.companyId,
  message,
  dueAt: ctx.now() + waitMs,
});

/**
 * Sends stored messages of one type, which become due at once where that fails. Their rows are deleted together: the number of
 * queries of a request is limited.
 */
async function sendStored(
  ctx: Context,
  rows: readonly store.OutboxRow[],
  deliver: () => Promise<unknown>,
  delaySeconds = 0,
): Promise<void> {
  const [first] = rows;
  if (!first) return;
  try {
    await deliver();
  } catch (error) {
    logFailure(ctx, first.message, error);
    await store.makeDue(ctx.db, rows, ctx.now() + delaySeconds * 1000).run();
    return;
  }
  await store.deleteRows(ctx.db, rows).run();
}

const logFailure = (ctx: Context, { type, companyId }: JobMessage, error: unknown): void =>
  logError('message_not_sent', error, { type, company_id: companyId, correlation_id: ctx.correlationId });
