import { z } from 'zod';
import type { PrincipalContext } from '../../context.ts';
import type { Failure, FieldProblem } from '../../kernel/failure.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { isPostgresError, type TenantTx } from '../../tenant-sql/client.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import {
  buildAddColumns,
  buildAlterColumns,
  buildLockAgainstWrites,
  buildRenameColumns,
  buildRenameTable,
} from '../../tenant-sql/ddl.ts';
import { quoteIdentifier } from '../../tenant-sql/identifiers.ts';
import { formatDuplicate, toIndexRefusal } from '../../tenant-sql/indexes.ts';
import { changeWithinTime, runShapeChange } from './changes.ts';
import { type ColumnPlan, planColumns } from './column-plan.ts';
import { buildMisfitObstacle, buildNullObstacle, makeConvertColumnSql, makeObstacleQuery } from './conversions.ts';
import { makeColumnsRefusedFailure, tableLocked, tableNameTaken } from './failures.ts';
import { mayReadRows } from './rows.ts';
import { type AnnounceTables, lockTable, requireTablesDatabase, toTableKey } from './service.ts';
import * as store from './store.ts';
import { column, type ManagedTable, makeColumnListSchema, tableName } from './table.ts';
import { endUndo } from './undo-store.ts';
import { requireTableVersion } from './views.ts';

const requestedColumn = column
  .extend({
    previous_name: z.string().max(63).optional().meta({ description: 'The current name of a column that is renamed.' }),
  })
  .meta({ id: 'ManagedTableColumnChange' });

/** The request body that changes a table. Absent fields stay as they are. */
export const tableChanges = z.object({
  display_name: tableName.optional(),
  columns: makeColumnListSchema(requestedColumn).optional(),
  status: z.literal('active').optional(),
});

export type TableChanges = z.output<typeof tableChanges>;

/** Renames a table and changes its columns to the requested list, or refuses it all and names the columns that would lose values. */
export async function changeTable(ctx: PrincipalContext, id: string, changes: TableChanges): Promise<ManagedTable> {
  let oldName: string | undefined;
  const changeInTransaction = async (tx: TenantTx, announceTables: AnnounceTables): Promise<ManagedTable> => {
    const table = await lockTable(tx, ctx, id, 'shape');
    await requireTableVersion(ctx, table);
    const plan = planColumns(table.columns, changes.columns ?? table.columns);
    const displayName = changes.display_name ?? table.displayName;
    announceTables(table.displayName, displayName);
    if (!plan.hasChanges && displayName === table.displayName) return table;
    if (await store.hasActiveUpload(tx, id)) throw tableLocked();

    oldName = table.displayName;
    try {
      const change = { displayName, columns: plan.columns, at: formatIsoTimestamp(ctx.now()) };
      const changedTable = await store.changeTable(tx, toTableKey(ctx, id), change);
      if (plan.hasChanges) {
        await applyColumnPlan(tx, table, plan, mayReadRows(ctx, id));
        await endUndo(tx, toTableKey(ctx, id), 'columns_changed');
      }
      if (displayName !== table.displayName) await tx.execute(buildRenameTable(table.displayName, displayName));
      return changedTable;
    } catch (error) {
      throw store.isNameTaken(error) ? tableNameTaken(displayName) : error;
    }
  };
  const listChangedTables = ({ displayName }: ManagedTable) =>
    oldName === undefined ? [] : [id, oldName, displayName];
  const database = await requireTablesDatabase(ctx);
  return changeWithinTime(database, (options) =>
    runShapeChange(ctx, database, changeInTransaction, listChangedTables, options),
  );
}

/** Applies a plan to a table's columns. @param showsValues whether a refusal may show the value that causes it */
async function applyColumnPlan(
  tx: TenantTx,
  table: ManagedTable,
  plan: ColumnPlan,
  showsValues: boolean,
): Promise<void> {
  const name = table.displayName;
  const problems = await findLossProblems(tx, table, plan, showsValues);
  if (problems.length > 0) throw makeColumnsRefusedFailure(problems);

  const actions = [
    ...plan.droppedColumns.map((droppedColumn) => `DROP COLUMN ${quoteIdentifier(droppedColumn.name)}`),
    ...plan.keptColumns
      .filter(({ from, to }) => from.type !== to.type)
      .map(({ from, to }) => makeConvertColumnSql(from, to.type)),
    ...plan.keptColumns
      .filter(({ from, to }) => from.nullable !== to.nullable)
      .map(({ from, to }) => `ALTER COLUMN ${quoteIdentifier(from.name)} ${to.nullable ? 'DROP' : 'SET'} NOT NULL`),
  ];
  if (actions.length > 0) {
    await tx.execute(buildAlterColumns(name, actions)).catch((error: unknown) => {
      throw toIndexFailure(plan, error, showsValues) ?? error;
    });
  }

  const renamedColumns = plan.keptColumns
    .map(({ from, to }) => ({ from: from.name, to: to.name }))
    .filter(({ from, to }) => from !== to);
  if (renamedColumns.length > 0) await tx.execute(buildRenameColumns(name, renamedColumns));

  if (plan.addedColumns.length === 0) return;
  try {
    await tx.execute(
      buildAddColumns(
        name,
        plan.addedColumns.map(({ column: addedColumn }) => addedColumn),
      ),
    );
  } catch (error) {
    if (!isPostgresError(error) || error.code !== '54011') throw error;
    throw makeColumnsRefusedFailure([
      { field: 'columns', message: 'are too many for this table: dropped columns count too' },
    ]);
  }
}

