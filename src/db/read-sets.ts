/** Read of the control database with the rows that it returned. */
export interface RecordedRead {
  sql: string;
  values: readonly unknown[];
  rows: readonly (readonly unknown[])[];
}

/** SQL expression that fails with `integer overflow`, an error that no other statement raises. */
const FAILING_SQL = 'abs(-9223372036854775808)';

/** Returns true if a batch was refused by a statement of `makeUnchangedCheck`. */
export const isReadConflict = (error: unknown): boolean => /integer overflow/.test(String(error));

/** Makes a statement that fails, and its batch with it, if a read returns other rows than before, in whatever order. */
export function makeUnchangedCheck({ sql, values, rows }: RecordedRead): { sql: string; values: unknown[] } {
  const [first] = rows;
  if (!first) return { sql: `select case when exists (${sql}) then ${FAILING_SQL} end`, values: [...values] };
  const columns = first.map((_, index) => `c${index}`).join(', ');
  const columnValues = first.map((_, index) => `value ->> ${index}`).join(', ');
  return {
    sql: `with now_read(${columns}) as (${sql}),
        was_read(${columns}) as (select ${columnValues} from json_each(?)),
        now_counted as (select *, count(*) from now_read group by ${columns}),
        was_counted as (select *, count(*) from was_read group by ${columns})
      select case when exists (select * from now_counted except select * from was_counted)
        or exists (select * from was_counted except select * from now_counted) then ${FAILING_SQL} end`,
    values: [...values, JSON.stringify(rows)],
  };
}

/** Returns true if two lists of reads returned the same rows. */
export const areSameRows = (firstReads: readonly RecordedRead[], otherReads: readonly RecordedRead[]): boolean =>
  JSON.stringify(firstReads.map(({ rows }) => rows)) === JSON.stringify(otherReads.map(({ rows }) => rows));
