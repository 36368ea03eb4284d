/**
 * This module computes metric queries row by row, without SQL, to check the compiler's statements. It shares only the
 * texts of formulas with the compiler; the generated parts contain them together with their meaning.
 */

export type OracleValue = number | string | boolean | null;
export type OracleRow = Record<string, OracleValue>;

export interface OracleTable {
  name: string;
  rows: OracleRow[];
  /** Columns whose values are unique, except for nulls. */
  uniqueColumns: string[];
}

/** A relation `many.column = one.column`. */
export interface OracleRelation {
  many: [table: string, column: string];
  one: [table: string, column: string];
}

/** The joined row of each table; null for a table without a matching row. */
type JoinedRow = Record<string, OracleRow | null>;

/** An expression over joined rows, as SQL and as a function that computes it. */
export interface ExpressionPart {
  sql: string;
  tables: string[];
  computeValue(joinedRow: JoinedRow): OracleValue;
}

export interface OracleAggregate {
  name: 'sum' | 'avg' | 'min' | 'max' | 'count' | 'count_distinct';
  /** The aggregated expression; null counts rows of the metric's table. */
  argument: ExpressionPart | null;
  filter: ExpressionPart | null;
}

export type OracleFormula =
  | { kind: 'aggregate'; aggregate: OracleAggregate }
  | { kind: 'metric'; metric: OracleMetric }
  | { kind: 'operation'; operator: '+' | '-' | '*' | '/'; left: OracleFormula; right: OracleFormula };

export interface OracleMetric {
  name: string;
  table: string;
  formula: OracleFormula;
  filters: ExpressionPart[];
}

export interface OracleDimension {
  name: string;
  value: ExpressionPart;
  filters: ExpressionPart[];
  isDate: boolean;
}

export interface OracleQuery {
  metrics: OracleMetric[];
  dimensions: OracleDimension[];
  filters: { dimension: OracleDimension; isMatch(value: OracleValue): boolean }[];
  grain: 'day' | 'week' | 'month' | 'quarter' | 'year' | null;
}

export type RefusalReason = 'ambiguous' | 'fans_out' | 'unreachable';

export class QueryRefusedError extends Error {
  readonly reasons: ReadonlySet<RefusalReason>;
  constructor(reasons: ReadonlySet<RefusalReason>) {
    super([...reasons].join());
    this.reasons = reasons;
  }
}

export class Oracle {
  readonly #tables: Map<string, OracleTable>;
  readonly #relations: OracleRelation[];
  /** All reasons why the query cannot be answered. */
  #reasons = new Set<RefusalReason>();

  constructor(tables: OracleTable[], relations: OracleRelation[]) {
    this.#tables = new Map(tables.map((table) => [table.name, table]));
    const distinctRelations = new Map(relations.map((relation) => [JSON.stringify(relation), relation]));
    this.#relations = [...distinctRelations.values()];
  }

