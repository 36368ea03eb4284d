import type { CompanyContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import type { TenantTx } from '../../tenant-sql/client.ts';
import type { ColumnType, TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { buildAlterColumns, makeColumnDefinition } from '../../tenant-sql/ddl.ts';
import { quoteIdentifier } from '../../tenant-sql/identifiers.ts';
import { buildFilledObstacle, buildMisfitObstacle, makeConvertColumnSql, makeObstacleQuery } from './conversions.ts';
import { tableLocked } from './failures.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** The changes that a load makes to the columns of its table. Plain data. */
export interface AppliedEvolution {
  /** The names of the nullable columns that the load adds. */
  added: string[];
  /** The columns that the load changes to a type that accepts every value of the previous type. */
  widened: { name: string; from: ColumnType; to: ColumnType }[];
}

/** The statement that sets UTC for the conversion of dates to times, and of times to texts. */
const SET_UTC_STATEMENT = { text: "SET LOCAL TIME ZONE 'UTC'", values: [] };

/**
 * Adds columns to a table, and widens others, in one pass over its rows. The table's `shape` must be locked; its other
 * columns stay. @param addedColumns new columns, all nullable @returns the table after that @throws PostgresError 54011
 * if Postgres cannot store so many columns, or the error for a value that does not fit into an index
 */
export async function evolveTable(
  tx: TenantTx,
  ctx: CompanyContext,
  table: ManagedTable,
  addedColumns: TableColumnDefinition[],
  widened: AppliedEvolution['widened'],
): Promise<ManagedTable> {
  const widenedTypes = new Map(widened.map(({ name, to }) => [name, to]));
  const columns = table.columns.map((column) => ({ ...column, type: widenedTypes.get(column.name) ?? column.type }));
  const actions = [
    ...table.columns.flatMap((column) => {
      const to = widenedTypes.get(column.name);
      return to ? [makeConvertColumnSql(column, to)] : [];
    }),
    ...addedColumns.map((column) => `ADD COLUMN ${makeColumnDefinition(column)}`),
  ];
  await tx.queryAll([SET_UTC_STATEMENT]);
  await tx.execute(buildAlterColumns(table.displayName, actions));
  return changeColumns(tx, ctx, table, [...columns, ...addedColumns]);
}

/**
 * Reverts `evolveTable`, unless a value would be lost. The table's `shape` must be locked, its columns not changed
 * since. @returns the column that would lose values; then nothing was changed @throws tableLocked while files are
 * loaded into the table, since the loads rely on the columns
 */
export async function revertEvolution(
  tx: TenantTx,
  ctx: CompanyContext,
  table: ManagedTable,
  { added, widened }: AppliedEvolution,
): Promise<{ reason: 'column_filled' | 'values_do_not_fit'; column: string } | undefined> {
  if (await store.hasActiveUpload(tx, table.id)) throw tableLocked();
  const previousTypes = new Map(widened.map(({ name, from }) => [name, from]));
  const keptColumns = table.columns.filter(({ name }) => !added.includes(name));
  const narrowedColumns = keptColumns.flatMap((column) => {
    const from = previousTypes.get(column.name);
    return from ? [{ column, from }] : [];
  });
  const [, [obstacles]] = await tx.queryAll<[unknown, { found: (string | null)[] }]>([
    SET_UTC_STATEMENT,
    makeObstacleQuery(table.displayName, [
      ...added.map(buildFilledObstacle),
      ...narrowedColumns.map(({ column, from }) => buildMisfitObstacle(column, from)),
    ]),
  ]);
  const obstacleIndex = obstacles?.found.findIndex((obstacle) => obstacle !== null) ?? -1;
  if (obstacleIndex >= 0) {
    const isAddedColumn = obstacleIndex < added.length;
    const column = isAddedColumn ? added[obstacleIndex] : narrowedColumns[obstacleIndex - added.length]?.column.name;
    return { reason: isAddedColumn ? 'column_filled' : 'values_do_not_fit', column: column as string };
  }
  const actions = [
    ...added.map((name) => `DROP COLUMN ${quoteIdentifier(name)}`),
    ...narrowedColumns.map(({ column, from }) => makeConvertColumnSql(column, from)),
  ];
  await tx.execute(buildAlterColumns(table.displayName, actions));
  const columns = keptColumns.map((column) => ({ ...column, type: previousTypes.get(column.name) ?? column.type }));
  await changeColumns(tx, ctx, table, columns);
  return undefined;
}

function changeColumns(
  tx: TenantTx,
  ctx: CompanyContext,
  table: ManagedTable,
  columns: TableColumnDefinition[],
): Promise<ManagedTable> {
  const { id, displayName } = table;
  const key = { id, companyId: ctx.actor.companyId };
  return store.changeTable(tx, key, { displayName, columns, at: formatIsoTimestamp(ctx.now()) });
}
