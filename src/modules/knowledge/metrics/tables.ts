import type { CompanyContext } from '../../../context.ts';
import { findKeyedTables, type ManagedTable } from '../../managed-tables/service.ts';
import type { Table } from './expression.ts';

/** A managed table as expressions and relations see it. @param unique the columns that no two of its rows share */
export const toTable = (table: ManagedTable, unique: readonly string[] = []): Table => ({
  id: table.id,
  name: table.displayName,
  version: table.schemaVersion,
  columns: [{ name: 'id', type: 'uuid' }, ...table.columns],
  unique: new Set(['id', ...unique]),
});

/** The company's living tables with one of these ids or names. */
export async function readTables(ctx: CompanyContext, idsOrNames: readonly string[]): Promise<Table[]> {
  const found = await findKeyedTables(ctx, [...new Set(idsOrNames)]);
  return found.map(({ table, unique }) => toTable(table, unique));
}
