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
