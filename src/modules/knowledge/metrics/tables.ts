import type { CompanyContext } from '../../../context.ts';
import { findTablesWithUniqueColumns, type ManagedTable } from '../../managed-tables/service.ts';
import type { Table } from './expression.ts';

/** Converts a managed table for expressions and relations. @param uniqueColumns the columns with unique values */
export const toTable = (table: ManagedTable, uniqueColumns: readonly string[] = []): Table => ({
  id: table.id,
  name: table.displayName,
  version: table.schemaVersion,
  columns: [{ name: 'id', type: 'uuid' }, ...table.columns],
  uniqueColumns: new Set(['id', ...uniqueColumns]),
});

/** Reads the company's tables with one of these ids or names, without deleted ones. */
export async function readTables(ctx: CompanyContext, idsOrNames: readonly string[]): Promise<Table[]> {
  const foundTables = await findTablesWithUniqueColumns(ctx, [...new Set(idsOrNames)]);
  return foundTables.map(({ table, uniqueColumns: unique }) => toTable(table, unique));
}

/** Tells whether tables still have the names, columns and unique indexes that a statement was compiled for. */
export async function areTablesUnchanged(ctx: CompanyContext, tables: readonly Table[]): Promise<boolean> {
  const now = await readTables(
    ctx,
    tables.map(({ id }) => id),
  );
  const describeShape = ({ id, name, version, uniqueColumns }: Table) =>
    JSON.stringify([id, name, version, [...uniqueColumns].sort()]);
  return new Set(tables.map(describeShape)).symmetricDifference(new Set(now.map(describeShape))).size === 0;
}
