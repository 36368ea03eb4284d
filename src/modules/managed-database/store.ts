import { and, asc, eq, isNull, lte, notLike, or, type SQL, sql } from 'drizzle-orm';
import { type ControlDb, changes, commit } from '../../db/client.ts';
import { managedDatabases } from '../../db/schema/managed-database.ts';

export type DatabaseRow = typeof managedDatabases.$inferSelect;

const ofCompany = (companyId: string) => eq(managedDatabases.companyId, companyId);
const leasedBy = (companyId: string, token: string) =>
  and(ofCompany(companyId), eq(managedDatabases.leaseToken, token));

export async function readDatabase(db: ControlDb, companyId: string): Promise<DatabaseRow | undefined> {
  return db.select().from(managedDatabases).where(ofCompany(companyId)).get();
}

/** What tells the version of a company's data, to be read with others. The id may be a subquery. */
export const selectDataState = (db: ControlDb, companyId: string | SQL) => {
  const { dataVersion, dataChanges, dataChangesUntil } = managedDatabases;
  return db
    .select({ dataVersion, dataChanges, dataChangesUntil })
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
  { token, now, until }: { token: string; now: number; until: number },
): Promise<boolean> {
  const result = await db
    .update(managedDatabases)
    .set({ leaseToken: token, leaseUntil: until, updatedAt: now })
    .where(and(ofCompany(companyId), or(isNull(managedDatabases.leaseUntil), lte(managedDatabases.leaseUntil, now))));
  return changes(result) === 1;
}

export async function releaseLease(db: ControlDb, companyId: string, token: string): Promise<void> {
  await db.update(managedDatabases).set({ leaseToken: null, leaseUntil: null }).where(leasedBy(companyId, token));
}

/** Stores the reader's password (encrypted) unless one is stored. @returns the stored one */
export async function keepReaderPassword(db: ControlDb, companyId: string, encrypted: string): Promise<string> {
  const { kept } = await commit(db, {
    keep: db
      .update(managedDatabases)
      .set({ readerPassword: encrypted })
      .where(and(ofCompany(companyId), isNull(managedDatabases.readerPassword))),
    kept: db.select({ password: managedDatabases.readerPassword }).from(managedDatabases).where(ofCompany(companyId)),
  });
  return kept[0]?.password ?? encrypted;
}

/** Records the connection of the database, if `token` still holds the lease. */
export async function recordReady(
  db: ControlDb,
  companyId: string,
  token: string,
  ready: Pick<
    DatabaseRow,
    'neonProjectId' | 'ownerConnection' | 'readonlyConnection' | 'migrationsVersion' | 'updatedAt'
  >,
): Promise<boolean> {
  const result = await db
    .update(managedDatabases)
    .set({ ...ready, status: 'ready', leaseToken: null, leaseUntil: null })
    .where(leasedBy(companyId, token));
  return changes(result) === 1;
}

export async function recordMigration(db: ControlDb, companyId: string, version: number, now: number): Promise<void> {
  await db.update(managedDatabases).set({ migrationsVersion: version, updatedAt: now }).where(ofCompany(companyId));
}

/** Moves the next sweep to `dueAt`, if that is earlier. */
export async function scheduleSweep(db: ControlDb, companyId: string, dueAt: number): Promise<void> {
  await db
    .update(managedDatabases)
    .set({
      sweepAt: sql`min(coalesce(${managedDatabases.sweepAt}, ${dueAt}), ${dueAt})`,
      sweepMarks: sql`${managedDatabases.sweepMarks} + 1`,
    })
    .where(ofCompany(companyId));
}

/** Counts a change of the data, which is under way until `endDataChange`, or `until` if that never comes. */
export async function beginDataChange(db: ControlDb, companyId: string, now: number, until: number): Promise<void> {
  const { dataVersion, dataChanges, dataChangesUntil } = managedDatabases;
  await db
    .update(managedDatabases)
    .set({
      dataVersion: sql`${dataVersion} + 1`,
      dataChanges: sql`iif(${dataChangesUntil} > ${now}, ${dataChanges}, 0) + 1`,
      dataChangesUntil: until,
    })
    .where(ofCompany(companyId));
}

export async function endDataChange(db: ControlDb, companyId: string): Promise<void> {
  await db
    .update(managedDatabases)
    .set({ dataChanges: sql`max(${managedDatabases.dataChanges} - 1, 0)` })
    .where(ofCompany(companyId));
}

/** Claims due databases, the longest waiting first, and postpones their next sweep to `next` meanwhile. */
export async function claimDue(
  db: ControlDb,
  { now, next, limit }: { now: number; next: number; limit: number },
): Promise<{ companyId: string; marks: number }[]> {
  const due = db
    .select({ id: managedDatabases.id })
    .from(managedDatabases)
    .where(lte(managedDatabases.sweepAt, now))
    .orderBy(asc(managedDatabases.sweepAt))
    .limit(limit);
  return db
    .update(managedDatabases)
    .set({ sweepAt: next })
    .where(sql`${managedDatabases.id} in ${due}`)
    .returning({ companyId: managedDatabases.companyId, marks: managedDatabases.sweepMarks });
}

/** Sets the next sweep, unless one was scheduled since `marks` was read. */
export async function finishSweep(db: ControlDb, companyId: string, marks: number, next: number | null): Promise<void> {
  await db
    .update(managedDatabases)
    .set({ sweepAt: next })
    .where(and(ofCompany(companyId), eq(managedDatabases.sweepMarks, marks)));
}

export type Encrypted = Pick<DatabaseRow, 'companyId' | 'ownerConnection' | 'readonlyConnection' | 'readerPassword'>;

/** Selects rows with a value that does not begin with `prefix`, because it is encrypted under an older key. */
export async function readNotEncryptedUnder(db: ControlDb, prefix: string, limit: number): Promise<Encrypted[]> {
  const { companyId, ownerConnection, readonlyConnection, readerPassword } = managedDatabases;
  return db
    .select({ companyId, ownerConnection, readonlyConnection, readerPassword })
    .from(managedDatabases)
    .where(or(...[ownerConnection, readonlyConnection, readerPassword].map((column) => notLike(column, `${prefix}%`))))
    .limit(limit);
}

/** Replaces encrypted values, unless any of them has changed. */
export async function replaceEncrypted(db: ControlDb, old: Encrypted, renewed: Encrypted): Promise<void> {
  const { ownerConnection, readonlyConnection, readerPassword } = managedDatabases;
  await db
    .update(managedDatabases)
    .set(renewed)
    .where(
      and(
        ofCompany(old.companyId),
        sql`${ownerConnection} is ${old.ownerConnection}`,
        sql`${readonlyConnection} is ${old.readonlyConnection}`,
        sql`${readerPassword} is ${old.readerPassword}`,
      ),
    );
}
