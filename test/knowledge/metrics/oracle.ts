/**
 * Metric queries computed row by row, without SQL: what the compiler's statements are held against. It shares nothing with
 * the compiler but the texts of formulas, which the generated parts write beside what they mean.
 */

export type Value = number | string | boolean | null;
export type Row = Record<string, Value>;

export interface OracleTable {
  name: string;
  rows: Row[];
  /** Columns whose values are unique, nulls aside. */
  unique: string[];
}

/** `many.column = one.column`. */
export interface OracleRelation {
  many: [table: string, column: string];
  one: [table: string, column: string];
}

/** A row of each table that was reached; null where there is none. */
type Joined = Record<string, Row | null>;

/** A value of joined rows, as SQL and as it is computed. */
export interface Part {
  sql: string;
  tables: string[];
  of(joined: Joined): Value;
}

export interface OracleAggregate {
  name: 'sum' | 'avg' | 'min' | 'max' | 'count' | 'count_distinct';
  /** Null counts rows of the metric's table. */
  argument: Part | null;
  filter: Part | null;
}

export type OracleFormula =
  | { kind: 'aggregate'; aggregate: OracleAggregate }
  | { kind: 'metric'; metric: OracleMetric }
  | { kind: 'operation'; operator: '+' | '-' | '*' | '/'; left: OracleFormula; right: OracleFormula };

export interface OracleMetric {
  name: string;
  table: string;
  formula: OracleFormula;
  filters: Part[];
}

export interface OracleDimension {
  name: string;
  value: Part;
  filters: Part[];
  isDate: boolean;
}

export interface OracleQuery {
  metrics: OracleMetric[];
  dimensions: OracleDimension[];
  filters: { dimension: OracleDimension; fits(value: Value): boolean }[];
  grain: 'day' | 'week' | 'month' | 'quarter' | 'year' | null;
}

export type Reason = 'ambiguous' | 'fans_out' | 'unreachable';

export class Refused extends Error {
  readonly reasons: ReadonlySet<Reason>;
  constructor(reasons: ReadonlySet<Reason>) {
    super([...reasons].join());
    this.reasons = reasons;
  }
}

export class Oracle {
  readonly #tables: Map<string, OracleTable>;
  readonly #relations: OracleRelation[];
  /** Why the query cannot be answered: everything that is wrong with it. */
  #reasons = new Set<Reason>();

  constructor(tables: OracleTable[], relations: OracleRelation[]) {
    this.#tables = new Map(tables.map((table) => [table.name, table]));
    const texts = new Map(relations.map((relation) => [JSON.stringify(relation), relation]));
    this.#relations = [...texts.values()];
  }

  /** Every way without going through a table twice. */
  #ways(from: string, to: string, steps: OracleRelation[], seen: string[] = []): OracleRelation[][] {
    if (from === to) return [[]];
    return steps
      .filter(({ many: [table], one: [next] }) => table === from && !seen.includes(next) && next !== from)
      .flatMap((step) => this.#ways(step.one[0], to, steps, [...seen, from]).map((rest) => [step, ...rest]));
  }

