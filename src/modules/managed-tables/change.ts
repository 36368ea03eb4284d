import { z } from 'zod';
import type { PrincipalContext } from '../../context.ts';
import type { Failure, FieldProblem } from '../../kernel/failure.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import { isPostgresError, type TenantTx } from '../../tenant-sql/client.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import { addColumns, alterColumns, lockAgainstWrites, renameColumns, renameTable } from '../../tenant-sql/ddl.ts';
import { quoted } from '../../tenant-sql/identifiers.ts';
import { formatDuplicate, toIndexRefusal } from '../../tenant-sql/indexes.ts';
import { changeInTime, runShapeChange } from './changes.ts';
import { type ColumnPlan, planColumns } from './column-plan.ts';
import { buildMisfitObstacle, buildNullObstacle, convertColumn, selectObstacles } from './conversions.ts';
import { columnsRefused, tableLocked, tableNameTaken } from './failures.ts';
import { mayReadRows } from './rows.ts';
import { type AnnounceTables, lockTable, requireTablesDatabase, toTableKey } from './service.ts';
import * as store from './store.ts';
import { column, columnList, type ManagedTable, tableName } from './table.ts';
import { endUndo } from './undo-store.ts';
import { requireTableVersion } from './views.ts';

const wantedColumn = column
  .extend({
    previous_name: z.string().max(63).optional().meta({ description: 'The current name of a column that is renamed.' }),
  })
  .meta({ id: 'ManagedTableColumnChange' });

/** The body of a change of a table. Absent fields stay as they are. */
export const tableChanges = z.object({
  display_name: tableName.optional(),
  columns: columnList(wantedColumn).optional(),
  status: z.literal('active').optional(),
});

export type TableChanges = z.output<typeof tableChanges>;

/**
 * Renames a table and changes its columns to the wanted list, all or nothing. A change that would lose values is
 * refused; the failure names the columns.
 */
export async function changeTable(ctx: PrincipalContext, id: string, changes: TableChanges): Promise<ManagedTable> {
  let oldName: string | undefined;
  const work = async (tx: TenantTx, changing: AnnounceTables): Promise<ManagedTable> => {
    const table = await lockTable(tx, ctx, id, 'shape');
    await requireTableVersion(ctx, table);
    const plan = planColumns(table.columns, changes.columns ?? table.columns);
    const displayName = changes.display_name ?? table.displayName;
    changing(table.displayName, displayName);
    if (!plan.changes && displayName === table.displayName) return table;
    if (await store.hasActiveUpload(tx, id)) throw tableLocked();

    oldName = table.displayName;
    try {
      const change = { displayName, columns: plan.columns, at: isoTimestamp(ctx.now()) };
      const changed = await store.changeTable(tx, toTableKey(ctx, id), change);
      if (plan.changes) {
        await applyColumnPlan(tx, table, plan, mayReadRows(ctx, id));
        await endUndo(tx, toTableKey(ctx, id), 'columns_changed');
      }
      if (displayName !== table.displayName) await tx.execute(renameTable(table.displayName, displayName));
      return changed;
    } catch (error) {
      throw store.isNameTaken(error) ? tableNameTaken(displayName) : error;
    }
  };
  const named = ({ displayName }: ManagedTable) => (oldName === undefined ? [] : [id, oldName, displayName]);
  const database = await requireTablesDatabase(ctx);
  return changeInTime(database, (options) => runShapeChange(ctx, database, work, named, options));
}

