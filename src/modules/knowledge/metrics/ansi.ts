import { quoteIdentifier } from '../../../tenant-sql/identifiers.ts';
import { compileDimension } from './compile.ts';
import type { SemanticItem } from './definition.ts';
import {
  type Expression,
  ExpressionError,
  formatType,
  listTables,
  makeAggregateSql,
  measureOwnLength,
  type Table,
  TextBudget,
  type ValueType,
} from './expression.ts';
import type { MetricModel } from './model.ts';

/** A metric or dimension in SQL for other systems, over columns written as `"table"."column"`. */
export interface AnsiSql {
  sql: string;
  type: ValueType;
  tables: Table[];
}

/** The maximum number of metrics that one metric is made of, repetitions included. */
const MAX_NESTED_METRICS = 300;
/** The maximum length of an expression in characters. */
const MAX_SQL_LENGTH = 50_000;

/** Returns the SQL of a dimension. @throws what `Model.dimension` throws; ExpressionError where it would be too long */
export function writeAnsiDimension(model: MetricModel, item: SemanticItem): AnsiSql {
  const value = compileDimension(model, item);
  const sql = writeAnsiSql(value, new TextBudget(MAX_SQL_LENGTH), rejectAggregate);
  return { sql, type: value.type, tables: listTables([value]) };
}

/**
 * Returns the SQL of a metric, with the metrics that it builds on expanded; null for a semi-additive metric, which a single
 * aggregate cannot express. @throws what `Model.metric` throws; ExpressionError where it would be too long
 */
export function writeAnsiMetric(model: MetricModel, item: SemanticItem): AnsiSql | null {
  const tables: Table[] = [];
  const budget = new TextBudget(MAX_SQL_LENGTH);
  let visitCount = 0;
  let isSemiAdditive = false;
  const compileFormula = (semanticItem: SemanticItem, outerFilters: readonly Expression[]): string => {
    visitCount += 1;
    if (visitCount > MAX_NESTED_METRICS)
      throw new ExpressionError(`it is made of more than ${MAX_NESTED_METRICS} metrics`);
    const metric = model.getMetric(semanticItem);
    isSemiAdditive ||= metric.semiAdditive !== null;
    const filters = [...outerFilters, ...metric.filters];
    tables.push(...metric.tables, ...listTables([metric.formula, ...metric.filters]));
    return writeAnsiSql(metric.formula, budget, (aggregate) => {
      if (aggregate.kind === 'metric') return `(${compileFormula(model.requireMetric(aggregate.name), filters)})`;
      const { argument, filter } = aggregate.call;
      const conditions = [...(filter ? [filter] : []), ...filters].map((condition) =>
        writeAnsiSql(condition, budget, rejectAggregate),
      );
      const argumentSql = argument ? writeAnsiSql(argument, budget, rejectAggregate) : '*';
      return makeAggregateSql(aggregate.call, argumentSql, conditions);
    });
  };
  const sql = compileFormula(item, []);
  if (isSemiAdditive) return null;
  return { sql, type: model.getMetric(item).formula.type, tables: [...new Set(tables)] };
}

type AggregateExpression = Extract<Expression, { kind: 'aggregate' | 'metric' }>;

const rejectAggregate = (): never => {
  throw new ExpressionError('aggregates cannot be nested');
};

function writeAnsiSql(
  expression: Expression,
  budget: TextBudget,
  writeAggregate: (aggregate: AggregateExpression) => string,
): string {
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
        .map((part) => (typeof part === 'string' ? part : writeAnsiSql(part, budget, writeAggregate)))
        .join('');
    default:
      return writeAggregate(expression);
  }
}
