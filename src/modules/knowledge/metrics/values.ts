import type { CompiledSql } from '../../../sql-templates/compiled.ts';
import {
  type BindValue,
  createTextBindings,
  makeCaseFoldedSql,
  makeComparison,
} from '../../../tenant-sql/row-filters.ts';
import { compileDimension, MAX_SQL_LENGTH } from './compile.ts';
import type { SemanticItem } from './definition.ts';
import { listTables, renderSql, type Table, TextBudget } from './expression.ts';
import { JoinedTables } from './joined-tables.ts';
import type { MetricModel } from './model.ts';

/** The maximum number of rows that a sample reads. */
const MAX_SAMPLED_ROWS = 10_000;

/** A statement that selects values of a dimension, and the tables that it reads. */
export interface ValuesSql {
  statement: CompiledSql;
  tables: Table[];
}

/**
 * Makes a statement about a text dimension. @param writeStatement makes the statement from a SELECT whose only column, `v`, is
 * the value of the dimension for each row
 */
function makeValuesSql(
  model: MetricModel,
  item: SemanticItem,
  writeStatement: (from: string, bindValue: BindValue) => string,
): ValuesSql {
  const value = compileDimension(model, item);
  const tables = listTables([value]) as [Table, ...Table[]];
  const joinedTables = new JoinedTables(model, model.findRoot(tables) ?? tables[0]);
  joinedTables.joinTables([item], [value]);
  const { values, bindValue } = createTextBindings();
  const as = joinedTables.createRenderer(new TextBudget(MAX_SQL_LENGTH), bindValue);
  const text = writeStatement(`SELECT ${renderSql(value, as)}::text AS v\n    ${joinedTables.from}`, bindValue);
  return { statement: { text, values }, tables: joinedTables.tables };
}

/** Makes SQL for some values, cut to `length` characters, from a part of the rows. @throws the failures of `compileFailures` */
export const makeSampleSql = (
  model: MetricModel,
  item: SemanticItem,
  { count, length }: { count: number; length: number },
): ValuesSql =>
  makeValuesSql(
    model,
    item,
    (from) =>
      `SELECT DISTINCT left(v, ${length}) AS v FROM (${from}\n    LIMIT ${MAX_SAMPLED_ROWS}) AS rows\nWHERE v IS NOT NULL ORDER BY 1 LIMIT ${count}`,
  );

/** Makes SQL for the values that equal one of the given values, in any letter case. */
export const makeEqualValuesSql = (
  model: MetricModel,
  item: SemanticItem,
  values: readonly string[],
  count: number,
): ValuesSql =>
  makeValuesSql(
    model,
    item,
    (from, bindValue) =>
      `SELECT DISTINCT v FROM (${from}) AS rows\nWHERE ${makeCaseFoldedSql('v')} IN (SELECT ${makeCaseFoldedSql('w')} FROM unnest(${bindValue(values)}::text[]) AS w) LIMIT ${count}`,
  );

/** Makes SQL for the values that contain the given value or begin with it, in any letter case. */
export const makeSimilarValuesSql = (
  model: MetricModel,
  item: SemanticItem,
  operator: 'contains' | 'starts_with',
  value: string,
  count: number,
): ValuesSql =>
  makeValuesSql(
    model,
    item,
    (from, bindValue) =>
      `SELECT DISTINCT v FROM (${from}) AS rows\nWHERE ${makeComparison('v', { type: 'text' }, operator, [value], bindValue)} LIMIT ${count}`,
  );