  #isUnique = ([table, column]: [string, string]): boolean =>
    column === 'id' || (this.#tables.get(table) as OracleTable).unique.includes(column);

  way(from: string, to: string): OracleRelation[] | Reason {
    const turned = this.#relations.map(({ many, one }) => ({ many: one, one: many }));
    const single = turned.filter(({ many, one }) => this.#isUnique(many) && this.#isUnique(one));
    const known = new Set(this.#relations.map((relation) => JSON.stringify(relation)));
    const both = [...this.#relations, ...single.filter((relation) => !known.has(JSON.stringify(relation)))];
    for (const steps of [this.#relations, both]) {
      const [way, ...others] = this.#ways(from, to, steps);
      if (!way) continue;
      if (others.length > 0) return 'ambiguous';
      return way.every(({ one }) => this.#isUnique(one)) ? way : 'fans_out';
    }
    return this.#ways(from, to, [...this.#relations, ...turned]).length > 0 ? 'fans_out' : 'unreachable';
  }

  #joined(root: string, row: Row, tables: string[]): Joined {
    const joined: Joined = { [root]: row };
    for (const table of tables) {
      let current: Row | null = row;
      for (const { many, one } of this.way(root, table) as OracleRelation[]) {
        const key: Value = current?.[many[1]] ?? null;
        const rows = (this.#tables.get(one[0]) as OracleTable).rows;
        current = key === null ? null : (rows.find((other) => other[one[1]] === key) ?? null);
      }
      joined[table] = current;
    }
    return joined;
  }

  /** The table whose rows an aggregate is of; undefined where there is none. */
  #rootOf(aggregate: OracleAggregate, metric: OracleMetric): string | undefined {
    const named = [...new Set([...(aggregate.argument?.tables ?? []), ...(aggregate.filter?.tables ?? [])])];
    const tables = named.length > 0 ? named : [metric.table];
    const ways = tables.map((table) => tables.map((other) => this.way(table, other)));
    const found = tables.find((_, index) => ways[index]?.every(Array.isArray));
    if (found === undefined) this.#refuse(ways.flat());
    return found;
  }

  #refuse(ways: (OracleRelation[] | Reason)[]): void {
    for (const way of ways) if (typeof way === 'string') this.#reasons.add(way);
  }

  /** The rows of the answer by their group. @throws Refused */
  answer(query: OracleQuery): Map<string, Value[]> {
    this.#reasons = new Set();
    const groups = new Map<string, Map<string, Value>>();
    const evaluate = query.metrics.map((metric, index) => this.#prepare(query, metric, [], `${index}`, groups));
    if (this.#reasons.size > 0) throw new Refused(this.#reasons);
    const empty = new Map<string, Value>();
    if (query.dimensions.length === 0 && groups.size === 0) groups.set('[]', empty);
    return new Map([...groups].map(([key, values]) => [key, evaluate.map((of) => of(values))]));
  }

  /** Computes the aggregates of a metric into the groups. @returns what makes the metric of those of a group */
  #prepare(
    query: OracleQuery,
    metric: OracleMetric,
    outer: Part[],
    path: string,
    groups: Map<string, Map<string, Value>>,
  ): (values: Map<string, Value>) => Value {
    const filters = [...outer, ...metric.filters];
    const visit = (formula: OracleFormula, place: string): ((values: Map<string, Value>) => Value) => {
      if (formula.kind === 'metric') return this.#prepare(query, formula.metric, filters, place, groups);
      if (formula.kind === 'operation') {
        const [left, right] = [visit(formula.left, `${place}l`), visit(formula.right, `${place}r`)];
        return (values) => calculate(formula.operator, left(values) as number | null, right(values) as number | null);
      }
      this.#aggregate(query, metric, formula.aggregate, filters, place, groups);
      const isCount = formula.aggregate.name.startsWith('count');
      return (values) => values.get(place) ?? (isCount ? 0 : null);
    };
    return visit(metric.formula, path);
  }

  #aggregate(
    query: OracleQuery,
    metric: OracleMetric,
    aggregate: OracleAggregate,
    filters: Part[],
    place: string,
    groups: Map<string, Map<string, Value>>,
  ): void {
    const root = this.#rootOf(aggregate, metric);
    if (root === undefined) return;
    const dimensions = [...query.dimensions, ...query.filters.map(({ dimension }) => dimension)];
    const parts = [
      aggregate.argument,
      aggregate.filter,
      ...filters,
      ...dimensions.flatMap((each) => [each.value, ...each.filters]),
    ];
    const tables = [...new Set(parts.flatMap((part) => part?.tables ?? []))];
    const ways = tables.map((table) => this.way(root, table));
    this.#refuse(ways);
    if (!ways.every(Array.isArray)) return;
    const collected = new Map<string, Value[]>();
    for (const row of (this.#tables.get(root) as OracleTable).rows) {
      const joined = this.#joined(root, row, tables);
      if (!filters.every((filter) => filter.of(joined) === true)) continue;
      if (!query.filters.every(({ dimension, fits }) => fits(computeDimension(dimension, joined)))) continue;
      const key = JSON.stringify(
        query.dimensions.map((dimension) =>
          truncateDate(computeDimension(dimension, joined), dimension.isDate ? query.grain : null),
        ),
      );
      const values = collected.get(key) ?? [];
      collected.set(key, values);
      if (aggregate.filter && aggregate.filter.of(joined) !== true) continue;
      values.push(aggregate.argument ? aggregate.argument.of(joined) : true);
    }
    for (const [key, values] of collected) {
      const group = groups.get(key) ?? new Map<string, Value>();
      groups.set(key, group.set(place, reduce(aggregate.name, values)));
    }
  }
}

const computeDimension = ({ value, filters }: OracleDimension, joined: Joined): Value =>
  filters.every((filter) => filter.of(joined) === true) ? value.of(joined) : null;

function calculate(operator: string, left: number | null, right: number | null): number | null {
  if (left === null || right === null) return null;
  if (operator === '/') return right === 0 ? null : left / right;
  return operator === '+' ? left + right : operator === '-' ? left - right : left * right;
}

function reduce(name: OracleAggregate['name'], all: Value[]): Value {
  const values = all.filter((value) => value !== null);
  if (name === 'count') return values.length;
  if (name === 'count_distinct') return new Set(values).size;
  if (values.length === 0) return null;
  const numbers = values as number[];
  if (name === 'min') return Math.min(...numbers);
  if (name === 'max') return Math.max(...numbers);
  const sum = numbers.reduce((left, right) => left + right, 0);
  return name === 'sum' ? sum : sum / numbers.length;
}

const DAY_MS = 86_400_000;

/** The first day of the week, month, … of a date. */
function truncateDate(value: Value, grain: OracleQuery['grain']): Value {
  if (typeof value !== 'string' || grain === null || grain === 'day') return value;
  const date = new Date(`${value}T00:00:00Z`);
  if (grain === 'week') date.setTime(date.getTime() - ((date.getUTCDay() + 6) % 7) * DAY_MS);
  else date.setUTCDate(1);
  if (grain === 'quarter') date.setUTCMonth(date.getUTCMonth() - (date.getUTCMonth() % 3));
  if (grain === 'year') date.setUTCMonth(0);
  return date.toISOString().slice(0, 10);
}