  /** Lists every path between two tables that visits no table twice. */
  #listPaths(
    from: string,
    to: string,
    usableRelations: OracleRelation[],
    visitedTables: string[] = [],
  ): OracleRelation[][] {
    if (from === to) return [[]];
    return usableRelations
      .filter(({ many: [table], one: [next] }) => table === from && !visitedTables.includes(next) && next !== from)
      .flatMap((step) =>
        this.#listPaths(step.one[0], to, usableRelations, [...visitedTables, from]).map((remainingPath) => [
          step,
          ...remainingPath,
        ]),
      );
  }

  #isUnique = ([table, column]: [string, string]): boolean =>
    column === 'id' || (this.#tables.get(table) as OracleTable).uniqueColumns.includes(column);

  findPath(from: string, to: string): OracleRelation[] | RefusalReason {
    const reversedRelations = this.#relations.map(({ many, one }) => ({ many: one, one: many }));
    const oneToOneRelations = reversedRelations.filter(({ many, one }) => this.#isUnique(many) && this.#isUnique(one));
    const knownRelations = new Set(this.#relations.map((relation) => JSON.stringify(relation)));
    const bothDirections = [
      ...this.#relations,
      ...oneToOneRelations.filter((relation) => !knownRelations.has(JSON.stringify(relation))),
    ];
    for (const usableRelations of [this.#relations, bothDirections]) {
      const [way, ...others] = this.#listPaths(from, to, usableRelations);
      if (!way) continue;
      if (others.length > 0) return 'ambiguous';
      return way.every(({ one }) => this.#isUnique(one)) ? way : 'fans_out';
    }
    return this.#listPaths(from, to, [...this.#relations, ...reversedRelations]).length > 0
      ? 'fans_out'
      : 'unreachable';
  }

  #joinRow(root: string, row: OracleRow, tables: string[]): JoinedRow {
    const joinedRow: JoinedRow = { [root]: row };
    for (const table of tables) {
      let current: OracleRow | null = row;
      for (const { many, one } of this.findPath(root, table) as OracleRelation[]) {
        const key: OracleValue = current?.[many[1]] ?? null;
        const rows = (this.#tables.get(one[0]) as OracleTable).rows;
        current = key === null ? null : (rows.find((other) => other[one[1]] === key) ?? null);
      }
      joinedRow[table] = current;
    }
    return joinedRow;
  }

  /** Finds the table whose rows an aggregate counts or sums; undefined if there is none. */
  #findRootTable(aggregate: OracleAggregate, metric: OracleMetric): string | undefined {
    const { argument, filter } = aggregate;
    const tables = argument ? [...new Set([...argument.tables, ...(filter?.tables ?? [])])] : [metric.table];
    const paths = tables.map((table) => tables.map((other) => this.findPath(table, other)));
    const rootTable = tables.find((_, index) => paths[index]?.every(Array.isArray));
    if (rootTable === undefined) this.#refuse(paths.flat());
    return rootTable;
  }

  #refuse(paths: (OracleRelation[] | RefusalReason)[]): void {
    for (const joinPath of paths) if (typeof joinPath === 'string') this.#reasons.add(joinPath);
  }

  /** Computes the rows of the answer by group. @throws QueryRefusedError */
  computeAnswer(query: OracleQuery): Map<string, OracleValue[]> {
    this.#reasons = new Set();
    const groups = new Map<string, Map<string, OracleValue>>();
    const computeMetrics = query.metrics.map((metric, index) => this.#prepare(query, metric, [], `${index}`, groups));
    if (this.#reasons.size > 0) throw new QueryRefusedError(this.#reasons);
    const emptyGroup = new Map<string, OracleValue>();
    if (query.dimensions.length === 0 && groups.size === 0) groups.set('[]', emptyGroup);
    return new Map([...groups].map(([key, values]) => [key, computeMetrics.map((compute) => compute(values))]));
  }

  /** Adds the aggregates of a metric to the groups. @returns a function that computes the metric from a group's aggregates */
  #prepare(
    query: OracleQuery,
    metric: OracleMetric,
    outerFilters: ExpressionPart[],
    path: string,
    groups: Map<string, Map<string, OracleValue>>,
  ): (values: Map<string, OracleValue>) => OracleValue {
    const filters = [...outerFilters, ...metric.filters];
    const prepareFormula = (
      formula: OracleFormula,
      aggregateKey: string,
    ): ((values: Map<string, OracleValue>) => OracleValue) => {
      if (formula.kind === 'metric') return this.#prepare(query, formula.metric, filters, aggregateKey, groups);
      if (formula.kind === 'operation') {
        const [computeLeft, computeRight] = [
          prepareFormula(formula.left, `${aggregateKey}l`),
          prepareFormula(formula.right, `${aggregateKey}r`),
        ];
        return (values) =>
          calculate(formula.operator, computeLeft(values) as number | null, computeRight(values) as number | null);
      }
      this.#aggregate(query, metric, formula.aggregate, filters, aggregateKey, groups);
      const isCount = formula.aggregate.name.startsWith('count');
      return (values) => values.get(aggregateKey) ?? (isCount ? 0 : null);
    };
    return prepareFormula(metric.formula, path);
  }

  #aggregate(
    query: OracleQuery,
    metric: OracleMetric,
    aggregate: OracleAggregate,
    filters: ExpressionPart[],
    aggregateKey: string,
    groups: Map<string, Map<string, OracleValue>>,
  ): void {
    const root = this.#findRootTable(aggregate, metric);
    if (root === undefined) return;
    const dimensions = [...query.dimensions, ...query.filters.map(({ dimension }) => dimension)];
    const parts = [
      aggregate.argument,
      aggregate.filter,
      ...filters,
      ...dimensions.flatMap((listedDimension) => [listedDimension.value, ...listedDimension.filters]),
    ];
    const tables = [...new Set(parts.flatMap((part) => part?.tables ?? []))];
    const paths = tables.map((table) => this.findPath(root, table));
    this.#refuse(paths);
    if (!paths.every(Array.isArray)) return;
    const valuesByGroup = new Map<string, OracleValue[]>();
    for (const row of (this.#tables.get(root) as OracleTable).rows) {
      const joinedRow = this.#joinRow(root, row, tables);
      if (!filters.every((filter) => filter.computeValue(joinedRow) === true)) continue;
      if (!query.filters.every(({ dimension, isMatch }) => isMatch(computeDimension(dimension, joinedRow)))) continue;
      const key = JSON.stringify(
        query.dimensions.map((dimension) =>
          truncateDate(computeDimension(dimension, joinedRow), dimension.isDate ? query.grain : null),
        ),
      );
      const values = valuesByGroup.get(key) ?? [];
      valuesByGroup.set(key, values);
      if (aggregate.filter && aggregate.filter.computeValue(joinedRow) !== true) continue;
      values.push(aggregate.argument ? aggregate.argument.computeValue(joinedRow) : true);
    }
    for (const [key, values] of valuesByGroup) {
      const group = groups.get(key) ?? new Map<string, OracleValue>();
      groups.set(key, group.set(aggregateKey, reduceValues(aggregate.name, values)));
    }
  }
}

const computeDimension = ({ value, filters }: OracleDimension, joinedRow: JoinedRow): OracleValue =>
  filters.every((filter) => filter.computeValue(joinedRow) === true) ? value.computeValue(joinedRow) : null;

function calculate(operator: string, left: number | null, right: number | null): number | null {
  if (left === null || right === null) return null;
  if (operator === '/') return right === 0 ? null : left / right;
  return operator === '+' ? left + right : operator === '-' ? left - right : left * right;
}

function reduceValues(name: OracleAggregate['name'], allValues: OracleValue[]): OracleValue {
  const values = allValues.filter((value) => value !== null);
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

/** Returns the first day of a date's week, month, quarter or year. */
function truncateDate(value: OracleValue, grain: OracleQuery['grain']): OracleValue {
  if (typeof value !== 'string' || grain === null || grain === 'day') return value;
  const date = new Date(`${value}T00:00:00Z`);
  if (grain === 'week') date.setTime(date.getTime() - ((date.getUTCDay() + 6) % 7) * DAY_MS);
  else date.setUTCDate(1);
  if (grain === 'quarter') date.setUTCMonth(date.getUTCMonth() - (date.getUTCMonth() % 3));
  if (grain === 'year') date.setUTCMonth(0);
  return date.toISOString().slice(0, 10);
}
