import type { Condition } from '../../db/schema/schedules.ts';
import { compareDecimals } from '../../kernel/decimals.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { type SqlToken, sqlTokens } from '../../sql-templates/lexer.ts';
import type { Cell, UserSqlResult } from '../../tenant-sql/user-sql.ts';
import { toPostgresText } from '../../tenant-sql/values.ts';

/** The result of judging a condition; `value` is compared with by the next run. */
export type ConditionResult = { holds: boolean; value: string | null } | 'undecidable';

const COMPARISON_TESTS: Record<Exclude<Condition['op'], 'changed'>, (order: number) => boolean> = {
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
};

/**
 * Judges a condition on a result. A comparison holds if it does in any row; `ne` means every other value, nulls included, as in
 * filters. `changed` holds if the values of the column, in any order, differ from `before`; the first time it never holds. Of a
 * result that was cut and is not ordered, the rows may differ each time, so that `changed` is `undecidable`.
 * @param isOrdered whether the statement orders its rows
 * @returns `undecidable` also if the result has no such column, or the value is not of its type
 */
export async function judgeCondition(
  { column, op, value }: Pick<Condition, 'column' | 'op' | 'value'>,
  { columns, rows, truncated }: UserSqlResult,
  before: string | null,
  isOrdered = false,
): Promise<ConditionResult> {
  const at = columns.findIndex(({ name }) => name === column);
  const type = columns[at]?.type;
  if (type === undefined) return 'undecidable';
  const cells = rows.map((row) => row[at] ?? null);
  if (op === 'changed') {
    if (truncated && !isOrdered) return 'undecidable';
    const digest = await sha256Hex(JSON.stringify(cells.map((cell) => JSON.stringify(cell)).sort()));
    return { holds: before !== null && before !== digest, value: digest };
  }
  const compare = makeComparison(type, value, op);
  if (!compare) return 'undecidable';
  const holds = cells.some((cell) => {
    if (cell === null) return op === 'ne';
    const order = compare(cell);
    return order === undefined ? op === 'ne' : COMPARISON_TESTS[op](order);
  });
  return { holds, value: null };
}

type Compare = (cell: NonNullable<Cell>) => number | undefined;

const compareValues = <T extends number | string>(one: T, other: T): number => (one < other ? -1 : one > other ? 1 : 0);

const NUMBER_PATTERN = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i;

/** Returns how a cell of a column compares with a value; undefined where they cannot be compared. */
function makeComparison(type: string, value: Condition['value'], op: Condition['op']): Compare | undefined {
  switch (type) {
    case 'integer':
    case 'decimal': {
      const wanted = String(value);
      if (typeof value === 'boolean' || !NUMBER_PATTERN.test(wanted)) return undefined;
      return (cell) => {
        // What a double would round comes as text. Infinity and NaN are no decimals.
        if (NUMBER_PATTERN.test(String(cell))) return compareDecimals(String(cell), wanted);
        return Number.isNaN(Number(cell)) ? undefined : compareValues(Number(cell), Number(wanted));
      };
    }
    case 'boolean':
      if (typeof value !== 'boolean' || (op !== 'eq' && op !== 'ne')) return undefined;
      return (cell) => (cell === value ? 0 : 1);
    case 'date':
    case 'datetime': {
      // As text in UTC with six digits of a fraction, which compares as the times do.
      const wanted = toPostgresText('datetime', value);
      if (wanted === undefined) return undefined;
      return (cell) => {
        const time = toPostgresText('datetime', cell);
        return time === undefined ? undefined : compareValues(time, wanted);
      };
    }
    default:
      return (cell) => compareValues(String(cell), String(value));
  }
}

/** Whether a statement orders its rows: an `ORDER BY` of its own, not one within brackets. */
export function isOrdered(sql: string): boolean {
  let depth = 0;
  let last = '';
  for (const { kind, text } of listMeaningfulTokens(sql)) {
    if (kind === 'symbol' && text === '(') depth += 1;
    if (kind === 'symbol' && text === ')') depth -= 1;
    if (depth === 0 && last === 'order' && text === 'by') return true;
    last = kind === 'word' ? text : '';
  }
  return false;
}

const listMeaningfulTokens = (sql: string): (Pick<SqlToken, 'kind'> & { text: string })[] =>
  sqlTokens(sql)
    .filter(({ kind }) => kind !== 'space' && kind !== 'comment')
    .map(({ kind, start, end }) => ({ kind, text: sql.slice(start, end).toLowerCase() }));
