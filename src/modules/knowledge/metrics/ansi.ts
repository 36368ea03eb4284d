import { compileDimension } from './compile.ts';
import type { Item } from './definition.ts';
import {
  aggregateSql,
  type Expression,
  ExpressionError,
  formatType,
  listTables,
  measureOwnLength,
  type Table,
  TextBudget,
  type ValueType,
} from './expression.ts';
import type { Model } from './model.ts';

/** A metric or dimension in SQL that others read, over columns as `"table"."column"`. */
export interface AnsiSql {
  sql: string;
  type: ValueType;
  tables: Table[];
}

/**
 * The maximum number of metrics that one metric is made of, repetitions included, and the maximum number of characters of an
 * expression.
 */
const MAX_VISITS = 300;
const MAX_SQL_LENGTH = 50_000;

/** The SQL of a dimension. @throws what `Model.dimension` throws; ExpressionError where it would be too long */
export function dimensionToAnsi(model: Model, item: Item): AnsiSql {
  const value = compileDimension(model, item);
  const sql = writeAnsi(value, new TextBudget(MAX_SQL_LENGTH), rejectAggregate);
  return { sql, type: value.type, tables: listTables([value]) };
}

/**
 * The SQL of a metric, with those that it builds on written out; null for a semi-additive one, which a single aggregate cannot
 * express. @throws what `Model.metric` throws; ExpressionError where it would be too long
 */
export function metricToAnsi(model: Model, item: Item): AnsiSql | null {
  const tables: Table[] = [];
  const budget = new TextBudget(MAX_SQL_LENGTH);
  let visits = 0;
  let isSemiAdditive = false;
  const compileFormula = (of: Item, outer: readonly Expression[]): string => {
    visits += 1;
    if (visits > MAX_VISITS) throw new ExpressionError(`it is made of more than ${MAX_VISITS} metrics`);
    const metric = model.metric(of);
    isSemiAdditive ||= metric.semiAdditive !== null;
    const filters = [...outer, ...metric.filters];
    tables.push(...metric.tables, ...listTables([metric.formula, ...metric.filters]));
    return writeAnsi(metric.formula, budget, (part) => {
      if (part.kind === 'metric') return `(${compileFormula(model.metricNamed(part.name), filters)})`;
      const { argument, filter } = part.call;
      const conditions = [...(filter ? [filter] : []), ...filters].map((each) =>
        writeAnsi(each, budget, rejectAggregate),
      );
      return aggregateSql(part.call, argument ? writeAnsi(argument, budget, rejectAggregate) : '*', conditions);
    });
  };
  const sql = compileFormula(item, []);
  if (isSemiAdditive) return null;
  return { sql, type: model.metric(item).formula.type, tables: [...new Set(tables)] };
}

type Aggregating = Extract<Expression, { kind: 'aggregate' | 'metric' }>;

const rejectAggregate = (): never => {
  throw new ExpressionError('aggregates cannot be nested');
};

function writeAnsi(expression: Expression, budget: TextBudget, aggregate: (part: Aggregating) => string): string {
  budget.spend(measureOwnLength(expression), 1);
  switch (expression.kind) {
    case 'column':
      return `${quoteIdentifier(expression.table.name)}.${quoteIdentifier(expression.column)}`;
    case 'text': {
      const literal = `'${expression.value.replaceAll("'", "''")}'`;
      return expression.type === 'text' ? literal : `CAST(${literal} AS ${formatType(expression.type)})`;
    }
    case 'null':
      return `CAST(NULL AS ${formatType(expression.type)})`;
    case 'sql':
      return expression.parts
        .map((part) => (typeof part === 'string' ? part : writeAnsi(part, budget, aggregate)))
        .join('');
    default:
      return aggregate(expression);
  }
}

const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;
