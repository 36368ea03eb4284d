import type { CompanyContext } from '../../../context.ts';
import { Failure } from '../../../kernel/failure.ts';
import { sqlTokens } from '../../../kernel/sql-lexer.ts';
import { quoted } from '../../../tenant-sql/identifiers.ts';
import { runPeopleSql } from '../../../tenant-sql/people-sql.ts';
import { databaseMessage } from '../../../tenant-sql/people-sql-failures.ts';
import { databaseOf, openReadonlyDatabase } from '../../managed-database/service.ts';
import { findTables, type ManagedTable } from '../../managed-tables/service.ts';
import type { ValidationError } from '../resources/service.ts';
import type { SemanticItem } from './item.ts';

/** When a check that was not possible is made up for. Seconds. */
const LATER_SECONDS = 60;
/** Nothing is run and no row is sent: planning is all that takes time. */
const COMPILE_LIMITS = { rows: 0, bytes: 64 * 1024, milliseconds: 3_000 };

/** `table.column`, or several of them around `=`. */
const COLUMN = /^([^.\s=]+)\.([^.\s=]+)$/;
const JOIN = /^([^.\s=]+\.[^.\s=]+)\s*=\s*([^.\s=]+\.[^.\s=]+)$/;

/**
 * What is wrong with an item as the company's tables are now. While they are out of reach that is all that is said, and
 * the check is made up for.
 */
export async function checkItem(ctx: CompanyContext, item: SemanticItem): Promise<ValidationError[]> {
  try {
    return await problemsOf(ctx, item);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'unavailable') throw error;
    const { companyId } = ctx.actor;
    await ctx.jobs.send({ type: 'knowledge.recheck', companyId, tables: [], after: '' }, LATER_SECONDS);
    const message = "The company's database could not be reached; the check is made up for.";
    return [{ field: 'mapped_tables', code: 'not_checked', message }];
  }
}

/**
 * The same, for those who can wait.
 * @throws Failure of kind `unavailable`
 */
export async function problemsOf(ctx: CompanyContext, item: SemanticItem): Promise<ValidationError[]> {
  const columns = columnsOf(item);
  const names = new Set([...item.mapped_tables, ...columns.map(({ table }) => table)]);
  const expressions = expressionsOf(item);
  if (names.size === 0 && columns.length === 0 && expressions.length === 0) return [];

  const tables = (await databaseOf(ctx)) ? await findTables(ctx, [...names]) : [];
  const tableOf = (name: string) => tables.find(({ id, displayName }) => id === name || displayName === name);
  const problems: ValidationError[] = [];
  for (const [index, name] of item.mapped_tables.entries()) {
    if (!tableOf(name)) problems.push(unknownTable(`mapped_tables.${index}`, name));
  }
  for (const { field, table, column } of columns) {
    const found = tableOf(table);
    if (!found) problems.push(unknownTable(field, table));
    else if (column !== 'id' && !found.columns.some(({ name }) => name === column)) {
      problems.push({ field, code: 'unknown_column', message: `The table ${table} has no column ${column}.` });
    }
  }
  return [...problems, ...(await compile(ctx, expressions, tables))];
}

interface Expression {
  field: string;
  sql: string;
  statement(from: string): string;
}

function expressionsOf({ formula, filters }: SemanticItem): Expression[] {
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

/** Has Postgres plan each expression over the mapped tables, under the read-only login. */
async function compile(
  ctx: CompanyContext,
  expressions: Expression[],
  tables: ManagedTable[],
): Promise<ValidationError[]> {
  if (expressions.length === 0) return [];
  if (tables.length === 0) {
    const message = 'There is no mapped table that it could be compiled on.';
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
        runPeopleSql(database, { text: statement(from), values: [] }, COMPILE_LIMITS),
      );
      if (!failure) continue;
      problems.push({ field, code: 'does_not_compile', message: databaseMessage(failure) ?? failure.message });
      // A statement that passed a limit took its connection with it.
      if (PASSED_A_LIMIT.has(failure.reason)) database = await openReadonlyDatabase(ctx);
    }
    return problems;
  } finally {
    await database.close();
  }
}

const PASSED_A_LIMIT = new Set(['people_sql.timeout', 'people_sql.too_large']);

/** How a statement was refused; undefined when it was not. */
async function failureOf(run: () => Promise<unknown>): Promise<Failure | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (error instanceof Failure && error.kind === 'invalid') return error;
    throw error;
  }
}

/** Whether SQL stays within the brackets it is put into. */
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

/** Every column that an item names; what is none has an empty table. */
function columnsOf({ mapped_columns, mapped_relations }: SemanticItem) {
  const column = (field: string, text: string) => {
    const [, table = text, name = ''] = COLUMN.exec(text) ?? [];
    return { field, table, column: name };
  };
  return [
    ...mapped_columns.map((text, index) => column(`mapped_columns.${index}`, text)),
    ...mapped_relations.flatMap((text, index) => {
      const [, left, right] = JOIN.exec(text) ?? [];
      return [left, right]
        .filter((side) => side !== undefined)
        .map((side) => column(`mapped_relations.${index}`, side));
    }),
  ];
}

const unknownTable = (field: string, name: string): ValidationError => ({
  field,
  code: 'unknown_table',
  message: `There is no managed table ${name}.`,
});