/** Returns the failure for converted values that violate an index; undefined for other errors. */
function toIndexFailure(plan: ColumnPlan, error: unknown, showsValues: boolean): Failure | undefined {
  const refusal = toIndexRefusal(error);
  if (!refusal) return undefined;
  const convertedColumns = plan.keptColumns.filter(({ from, to }) => from.type !== to.type);
  const knownColumns = plan.keptColumns.map(({ from, to }) => ({ name: from.name, type: to.type }));
  const isRefusedColumn = ({ from }: { from: TableColumnDefinition }) =>
    refusal.reason !== 'duplicate' || refusal.columns.includes(from.name);
  return makeColumnsRefusedFailure(
    convertedColumns.filter(isRefusedColumn).map(({ index, from, to }) => ({
      field: `columns.${index}.type`,
      message:
        refusal.reason === 'duplicate'
          ? `"${from.name}" has a unique index, and as ${to.type} several rows would have the same value${showsValues ? `: ${formatDuplicate(refusal, knownColumns)}` : ''}`
          : `"${from.name}" has an index, and as ${to.type} a value would be too long for it`,
    })),
  );
}

/**
 * Locks the table, and finds the columns whose values the change would lose or leave null; one problem for each. It takes one
 * round trip, however many columns change.
 */
async function findLossProblems(
  tx: TenantTx,
  table: ManagedTable,
  plan: ColumnPlan,
  showsValues: boolean,
): Promise<FieldProblem[]> {
  const convertedColumns = plan.keptColumns.filter(({ from, to }) => from.type !== to.type);
  const newlyRequiredColumns = plan.keptColumns.filter(({ from, to }) => from.nullable && !to.nullable);
  const name = table.displayName;
  const [, , [misfits], [nulls]] = await tx.queryAll<[unknown, unknown, ObstacleRow, ObstacleRow]>([
    // Guards against an operator who writes to the table by hand.
    { text: buildLockAgainstWrites(name), values: [] },
    // Datetimes in texts without an offset are in UTC.
    { text: "SET LOCAL TIME ZONE 'UTC'", values: [] },
    makeObstacleQuery(
      name,
      convertedColumns.map(({ from, to }) => buildMisfitObstacle(from, to.type)),
    ),
    makeObstacleQuery(
      name,
      newlyRequiredColumns.map(({ from }) => buildNullObstacle(from.name)),
    ),
  ]);
  const misfitByColumn = new Map(convertedColumns.map((changedColumn, at) => [changedColumn, misfits?.found[at]]));
  const nullByColumn = new Map(newlyRequiredColumns.map((changedColumn, at) => [changedColumn, nulls?.found[at]]));
  const keptProblems = plan.keptColumns.flatMap((keptColumn): FieldProblem[] => {
    const { index, from, to } = keptColumn;
    const value = misfitByColumn.get(keptColumn) ?? null;
    const lossMessage = showsValues
      ? `"${from.name}" holds ${JSON.stringify(value)}, which cannot become ${to.type} without loss`
      : `"${from.name}" holds a value that cannot become ${to.type} without loss`;
    return [
      ...(value === null ? [] : [{ field: `columns.${index}.type`, message: lossMessage }]),
      ...((nullByColumn.get(keptColumn) ?? null) === null
        ? []
        : [{ field: `columns.${index}.nullable`, message: `"${from.name}" is null in some rows` }]),
    ];
  });
  const addedProblems = plan.addedColumns
    .filter(({ column: { nullable } }) => !nullable && table.rowCount > 0)
    .map(({ index, column: { name: field } }) => ({
      field: `columns.${index}.nullable`,
      message: `"${field}" would be null in the existing rows`,
    }));
  return [...keptProblems, ...addedProblems];
}

/** The row that `makeObstacleQuery` selects. */
interface ObstacleRow {
  /** For each condition, a value that the change cannot keep; null where there is none. */
  found: (string | null)[];
}