/** Applies a plan to a table's columns. @param showsValues whether a refusal may show the value that causes it */
async function applyColumnPlan(
  tx: TenantTx,
  table: ManagedTable,
  plan: ColumnPlan,
  showsValues: boolean,
): Promise<void> {
  const name = table.displayName;
  const problems = await findLosses(tx, table, plan, showsValues);
  if (problems.length > 0) throw columnsRefused(problems);

  const actions = [
    ...plan.dropped.map((dropped) => `DROP COLUMN ${quoted(dropped.name)}`),
    ...plan.kept.filter(({ from, to }) => from.type !== to.type).map(({ from, to }) => convertColumn(from, to.type)),
    ...plan.kept
      .filter(({ from, to }) => from.nullable !== to.nullable)
      .map(({ from, to }) => `ALTER COLUMN ${quoted(from.name)} ${to.nullable ? 'DROP' : 'SET'} NOT NULL`),
  ];
  if (actions.length > 0) {
    await tx.execute(alterColumns(name, actions)).catch((error: unknown) => {
      throw toIndexFailure(plan, error, showsValues) ?? error;
    });
  }

  const renamed = plan.kept
    .map(({ from, to }) => ({ from: from.name, to: to.name }))
    .filter(({ from, to }) => from !== to);
  if (renamed.length > 0) await tx.execute(renameColumns(name, renamed));

  if (plan.added.length === 0) return;
  try {
    await tx.execute(
      addColumns(
        name,
        plan.added.map(({ column: added }) => added),
      ),
    );
  } catch (error) {
    if (!isPostgresError(error) || error.code !== '54011') throw error;
    throw columnsRefused([{ field: 'columns', message: 'are too many for this table: dropped columns count too' }]);
  }
}

/** The failure for converted values that violate an index; undefined for other errors. */
function toIndexFailure(plan: ColumnPlan, error: unknown, showsValues: boolean): Failure | undefined {
  const refusal = toIndexRefusal(error);
  if (!refusal) return undefined;
  const converted = plan.kept.filter(({ from, to }) => from.type !== to.type);
  const known = plan.kept.map(({ from, to }) => ({ name: from.name, type: to.type }));
  const isMeant = ({ from }: { from: Column }) => refusal.why !== 'duplicate' || refusal.columns.includes(from.name);
  return columnsRefused(
    converted.filter(isMeant).map(({ index, from, to }) => ({
      field: `columns.${index}.type`,
      message:
        refusal.why === 'duplicate'
          ? `"${from.name}" has a unique index, and as ${to.type} several rows would have the same value${showsValues ? `: ${formatDuplicate(refusal, known)}` : ''}`
          : `"${from.name}" has an index, and as ${to.type} a value would be too long for it`,
    })),
  );
}

/**
 * Locks the table, and finds the columns whose values the change would lose or leave null; one problem for each. It takes one
 * round trip, however many columns change.
 */
async function findLosses(
  tx: TenantTx,
  table: ManagedTable,
  plan: ColumnPlan,
  showsValues: boolean,
): Promise<FieldProblem[]> {
  const converted = plan.kept.filter(({ from, to }) => from.type !== to.type);
  const required = plan.kept.filter(({ from, to }) => from.nullable && !to.nullable);
  const name = table.displayName;
  const [, , [misfits], [nulls]] = await tx.queryAll<[unknown, unknown, ObstacleRow, ObstacleRow]>([
    // Guards against an operator who writes to the table by hand.
    { text: lockAgainstWrites(name), values: [] },
    // Datetimes in texts without an offset are in UTC.
    { text: "SET LOCAL TIME ZONE 'UTC'", values: [] },
    selectObstacles(
      name,
      converted.map(({ from, to }) => buildMisfitObstacle(from, to.type)),
    ),
    selectObstacles(
      name,
      required.map(({ from }) => buildNullObstacle(from.name)),
    ),
  ]);
  const misfitIn = new Map(converted.map((each, at) => [each, misfits?.found[at]]));
  const nullIn = new Map(required.map((each, at) => [each, nulls?.found[at]]));
  const kept = plan.kept.flatMap((each): FieldProblem[] => {
    const { index, from, to } = each;
    const value = misfitIn.get(each) ?? null;
    const lost = showsValues
      ? `"${from.name}" holds ${JSON.stringify(value)}, which cannot become ${to.type} without loss`
      : `"${from.name}" holds a value that cannot become ${to.type} without loss`;
    return [
      ...(value === null ? [] : [{ field: `columns.${index}.type`, message: lost }]),
      ...((nullIn.get(each) ?? null) === null
        ? []
        : [{ field: `columns.${index}.nullable`, message: `"${from.name}" is null in some rows` }]),
    ];
  });
  const added = plan.added
    .filter(({ column: { nullable } }) => !nullable && table.rowCount > 0)
    .map(({ index, column: { name: field } }) => ({
      field: `columns.${index}.nullable`,
      message: `"${field}" would be null in the existing rows`,
    }));
  return [...kept, ...added];
}

/** The row that `selectObstacles` selects. */
interface ObstacleRow {
  found: (string | null)[];
}
