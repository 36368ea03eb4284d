/** A read of the control database, as it was answered. */
export interface RecordedRead {
  sql: string;
  values: readonly unknown[];
  rows: readonly (readonly unknown[])[];
}

/** An expression that fails with `integer overflow`, an error that no other statement raises. */
const FAILING_SQL = 'abs(-9223372036854775808)';

/** Whether a batch was refused by a statement of `failUnlessUnchanged`. */
export const isReadConflict = (error: unknown): boolean => /integer overflow/.test(String(error));

/** A statement that fails, and its batch with it, if the read now returns other rows than before. Their order does not matter. */
export function failUnlessUnchanged({ sql, values, rows }: RecordedRead): { sql: string; values: unknown[] } {
  const [first] = rows;
  if (!first) return { sql: `select case when exists (${sql}) then ${FAILING_SQL} end`, values: [...values] };
  const columns = first.map((_, index) => `c${index}`).join(', ');
  const before = first.map((_, index) => `value ->> ${index}`).join(', ');
  return {
    sql: `with now_read(${columns}) as (${sql}),
        was_read(${columns}) as (select ${before} from json_each(?)),
        now_counted as (select *, count(*) from now_read group by ${columns}),
        was_counted as (select *, count(*) from was_read group by ${columns})
      select case when exists (select * from now_counted except select * from was_counted)
        or exists (select * from was_counted except select * from now_counted) then ${FAILING_SQL} end`,
    values: [...values, JSON.stringify(rows)],
  };
}

/** Whether reads were answered alike. */
export const areSameRows = (some: readonly RecordedRead[], others: readonly RecordedRead[]): boolean =>
  JSON.stringify(some.map(({ rows }) => rows)) === JSON.stringify(others.map(({ rows }) => rows));
