import type { Item, Metric, SemiAdditive } from './definition.ts';
import {
  type Aggregate,
  type Expression,
  formatType,
  listTables,
  type Rendering,
  render,
  type Table,
  type TextBudget,
  type ValueType,
} from './expression.ts';
import { queryAmbiguous, queryFansOut, queryUnreachable, semanticItemUnknown } from './failures.ts';
import type { Model } from './model.ts';
import { isPath, type NoPath, type Path } from './relations.ts';

/** An aggregate of a metric with all that decides its value: it is computed on one fact table. */
export interface Measure {
  /** The name of its column. */
  name: string;
  /** The metric that it stands in. */
  item: Item;
  call: Aggregate;
  type: ValueType;
  /** The table whose rows are aggregated: each other one has at most one row for each of its rows. */
  root: Table;
  /** The filters of the metric and of those that build on it. */
  filters: readonly Expression[];
  /** Equal for equal filters; empty without any. */
  filterKey: string;
  semiAdditive: SemiAdditive | null;
}

/**
 * The maximum number of aggregates of a query, and the maximum number of metrics that are looked at for them, repetitions
 * included.
 */
const MAX_MEASURES = 100;
const MAX_VISITS = 300;

/** Text that is equal for expressions that mean the same. */
const createCanonicalRendering = (budget: TextBudget): Rendering => ({
  budget,
  bind: (value) => JSON.stringify(value),
  column: (table, column) => `${table.id}.${column}`,
  aggregate: () => '',
  metric: () => '',
});

/** Collects the aggregates that metrics are computed from, each once. */
export class Measures {
  readonly all: Measure[] = [];
  readonly #byKey = new Map<string, Measure>();
  /** The metrics that were looked at, those that others build on included. */
  readonly items = new Map<string, Item>();
  readonly #model: Model;
  readonly #budget: TextBudget;
  /** A number for each compared expression, equal for those that mean the same. */
  readonly #numbers = new Map<Expression, number>();
  readonly #numbersByText = new Map<string, number>();
  #visits = 0;

  constructor(model: Model, budget: TextBudget) {
    this.#model = model;
    this.#budget = budget;
  }

  /** The SQL of a metric over the columns of its aggregates. A count of nothing is 0. */
  compileFormula(item: Item, bind: (value: string) => string, outer: readonly Expression[] = []): string {
    this.#visits += 1;
    if (this.#visits > MAX_VISITS) throw metricTooLarge(item, `${MAX_VISITS} metrics`);
    this.items.set(item.id, item);
    const metric = this.#model.metric(item);
    const filters = [...outer, ...metric.filters];
    return render(metric.formula, {
      budget: this.#budget,
      bind,
      column: () => {
        throw new Error('a column outside of an aggregate');
      },
      aggregate: (call, type) => {
        const { name } = this.#measure(item, metric, { call, type }, filters);
        return call.name === 'count' ? `coalesce(${name}, 0)` : name;
      },
      metric: (name) => `(${this.compileFormula(this.#model.metricNamed(name), bind, filters)})`,
    });
  }

  #measure(
    item: Item,
    metric: Metric,
    { call, type }: Pick<Measure, 'call' | 'type'>,
    filters: readonly Expression[],
  ): Measure {
    const keys = filters.map((filter) => this.#numberMeasure(filter));
    const filterKey = [...new Set(keys)].sort((one, other) => one - other).join(' AND ');
    const root = findRoot(this.#model, item, metric, call);
    const parts = [call.argument, call.filter, metric.semiAdditive?.by].map(
      (part) => part && this.#numberMeasure(part),
    );
    const key = JSON.stringify([root.id, call.name, call.isDistinct, parts, metric.semiAdditive?.which, filterKey]);
    const known = this.#byKey.get(key);
    if (known) return known;
    if (this.all.length === MAX_MEASURES) throw metricTooLarge(item, `${MAX_MEASURES} aggregates`);
    const distinct = filters.filter((_, index) => keys.indexOf(keys[index] as number) === index);
    const name = `a${this.all.length + 1}`;
    const measure: Measure = {
      name,
      item,
      call,
      type,
      root,
      filters: distinct,
      filterKey,
      semiAdditive: metric.semiAdditive,
    };
    this.all.push(measure);
    this.#byKey.set(key, measure);
    return measure;
  }

  #numberMeasure(expression: Expression): number {
    const known = this.#numbers.get(expression);
    if (known !== undefined) return known;
    const text = render(expression, createCanonicalRendering(this.#budget));
    const number = this.#numbersByText.get(text) ?? this.#numbersByText.size;
    this.#numbersByText.set(text, number);
    this.#numbers.set(expression, number);
    return number;
  }
}

/** The type of an aggregate's column in Postgres. */
export const resultType = ({ type }: Measure): string => formatType(type);

const metricTooLarge = (item: Item, most: string) =>
  semanticItemUnknown('metric', item.name, `the query would be computed from more than ${most}`);

/** Finds the table of an aggregate whose rows each match at most one row of every other table of the aggregate. */
function findRoot(model: Model, item: Item, metric: Metric, call: Aggregate): Table {
  const named = listTables([call.argument, call.filter].filter((part) => part !== null));
  const tables = named.length > 0 ? named : metric.tables;
  const paths = tables.map((table) => tables.map((other) => model.path(table, other)));
  const found = tables.find((_, index) => paths[index]?.every(isPath));
  if (found) return found;
  if (tables.length === 0) throw semanticItemUnknown('metric', item.name, 'it has no mapped table');
  throw joinFailure([item], paths.flat());
}

/** The failure for tables that cannot be joined: the first reason found of ambiguous, fans_out, unreachable. */
export function joinFailure(items: readonly Item[], paths: readonly (Path | NoPath)[]) {
  const missing = paths.filter((path): path is NoPath => !isPath(path));
  const failures = { ambiguous: queryAmbiguous, fans_out: queryFansOut, unreachable: queryUnreachable } as const;
  for (const reason of ['ambiguous', 'fans_out', 'unreachable'] as const) {
    const found = missing.find((each) => each.reason === reason);
    if (found) return failures[reason](items, found.relations);
  }
  throw new Error('the tables can be joined');
}
