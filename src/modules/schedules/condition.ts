import type { Condition } from '../../db/schema/schedules.ts';
import { compareDecimals } from '../../kernel/decimals.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { listSqlTokens } from '../../sql-templates/lexer.ts';
import type { Cell, UserSqlResult } from '../../tenant-sql/user-sql.ts';
import { toPostgresText } from '../../tenant-sql/values.ts';

/** The result of evaluating a condition; the next run compares with `value`. */
export type ConditionResult = { isMet: boolean; value: string | null } | 'undecidable';

const COMPARISON_TESTS: Record<Exclude<Condition['op'], 'changed'>, (order: number) => boolean> = {
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
};

/**
 * Evaluates a condition on a result. A comparison holds if it holds in any row; `ne` means every other value, nulls
 * included, as in filters. `changed` holds if the values of the column, in any order, differ from `previousDigest`; the
 * first time it never holds. The rows of a truncated result without an order may differ each time, so that `changed` is
 * `undecidable`. @param isOrdered whether the statement orders its rows @returns `undecidable` also if the result has
 * no such column, or the value is not of its type
 */
export async function evaluateCondition(
  { column, op, value }: Pick<Condition, 'column' | 'op' | 'value'>,
  { columns, rows, truncated }: UserSqlResult,
  previousDigest: string | null,
  isOrdered = false,
): Promise<ConditionResult> {
  const at = columns.findIndex(({ name }) => name === column);
  const type = columns[at]?.type;
  if (type === undefined) return 'undecidable';
  const cells = rows.map((row) => row[at] ?? null);
  if (op === 'changed') {
    if (truncated && !isOrdered) return 'undecidable';
    const digest = await computeSha256Hex(JSON.stringify(cells.map((cell) => JSON.stringify(cell)).sort()));
    return { isMet: previousDigest !== null && previousDigest !== digest, value: digest };
  }
  const compareCell = makeComparison(type, value, op);
  if (!compareCell) return 'undecidable';
  const isMet = cells.some((cell) => {
    if (cell === null) return op === 'ne';
    const order = compareCell(cell);
    return order === undefined ? op === 'ne' : COMPARISON_TESTS[op](order);
  });
  return { isMet, value: null };
}

type CompareCell = (cell: NonNullable<Cell>) => number | undefined;

const compareValues = <T extends number | string>(first: T, second: T): number =>
  first < second ? -1 : first > second ? 1 : 0;

const NUMBER_PATTERN = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i;

/** Makes a function that compares a cell of a column with a value; undefined where they cannot be compared. */
function makeComparison(type: string, value: Condition['value'], op: Condition['op']): CompareCell | undefined {
  switch (type) {
    case 'integer':
    case 'decimal': {
      const expectedText = String(value);
      if (typeof value === 'boolean' || !NUMBER_PATTERN.test(expectedText)) return undefined;
      return (cell) => {
        // What a double would round comes as text. Infinity and NaN are no decimals.
        if (NUMBER_PATTERN.test(String(cell))) return compareDecimals(String(cell), expectedText);
        return Number.isNaN(Number(cell)) ? undefined : compareValues(Number(cell), Number(expectedText));
      };
    }
    case 'boolean':
      if (typeof value !== 'boolean' || (op !== 'eq' && op !== 'ne')) return undefined;
      return (cell) => (cell === value ? 0 : 1);
    case 'date':
    case 'datetime': {
      // As text in UTC with six digits of a fraction, which compares as the times do.
      const expectedText = toPostgresText('datetime', value);
      if (expectedText === undefined) return undefined;
      return (cell) => {
        const time = toPostgresText('datetime', cell);
        return time === undefined ? undefined : compareValues(time, expectedText);
      };
    }
    default:
      return (cell) => compareValues(String(cell), String(value));
  }
}

/** Tells whether a statement orders its rows: by an `ORDER BY` of its own, not one within brackets. */
export function hasOrderBy(sql: string): boolean {
  let depth = 0;
  let lastWord = '';
  for (const { kind, start, end } of listSqlTokens(sql)) {
    if (kind === 'space' || kind === 'comment') continue;
    const text = sql.slice(start, end).toLowerCase();
    if (kind === 'symbol' && text === '(') depth += 1;
    if (kind === 'symbol' && text === ')') depth -= 1;
    if (depth === 0 && lastWord === 'order' && text === 'by') return true;
    lastWord = kind === 'word' ? text : '';
  }
  return false;
}
