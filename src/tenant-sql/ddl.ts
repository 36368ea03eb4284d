import { type Column, POSTGRES_TYPES } from './columns.ts';
import { literal, qualified, quoted, type TenantSchema } from './identifiers.ts';

/**
 * Name of a table's primary key. Indexes share one namespace with tables, so Postgres's own choice (`<table>_pkey`) would
 * take a name that a person may want; a person's names hold no `$`.
 */
const primaryKeyName = (tableId: string): string => `pk$${tableId}`;

/** `"name" bigint NOT NULL`: a column in CREATE TABLE and ADD COLUMN. */
export function columnDefinition({ name, type, nullable }: Column): string {
  return `${quoted(name)} ${POSTGRES_TYPES[type]}${nullable ? '' : ' NOT NULL'}`;
}

/**
 * A table with its row id and columns. `uuidv7()` makes ids that sort by insertion, also within one statement.
 * @param primaryKey false for a table to be loaded first: building the key afterwards is faster (`addPrimaryKey`)
 */
export function createTable(
  table: { schema: TenantSchema; name: string; id: string },
  columns: Column[],
  primaryKey = true,
): string {
  const key = primaryKey ? ` CONSTRAINT ${quoted(primaryKeyName(table.id))} PRIMARY KEY` : '';
  const members = [`"id" uuid NOT NULL DEFAULT uuidv7()${key}`, ...columns.map(columnDefinition)];
  return `CREATE TABLE ${qualified(table.schema, table.name)} (${members.join(', ')})`;
}

/** The primary key of a table that was made without one. */
export function addPrimaryKey(table: { schema: TenantSchema; name: string; id: string }): string {
  return `ALTER TABLE ${qualified(table.schema, table.name)} ADD CONSTRAINT ${quoted(primaryKeyName(table.id))} PRIMARY KEY ("id")`;
}

/**
 * Takes a table of schema `public` out of sight: it stands in `trash` under its id. Two statements for one simple query.
 * Ids start with a digit (until 2055), so no table of a person can be in the way in between.
 */
export function moveToTrash(table: { name: string; id: string }): [string, string] {
  return [
    `ALTER TABLE ${qualified('public', table.name)} RENAME TO ${quoted(table.id)}`,
    `ALTER TABLE ${qualified('public', table.id)} SET SCHEMA "trash"`,
  ];
}

/** Counts the rows of a table while it is loaded in `console`. */
const rowCounter = (tableId: string): string => qualified('console', `${tableId}_rows`);

/**
 * Lets the rows of a table that is loaded in `console` under its id take their ids from a counter, within a UUID of
 * version 7 that is drawn once (RFC 9562, section 6.2). COPY inserts rows one by one where a default is volatile, and
 * many at a time where it is `nextval`: that is nearly twice as fast. And a counter keeps the order of the rows
 * whatever the server's clock does.
 */
export function countRowIds(tableId: string): string[] {
  const table = qualified('console', tableId);
  const counter = rowCounter(tableId);
  // 24 of the 36 characters are drawn; from 2^44 on a number has the other 12 as hexadecimal digits.
  return [
    `CREATE SEQUENCE ${counter} START 17592186044416 CACHE 1000 OWNED BY ${table}."id"`,
    `DO $$ BEGIN
      EXECUTE format(
        'ALTER TABLE %s ALTER COLUMN "id" SET DEFAULT (%L || to_hex(nextval(%L)))::uuid',
        ${literal(table)}, left(uuidv7()::text, 24), ${literal(counter)}
      );
    END $$`,
  ];
}

/** Ends `countRowIds`: every row draws its own id. COPY then inserts one by one and tells exactly which row it fails at. */
export function drawRowIds(tableId: string): string {
  return `ALTER TABLE ${qualified('console', tableId)} ALTER COLUMN "id" SET DEFAULT uuidv7()`;
}

/**
 * Brings a table that was loaded in `console` under its id to schema `public` under its name: its rows' ids are drawn
 * as everywhere from here on. Statements to be run one after the other; see `moveToTrash` about names.
 */
export function moveIntoPlace(table: { name: string; id: string }): string[] {
  return [
    drawRowIds(table.id),
    `DROP SEQUENCE ${rowCounter(table.id)}`,
    `ALTER TABLE ${qualified('console', table.id)} SET SCHEMA "public"`,
    renameTable(table.id, table.name),
  ];
}

/** Drops a deleted table for good. */
export function dropFromTrash(tableId: string): string {
  return `DROP TABLE IF EXISTS ${qualified('trash', tableId)}`;
}

/** Renames a table of schema `public`. */
export function renameTable(name: string, newName: string): string {
  return `ALTER TABLE ${qualified('public', name)} RENAME TO ${quoted(newName)}`;
}

/** Empties a table of schema `public` and keeps its columns and indexes. */
export function truncateTable(name: string): string {
  return `TRUNCATE ${qualified('public', name)}`;
}

/** Holds a table of schema `public` against writes until the transaction ends; reads go on. */
export function lockAgainstWrites(table: string): string {
  return `LOCK TABLE ${qualified('public', table)} IN SHARE ROW EXCLUSIVE MODE`;
}

/** Several actions in one pass over the table, e.g. `DROP COLUMN "a"`. */
export function alterColumns(table: string, actions: string[]): string {
  return `ALTER TABLE ${qualified('public', table)} ${actions.join(', ')}`;
}

/** Renames a column of a table in schema `public`. */
export function renameColumn(table: string, name: string, newName: string): string {
  return `ALTER TABLE ${qualified('public', table)} RENAME COLUMN ${quoted(name)} TO ${quoted(newName)}`;
}

/** Adds columns to a table of schema `public`; they are null in the rows there are. */
export function addColumns(table: string, columns: Column[]): string {
  return alterColumns(
    table,
    columns.map((column) => `ADD COLUMN ${columnDefinition(column)}`),
  );
}
