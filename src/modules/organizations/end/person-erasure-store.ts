import { and, eq, getTableColumns, isNull, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from '../../../db/client.ts';
import { events, outbox } from '../../../db/schema/outbox.ts';
import { outsiders } from '../../../db/schema/share-contexts.ts';
import { embedRevocations } from '../../../db/schema/shares.ts';
import { sessions } from '../../../db/schema/sign-in.ts';
import { invitations, users } from '../../../db/schema/users.ts';
import { listPersonalColumns } from '../../../db/shown-columns.ts';
import { makeIdListSql } from '../../../db/statements.ts';
import type { Person } from '../../../logs/redaction.ts';
import { belongsToCompany, COMPANY_TABLES, type CompanyTable, type TableWithCompany } from './control-store.ts';

/** The number of rows that are read at once. */
export const ROWS_PER_BATCH = 500;

/** Selects all users who have had an email address, including deleted ones. */
export const selectUsersOfAddress = (db: ControlDb, companyId: string, email: string) =>
  db
    .select({ id: users.id, name: users.name, isActive: users.isActive, deletedAt: users.deletedAt })
    .from(users)
    .where(and(eq(users.companyId, companyId), eq(users.email, email)));

export const selectOutsider = (db: ControlDb, companyId: string, email: string) =>
  db
    .select({ id: outsiders.id })
    .from(outsiders)
    .where(and(eq(outsiders.companyId, companyId), eq(outsiders.email, email)));

/** Selects the IP addresses from which the users have signed in, as far as they are still known. */
export const selectSignInIps = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .selectDistinct({ ip: sessions.ip })
    .from(sessions)
    .where(and(eq(sessions.companyId, companyId), sql`${sessions.userId} in ${makeIdListSql(ids)}`));

/** Deletes the inactive users of an address, so that none of them becomes active again. */
export const deleteInactiveUsers = (db: ControlDb, companyId: string, email: string, now: number) =>
  db
    .update(users)
    .set({ deletedAt: now, isActive: false, sessionEpoch: sql`${users.sessionEpoch} + 1` })
    .where(
      and(eq(users.companyId, companyId), eq(users.email, email), eq(users.isActive, false), isNull(users.deletedAt)),
    );

export const endSessions = (db: ControlDb, companyId: string, ids: readonly string[], now: number) =>
  db
    .update(sessions)
    .set({ endedAt: now })
    .where(
      and(
        eq(sessions.companyId, companyId),
        sql`${sessions.userId} in ${makeIdListSql(ids)}`,
        isNull(sessions.endedAt),
      ),
    );

/** Removes the inviter's name from open invitations. */
export const removeInviterName = (db: ControlDb, companyId: string, name: string) =>
  db
    .update(invitations)
    .set({ inviter: '' })
    .where(and(eq(invitations.companyId, companyId), eq(invitations.inviter, name)));

/** Returns the SQL condition for the rows of a table that are about a person. */
const isAboutPerson = ({ table, makePersonCondition }: CompanyTable, companyId: string, person: Person): SQL =>
  and(belongsToCompany(table, companyId), makePersonCondition?.(person) ?? sql`false`) as SQL;

export const deleteRowsAboutPerson = (db: ControlDb, companyTable: CompanyTable, companyId: string, person: Person) =>
  db
    .delete(companyTable.table)
    .where(isAboutPerson(companyTable, companyId, person))
    // What triggers change besides is not counted.
    .returning({ one: sql<number>`1` });

/** Selects a page of the rows about a person, by row number, with these columns under their database names. */
export function selectRowsAboutPerson(
  db: ControlDb,
  companyTable: CompanyTable,
  columns: readonly SQLiteColumn[],
  companyId: string,
  person: Person,
  afterRowNumber: number,
) {
  const shownColumns = columns.map((column) => [column.name, column]);
  return db
    .select({ ...Object.fromEntries(shownColumns), rowNumber: sql<number>`rowid`.as('row_number') } as Record<
      string,
      SQLiteColumn
    >)
    .from(companyTable.table)
    .where(and(isAboutPerson(companyTable, companyId, person), sql`rowid > ${afterRowNumber}`))
    .orderBy(sql`rowid`)
    .limit(ROWS_PER_BATCH);
}

/** The pattern of columns that hold secrets, or digests of them: they name no person. */
const SECRET_COLUMN_PATTERN = /digest|secret|hash|salt|password/i;

/** The tables whose rows may name a person, with their text columns, and the columns that identify a row and name nobody. */
export const NAMING_TABLES = COMPANY_TABLES.map((companyTable) => ({
  ...companyTable,
  columns: listTextColumns(companyTable.table),
  ids: listIdColumns(companyTable.table),
})).filter(({ columns }) => columns.length > 0);

export type NamingTable = (typeof NAMING_TABLES)[number];

/** The tables of events and messages that wait to be sent, whose rows name persons in JSON. */
export const WAITING_TABLES: readonly NamingTable[] = NAMING_TABLES.filter(
  ({ table }) => table === events || table === outbox,
);

function listTextColumns(table: TableWithCompany): SQLiteColumn[] {
  return Object.values(getTableColumns(table)).filter(
    (column) =>
      column.getSQLType() === 'text' &&
      !column.primary &&
      column.name !== 'company_id' &&
      // In another form a subject revokes nothing; the embeds hide its person themselves.
      column !== embedRevocations.subject &&
      !SECRET_COLUMN_PATTERN.test(column.name),
  );
}

/** Returns the columns that identify a row: its `id`, or else the ids of the records that it connects or belongs to. */
function listIdColumns(table: TableWithCompany): SQLiteColumn[] {
  const ownIds = Object.values(getTableColumns(table)).filter(({ name }) => name === 'id');
  const relatedIds = listPersonalColumns(table).filter(({ name }) => name.endsWith('_id') && name !== 'company_id');
  return ownIds.length > 0 ? ownIds : relatedIds;
}

/** Selects a page of rows that may name a person but are not about them, with texts as the database stores them. */
export function selectRowsNamingPerson(
  db: ControlDb,
  { columns, ids, ...held }: NamingTable,
  companyId: string,
  person: Person,
  afterRowNumber: number,
) {
  const text = sql.join(
    columns.map((column) => sql`coalesce(${column}, '')`),
    sql` || ' ' || `,
  );
  const identifiers = JSON.stringify([...person.ids, person.email]);
  const rawColumns = [...ids, ...columns].map((column) => [
    column.name,
    sql<string | null>`${column} || ''`.as(`raw_${column.name}`),
  ]);
  return db
    .select({ ...Object.fromEntries(rawColumns), rowNumber: sql<number>`rowid`.as('row_number') } as Record<
      string,
      SQL.Aliased<unknown>
    >)
    .from(held.table)
    .where(
      and(
        belongsToCompany(held.table, companyId),
        sql`exists (select 1 from json_each(${identifiers}) as mark where instr(lower(${text}), mark.value))`,
        sql`not (${held.makePersonCondition?.(person) ?? sql`false`})`,
        sql`rowid > ${afterRowNumber}`,
      ),
    )
    .orderBy(sql`rowid`)
    .limit(ROWS_PER_BATCH);
}

/** Replaces texts of a row, if it still has the previous ones. */
export function replaceTexts(
  db: ControlDb,
  { table, columns }: NamingTable,
  rowNumber: number,
  texts: ReadonlyMap<string, { before: string; after: string }>,
) {
  const changedColumns = columns.flatMap((column) => {
    const text = texts.get(column.name);
    return text ? [{ column, ...text }] : [];
  });
  const fields = Object.entries(getTableColumns(table));
  const findField = (column: SQLiteColumn) => fields.find(([, fieldColumn]) => fieldColumn === column)?.[0] as string;
  return db
    .update(table)
    .set(Object.fromEntries(changedColumns.map(({ column, after }) => [findField(column), sql`${after}`])))
    .where(and(sql`rowid = ${rowNumber}`, ...changedColumns.map(({ column, before }) => sql`${column} = ${before}`)))
    .returning({ one: sql<number>`1` });
}
