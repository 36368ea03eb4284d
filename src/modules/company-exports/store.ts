import { and, eq, gte, inArray, lte, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companyExports } from '../../db/schema/company-exports.ts';
import { byId, idList } from '../../db/statements.ts';
import { ofActiveCompany } from '../companies/queries.ts';

export type CompanyExport = typeof companyExports.$inferSelect;

/** An export by its key. */
export type ExportKey = Pick<CompanyExport, 'companyId' | 'id'>;

const UNFINISHED = ['queued', 'running'] as const;

const isUnfinished = inArray(companyExports.status, [...UNFINISHED]);

/** Stores an export, unless the company has one that has not ended. */
export const insertExport = (db: ControlDb, record: CompanyExport) =>
  db.insert(companyExports).values(record).onConflictDoNothing();

/** Makes the export of a company that has not ended the operator's, too. */
export const joinAsOperator = (db: ControlDb, companyId: string) =>
  db
    .update(companyExports)
    .set({ forOperator: true })
    .where(and(eq(companyExports.companyId, companyId), isUnfinished));

/** The export of a company that has not ended. */
export const selectUnfinished = (db: ControlDb, companyId: string) =>
  db
    .select()
    .from(companyExports)
    .where(and(eq(companyExports.companyId, companyId), isUnfinished));

export const selectExport = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(companyExports)
    .where(byId(companyExports, companyId, id));

/** For each of these exports, a text that is another one after each change of the fields it shows. */
export const selectStamps = (db: ControlDb, companyId: string, ids: readonly string[]) => {
  const { id, status, bytes, error } = companyExports;
  return db
    .select({ id, stamp: sql<string>`json_array(${status}, ${bytes}, ${error})` })
    .from(companyExports)
    .where(and(eq(companyExports.companyId, companyId), sql`${id} in ${idList(ids)}`));
};

const isFree = (now: number) =>
  or(
    eq(companyExports.status, 'queued'),
    and(eq(companyExports.status, 'running'), lte(companyExports.dueAt, now)),
  ) as SQL;

/** Begins a turn at an export that nobody is at. */
export const claimExport = (
  db: ControlDb,
  { companyId, id }: ExportKey,
  { now, until }: { now: number; until: number },
) =>
  db
    .update(companyExports)
    .set({
      status: 'running',
      turn: sql`${companyExports.turn} + 1`,
      tries: sql`${companyExports.tries} + 1`,
      dueAt: until,
      updatedAt: now,
    })
    .where(and(byId(companyExports, companyId, id), isFree(now)))
    .returning();

/** Gives up an export that nobody is at, and that came no further in `most` turns. */
export const giveUpExport = (
  db: ControlDb,
  { companyId, id }: ExportKey,
  { now, most, ...changes }: { now: number; most: number; error: string; expiresAt: number },
) =>
  db
    .update(companyExports)
    .set({ status: 'failed', ...changes, updatedAt: now })
    .where(and(byId(companyExports, companyId, id), isFree(now), gte(companyExports.tries, most)))
    .returning();

/** A turn at an export, which ends when another one begins. */
export type Turn = ExportKey & Pick<CompanyExport, 'turn'>;

/** Changes an export while this turn is the present one. */
export const updateTurn = (db: ControlDb, { companyId, id, turn }: Turn, changes: Partial<CompanyExport>) =>
  db
    .update(companyExports)
    .set(changes)
    .where(
      and(byId(companyExports, companyId, id), eq(companyExports.status, 'running'), eq(companyExports.turn, turn)),
    )
    .returning({ id: companyExports.id });

/** Exports that nobody looks after any more; each is told to one run only. One of a suspended company waits, unless it is the operator's. */
export const claimDueExports = (db: ControlDb, { now, next, limit }: { now: number; next: number; limit: number }) =>
  db
    .update(companyExports)
    .set({ dueAt: sql`iif(${companyExports.status} = 'queued', ${next}, ${companyExports.dueAt})` })
    .where(
      inArray(
        companyExports.id,
        db
          .select({ id: companyExports.id })
          .from(companyExports)
          .where(
            and(
              isUnfinished,
              lte(companyExports.dueAt, now),
              or(eq(companyExports.forOperator, true), ofActiveCompany(companyExports.companyId)),
            ),
          )
          .limit(limit),
      ),
    )
    .returning({ companyId: companyExports.companyId, id: companyExports.id });

/** Exports that are kept no longer. */
export const selectExpired = (db: ControlDb, now: number, limit: number) =>
  db
    .select({ companyId: companyExports.companyId, id: companyExports.id })
    .from(companyExports)
    .where(lte(companyExports.expiresAt, now))
    .limit(limit);

export const deleteExport = (db: ControlDb, { companyId, id }: ExportKey) =>
  db.delete(companyExports).where(byId(companyExports, companyId, id));
