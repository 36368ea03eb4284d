import type { Metric, SemanticItem, SemiAdditive } from './definition.ts';
import {
  type Aggregate,
  type Expression,
  listTables,
  renderSql,
  type SqlRenderer,
  type Table,
  type TextBudget,
  type ValueType,
} from './expression.ts';
import { queryAmbiguous, queryFansOut, queryUnreachable, semanticItemUnknown } from './failures.ts';
import type { MetricModel } from './model.ts';
import { isPath, type MissingPath, type Path } from './relations.ts';

/** An aggregate of a metric with everything that decides its value: it is computed on one fact table. */
export interface Measure {
  /** The name of the measure's column. */
  name: string;
  /** The metric that contains the aggregate. */
  item: SemanticItem;
  call: Aggregate;
  type: ValueType;
  /** The table whose rows are aggregated: every other table has at most one row for each of its rows. */
  rootTable: Table;
  /** The filters of the metric and of the metrics that build on it. */
  filters: readonly Expression[];
  /** A key that is equal for equal filters; empty without any. */
  filterKey: string;
  semiAdditive: SemiAdditive | null;
}

/** The maximum number of aggregates of a query. */
const MAX_MEASURES = 100;
/** The maximum number of metrics that are visited to collect the aggregates of a query, repetitions included. */
const MAX_VISITED_METRICS = 300;

/** Creates a renderer whose text is equal for expressions that mean the same. */
const createCanonicalRenderer = (budget: TextBudget): SqlRenderer => ({
  budget,
  bindText: (value) => JSON.stringify(value),
  renderColumn: (table, column) => `${table.id}.${column}`,
  renderAggregate: () => '',
  renderMetric: () => '',
});

/** Collects the aggregates that metrics are computed from, each once. */
export class Measures {
  readonly measures: Measure[] = [];
  readonly #measuresByKey = new Map<string, Measure>();
  /** The visited metrics, including the metrics that others build on. */
  readonly items = new Map<string, SemanticItem>();
  readonly #model: MetricModel;
  readonly #budget: TextBudget;
  /** A number for each compared expression, equal for expressions that mean the same. */
  readonly #numbers = new Map<Expression, number>();
  readonly #numbersByText = new Map<string, number>();
  #visitCount = 0;

  constructor(model: MetricModel, budget: TextBudget) {
    this.#model = model;
    this.#budget = budget;
  }

  /** Compiles a metric to SQL over the columns of its aggregates. A count of nothing is 0. */
  compileFormula(
    item: SemanticItem,
    bindValue: (value: string) => string,
    outerFilters: readonly Expression[] = [],
  ): string {
    this.#visitCount += 1;
    if (this.#visitCount > MAX_VISITED_METRICS) throw makeMetricTooLargeFailure(item, `${MAX_VISITED_METRICS} metrics`);
    this.items.set(item.id, item);
    const metric = this.#model.getMetric(item);
    const filters = [...outerFilters, ...metric.filters];
    return renderSql(metric.formula, {
      budget: this.#budget,
      bindText: bindValue,
      renderColumn: () => {
        throw new Error('a column outside of an aggregate');
      },
      renderAggregate: (call, type) => {
        const { name } = this.#measure(item, metric, { call, type }, filters);
        return call.name === 'count' ? `coalesce(${name}, 0)` : name;
      },
      renderMetric: (name) => `(${this.compileFormula(this.#model.requireMetric(name), bindValue, filters)})`,
    });
  }

  #measure(
    item: SemanticItem,
    metric: Metric,
    { call, type }: Pick<Measure, 'call' | 'type'>,
    filters: readonly Expression[],
  ): Measure {
    const keys = filters.map((filter) => this.#numberMeasure(filter));
    const filterKey = [...new Set(keys)].sort((first, second) => first - second).join(' AND ');
    const root = findRoot(this.#model, item, metric, call);
    const parts = [call.argument, call.filter, metric.semiAdditive?.timeExpression].map(
      (part) => part && this.#numberMeasure(part),
    );
    const key = JSON.stringify([root.id, call.name, call.isDistinct, parts, metric.semiAdditive?.moment, filterKey]);
    const knownMeasure = this.#measuresByKey.get(key);
    if (knownMeasure) return knownMeasure;
    if (this.measures.length === MAX_MEASURES) throw makeMetricTooLargeFailure(item, `${MAX_MEASURES} aggregates`);
    const distinctFilters = filters.filter((_, index) => keys.indexOf(keys[index] as number) === index);
    const measure: Measure = {
      name: `a${this.measures.length + 1}`,
      item,
      call,
      type,
      rootTable: root,
      filters: distinctFilters,
      filterKey,
      semiAdditive: metric.semiAdditive,
    };
    this.measures.push(measure);
    this.#measuresByKey.set(key, measure);
    return measure;
  }

  #numberMeasure(expression: Expression): number {
    const knownNumber = this.#numbers.get(expression);
    if (knownNumber !== undefined) return knownNumber;
    const text = renderSql(expression, createCanonicalRenderer(this.#budget));
    const number = this.#numbersByText.get(text) ?? this.#numbersByText.size;
    this.#numbersByText.set(text, number);
    this.#numbers.set(expression, number);
    return number;
  }
}

const makeMetricTooLargeFailure = (item: SemanticItem, limitText: string) =>
  semanticItemUnknown('metric', item.name, `the query would be computed from more than ${limitText}`);

/**
 * Finds the table of an aggregate whose rows each match at most one row of every other table of the aggregate. Where it
 * aggregates no column, as `count(*)` does, the rows are the metric's, of whatever table its `FILTER` is; only where the
 * metric's tables have no such table, those of `FILTER`.
 */
function findRoot(model: MetricModel, item: SemanticItem, metric: Metric, call: Aggregate): Table {
  const { argument, filter } = call;
  const namesColumn = argument !== null && listTables([argument]).length > 0;
  const tables = namesColumn ? listTables(filter ? [argument, filter] : [argument]) : metric.tables;
  const rootTable =
    model.findRoot(tables) ?? (!namesColumn && filter ? model.findRoot(listTables([filter])) : undefined);
  if (rootTable) return rootTable;
  if (tables.length === 0) throw semanticItemUnknown('metric', item.name, 'it has no mapped table');
  const paths = tables.flatMap((table) => tables.map((otherTable) => model.findPath(table, otherTable)));
  throw makeJoinFailure([item], paths);
}

/** Returns the failure for tables that cannot be joined: the first reason found of ambiguous, fans_out, unreachable. */
export function makeJoinFailure(items: readonly SemanticItem[], paths: readonly (Path | MissingPath)[]) {
  const missingPaths = paths.filter((path): path is MissingPath => !isPath(path));
  const failures = { ambiguous: queryAmbiguous, fans_out: queryFansOut, unreachable: queryUnreachable };
  for (const [reason, makeFailure] of Object.entries(failures)) {
    const missingPath = missingPaths.find((candidate) => candidate.reason === reason);
    if (missingPath) return makeFailure(items, missingPath.relations);
  }
  throw new Error('the tables can be joined');
}
