import type { CompiledSql } from '../../../sql-templates/compiled.ts';
import { type Bind, caseFolded, comparison, textBindings } from '../../../tenant-sql/row-filters.ts';
import { compileDimension, MAX_SQL_LENGTH } from './compile.ts';
import type { Item } from './definition.ts';
import { listTables, render, type Table, TextBudget } from './expression.ts';
import { JoinedTables } from './joined.ts';
import type { Model } from './model.ts';

/** The maximum number of rows that a sample reads. */
const SAMPLED_ROWS = 10_000;

/** A statement about the values of a dimension, and the tables that it reads. */
export interface ValuesSql {
  statement: CompiledSql;
  tables: Table[];
}

/**
 * A statement about a dimension of texts.
 * @param write makes the statement from a SELECT whose only column, `v`, is the value of the dimension for each row
 */
function valuesSql(model: Model, item: Item, write: (from: string, bind: Bind) => string): ValuesSql {
  const value = compileDimension(model, item);
  const [root] = listTables([value]) as [Table, ...Table[]];
  const joined = new JoinedTables(model, root);
  joined.join([item], [value]);
  const { values, bind } = textBindings();
  const unexpected = () => {
    throw new Error('an aggregate within a dimension');
  };
  const as = {
    budget: new TextBudget(MAX_SQL_LENGTH),
    bind,
    column: joined.column.bind(joined),
    aggregate: unexpected,
    metric: unexpected,
  };
  const text = write(`SELECT ${render(value, as)}::text AS v\n    ${joined.from}`, bind);
  return { statement: { text, values }, tables: joined.tables };
}

/** Selects some values, cut to `length` characters, from a part of the rows. @throws the failures of `compileFailures` */
export const sampleSql = (model: Model, item: Item, { count, length }: { count: number; length: number }): ValuesSql =>
  valuesSql(
    model,
    item,
    (from) =>
      `SELECT DISTINCT left(v, ${length}) AS v FROM (${from}\n    LIMIT ${SAMPLED_ROWS}) AS rows\nWHERE v IS NOT NULL ORDER BY 1 LIMIT ${count}`,
  );

/** Selects the values that equal one of these, in any letter case. */
export const equalValuesSql = (model: Model, item: Item, values: readonly string[], count: number): ValuesSql =>
  valuesSql(
    model,
    item,
    (from, bind) =>
      `SELECT DISTINCT v FROM (${from}) AS rows\nWHERE ${caseFolded('v')} IN (SELECT ${caseFolded('w')} FROM unnest(${bind(values)}::text[]) AS w) LIMIT ${count}`,
  );

/** Selects the values that contain this one or begin with it, in any letter case. */
export const similarValuesSql = (
  model: Model,
  item: Item,
  operator: 'contains' | 'starts_with',
  value: string,
  count: number,
): ValuesSql =>
  valuesSql(
    model,
    item,
    (from, bind) =>
      `SELECT DISTINCT v FROM (${from}) AS rows\nWHERE ${comparison('v', { type: 'text' }, operator, [value], bind)} LIMIT ${count}`,
  );
