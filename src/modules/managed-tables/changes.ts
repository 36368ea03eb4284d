import type { CompanyContext } from '../../context.ts';
import type { JobMessage } from '../../platform/job-messages.ts';
import {
  isPostgresError,
  isTransactionTimeout,
  type TenantSql,
  type TenantTx,
  type TransactionOptions,
} from '../../tenant-sql/client.ts';
import { databaseUnavailable, resultUnknown } from '../../tenant-sql/failures.ts';
import { type AnnounceTables, changeData } from '../managed-database/service.ts';
import { storeMessage } from '../outbox/service.ts';
import { tableBusy, tableInUse } from './failures.ts';
import { runWithinTableQuota, type SpaceEffect } from './table-quota.ts';

export type { AnnounceTables };

/** The SQLSTATEs of lock not available, deadlock detected, serialization failure, statement timeout. */
const BUSY_SQLSTATES: ReadonlySet<string> = new Set(['55P03', '40P01', '40001', '57014']);

/** Converts a database error that other transactions cause to `tableBusy`; returns any other error unchanged. */
export const toTableBusyFailure = (error: unknown): unknown =>
  isPostgresError(error) && BUSY_SQLSTATES.has(error.code) ? tableBusy().addCause(error) : error;

/** The longest time that a request waits for a table change, in milliseconds; a dead connection takes five seconds more. */
export const MAX_CHANGE_WAIT_MS = 24_000;
/** The time by which a statement ends before its transaction does, as a transaction's timeout costs the connection. */
const STATEMENT_MARGIN_MS = 1_000;

/** Changes a table, or fails in time with `tableInUse` and changes nothing. @param change one transaction with these options */
export async function changeWithinTime<T>(
  database: TenantSql,
  change: (options: TransactionOptions) => Promise<T>,
): Promise<T> {
  const deadline = Date.now() + MAX_CHANGE_WAIT_MS;
  await database.connect();
  const timeoutMs = Math.max(2 * STATEMENT_MARGIN_MS, deadline - Date.now());
  try {
    return await change({ timeoutMs, statementTimeoutMs: timeoutMs - STATEMENT_MARGIN_MS });
  } catch (error) {
    throw toTableInUseFailure(error);
  }
}

/** Converts `tableBusy` and a timeout to `tableInUse`, for a change of the table itself; returns any other error unchanged. */
export const toTableInUseFailure = (error: unknown): unknown => {
  if (tableBusy.matches(error)) return tableInUse().addCause(error.cause);
  const isTimedOut = databaseUnavailable.matches(error) && isTransactionTimeout(error.cause);
  return isTimedOut ? tableInUse().addCause(error.cause) : error;
};

/** A time that no change of a table exceeds. */
const MAX_CHANGE_MS = 60 * 60_000;

/** Runs a transaction; fails with `tableBusy` if it waits too long for other transactions. */
export async function runTableTransaction<T>(
  database: TenantSql,
  work: (tx: TenantTx) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  try {
    return await database.runInTransaction(work, options);
  } catch (error) {
    throw toTableBusyFailure(error);
  }
}

/** A transaction that names the tables it changes: see `changeData`. */
type TableChangeWork<T> = (tx: TenantTx, announceTables: AnnounceTables) => Promise<T>;

/** The options of a change: its transaction options, and its effect on the space of tables, which is measured if absent. */
export type ChangeOptions = TransactionOptions & { spaceEffect?: SpaceEffect };

/** Runs a transaction that changes rows or names of tables: see `changeData` and `runWithinTableQuota`. */
export const runChange = <T>(
  ctx: CompanyContext,
  database: TenantSql,
  work: TableChangeWork<T>,
  { spaceEffect, ...options }: ChangeOptions = {},
): Promise<T> =>
  runWithinTableQuota(ctx, database, spaceEffect, (runWithinQuota) =>
    changeData(ctx, (announceTables, awaitAnnouncements) =>
      runTableTransaction(
        database,
        async (tx) => {
          const result = await runWithinQuota(tx, announceTables, (announceNamedTables) =>
            work(tx, announceNamedTables),
          );
          await awaitAnnouncements();
          return result;
        },
        options,
      ),
    ),
  );

/**
 * Runs a transaction that adds, deletes or renames tables or changes their columns. @param listTables returns ids and names of
 * the tables that it changed, old and new; none if it changed nothing
 */
export const runShapeChange = <T>(
  ctx: CompanyContext,
  database: TenantSql,
  work: TableChangeWork<T>,
  listTables: (result: T) => readonly string[],
  options?: ChangeOptions,
): Promise<T> =>
  changeTableShape(ctx, listTables, (announcement) =>
    runChange(
      ctx,
      database,
      async (tx, announceTables) => {
        const result = await work(tx, announceTables);
        await announcement;
        return result;
      },
      options,
    ),
  );

/**
 * Notifies webhook endpoints of a change that starts no recheck of domain knowledge (a recheck notifies them itself). The message
 * is stored before the change is committed. @param work the change, which awaits `announcement` before it commits
 */
export function notifyChange<T>(ctx: CompanyContext, work: (announcement: Promise<unknown>) => Promise<T>): Promise<T> {
  const message = { type: 'webhooks.collect', companyId: ctx.actor.companyId } as const;
  return sendMessageAfter(ctx, message, work, () => message);
}

/**
 * Runs a change of tables and has domain knowledge checked again afterwards. The message is stored before the change is
 * committed, so that it is not lost whatever happens then. @param work the change, which awaits `announcement` before it commits
 *
 */
export function changeTableShape<T>(
  ctx: CompanyContext,
  listTables: (result: T) => readonly string[],
  work: (announcement: Promise<unknown>) => Promise<T>,
): Promise<T> {
  const message = { type: 'knowledge.recheck', companyId: ctx.actor.companyId, after: '' } as const;
  return sendMessageAfter(ctx, { ...message, tables: [] }, work, (result) => {
    const tables = [...new Set(listTables(result))];
    return tables.length > 0 ? { ...message, tables } : null;
  });
}

/**
 * Stores a message, runs a change that awaits its storage before it commits, and sends the message that `toMessage` makes of the
 * result, if any; the stored one where the result is unknown.
 */
async function sendMessageAfter<T>(
  ctx: CompanyContext,
  storedMessage: JobMessage,
  work: (announcement: Promise<unknown>) => Promise<T>,
  toMessage: (result: T) => JobMessage | null,
): Promise<T> {
  const handle = storeMessage(ctx, storedMessage, MAX_CHANGE_MS);
  try {
    const result = await work(handle.storedPromise);
    const message = toMessage(result);
    if (message) handle.send(message);
    else handle.withdraw();
    return result;
  } catch (error) {
    if (resultUnknown.matches(error)) handle.sendLater();
    else handle.withdraw();
    throw error;
  }
}
