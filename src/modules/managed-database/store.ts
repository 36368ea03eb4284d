import { and, asc, eq, getTableColumns, isNull, lte, notLike, or, type SQL, sql } from 'drizzle-orm';
import { type ControlDb, commit, countChangedRows } from '../../db/client.ts';
import { companies, type Quotas } from '../../db/schema/companies.ts';
import { managedDatabases } from '../../db/schema/managed-database.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type DatabaseRow = typeof managedDatabases.$inferSelect;

const isOfCompany = (companyId: string) => eq(managedDatabases.companyId, companyId);
const isLeasedBy = (companyId: string, token: string) =>
  and(isOfCompany(companyId), eq(managedDatabases.leaseToken, token));

/** Reads the company's row, with its quotas. */
export async function readDatabase(
  db: ControlDb,
  companyId: string,
): Promise<(DatabaseRow & { quotas: Quotas | null }) | undefined> {
  const quotas = sql`(select ${companies.quotas} from ${companies} where ${eq(companies.id, managedDatabases.companyId)})`;
  return db
    .select({ ...getTableColumns(managedDatabases), quotas: quotas.mapWith(companies.quotas).as('quotas') })
    .from(managedDatabases)
    .where(isOfCompany(companyId))
    .get() as Promise<(DatabaseRow & { quotas: Quotas | null }) | undefined>;
}

/** Selects the versions of a company's tables, to be read with other rows. The id may be a subquery. */
export const selectDataState = (db: ControlDb, companyId: string | SQL) => {
  const { dataVersion, notedVersion, changedTables, openChanges, dataChanges, dataChangesUntil } = managedDatabases;
  return db
    .select({ dataVersion, notedVersion, changedTables, openChanges, dataChanges, dataChangesUntil })
    .from(managedDatabases)
    .where(eq(managedDatabases.companyId, companyId));
};

/** Inserts the company's row unless it exists. */
export async function ensureDatabase(
  db: ControlDb,
  row: { id: string; companyId: string; now: number },
): Promise<void> {
  const { id, companyId, now } = row;
  await db
    .insert(managedDatabases)
    .values({ id, companyId, status: 'provisioning', createdAt: now, updatedAt: now })
    .onConflictDoNothing();
}

/** Acquires the lease of a database, unless another call holds it. */
export async function takeLease(
  db: ControlDb,
  companyId: string,
  { token, now, leaseUntil }: { token: string; now: number; leaseUntil: number },
): Promise<boolean> {
  const result = await db
    .update(managedDatabases)
    .set({ leaseToken: token, leaseUntil, updatedAt: now })
    .where(and(isOfCompany(companyId), or(isNull(managedDatabases.leaseUntil), lte(managedDatabases.leaseUntil, now))));
  return countChangedRows(result) === 1;
}

export async function releaseLease(db: ControlDb, companyId: string, token: string): Promise<void> {
  await db.update(managedDatabases).set({ leaseToken: null, leaseUntil: null }).where(isLeasedBy(companyId, token));
}

/** Stores the reader's password (encrypted) unless one is stored. @returns the stored password */
export async function storeReaderPassword(
  db: ControlDb,
  companyId: string,
  encryptedPassword: string,
): Promise<string> {
  const { kept } = await commit(db, {
    keep: db
      .update(managedDatabases)
      .set({ readerPassword: encryptedPassword })
      .where(and(isOfCompany(companyId), isNull(managedDatabases.readerPassword))),
    kept: db.select({ password: managedDatabases.readerPassword }).from(managedDatabases).where(isOfCompany(companyId)),
  });
  return kept[0]?.password ?? encryptedPassword;
}

/** Stores the connection of the database, if `token` still holds the lease. */
export async function storeConnection(
  db: ControlDb,
  companyId: string,
  token: string,
  connection: Pick<
    DatabaseRow,
    'neonProjectId' | 'ownerConnection' | 'readonlyConnection' | 'migrationsVersion' | 'updatedAt'
  >,
): Promise<boolean> {
  const result = await db
    .update(managedDatabases)
    .set({ ...connection, status: 'ready', leaseToken: null, leaseUntil: null })
    .where(isLeasedBy(companyId, token));
  return countChangedRows(result) === 1;
}

