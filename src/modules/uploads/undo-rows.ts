import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../tenant-sql/identifiers.ts';

/** Formats the name of the table of schema `kept` with the rows that a load has replaced: the id of the load's job. */
const formatKeptTable = (jobId: string): string => quoteQualified('kept', jobId);

/**
 * Builds the statements that move all rows of a table of schema `public` to schema `kept`, to be run as one simple query. The
 * reader's default rights to new tables are revoked, as it could otherwise see the rows' values in `pg_stats`. Each row is
 * saved in its state at deletion, even if it was being changed concurrently. The affected row count is the number of moved
 * rows.
 */
export function buildKeepRows(table: string, jobId: string, reader: string): string {
  return [
    `CREATE TABLE ${formatKeptTable(jobId)} (LIKE ${quoteQualified('public', table)})`,
    `REVOKE ALL ON ${formatKeptTable(jobId)} FROM ${reader}`,
    `WITH gone AS (DELETE FROM ${quoteQualified('public', table)} RETURNING *) INSERT INTO ${formatKeptTable(jobId)} SELECT * FROM gone`,
  ].join('; ');
}

/** Builds the statement that locks the kept rows until the transaction ends; it fails with 42P01 where they have been dropped. */
export const buildLockKeptRows = (jobId: string): string => `LOCK TABLE ${formatKeptTable(jobId)} IN ACCESS SHARE MODE`;

/** Builds the statement that copies kept rows back into their table, under their ids. */
export function buildRestoreKeptRows(table: string, jobId: string, columns: TableColumnDefinition[]): string {
  const names = ['id', ...columns.map(({ name }) => name)].map(quoteIdentifier).join(', ');
  return `INSERT INTO ${quoteQualified('public', table)} (${names}) SELECT ${names} FROM ${formatKeptTable(jobId)}`;
}

export const buildDropKeptRows = (jobId: string): string => `DROP TABLE IF EXISTS ${formatKeptTable(jobId)}`;

/**
 * Builds the statement that deletes the rows that a load has added to a table of schema `public`. @param idPrefix the first 24
 * characters of their ids; the other 12 are a counter (see `countRowIds`)
 */
export function buildDeleteAddedRows(table: string, idPrefix: string): string {
  const [from, to] = ['100000000000', 'ffffffffffff'].map((counter) => `${quoteLiteral(idPrefix + counter)}::uuid`);
  return `DELETE FROM ${quoteQualified('public', table)} WHERE "id" BETWEEN ${from} AND ${to}`;
}
