import { POSTGRES_TYPES, type TableColumnDefinition } from './columns.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified, type TenantSchema } from './identifiers.ts';

/** Makes a primary key's name, with `$`, which no user's table has in its name: both share a namespace. */
const makePrimaryKeyName = (tableId: string): string => `pk$${tableId}`;

/** Makes the definition of a column in CREATE TABLE and ADD COLUMN: `"name" bigint NOT NULL`. */
export const makeColumnDefinition = ({ name, type, nullable }: TableColumnDefinition): string =>
  `${quoteIdentifier(name)} ${POSTGRES_TYPES[type]}${nullable ? '' : ' NOT NULL'}`;

/**
 * Builds the statement that creates a table with its row id and columns. `uuidv7()` makes ids that sort by insertion, also within
 * one statement. @param hasPrimaryKey false for a table that is loaded first: it is faster to build the key afterwards
 * (`buildAddPrimaryKey`)
 */
export function buildCreateTable(
  table: { schema: TenantSchema; name: string; id: string },
  columns: TableColumnDefinition[],
  hasPrimaryKey = true,
): string {
  const key = hasPrimaryKey ? ` CONSTRAINT ${quoteIdentifier(makePrimaryKeyName(table.id))} PRIMARY KEY` : '';
  const definitions = [`"id" uuid NOT NULL DEFAULT uuidv7()${key}`, ...columns.map(makeColumnDefinition)];
  return `CREATE TABLE ${quoteQualified(table.schema, table.name)} (${definitions.join(', ')})`;
}

/** Builds the statement that adds the primary key to a table that was created without one. */
export function buildAddPrimaryKey(table: { schema: TenantSchema; name: string; id: string }): string {
  return `ALTER TABLE ${quoteQualified(table.schema, table.name)} ADD CONSTRAINT ${quoteIdentifier(makePrimaryKeyName(table.id))} PRIMARY KEY ("id")`;
}

/**
 * Builds the statements that move a table to `trash`, named by its id, which starts with a digit until 2055, unlike the name of
 * any user's table.
 */
export function buildMoveToTrash(table: { name: string; id: string }): [string, string] {
  return [
    `ALTER TABLE ${quoteQualified('public', table.name)} RENAME TO ${quoteIdentifier(table.id)}`,
    `ALTER TABLE ${quoteQualified('public', table.id)} SET SCHEMA "trash"`,
  ];
}

/** Builds the statements that revert `buildMoveToTrash`. */
export const buildMoveFromTrash = (table: { name: string; id: string }): [string, string] => [
  `ALTER TABLE ${quoteQualified('trash', table.id)} SET SCHEMA "public"`,
  buildRenameTable(table.id, table.name),
];

/** Makes the name of the sequence that counts the rows of a table while it is loaded in `console`. */
const makeRowCounterName = (tableId: string): string => quoteQualified('console', `${tableId}_rows`);

/**
 * Builds the statements that make the rows of a table in `console` take their ids from a counter, within one UUID of version 7
 * (RFC 9562, section 6.2). COPY inserts rows one by one if a default is volatile, but many at a time if it is `nextval`, which is
 * nearly twice as fast. A counter also keeps the order of the rows whatever the server's clock does.
 */
export function countRowIds(tableId: string): string[] {
  const table = quoteQualified('console', tableId);
  const counterName = makeRowCounterName(tableId);
  // A UUID gives the first 24 of the 36 characters; the counter starts at 2^44, so it gives 12 hexadecimal digits.
  return [
    `CREATE SEQUENCE ${counterName} START 17592186044416 CACHE 1000 OWNED BY ${table}."id"`,
    `DO $$ BEGIN
      EXECUTE format(
        'ALTER TABLE %s ALTER COLUMN "id" SET DEFAULT (%L || to_hex(nextval(%L)))::uuid',
        ${quoteLiteral(table)}, left(uuidv7()::text, 24), ${quoteLiteral(counterName)}
      );
    END $$`,
  ];
}

/**
 * Builds the statement that reverts `countRowIds`: rows get new UUIDs, and COPY inserts one by one and reports exactly which
 * row fails.
 */
export const buildGenerateRowIds = (tableId: string): string =>
  `ALTER TABLE ${quoteQualified('console', tableId)} ALTER COLUMN "id" SET DEFAULT uuidv7()`;

/** Builds the statements that move a loaded table from `console` to `public` (see `buildMoveToTrash`) and revert `countRowIds`. */
export function buildMoveIntoPublic(table: { name: string; id: string }): string[] {
  return [
    buildGenerateRowIds(table.id),
    `DROP SEQUENCE ${makeRowCounterName(table.id)}`,
    `ALTER TABLE ${quoteQualified('console', table.id)} SET SCHEMA "public"`,
    buildRenameTable(table.id, table.name),
  ];
}

/** Builds the statement that drops a deleted table permanently. */
export const buildDropFromTrash = (tableId: string): string =>
  `DROP TABLE IF EXISTS ${quoteQualified('trash', tableId)}`;

export const buildRenameTable = (name: string, newName: string): string =>
  `ALTER TABLE ${quoteQualified('public', name)} RENAME TO ${quoteIdentifier(newName)}`;

/** Builds the statement that empties a table of schema `public`. */
export const buildTruncateTable = (name: string): string => `TRUNCATE ${quoteQualified('public', name)}`;

/** Builds the statement that locks a table of schema `public` against writes until the transaction ends; reads continue. */
export const buildLockAgainstWrites = (table: string): string =>
  `LOCK TABLE ${quoteQualified('public', table)} IN SHARE ROW EXCLUSIVE MODE`;

/** Builds the statement that runs several actions, such as `DROP COLUMN "a"`, in one pass over the table. */
export const buildAlterColumns = (table: string, actions: string[]): string =>
  `ALTER TABLE ${quoteQualified('public', table)} ${actions.join(', ')}`;

/** A column name that no user can give. */
const TEMPORARY_COLUMN_NAME = '$aside';

/**
 * Builds the statement that renames columns of a table of schema `public`, all at once; they may swap names. PostgreSQL processes
 * each rename separately and rereads the table's definition for it. So each column is renamed only once, after the column that
 * holds its new name; only in a cycle does one column get a temporary name first.
 */
export function buildRenameColumns(table: string, renames: readonly { from: string; to: string }[]): string {
  const waitingRenames = new Map(renames.map((rename) => [rename.from, rename]));
  const steps = renames.flatMap((firstRename) => {
    const chain: { from: string; to: string }[] = [];
    for (
      let nextRename = waitingRenames.get(firstRename.from);
      nextRename;
      nextRename = waitingRenames.get(nextRename.to)
    ) {
      waitingRenames.delete(nextRename.from);
      chain.unshift(nextRename);
    }
    if (chain[0]?.to !== firstRename.from) return chain;
    return [
      { from: firstRename.from, to: TEMPORARY_COLUMN_NAME },
      ...chain.slice(0, -1),
      { from: TEMPORARY_COLUMN_NAME, to: firstRename.to },
    ];
  });
  const renameSql = `ALTER TABLE ${quoteQualified('public', table)} RENAME COLUMN`;
  const statements = steps.map(({ from, to }) => `${renameSql} ${quoteIdentifier(from)} TO ${quoteIdentifier(to)};`);
  return `DO $renames$ BEGIN ${statements.join(' ')} END $renames$`;
}

/** Builds the statement that adds columns to a table of schema `public`; existing rows get null. */
export function buildAddColumns(table: string, columns: TableColumnDefinition[]): string {
  return buildAlterColumns(
    table,
    columns.map((column) => `ADD COLUMN ${makeColumnDefinition(column)}`),
  );
}
