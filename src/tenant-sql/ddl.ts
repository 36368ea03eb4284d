import { type Column, POSTGRES_TYPES } from './columns.ts';
import { qualified, quoted, type TenantSchema } from './identifiers.ts';

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

/**
 * Brings a table that was loaded in `console` under its id to schema `public` under its name. Two statements for one
 * simple query; see `moveToTrash` about names.
 */
export function moveIntoPlace(table: { name: string; id: string }): [string, string] {
  return [`ALTER TABLE ${qualified('console', table.id)} SET SCHEMA "public"`, renameTable(table.id, table.name)];
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
