import type { Column } from '../../tenant-sql/columns.ts';
import { literal, qualified, quoted } from '../../tenant-sql/identifiers.ts';

/** The table of schema `kept` with the rows that a load has replaced; it is named by the id of the load's job. */
const formatKeptTable = (jobId: string): string => qualified('kept', jobId);

/**
 * Builds the statements that move all rows of a table of schema `public` to schema `kept`, to be run as one simple query. The
 * reader's default rights to new tables are revoked, as it could otherwise see the rows' values in `pg_stats`. Each row is
 * saved in its state at deletion, even if it was being changed concurrently. The affected row count is the number of moved
 * rows.
 */
export function keepRows(table: string, jobId: string, reader: string): string {
  return [
    `CREATE TABLE ${formatKeptTable(jobId)} (LIKE ${qualified('public', table)})`,
    `REVOKE ALL ON ${formatKeptTable(jobId)} FROM ${reader}`,
    `WITH gone AS (DELETE FROM ${qualified('public', table)} RETURNING *) INSERT INTO ${formatKeptTable(jobId)} SELECT * FROM gone`,
  ].join('; ');
}

/** Locks the kept rows until the transaction ends; fails with 42P01 where they have been dropped. */
export const lockKeptRows = (jobId: string): string => `LOCK TABLE ${formatKeptTable(jobId)} IN ACCESS SHARE MODE`;

/** Copies kept rows back into their table, under their ids. */
export function restoreKeptRows(table: string, jobId: string, columns: Column[]): string {
  const names = ['id', ...columns.map(({ name }) => name)].map(quoted).join(', ');
  return `INSERT INTO ${qualified('public', table)} (${names}) SELECT ${names} FROM ${formatKeptTable(jobId)}`;
}

export const dropKeptRows = (jobId: string): string => `DROP TABLE IF EXISTS ${formatKeptTable(jobId)}`;

/**
 * Removes the rows that a load has added to a table of schema `public`.
 * @param beginning the first 24 characters of their ids; the other 12 are a counter (see `countRowIds`)
 */
export function deleteAddedRows(table: string, beginning: string): string {
  const [from, to] = ['100000000000', 'ffffffffffff'].map((rest) => `${literal(beginning + rest)}::uuid`);
  return `DELETE FROM ${qualified('public', table)} WHERE "id" BETWEEN ${from} AND ${to}`;
}
