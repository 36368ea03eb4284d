import { Failure, type FieldProblem, invalid } from '../../kernel/failure.ts';

/** How many wrong values of a batch of rows are named. */
export const MAX_ROW_PROBLEMS = 100;

export const tableNotFound = () => new Failure('missing', 'managed_table.not_found');

export const rowNotFound = () => new Failure('missing', 'managed_table.row_not_found');

export const tableNameTaken = (displayName: string) =>
  new Failure('invalid', 'managed_table.duplicate_name', { field: 'display_name', display_name: displayName });

/** An upload job works on the table: it may not be emptied. */
export const truncateLocked = () => new Failure('conflict', 'managed_table.truncate_locked');

/** An upload job works on the table: it may be neither deleted, renamed nor changed. */
export const tableLocked = () => new Failure('conflict', 'managed_table.locked');

/** Rows that do not fit the table, each problem with its 0-based row; at most `MAX_ROW_PROBLEMS`. */
export const rowsDoNotFit = (problems: FieldProblem[]) =>
  invalid(problems, 'Some values do not fit the columns of the table; nothing was written.');

/** A row whose columns together are more than Postgres stores in one row. */
export const rowTooBig = () => new Failure('invalid', 'managed_table.row_too_big');

/** The page's values are more than one answer may hold. */
export const pageTooLarge = (bytes: number, limit: number) =>
  new Failure('too_large', 'managed_table.page_too_large', { bytes, limit_bytes: limit });

export const badSort = (message: string) => invalid([{ field: 'sort_by', message }]);

/** The new columns cannot be applied; everything is left as it was. */
export const columnsRefused = (problems: FieldProblem[]) =>
  invalid(problems, 'The columns cannot be changed as asked; the table was left as it was.');

/** Someone else holds the table for longer than a request waits, or the work takes too long. */
export const tableBusy = () => new Failure('unavailable', 'managed_table.busy', { retryAfter: 5 });
