import type { CompanyContext } from '../../context.ts';
import {
  isOutOfTime,
  isPostgresError,
  type TenantSql,
  type TenantTx,
  type TransactionOptions,
} from '../../tenant-sql/client.ts';
import { databaseUnavailable, resultUnknown } from '../../tenant-sql/failures.ts';
import { type AnnounceTables, changeData } from '../managed-database/service.ts';
import { storeMessage } from '../outbox/service.ts';
import { tableBusy, tableInUse } from './failures.ts';
import { type SpaceEffect, withinTableQuota } from './room.ts';

export type { AnnounceTables };

/** The SQLSTATEs of lock not available, deadlock detected, serialization failure, statement timeout. */
const BUSY_STATES: ReadonlySet<string> = new Set(['55P03', '40P01', '40001', '57014']);

/** Turns a database error that other transactions cause into `tableBusy`; any other error stays. */
export const toTableBusy = (error: unknown): unknown =>
  isPostgresError(error) && BUSY_STATES.has(error.code) ? tableBusy().because(error) : error;

/** The longest time for a table change that a request waits for, in milliseconds; a dead connection takes five seconds more. */
export const MAX_CHANGE_WAIT_MS = 24_000;
/** The time by which a statement ends before its transaction does, as a transaction's timeout costs the connection. */
const MARGIN_MS = 1_000;

/**
 * Changes a table, or fails in time with `tableInUse`: then nothing was changed.
 * @param change one transaction with these options
 */
export async function changeInTime<T>(
  database: TenantSql,
  change: (options: TransactionOptions) => Promise<T>,
): Promise<T> {
  const until = Date.now() + MAX_CHANGE_WAIT_MS;
  await database.connect();
  const timeoutMs = Math.max(2 * MARGIN_MS, until - Date.now());
  try {
    return await change({ timeoutMs, statementTimeoutMs: timeoutMs - MARGIN_MS });
  } catch (error) {
    throw toTableInUse(error);
  }
}

/** Turns `tableBusy` and a timeout into `tableInUse`, for a change of the table itself; any other error stays. */
export const toTableInUse = (error: unknown): unknown => {
  if (tableBusy.matches(error)) return tableInUse().because(error.cause);
  const isEnded = databaseUnavailable.matches(error) && isOutOfTime(error.cause);
  return isEnded ? tableInUse().because(error.cause) : error;
};

/** A time that no change of a table exceeds. */
const MAX_CHANGE_MS = 60 * 60_000;

/** Runs a transaction; fails with `tableBusy` if it waits for others too long. */
export async function inTransaction<T>(
  database: TenantSql,
  work: (tx: TenantTx) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  try {
    return await database.transaction(work, options);
  } catch (error) {
    throw toTableBusy(error);
  }
}

/** A transaction that names the tables it changes: see `changeData`. */
type Change<T> = (tx: TenantTx, changing: AnnounceTables) => Promise<T>;

/** The options of a change: those of its transaction, and its effect on the space of tables, which is measured if absent. */
export type ChangeOptions = TransactionOptions & { room?: SpaceEffect };

/** Runs a transaction that changes rows or names of tables: see `changeData` and `withinTableQuota`. */
export const runChange = <T>(
  ctx: CompanyContext,
  database: TenantSql,
  work: Change<T>,
  { room, ...options }: ChangeOptions = {},
): Promise<T> =>
  withinTableQuota(ctx, database, room, (within) =>
    changeData(ctx, (changing, announced) =>
      inTransaction(
        database,
        async (tx) => {
          const result = await within(tx, changing, (naming) => work(tx, naming));
          await announced();
          return result;
        },
        options,
      ),
    ),
  );

/**
 * Runs a transaction that adds, deletes or renames tables or changes their columns.
 * @param tablesOf ids and names of the tables that it changed, old and new; none if it changed nothing
 */
export const runShapeChange = <T>(
  ctx: CompanyContext,
  database: TenantSql,
  work: Change<T>,
  tablesOf: (result: T) => readonly string[],
  options?: ChangeOptions,
): Promise<T> =>
  changeShape(ctx, tablesOf, (announced) =>
    runChange(
      ctx,
      database,
      async (tx, changing) => {
        const result = await work(tx, changing);
        await announced;
        return result;
      },
      options,
    ),
  );

/**
 * Notifies webhook endpoints of a change that starts no recheck of domain knowledge (a recheck notifies them itself). The
 * message is stored before the change is committed.
 * @param work the change, which awaits `announced` before it commits
 */
export async function notifyChange<T>(
  ctx: CompanyContext,
  work: (announced: Promise<unknown>) => Promise<T>,
): Promise<T> {
  const collect = { type: 'webhooks.collect', companyId: ctx.actor.companyId } as const;
  const message = storeMessage(ctx, collect, MAX_CHANGE_MS);
  try {
    const result = await work(message.stored);
    message.send(collect);
    return result;
  } catch (error) {
    if (resultUnknown.matches(error)) message.sendLater();
    else message.withdraw();
    throw error;
  }
}

/**
 * Has domain knowledge checked again after a change of tables. The message is stored before the change is committed, so that
 * it is not lost whatever happens then.
 * @param work the change, which waits for `announced` before it commits
 */
export async function changeShape<T>(
  ctx: CompanyContext,
  tablesOf: (result: T) => readonly string[],
  work: (announced: Promise<unknown>) => Promise<T>,
): Promise<T> {
  const recheck = { type: 'knowledge.recheck', companyId: ctx.actor.companyId, after: '' } as const;
  const message = storeMessage(ctx, { ...recheck, tables: [] }, MAX_CHANGE_MS);
  try {
    const result = await work(message.stored);
    const tables = [...new Set(tablesOf(result))];
    if (tables.length > 0) message.send({ ...recheck, tables });
    else message.withdraw();
    return result;
  } catch (error) {
    if (resultUnknown.matches(error)) message.sendLater();
    else message.withdraw();
    throw error;
  }
}
