import { type Column, POSTGRES_TYPES } from './columns.ts';
import { literal, qualified, quoted, type TenantSchema } from './identifiers.ts';

/** A primary key's name, with `$` as no user's: it shares a namespace with tables, and `<table>_pkey` may be one's. */
const primaryKeyName = (tableId: string): string => `pk$${tableId}`;

/** The definition of a column in CREATE TABLE and ADD COLUMN: `"name" bigint NOT NULL`. */
export const columnDefinition = ({ name, type, nullable }: Column): string =>
  `${quoted(name)} ${POSTGRES_TYPES[type]}${nullable ? '' : ' NOT NULL'}`;

/**
 * Creates a table with its row id and columns. `uuidv7()` makes ids that sort by insertion, also within one statement.
 * @param primaryKey false for a table that is loaded first: it is faster to build the key afterwards (`addPrimaryKey`)
 */
export function createTable(
  table: { schema: TenantSchema; name: string; id: string },
  columns: Column[],
  primaryKey = true,
): string {
  const key = primaryKey ? ` CONSTRAINT ${quoted(primaryKeyName(table.id))} PRIMARY KEY` : '';
  const definitions = [`"id" uuid NOT NULL DEFAULT uuidv7()${key}`, ...columns.map(columnDefinition)];
  return `CREATE TABLE ${qualified(table.schema, table.name)} (${definitions.join(', ')})`;
}

/** Adds the primary key to a table that was created without one. */
export function addPrimaryKey(table: { schema: TenantSchema; name: string; id: string }): string {
  return `ALTER TABLE ${qualified(table.schema, table.name)} ADD CONSTRAINT ${quoted(primaryKeyName(table.id))} PRIMARY KEY ("id")`;
}

/** Moves a table to `trash`, named by its id: that starts with a digit until 2055, which no user's table does. */
export function moveToTrash(table: { name: string; id: string }): [string, string] {
  return [
    `ALTER TABLE ${qualified('public', table.name)} RENAME TO ${quoted(table.id)}`,
    `ALTER TABLE ${qualified('public', table.id)} SET SCHEMA "trash"`,
  ];
}

/** Reverts `moveToTrash`. */
export const moveFromTrash = (table: { name: string; id: string }): [string, string] => [
  `ALTER TABLE ${qualified('trash', table.id)} SET SCHEMA "public"`,
  renameTable(table.id, table.name),
];

/** The sequence that counts the rows of a table while it is loaded in `console`. */
const rowCounter = (tableId: string): string => qualified('console', `${tableId}_rows`);

/**
 * Makes the rows of a table in `console` take their ids from a counter, within one UUID of version 7 (RFC 9562, section
 * 6.2). COPY inserts rows one by one if a default is volatile, but many at a time if it is `nextval`, which is nearly
 * twice as fast. A counter also keeps the order of the rows whatever the server's clock does.
 */
export function countRowIds(tableId: string): string[] {
  const table = qualified('console', tableId);
  const counter = rowCounter(tableId);
  // A UUID gives the first 24 of the 36 characters; the counter starts at 2^44, so it gives 12 hexadecimal digits.
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

/** Reverts `countRowIds`: rows get new UUIDs. COPY then inserts one by one and reports exactly which row fails. */
export const drawRowIds = (tableId: string): string =>
  `ALTER TABLE ${qualified('console', tableId)} ALTER COLUMN "id" SET DEFAULT uuidv7()`;

/** Moves a loaded table from `console` to `public` and reverts `countRowIds`. For the names see `moveToTrash`. */
export function moveIntoPlace(table: { name: string; id: string }): string[] {
  return [
    drawRowIds(table.id),
    `DROP SEQUENCE ${rowCounter(table.id)}`,
    `ALTER TABLE ${qualified('console', table.id)} SET SCHEMA "public"`,
    renameTable(table.id, table.name),
  ];
}

/** Drops a deleted table permanently. */
export const dropFromTrash = (tableId: string): string => `DROP TABLE IF EXISTS ${qualified('trash', tableId)}`;

export const renameTable = (name: string, newName: string): string =>
  `ALTER TABLE ${qualified('public', name)} RENAME TO ${quoted(newName)}`;

/** Empties a table of schema `public`. */
export const truncateTable = (name: string): string => `TRUNCATE ${qualified('public', name)}`;

/** Locks a table of schema `public` against writes until the transaction ends; reads continue. */
export const lockAgainstWrites = (table: string): string =>
  `LOCK TABLE ${qualified('public', table)} IN SHARE ROW EXCLUSIVE MODE`;

/** Runs several actions, such as `DROP COLUMN "a"`, in one pass over the table. */
export const alterColumns = (table: string, actions: string[]): string =>
  `ALTER TABLE ${qualified('public', table)} ${actions.join(', ')}`;

/** A name that no user can give. */
const TEMPORARY_NAME = '$aside';

/**
 * Renames columns of a table of schema `public`, all in one statement; they may swap names. PostgreSQL processes each rename
 * separately and rereads the table's definition for it. So each column is renamed only once, after the column that holds its
 * new name; only in a cycle does one column get a temporary name first.
 */
export function renameColumns(table: string, renames: readonly { from: string; to: string }[]): string {
  const waiting = new Map(renames.map((rename) => [rename.from, rename]));
  const steps = renames.flatMap((first) => {
    const chain: { from: string; to: string }[] = [];
    for (let next = waiting.get(first.from); next; next = waiting.get(next.to)) {
      waiting.delete(next.from);
      chain.unshift(next);
    }
    if (chain[0]?.to !== first.from) return chain;
    return [{ from: first.from, to: TEMPORARY_NAME }, ...chain.slice(0, -1), { from: TEMPORARY_NAME, to: first.to }];
  });
  const rename = `ALTER TABLE ${qualified('public', table)} RENAME COLUMN`;
  const statements = steps.map(({ from, to }) => `${rename} ${quoted(from)} TO ${quoted(to)};`);
  return `DO $renames$ BEGIN ${statements.join(' ')} END $renames$`;
}

/** Adds columns to a table of schema `public`; existing rows get null. */
export function addColumns(table: string, columns: Column[]): string {
  return alterColumns(
    table,
    columns.map((column) => `ADD COLUMN ${columnDefinition(column)}`),
  );
}