/** Records that a database was migrated: in a transaction, because any request may be the first one since a release. */
export async function recordSchemaVersion(
  db: ControlDb,
  companyId: string,
  version: number,
  now: number,
): Promise<void> {
  await commit(db, {
    recorded: db
      .update(managedDatabases)
      .set({ migrationsVersion: version, updatedAt: now })
      .where(isOfCompany(companyId)),
  });
}

/** Moves the next sweep to `dueAt`, if that is earlier. */
export async function scheduleSweep(db: ControlDb, companyId: string, dueAt: number): Promise<void> {
  await db
    .update(managedDatabases)
    .set({
      sweepAt: sql`min(coalesce(${managedDatabases.sweepAt}, ${dueAt}), ${dueAt})`,
      sweepMarks: sql`${managedDatabases.sweepMarks} + 1`,
    })
    .where(isOfCompany(companyId));
}

/** The name for all tables in a change, which no table can have. */
export const ALL_TABLES = '*';

/** A running change, which ends at `until` (ms) at the latest. */
export interface OpenChange {
  tables: string[];
  until: number;
}

/** The maximum number of tables whose last change is stored; other tables share one upper bound. */
const MAX_KNOWN_TABLES = 100;

/** Records a change of tables, which is running until `endDataChange`, or `until` if that is never called. */
export async function beginDataChange(
  db: ControlDb,
  companyId: string,
  { id, tables, now, until }: { id: string; tables: readonly string[]; now: number; until: number },
): Promise<void> {
  const { dataVersion, dataChanges, dataChangesUntil, notedVersion, changedTables, openChanges } = managedDatabases;
  const names = JSON.stringify(tables);
  // What the version before has counted since is of any table.
  const isVersionNoted = sql`${dataVersion} = ${notedVersion}`;
  const isFormerChangeOpen = sql`not ${isVersionNoted} and ${dataChanges} > 0 and ${dataChangesUntil} > ${now}`;
  const formerChange = sql`json_object('former', json_object('tables', json_array(${ALL_TABLES}), 'until', ${dataChangesUntil}))`;
  const newChange = sql`json_object(${id}, json_object('tables', json(${names}), 'until', ${until}))`;
  const unexpiredChanges = sql`(select json_group_object(key, json(value)) from json_each(${openChanges})
    where value ->> 'until' > ${now})`;
  const updatedTables = sql`json_patch(
    iif(${isVersionNoted}, ${changedTables}, json_object(${ALL_TABLES}, ${dataVersion})),
    (select json_group_object(value, ${dataVersion} + 1) from json_each(${names})))`;
  await db
    .update(managedDatabases)
    .set({
      dataVersion: sql`${dataVersion} + 1`,
      changedTables: selectNewestTables(updatedTables),
      openChanges: sql`json_patch(json_patch(${unexpiredChanges}, iif(${isFormerChangeOpen}, ${formerChange}, '{}')), ${newChange})`,
      notedVersion: sql`${dataVersion} + 1`,
      dataChanges: sql`iif(${dataChangesUntil} > ${now}, ${dataChanges}, 0) + 1`,
      dataChangesUntil: until,
    })
    .where(isOfCompany(companyId));
}

/**
 * Returns SQL that keeps the most recently changed tables of a list, with the version of each one's last change. The newest
 * version of the tables that it leaves out becomes that of `ALL_TABLES`.
 */
const selectNewestTables = (changedTables: SQL): SQL => sql`(
  select json_group_object(each.key, iif(each.key = ${ALL_TABLES}, max(each.value, given.least), each.value))
  from (
    select list, coalesce((select value from json_each(list) where key <> ${ALL_TABLES}
      order by value desc limit 1 offset ${MAX_KNOWN_TABLES}), 0) as least
    from (select ${changedTables} as list)) as given, json_each(given.list) as each
  where each.key = ${ALL_TABLES} or each.value > given.least)`;

