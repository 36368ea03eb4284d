import type { CompanyContext, Context } from '../../context.ts';
import type { Statement } from '../../db/client.ts';
import type { Condition } from '../../db/statements.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import { logError } from '../../platform/log.ts';
import * as store from './store.ts';

/** The time after which the scheduled run sends a message that the request itself did not send. */
const RESEND_AFTER_MS = MINUTE_MS;
/** The maximum number of messages that one scheduled run sends. */
const MESSAGE_BATCH_SIZE = 1000;

/**
 * Prepares a message about a change. Its statement stores the message if the previous statement of the batch changed a
 * row; call `send` with the rows that the statement returned. If sending fails, the scheduled run sends it. @param
 * options.work does directly what the message requests, so that it need not be sent
 */
export function prepareMessage(
  ctx: Context,
  message: JobMessage,
  {
    condition,
    delaySeconds = 0,
    work,
  }: { condition?: Condition; delaySeconds?: number; work?: () => Promise<void> } = {},
) {
  const row = toOutboxRow(ctx, message, RESEND_AFTER_MS + delaySeconds * 1000);
  return {
    statement: store.insertRowAfterChange(ctx.db, row, condition),
    send(storedRows: readonly { id: string }[]): void {
      const deliverMessage = work ?? (() => ctx.jobs.send(message, delaySeconds || undefined));
      if (storedRows.length > 0) ctx.defer(sendStoredMessages(ctx, [row], deliverMessage, delaySeconds));
    },
  };
}

/**
 * Prepares messages about a change, as `prepareMessage` does, where the database creates one for each row that it selects. @param
 * makeInsertStatement the statement that stores them, due at `dueAt`, and returns them
 */
export const prepareMessages = <S extends Statement>(
  ctx: Context,
  makeInsertStatement: (dueAt: number) => S,
  work: (message: JobMessage) => Promise<void>,
) => ({
  statement: makeInsertStatement(ctx.now() + RESEND_AFTER_MS),
  send(storedRows: readonly store.OutboxRow[]): void {
    ctx.defer(sendStoredMessages(ctx, storedRows, () => Promise.all(storedRows.map(({ message }) => work(message)))));
  },
});

/** A message about a change in a database other than the one that stores the message. */
export interface StoredMessage {
  /** Resolves once the message is stored: to be awaited before the change is committed. */
  storedPromise: Promise<unknown>;
  /** Sends the given message, which may contain more than the stored one, after the change is committed. */
  send(message: JobMessage): void;
  /** Leaves the stored message to the scheduled run, for when it is not known whether the change was committed. */
  sendLater(): void;
  /** Deletes the message, for when nothing was changed. */
  withdraw(): void;
}

/**
 * Stores a message about a change in progress. @param maxChangeMs after which the scheduled run sends it, if none of the
 * returned functions is called
 */
export function storeMessage(ctx: CompanyContext, message: JobMessage, maxChangeMs: number): StoredMessage {
  const row = toOutboxRow(ctx, message, maxChangeMs);
  const storePromise = store.insertRow(ctx.db, row).run();
  // It is thrown where it is waited for, if the work comes so far.
  const settledPromise = storePromise.catch(() => undefined);
  const runAfterStoring = (work: () => Promise<unknown>) =>
    ctx.defer(settledPromise.then(work).catch((error) => logFailure(ctx, message, error)));
  return {
    storedPromise: storePromise,
    send: (fullMessage) => runAfterStoring(() => sendStoredMessages(ctx, [row], () => ctx.jobs.send(fullMessage))),
    sendLater: () => runAfterStoring(() => store.setDueAt(ctx.db, [row], ctx.now()).run()),
    withdraw: () => runAfterStoring(() => store.deleteRows(ctx.db, [row]).run()),
  };
}

/** Stores a message of a suspended company. It is sent once the company is active again. */
export async function postponeMessage(ctx: CompanyContext, message: JobMessage): Promise<void> {
  await store.insertRow(ctx.db, toOutboxRow(ctx, message, 0));
}

/** Sends due messages that were not sent, except for suspended companies. For the scheduled run. */
export async function sendDueMessages(ctx: Context): Promise<void> {
  const now = ctx.now();
  const dueRows = await store.claimDueMessages(ctx.db, {
    now,
    nextDueAt: now + RESEND_AFTER_MS,
    limit: MESSAGE_BATCH_SIZE,
  });
  for (const rows of Map.groupBy(dueRows, ({ message }) => message.type).values()) {
    await sendStoredMessages(ctx, rows, () => ctx.jobs.sendAll(rows.map(({ message }) => message)));
  }
}

const toOutboxRow = (ctx: Context, message: JobMessage, waitMs: number): store.OutboxRow => ({
  id: ctx.newId(),
  companyId: message.companyId,
  message,
  dueAt: ctx.now() + waitMs,
});

/** Sends messages of one type, due at once where that fails. One query deletes all rows, as a request may make only so many. */
async function sendStoredMessages(
  ctx: Context,
  rows: readonly store.OutboxRow[],
  deliverMessage: () => Promise<unknown>,
  delaySeconds = 0,
): Promise<void> {
  const [first] = rows;
  if (!first) return;
  try {
    await deliverMessage();
  } catch (error) {
    logFailure(ctx, first.message, error);
    await store.setDueAt(ctx.db, rows, ctx.now() + delaySeconds * 1000).run();
    return;
  }
  await store.deleteRows(ctx.db, rows).run();
}

const logFailure = (ctx: Context, { type, companyId }: JobMessage, error: unknown): void =>
  logError('message_not_sent', error, { type, company_id: companyId, correlation_id: ctx.correlationId });
