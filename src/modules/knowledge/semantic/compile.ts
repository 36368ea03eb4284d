import type { CompanyContext } from '../../../context.ts';
import type { ValidationError } from '../../../db/schema/knowledge-resources.ts';
import { Failure } from '../../../kernel/failure.ts';
import { sqlTokens } from '../../../kernel/sql-lexer.ts';
import { databaseMessage, queryTimedOut, resultTooLarge } from '../../../tenant-sql/failures.ts';
import { quoted } from '../../../tenant-sql/identifiers.ts';
import { runUserSql } from '../../../tenant-sql/user-sql.ts';
import { openReadonlyDatabase } from '../../managed-database/service.ts';
import type { ManagedTable } from '../../managed-tables/service.ts';
import { metricNamesIn, withoutMetrics } from '../metrics/tokens.ts';
import type { SemanticItem } from './item.ts';

/** Only planning takes time: nothing is run and no row is sent. */
const COMPILE_LIMITS = { rows: 0, bytes: 64 * 1024, milliseconds: 3_000 };

/** SQL that a user or a model wrote, and the statement that plans it over the tables of `from`. */
interface Expression {
  field: string;
  sql: string;
  statement(from: string): string;
}

function expressionsOf(item: SemanticItem): Expression[] {
  const { filters } = item;
  const formula = item.kind === 'metric' && item.formula !== null ? withoutMetrics(item.formula) : item.formula;
  return [
    ...(formula === null
      ? []
      : [{ field: 'formula', sql: formula, statement: (from: string) => `SELECT (\n${formula}\n)${from}` }]),
    ...filters.map((sql, index) => ({
      field: `filters.${index}`,
      sql,
      statement: (from: string) => `SELECT 1${from} WHERE (\n${sql}\n)`,
    })),
  ];
}

/**
 * Has Postgres plan an item's formula and filters over its tables, with the read-only login and the limits of all user SQL.
 * @param tables those that the item maps
 */
export async function compile(
  ctx: CompanyContext,
  item: SemanticItem,
  tables: ManagedTable[],
): Promise<ValidationError[]> {
  const expressions = expressionsOf(item);
  if (expressions.length === 0) return [];
  if (tables.length === 0) {
    // A metric that builds on others needs no table of its own; it is read when it is asked for.
    if (expressions.length === 1 && item.formula !== null && metricNamesIn(item.formula).length > 0) return [];
    const message = 'There is no mapped table to compile it on.';
    return expressions.map(({ field }) => ({ field, code: 'nothing_to_compile_on', message }));
  }
  const from = ` FROM ${tables.map(({ displayName }) => quoted(displayName)).join(', ')}`;
  const problems: ValidationError[] = [];
  let database = await openReadonlyDatabase(ctx);
  try {
    for (const { field, sql, statement } of expressions) {
      if (!isOneExpression(sql)) {
        problems.push({ field, code: 'does_not_compile', message: 'must be one SQL expression' });
        continue;
      }
      const failure = await failureOf(() =>
        runUserSql(database, { text: statement(from), values: [] }, COMPILE_LIMITS),
      );
      if (!failure) continue;
      problems.push({ field, code: 'does_not_compile', message: databaseMessage(failure) ?? failure.message });
      if (!queryTimedOut.matches(failure) && !resultTooLarge.matches(failure)) continue;
      // A statement that exceeds a limit may close its connection.
      await database.close();
      database = await openReadonlyDatabase(ctx);
    }
    return problems;
  } finally {
    await database.close();
  }
}

/** The failure of invalid SQL; undefined when it is valid. */
async function failureOf(run: () => Promise<unknown>): Promise<Failure | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (error instanceof Failure && error.kind === 'invalid') return error;
    throw error;
  }
}

/** Whether SQL stays within the parentheses around it. */
function isOneExpression(sql: string): boolean {
  const open: string[] = [];
  for (const { kind, start } of sqlTokens(sql)) {
    if (kind !== 'symbol') continue;
    const character = sql[start] as string;
    if (character === '(') open.push(')');
    else if (character === '[') open.push(']');
    else if (character === ')' || character === ']') {
      if (open.pop() !== character) return false;
    } else if (character === ';' || (character === ',' && open.length === 0)) return false;
  }
  return open.length === 0;
}