export async function endDataChange(db: ControlDb, companyId: string, id: string): Promise<void> {
  const { dataChanges, openChanges } = managedDatabases;
  await db
    .update(managedDatabases)
    .set({
      dataChanges: sql`max(${dataChanges} - 1, 0)`,
      openChanges: sql`json_remove(${openChanges}, ${`$."${id}"`})`,
    })
    .where(isOfCompany(companyId));
}

/** Claims due databases, the longest waiting first, and postpones their next sweep to `nextSweepAt` meanwhile. */
export async function claimDueRows(
  db: ControlDb,
  { now, nextSweepAt, limit }: { now: number; nextSweepAt: number; limit: number },
): Promise<{ companyId: string; sweepMark: number }[]> {
  const dueRows = db
    .select({ id: managedDatabases.id })
    .from(managedDatabases)
    .where(and(lte(managedDatabases.sweepAt, now), isCompanyActive(managedDatabases.companyId)))
    .orderBy(asc(managedDatabases.sweepAt))
    .limit(limit);
  return db
    .update(managedDatabases)
    .set({ sweepAt: nextSweepAt })
    .where(sql`${managedDatabases.id} in ${dueRows}`)
    .returning({ companyId: managedDatabases.companyId, sweepMark: managedDatabases.sweepMarks });
}

/** The sizes of a company's Postgres, and of its files in R2. */
export type DatabaseSizes = Pick<DatabaseRow, 'tables' | 'rows' | 'tableBytes' | 'fileBytes'>;

/** Sets the next sweep (ms, null for none), unless one was scheduled since `sweepMark` was read. @param sizes measured meanwhile */
export async function finishSweep(
  db: ControlDb,
  { companyId, sweepMark }: { companyId: string; sweepMark: number },
  nextSweepAt: number | null,
  sizes?: DatabaseSizes,
): Promise<void> {
  await db
    .update(managedDatabases)
    .set({
      sweepAt: sql`iif(${managedDatabases.sweepMarks} = ${sweepMark}, ${nextSweepAt}, ${managedDatabases.sweepAt})`,
      ...sizes,
    })
    .where(isOfCompany(companyId));
}

/** Stores the measured sizes of a company. */
export const recordSizes = (db: ControlDb, companyId: string, sizes: DatabaseSizes) =>
  db.update(managedDatabases).set(sizes).where(isOfCompany(companyId));

export type EncryptedConnections = Pick<
  DatabaseRow,
  'companyId' | 'ownerConnection' | 'readonlyConnection' | 'readerPassword'
>;

/** Reads rows with a value that does not begin with `prefix`, because it is encrypted under an older key. */
export async function readRowsUnderOlderKey(
  db: ControlDb,
  prefix: string,
  limit: number,
): Promise<EncryptedConnections[]> {
  const { companyId, ownerConnection, readonlyConnection, readerPassword } = managedDatabases;
  return db
    .select({ companyId, ownerConnection, readonlyConnection, readerPassword })
    .from(managedDatabases)
    .where(or(...[ownerConnection, readonlyConnection, readerPassword].map((column) => notLike(column, `${prefix}%`))))
    .limit(limit);
}

/** Replaces encrypted values, unless any of them has changed. */
export async function replaceEncryptedConnections(
  db: ControlDb,
  oldValues: EncryptedConnections,
  newValues: EncryptedConnections,
): Promise<void> {
  const { ownerConnection, readonlyConnection, readerPassword } = managedDatabases;
  await db
    .update(managedDatabases)
    .set(newValues)
    .where(
      and(
        isOfCompany(oldValues.companyId),
        sql`${ownerConnection} is ${oldValues.ownerConnection}`,
        sql`${readonlyConnection} is ${oldValues.readonlyConnection}`,
        sql`${readerPassword} is ${oldValues.readerPassword}`,
      ),
    );
}
