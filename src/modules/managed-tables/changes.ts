import type { CompanyContext } from '../../context.ts';
import {
  isOutOfTime,
  isPostgresError,
  type TenantSql,
  type TenantTx,
  type TransactionOptions,
} from '../../tenant-sql/client.ts';
import { databaseUnavailable, resultUnknown } from '../../tenant-sql/failures.ts';
import { type Changing, changeData } from '../managed-database/service.ts';
import { storeMessage } from '../outbox/service.ts';
import { tableBusy, tableInUse } from './failures.ts';
import { type Room, withinTableQuota } from './room.ts';

export type { Changing };

/** Lock not available, deadlock detected, serialization failure, statement timeout. */
const BUSY: ReadonlySet<string> = new Set(['55P03', '40P01', '40001', '57014']);

/** Turns a database's answer that others are in the way into `tableBusy`; any other error stays. */
export const busyOr = (error: unknown): unknown =>
  isPostgresError(error) && BUSY.has(error.code) ? tableBusy().because(error) : error;

/** How long a change of a table that somebody waits for may take, in milliseconds; a dead connection costs five seconds more. */
export const ANSWERED_MS = 24_000;
/** A statement ends before its transaction does, which costs the connection. */
const MARGIN_MS = 1_000;

/**
 * Changes a table, or answers in time that it is in use: then nothing was changed.
 * @param change one transaction with these options
 */
export async function changeInTime<T>(
  database: TenantSql,
  change: (options: TransactionOptions) => Promise<T>,
): Promise<T> {
  const until = Date.now() + ANSWERED_MS;
  await database.connect();
  const timeoutMs = Math.max(2 * MARGIN_MS, until - Date.now());
  try {
    return await change({ timeoutMs, statementTimeoutMs: timeoutMs - MARGIN_MS });
  } catch (error) {
    throw inUseOr(error);
  }
}

/** Turns an answer that others are in the way into that of a change of the table itself; any other error stays. */
export const inUseOr = (error: unknown): unknown => {
  if (tableBusy.matches(error)) return tableInUse().because(error.cause);
  const isEnded = databaseUnavailable.matches(error) && isOutOfTime(error.cause);
  return isEnded ? tableInUse().because(error.cause) : error;
};

/** Longer than any change of a table takes. */
const LONGEST_CHANGE_MS = 60 * 60_000;

/** Runs a transaction; fails with `tableBusy` if it waits for others too long. */
export async function inTransaction<T>(
  database: TenantSql,
  work: (tx: TenantTx) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  try {
    return await database.transaction(work, options);
  } catch (error) {
    throw busyOr(error);
  }
}

/** A transaction that names the tables that it changes: see `changeData`. */
type Change<T> = (tx: TenantTx, changing: Changing) => Promise<T>;

/** How a change is run, and what it does to the room that tables take, which is measured where it is not said. */
export type ChangeOptions = TransactionOptions & { room?: Room };

/** Runs a transaction that changes what the tables hold or are called: see `changeData` and `withinTableQuota`. */
export const inChange = <T>(
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
          const result = await within(tx, () => work(tx, changing));
          await announced();
          return result;
        },
        options,
      ),
    ),
  );

/**
 * Runs a transaction that changes which tables there are, or of what columns.
 * @param tablesOf ids and names of the tables that it changed, old and new; none if it changed nothing
 */
export const inShapeChange = <T>(
  ctx: CompanyContext,
  database: TenantSql,
  work: Change<T>,
  tablesOf: (result: T) => readonly string[],
  options?: ChangeOptions,
): Promise<T> =>
  changeShape(ctx, tablesOf, (announced) =>
    inChange(
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
 * Has webhook endpoints told of a change that leads to no check of knowledge, after which they are told, too. That is stored before the
 * change is committed, as a check is.
 * @param work the change, which waits for `announced` before it commits
 */
export async function tellChange<T>(
  ctx: CompanyContext,
  work: (announced: Promise<unknown>) => Promise<T>,
): Promise<T> {
  const collect = { type: 'webhooks.collect', companyId: ctx.actor.companyId } as const;
  const message = storeMessage(ctx, collect, LONGEST_CHANGE_MS);
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
 * Has domain knowledge checked again after a change of tables. That is stored before the change is committed, so that it
 * is not forgotten whatever happens then.
 * @param work the change, which waits for `announced` before it commits
 */
export async function changeShape<T>(
  ctx: CompanyContext,
  tablesOf: (result: T) => readonly string[],
  work: (announced: Promise<unknown>) => Promise<T>,
): Promise<T> {
  const recheck = { type: 'knowledge.recheck', companyId: ctx.actor.companyId, after: '' } as const;
  const message = storeMessage(ctx, { ...recheck, tables: [] }, LONGEST_CHANGE_MS);
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
