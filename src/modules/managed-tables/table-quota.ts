import type { CompanyContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import { logError } from '../../platform/log.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { quoteQualified } from '../../tenant-sql/identifiers.ts';
import { type AnnounceTables, readQuota } from '../managed-database/service.ts';

const FROM_CURRENT_TABLES_SQL = 'FROM console.managed_tables WHERE company_id = $1 AND deleted_at IS NULL';
const TABLE_REGCLASS_SQL = `to_regclass(format('public.%I', display_name))`;
/** SQL for the size of tables and indexes on disk, which includes uncommitted rows of other transactions. */
const TABLE_BYTES_SUM_SQL = `coalesce(sum(pg_total_relation_size(${TABLE_REGCLASS_SQL})), 0)`;
const SELECT_BYTES_SQL = `SELECT ${TABLE_BYTES_SUM_SQL} AS bytes ${FROM_CURRENT_TABLES_SQL}`;

/** Reads the total sizes of a company's tables with their indexes, without deleted tables. */
export async function readTableSizes(tx: TenantTx, companyId: string) {
  const [row] = await tx.query<{ tables: string; rows: string; bytes: string }>(
    `SELECT count(*) AS tables, ${TABLE_BYTES_SUM_SQL} AS bytes, coalesce(sum(row_count), 0)
       + coalesce((SELECT sum(change) FROM console.row_count_changes WHERE table_id IN (SELECT id ${FROM_CURRENT_TABLES_SQL})), 0) AS rows ${FROM_CURRENT_TABLES_SQL}`,
    [companyId],
  );
  return { tables: Number(row?.tables), rows: Number(row?.rows), tableBytes: Number(row?.bytes) };
}

/** The advisory lock, an arbitrary number, under which the company's tables are measured until the transaction commits. */
const MEASURE_LOCK_KEY = 519_204_878;
/**
 * The advisory lock that all changes which may take space hold in shared mode, from before their first write until they are
 * committed or their pages are freed. A holder in exclusive mode measures no rows that others may still roll back.
 */
const SPACE_LOCK_KEY = 519_204_880;

/** SQL that tells whether other transactions hold `SPACE_LOCK_KEY`. A key of 64 bits is stored in two halves. */
const HAS_OTHER_HOLDERS_SQL = `SELECT EXISTS (SELECT FROM pg_catalog.pg_locks
  WHERE locktype = 'advisory' AND classid = 0 AND objid = ${SPACE_LOCK_KEY} AND objsubid = 1 AND granted
    AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())) AS found`;

/**
 * Measures the company's tables. @param lockSql an SQL expression that acquires a lock before the measurement
 * @returns `hasOtherChanges` where other changes were running, whose uncommitted or rolled-back rows may be counted
 */
async function measureTables(tx: TenantTx, companyId: string, lockSql = 'true') {
  const otherHoldersQuery = { text: HAS_OTHER_HOLDERS_SQL, values: [] };
  type OtherHoldersRow = { found: boolean };
  // Others may begin or end in between.
  const [, [before], [row], [after]] = await tx.queryAll<
    [unknown, OtherHoldersRow, { bytes: string }, OtherHoldersRow]
  >([
    { text: `SELECT ${lockSql}`, values: [] },
    otherHoldersQuery,
    { text: SELECT_BYTES_SQL, values: [companyId] },
    otherHoldersQuery,
  ]);
  return { byteCount: Number(row?.bytes), hasOtherChanges: before?.found === true || after?.found === true };
}

/** The known effect of a change on the space of tables. */
export type SpaceEffect = 'adds' | 'frees';

/** The error thrown to roll back a change that would exceed the quota. */
class QuotaExceededError extends Error {
  /** Whether the change might be within the quota without concurrent changes. */
  readonly mayFitAlone: boolean;

  constructor(mayFitAlone: boolean) {
    super();
    this.mayFitAlone = mayFitAlone;
  }
}

/** Runs a change, measuring the tables before and after it; the change names the tables that it affects. */
type RunAndMeasure = <R>(
  tx: TenantTx,
  announceTables: AnnounceTables,
  work: (announceTables: AnnounceTables) => Promise<R>,
) => Promise<R>;

/**
 * Runs a change of tables within the company's quota: a change that takes more space and exceeds the quota is rolled
 * back, and the disk pages that the change took are freed, because they would count towards the quota. If concurrent
 * changes may have caused the rejection, it is retried once without them. Without a quota nothing is measured. @param
 * spaceEffect its known effect: `adds` is rejected whenever the quota is exceeded, even if it takes no more space;
 * `frees` is never rejected @param change runs the transaction, perhaps twice, and in it `runAndMeasure` around all its
 * work; it must have no effects outside the transaction
 */
export async function runWithinTableQuota<T>(
  ctx: CompanyContext,
  database: TenantSql,
  spaceEffect: SpaceEffect | undefined,
  change: (runAndMeasure: RunAndMeasure) => Promise<T>,
): Promise<T> {
  const { companyId } = ctx.actor;
  const limit = await readQuota(ctx, 'table_bytes');
  if (limit === undefined || spaceEffect === 'frees') return change((_, announceTables, work) => work(announceTables));
  let usedBytes = 0;
  const attemptChange = async (mode: '' | '_shared'): Promise<T> => {
    const writtenTables = new Set<string>();
    let isLockHeld = false;
    try {
      return await change(async (tx, announceTables, work) => {
        const sizesBefore = await measureTables(tx, companyId, `pg_advisory_xact_lock${mode}(${SPACE_LOCK_KEY})`);
        usedBytes = sizesBefore.byteCount;
        if (spaceEffect === 'adds' && usedBytes > limit) throw new QuotaExceededError(sizesBefore.hasOtherChanges);
        const result = await work((...tables) => {
          for (const table of tables) writtenTables.add(table);
          announceTables(...tables);
        });
        // Until it commits, others wait: two at once are measured one after the other.
        const sizesAfter = await measureTables(tx, companyId, `pg_advisory_xact_lock(${MEASURE_LOCK_KEY})`);
        if (sizesAfter.byteCount <= limit || sizesAfter.byteCount <= usedBytes) return result;
        // It outlasts the transaction: nobody who is alone measures its pages before they are given back.
        await tx.query(`SELECT pg_advisory_lock${mode}(${SPACE_LOCK_KEY})`);
        isLockHeld = true;
        throw new QuotaExceededError(sizesAfter.hasOtherChanges);
      });
    } catch (error) {
      // What failed for another reason locks nobody out below the limit.
      const targetBytes = error instanceof QuotaExceededError ? usedBytes : Math.max(usedBytes, limit);
      if (writtenTables.size > 0) await reclaimSpace(ctx, database, [...writtenTables], targetBytes);
      // A connection that keeps the lock is not for other changes; a lost one has lost it.
      if (isLockHeld && !database.isClosed)
        await database.query(`SELECT pg_advisory_unlock${mode}(${SPACE_LOCK_KEY})`).catch(() => database.close());
      throw error;
    }
  };
  const throwQuotaFailure = (error: unknown): never => {
    throw error instanceof QuotaExceededError ? quotaExceeded({ quota: 'table_bytes', limit, use: usedBytes }) : error;
  };
  return attemptChange('_shared').catch((error: unknown) =>
    error instanceof QuotaExceededError && error.mayFitAlone
      ? attemptChange('').catch(throwQuotaFailure)
      : throwQuotaFailure(error),
  );
}

/** The size, without indexes, up to which a table is rewritten to free its pages: its readers wait about a second. */
const MAX_REWRITTEN_BYTES = 64 * 1024 * 1024;
const MAX_REWRITE_MS = 5_000;
const MAX_VACUUM_MS = 20_000;

/**
 * Frees the disk pages that a rolled-back change took in tables. In larger tables the indexes keep their new pages for
 * later rows. @param maxBytes the size of the company's tables in bytes; if they are no larger, nothing is done
 */
async function reclaimSpace(
  ctx: CompanyContext,
  database: TenantSql,
  tables: string[],
  maxBytes: number,
): Promise<void> {
  if (database.isClosed) return;
  const { companyId } = ctx.actor;
  const readIsTableSmall = (name: string) =>
    database.query<{ small: boolean }>(
      `SELECT pg_table_size(${TABLE_REGCLASS_SQL}) <= ${MAX_REWRITTEN_BYTES} AS small ${FROM_CURRENT_TABLES_SQL} AND display_name = $2`,
      [companyId, name],
    );
  try {
    const [usedSpace] = await database.query<{ bytes: string }>(SELECT_BYTES_SQL, [companyId]);
    if (Number(usedSpace?.bytes) <= maxBytes) return;
    for (const name of tables) {
      const table = quoteQualified('public', name);
      const [found] = await readIsTableSmall(name);
      // What it gives back may leave a small table.
      if (found?.small === false) await database.executeOutsideTransaction(`VACUUM ${table}`, MAX_VACUUM_MS);
      const [now] = found?.small === false ? await readIsTableSmall(name) : [found];
      if (now?.small) await database.executeOutsideTransaction(`VACUUM (FULL) ${table}`, MAX_REWRITE_MS);
    }
  } catch (error) {
    logError('pages_not_given_back', error, { company_id: companyId });
  }
}

/** Measures the company's tables; if they reach the limit, without uncommitted rows of other transactions. */
async function measureCommittedBytes(ctx: CompanyContext, database: TenantSql, limit: number): Promise<number> {
  const { companyId } = ctx.actor;
  const { byteCount, hasOtherChanges } = await measureTables(database, companyId);
  if (byteCount < limit || !hasOtherChanges) return byteCount;
  const exclusiveMeasurement = await database.runInTransaction((tx) =>
    measureTables(tx, companyId, `pg_advisory_xact_lock(${SPACE_LOCK_KEY})`),
  );
  return exclusiveMeasurement.byteCount;
}

/** A company's quota of bytes of tables, and the number of bytes that were used. */
export interface TableQuota {
  limit: number;
  usedBytes: number;
}

/** Throws if the company's quota is used up. @returns the quota, for `requireWithinTableQuota`; undefined without one */
export async function requireTableQuota(ctx: CompanyContext, database: TenantSql): Promise<TableQuota | undefined> {
  const limit = await readQuota(ctx, 'table_bytes');
  if (limit === undefined) return undefined;
  const usedBytes = await measureCommittedBytes(ctx, database, limit);
  if (usedBytes >= limit) throw quotaExceeded({ quota: 'table_bytes', limit, use: usedBytes });
  return { limit, usedBytes };
}

/**
 * Throws if the company's tables exceed the quota, after a change that cannot be in a transaction of `runWithinTableQuota` and
 * that the caller reverts then. @param usedBytes the number of bytes before the change
 */
export async function requireWithinTableQuota(
  ctx: CompanyContext,
  database: TenantSql,
  { limit, usedBytes }: TableQuota,
): Promise<void> {
  if ((await measureCommittedBytes(ctx, database, limit)) > limit)
    throw quotaExceeded({ quota: 'table_bytes', limit, use: usedBytes });
}
