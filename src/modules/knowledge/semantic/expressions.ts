import type { CompanyContext } from '../../../context.ts';
import type { ValidationError } from '../../../db/schema/knowledge-resources.ts';
import { type Failure, isInvalidInput } from '../../../kernel/failure.ts';
import { listSqlTokens } from '../../../sql-templates/lexer.ts';
import { getDatabaseMessage, queryTimedOut, resultTooLarge } from '../../../tenant-sql/failures.ts';
import { quoteIdentifier } from '../../../tenant-sql/identifiers.ts';
import { runUserSql } from '../../../tenant-sql/user-sql.ts';
import { openReadonlyDatabase } from '../../managed-database/service.ts';
import type { ManagedTable } from '../../managed-tables/service.ts';
import { findFormulaProblem } from '../metrics/grammar.ts';
import { toTable } from '../metrics/tables.ts';
import { listMetricNames, replaceMetricsByNumbers } from '../metrics/tokens.ts';
import type { SemanticItem } from './item.ts';

/** The limits of compiling: only planning takes time, nothing is run and no row is sent. */
const COMPILE_LIMITS = { maxRows: 0, maxBytes: 64 * 1024, milliseconds: 3_000 };

/** An expression in SQL that a user or a model wrote. */
interface Expression {
  field: string;
  as: 'formula' | 'filter';
  text: string;
  /** The expression in SQL that Postgres can plan. */
  sql: string;
  /** Makes the statement for Postgres to plan, which contains the expression. @param from the FROM clause */
  makeStatement(from: string): string;
}

function getExpressions({ kind, formula, filters }: SemanticItem): Expression[] {
  const conditions = filters.map(
    (sql, index): Expression => ({
      field: `filters.${index}`,
      as: 'filter',
      text: sql,
      sql,
      makeStatement: (from) => `SELECT 1${from} WHERE (\n${sql}\n)`,
    }),
  );
  if (formula === null) return conditions;
  const sql = kind === 'metric' ? replaceMetricsByNumbers(formula) : formula;
  const value: Expression = {
    field: 'formula',
    as: 'formula',
    text: formula,
    sql,
    makeStatement: (from) => `SELECT (\n${sql}\n)${from}`,
  };
  return [value, ...conditions];
}

/**
 * Has Postgres plan an item's formula and filters over its tables, with the read-only login and the limits of all user SQL.
 * Expressions of metrics and dimensions must conform to the grammar of metric queries as well. @param tables the tables that the
 * item maps
 */
export async function findExpressionErrors(
  ctx: CompanyContext,
  item: SemanticItem,
  tables: ManagedTable[],
): Promise<ValidationError[]> {
  const expressions = getExpressions(item);
  if (expressions.length === 0) return [];
  // A metric that builds on others needs no table of its own.
  const buildsOnMetrics = expressions.length === 1 && item.formula !== null && listMetricNames(item.formula).length > 0;
  if (tables.length === 0 && !buildsOnMetrics) {
    return makeNotCompiledErrors(item);
  }
  const messagesByExpression =
    tables.length > 0 ? await planExpressions(ctx, expressions, tables) : new Map<Expression, string>();
  return expressions.flatMap((expression): ValidationError[] => {
    const message = messagesByExpression.get(expression) ?? findGrammarProblem(item, expression, tables);
    return message === undefined ? [] : [{ field: expression.field, code: 'does_not_compile', message }];
  });
}

/** Returns the errors of an item's expressions where there is no table to compile them on. */
export const makeNotCompiledErrors = (item: SemanticItem): ValidationError[] =>
  getExpressions(item).map(({ field }) => ({
    field,
    code: 'nothing_to_compile_on',
    message: 'There is no mapped table to compile it on.',
  }));

/** Has Postgres plan expressions. @returns the problem of each expression that Postgres rejects */
async function planExpressions(
  ctx: CompanyContext,
  expressions: readonly Expression[],
  tables: readonly ManagedTable[],
): Promise<Map<Expression, string>> {
  const from = ` FROM ${tables.map(({ displayName }) => quoteIdentifier(displayName)).join(', ')}`;
  const problems = new Map<Expression, string>();
  let database = await openReadonlyDatabase(ctx);
  try {
    for (const expression of expressions) {
      if (!isOneExpression(expression.sql)) {
        problems.set(expression, 'must be one SQL expression');
        continue;
      }
      const failure = await catchFailure(() =>
        runUserSql(database, { text: expression.makeStatement(from), values: [] }, COMPILE_LIMITS),
      );
      if (!failure) continue;
      problems.set(expression, getDatabaseMessage(failure) ?? failure.message);
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

/** Returns the problem of an expression that metric queries cannot read; they read only metrics and dimensions. */
function findGrammarProblem(
  { kind }: SemanticItem,
  { text, as }: Expression,
  tables: readonly ManagedTable[],
): string | undefined {
  if (kind !== 'metric' && kind !== 'dimension') return undefined;
  const expressionTables = tables.map((table) => toTable(table));
  return findFormulaProblem(text, as === 'filter' ? as : kind, expressionTables);
}

/** Runs `run` and returns the failure of invalid SQL; undefined when the SQL is valid. */
async function catchFailure(run: () => Promise<unknown>): Promise<Failure | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (isInvalidInput(error)) return error;
    throw error;
  }
}

/** Tells whether SQL has balanced brackets, so that it cannot close the parentheses that are put around it. */
function isOneExpression(sql: string): boolean {
  const openBrackets: string[] = [];
  for (const { kind, start } of listSqlTokens(sql)) {
    if (kind !== 'symbol') continue;
    const character = sql[start] as string;
    if (character === '(') openBrackets.push(')');
    else if (character === '[') openBrackets.push(']');
    else if (character === ')' || character === ']') {
      if (openBrackets.pop() !== character) return false;
    } else if (character === ';' || (character === ',' && openBrackets.length === 0)) return false;
  }
  return openBrackets.length === 0;
}
