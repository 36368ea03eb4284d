import type { CompanyContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import { logError } from '../../platform/log.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { qualified } from '../../tenant-sql/identifiers.ts';
import { type AnnounceTables, readQuota } from '../managed-database/service.ts';

/** The sizes of a company's living tables, with their indexes. */
export interface TableSizes {
  tables: number;
  rows: number;
  tableBytes: number;
}

const FROM_LIVING_TABLES = 'FROM console.managed_tables WHERE company_id = $1 AND deleted_at IS NULL';
const TABLE_REGCLASS = `to_regclass(format('public.%I', display_name))`;
/** The size of tables and indexes on disk, which includes uncommitted rows of other transactions. */
const TABLE_BYTES_SUM = `coalesce(sum(pg_total_relation_size(${TABLE_REGCLASS})), 0)`;
const SELECT_BYTES = `SELECT ${TABLE_BYTES_SUM} AS bytes ${FROM_LIVING_TABLES}`;

export async function readTableSizes(tx: TenantTx, companyId: string): Promise<TableSizes> {
  const [row] = await tx.query<{ tables: string; rows: string; bytes: string }>(
    `SELECT count(*) AS tables, ${TABLE_BYTES_SUM} AS bytes, coalesce(sum(row_count), 0)
       + coalesce((SELECT sum(change) FROM console.row_count_changes WHERE table_id IN (SELECT id ${FROM_LIVING_TABLES})), 0) AS rows ${FROM_LIVING_TABLES}`,
    [companyId],
  );
  return { tables: Number(row?.tables), rows: Number(row?.rows), tableBytes: Number(row?.bytes) };
}

const readBytes = async (tx: TenantTx, companyId: string): Promise<number> => {
  const [row] = await tx.query<{ bytes: string }>(SELECT_BYTES, [companyId]);
  return Number(row?.bytes);
};

/** The advisory lock, an arbitrary number, under which the company's tables are measured until the transaction commits. */
const MEASURE_LOCK = 519_204_878;
/**
 * The advisory lock that all changes which may take space hold in shared mode, from before their first write until they are
 * committed or their pages are freed. A holder in exclusive mode measures no rows that others may still roll back.
 */
const ROOM_LOCK = 519_204_880;

/** Whether others hold the lock above. A key of 64 bits is stored in two halves. */
const SELECT_HAS_OTHER_HOLDERS = `SELECT EXISTS (SELECT FROM pg_catalog.pg_locks
  WHERE locktype = 'advisory' AND classid = 0 AND objid = ${ROOM_LOCK} AND objsubid = 1 AND granted
    AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())) AS found`;

interface MeasuredTables {
  bytes: number;
  /** Whether other changes were running, whose uncommitted or rolled-back rows may be counted. */
  hasOthers: boolean;
}

/** Measures the company's tables, under a lock that it takes, if any. */
async function measureTables(tx: TenantTx, companyId: string, lock = 'true'): Promise<MeasuredTables> {
  const others = { text: SELECT_HAS_OTHER_HOLDERS, values: [] };
  // Others may begin or end in between.
  const [, [before], [row], [after]] = await tx.queryAll<[unknown, FoundSizes, { bytes: string }, FoundSizes]>([
    { text: `SELECT ${lock}`, values: [] },
    others,
    { text: SELECT_BYTES, values: [companyId] },
    others,
  ]);
  return { bytes: Number(row?.bytes), hasOthers: before?.found === true || after?.found === true };
}

interface FoundSizes {
  found: boolean;
}

/** The known effect of a change on the space of tables. */
export type SpaceEffect = 'adds' | 'frees';

/** Thrown to roll back a change that would exceed the quota. */
class QuotaExceeded extends Error {
  /** Whether the change might be within the quota, were it alone. */
  readonly isDoubtful: boolean;

  constructor(isDoubtful: boolean) {
    super();
    this.isDoubtful = isDoubtful;
  }
}

/** Runs the work of a change, measuring the tables before and after it; the work names the tables that it changes. */
type MeasureWork = <R>(
  tx: TenantTx,
  changing: AnnounceTables,
  work: (changing: AnnounceTables) => Promise<R>,
) => Promise<R>;

/**
 * Runs a change of tables within the company's quota: a change that takes more space and exceeds the quota is rolled back, and
 * the disk pages it took are freed, as they would count. If concurrent changes may have caused the rejection, it is tried once
 * more without them. Without a quota nothing is measured.
 * @param room its known effect: `adds` is rejected whenever the quota is exceeded, even if it takes no more space; `frees` is
 * never rejected
 * @param change runs the transaction, perhaps twice, and in it `within` around all its work; it must have no effects outside
 * the transaction
 */
export async function withinTableQuota<T>(
  ctx: CompanyContext,
  database: TenantSql,
  room: SpaceEffect | undefined,
  change: (within: MeasureWork) => Promise<T>,
): Promise<T> {
  const { companyId } = ctx.actor;
  const limit = await readQuota(ctx, 'table_bytes');
  if (limit === undefined || room === 'frees') return change((_, changing, work) => work(changing));
  let use = 0;
  const attempt = async (mode: '' | '_shared'): Promise<T> => {
    const written = new Set<string>();
    let isHeld = false;
    try {
      return await change(async (tx, changing, work) => {
        const before = await measureTables(tx, companyId, `pg_advisory_xact_lock${mode}(${ROOM_LOCK})`);
        use = before.bytes;
        if (room === 'adds' && use > limit) throw new QuotaExceeded(before.hasOthers);
        const result = await work((...tables) => {
          for (const table of tables) written.add(table);
          changing(...tables);
        });
        // Until it commits, others wait: two at once are measured one after the other.
        const after = await measureTables(tx, companyId, `pg_advisory_xact_lock(${MEASURE_LOCK})`);
        if (after.bytes <= limit || after.bytes <= use) return result;
        // It outlasts the transaction: nobody who is alone measures its pages before they are given back.
        await tx.query(`SELECT pg_advisory_lock${mode}(${ROOM_LOCK})`);
        isHeld = true;
        throw new QuotaExceeded(after.hasOthers);
      });
    } catch (error) {
      // What failed for another reason locks nobody out below the limit.
      const enough = error instanceof QuotaExceeded ? use : Math.max(use, limit);
      if (written.size > 0) await reclaimSpace(ctx, database, [...written], enough);
      if (isHeld) await releaseLock(database, `pg_advisory_unlock${mode}(${ROOM_LOCK})`);
      throw error;
    }
  };
  const refuse = (error: unknown): never => {
    throw error instanceof QuotaExceeded ? quotaExceeded({ quota: 'table_bytes', limit, use }) : error;
  };
  return attempt('_shared').catch((error: unknown) =>
    error instanceof QuotaExceeded && error.isDoubtful ? attempt('').catch(refuse) : refuse(error),
  );
}

/** The size, without indexes, up to which a table is written anew to give back its pages: its readers wait about a second. */
const MAX_REWRITTEN_BYTES = 64 * 1024 * 1024;
const MAX_REWRITE_MS = 5_000;
const MAX_VACUUM_MS = 20_000;

/**
 * Frees the disk pages that a rolled-back change took in tables. In larger tables the indexes keep theirs for later rows.
 * @param use the size of the company's tables in bytes; if they have no more, nothing is done
 */
async function reclaimSpace(ctx: CompanyContext, database: TenantSql, tables: string[], use: number): Promise<void> {
  if (database.closed) return;
  const { companyId } = ctx.actor;
  const readSmall = (name: string) =>
    database.query<{ small: boolean }>(
      `SELECT pg_table_size(${TABLE_REGCLASS}) <= ${MAX_REWRITTEN_BYTES} AS small ${FROM_LIVING_TABLES} AND display_name = $2`,
      [companyId, name],
    );
  try {
    if ((await readBytes(database, companyId)) <= use) return;
    for (const name of tables) {
      const table = qualified('public', name);
      const [found] = await readSmall(name);
      // What it gives back may leave a small table.
      if (found?.small === false) await database.executeAlone(`VACUUM ${table}`, MAX_VACUUM_MS);
      const [now] = found?.small === false ? await readSmall(name) : [found];
      if (now?.small) await database.executeAlone(`VACUUM (FULL) ${table}`, MAX_REWRITE_MS);
    }
  } catch (error) {
    logError('pages_not_given_back', error, { company_id: companyId });
  }
}

async function releaseLock(database: TenantSql, lock: string): Promise<void> {
  // A connection that keeps the lock is not for other changes; a lost one has lost it.
  if (!database.closed) await database.query(`SELECT ${lock}`).catch(() => database.close());
}

/** Refuses a request that takes space from a company whose quota is used up. */
export async function requireTableRoom(ctx: CompanyContext, database: TenantSql): Promise<void> {
  const limit = await readQuota(ctx, 'table_bytes');
  if (limit === undefined) return;
  const { companyId } = ctx.actor;
  const { bytes, hasOthers } = await measureTables(database, companyId);
  let use = bytes;
  if (use < limit) return;
  if (hasOthers) {
    const alone = await database.transaction((tx) =>
      measureTables(tx, companyId, `pg_advisory_xact_lock(${ROOM_LOCK})`),
    );
    use = alone.bytes;
  }
  if (use >= limit) throw quotaExceeded({ quota: 'table_bytes', limit, use });
}
