import type { CompanyContext } from '../../context.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import type { TenantTx } from '../../tenant-sql/client.ts';
import type { Column, ColumnType } from '../../tenant-sql/columns.ts';
import { alterColumns, columnDefinition } from '../../tenant-sql/ddl.ts';
import { quoted } from '../../tenant-sql/identifiers.ts';
import { buildFilledObstacle, buildMisfitObstacle, convertColumn, selectObstacles } from './conversions.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** The changes that a load makes to the columns of its table. Plain data. */
export interface AppliedEvolution {
  /** The names of the nullable columns that it adds. */
  added: string[];
  /** The columns that it changes to a type that takes every value of the type before. */
  widened: { name: string; from: ColumnType; to: ColumnType }[];
}

/** The setting for the conversion of dates to times, and of times to texts: in UTC. */
const SET_UTC = { text: "SET LOCAL TIME ZONE 'UTC'", values: [] };

/**
 * Adds columns to a table, and widens others, in one pass over its rows. The table's `shape` must be locked; its other
 * columns stay.
 * @param added new columns, all nullable
 * @returns the table after that
 * @throws PostgresError 54011 where Postgres has no room for so many columns, or of an index that does not hold a value
 */
export async function evolveTable(
  tx: TenantTx,
  ctx: CompanyContext,
  table: ManagedTable,
  added: Column[],
  widened: AppliedEvolution['widened'],
): Promise<ManagedTable> {
  const types = new Map(widened.map(({ name, to }) => [name, to]));
  const columns = table.columns.map((column) => ({ ...column, type: types.get(column.name) ?? column.type }));
  const actions = [
    ...table.columns.flatMap((column) => {
      const to = types.get(column.name);
      return to ? [convertColumn(column, to)] : [];
    }),
    ...added.map((column) => `ADD COLUMN ${columnDefinition(column)}`),
  ];
  await tx.queryAll([SET_UTC]);
  await tx.execute(alterColumns(table.displayName, actions));
  return changeColumns(tx, ctx, table, [...columns, ...added]);
}

/** The reason why column changes cannot be reverted, with the column. */
export interface EvolutionConflict {
  why: 'column_filled' | 'values_do_not_fit';
  column: string;
}

/**
 * Reverts `evolveTable`, unless a value would be lost. The table's `shape` must be locked, its columns not changed
 * since.
 * @returns the column that would lose values; then nothing was changed
 */
export async function revertEvolution(
  tx: TenantTx,
  ctx: CompanyContext,
  table: ManagedTable,
  { added, widened }: AppliedEvolution,
): Promise<EvolutionConflict | undefined> {
  const before = new Map(widened.map(({ name, from }) => [name, from]));
  const kept = table.columns.filter(({ name }) => !added.includes(name));
  const narrowed = kept.flatMap((column) => {
    const from = before.get(column.name);
    return from ? [{ column, from }] : [];
  });
  const [, [obstacles]] = await tx.queryAll<[unknown, { found: (string | null)[] }]>([
    SET_UTC,
    selectObstacles(table.displayName, [
      ...added.map(buildFilledObstacle),
      ...narrowed.map(({ column, from }) => buildMisfitObstacle(column, from)),
    ]),
  ]);
  const lost = obstacles?.found.findIndex((found) => found !== null) ?? -1;
  if (lost >= 0) {
    const isNew = lost < added.length;
    const column = isNew ? added[lost] : narrowed[lost - added.length]?.column.name;
    return { why: isNew ? 'column_filled' : 'values_do_not_fit', column: column as string };
  }
  const actions = [
    ...added.map((name) => `DROP COLUMN ${quoted(name)}`),
    ...narrowed.map(({ column, from }) => convertColumn(column, from)),
  ];
  await tx.execute(alterColumns(table.displayName, actions));
  await changeColumns(
    tx,
    ctx,
    table,
    kept.map((column) => ({ ...column, type: before.get(column.name) ?? column.type })),
  );
  return undefined;
}

function changeColumns(
  tx: TenantTx,
  ctx: CompanyContext,
  table: ManagedTable,
  columns: Column[],
): Promise<ManagedTable> {
  const { id, displayName } = table;
  const key = { id, companyId: ctx.actor.companyId };
  return store.changeTable(tx, key, { displayName, columns, at: isoTimestamp(ctx.now()) });
}
