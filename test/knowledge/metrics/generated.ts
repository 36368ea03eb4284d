import fc from 'fast-check';
import type {
  ExpressionPart,
  OracleDimension,
  OracleFormula,
  OracleMetric,
  OracleQuery,
  OracleRelation,
  OracleRow,
  OracleTable,
  OracleValue,
} from './oracle.ts';

/** A filter of a query, as it is asked for and as it is computed. */
export interface GeneratedFilter {
  dimension: OracleDimension;
  operator: 'eq' | 'ne' | 'in' | 'nin' | 'is_null' | 'gte' | 'lt';
  values: string[];
  isMatch(value: OracleValue): boolean;
}

export interface GeneratedSet {
  tables: OracleTable[];
  relations: OracleRelation[];
  /** The queries. `allMetrics` also lists the metrics that a query's metrics build on. */
  queries: (Omit<OracleQuery, 'filters'> & { filters: GeneratedFilter[]; allMetrics: OracleMetric[] })[];
}

const TABLE_NAMES = ['ta', 'tb', 'tc', 'td'];
const DATES = ['2023-12-31', '2024-01-01', '2024-02-29', '2024-03-31', '2024-07-07'];
const TEXTS = ['a', 'b', "c'd"];
/** The columns of every table besides `id`. */
export const COLUMNS = {
  key: 'integer',
  r1: 'integer',
  r2: 'integer',
  n: 'integer',
  x: 'decimal',
  s: 'text',
  d: 'date',
} as const;
export const POSTGRES_TYPES = { integer: 'bigint', decimal: 'numeric', text: 'text', date: 'date' } as const;

const arbitrarySmallInteger = fc.option(fc.integer({ min: -3, max: 6 }), { freq: 5 });
const row = fc.record({
  r1: fc.option(fc.integer({ min: 0, max: 7 }), { freq: 6 }),
  r2: fc.option(fc.integer({ min: 0, max: 7 }), { freq: 6 }),
  n: arbitrarySmallInteger,
  x: fc.option(fc.constantFrom(-1.5, 0, 0.25, 2, 10.5), { freq: 6 }),
  s: fc.option(fc.constantFrom(...TEXTS), { freq: 5 }),
  d: fc.option(fc.constantFrom(...DATES), { freq: 5 }),
});

const generateTable = (name: string): fc.Arbitrary<OracleTable> =>
  fc
    .tuple(
      fc.constantFrom(true, true, true, true, true, true, false),
      fc.array(row, { maxLength: 9 }),
      fc.integer({ min: 1, max: 4 }),
    )
    .map(([isUnique, rows, apart]) => ({
      name,
      uniqueColumns: isUnique ? ['key'] : [],
      rows: rows.map((listedRow, index) => ({ ...listedRow, key: isUnique ? index : index % apart })),
    }));

const relation: fc.Arbitrary<OracleRelation> = fc
  .tuple(
    fc.constantFrom(...TABLE_NAMES),
    fc.constantFrom(...TABLE_NAMES),
    fc.constantFrom('r1', 'r1', 'r1', 'r2', 'key'),
  )
  .filter(([many, one]) => many < one)
  .map(([many, one, column]) => ({ many: [many, column], one: [one, 'key'] }));

/** A way through all tables: most queries have an answer along it. */
const RELATION_CHAIN: OracleRelation[] = [
  { many: ['ta', 'r1'], one: ['tb', 'key'] },
  { many: ['tb', 'r1'], one: ['tc', 'key'] },
  { many: ['tc', 'r2'], one: ['td', 'key'] },
];

const tableName = fc.constantFrom('ta', 'ta', 'ta', 'tb', 'tb', 'tc', 'td');
const makeColumnPart = (name: string, column: string): ExpressionPart => ({
  sql: `${name}.${column}`,
  tables: [name],
  computeValue: (joinedRow) => joinedRow[name]?.[column] ?? null,
});

const arbitraryNumericPart: fc.Arbitrary<ExpressionPart> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(tableName, fc.constantFrom('n', 'x')).map(([name, column]) => makeColumnPart(name, column)),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(tableName, tableName, fc.constantFrom('*', '+')).map(([left, right, operator]) => {
      const [a, b] = [makeColumnPart(left, 'n'), makeColumnPart(right, 'x')];
      return {
        sql: `(${a.sql} ${operator} ${b.sql})`,
        tables: [left, right],
        computeValue: (joinedRow: Parameters<ExpressionPart['computeValue']>[0]) => {
          const [m, n] = [a.computeValue(joinedRow), b.computeValue(joinedRow)] as (number | null)[];
          if (m == null || n == null) return null;
          return operator === '*' ? m * n : m + n;
        },
      };
    }),
  },
);

const condition: fc.Arbitrary<ExpressionPart> = fc.oneof(
  fc.tuple(tableName, fc.integer({ min: -1, max: 4 })).map(([name, least]) => ({
    sql: `${name}.n >= ${least}`,
    tables: [name],
    computeValue: (joinedRow: Parameters<ExpressionPart['computeValue']>[0]) => {
      const n = joinedRow[name]?.n ?? null;
      return n === null ? null : (n as number) >= least;
    },
  })),
  fc.tuple(tableName, fc.constantFrom(...TEXTS)).map(([name, text]) => ({
    sql: `${name}.s = '${text.replaceAll("'", "''")}' OR ${name}.s IS NULL`,
    tables: [name],
    computeValue: (joinedRow: Parameters<ExpressionPart['computeValue']>[0]) => (joinedRow[name]?.s ?? text) === text,
  })),
);

const arbitraryAggregate: fc.Arbitrary<OracleFormula> = fc
  .tuple(
    fc.constantFrom(
      'sum' as const,
      'sum' as const,
      'avg' as const,
      'min' as const,
      'max' as const,
      'count' as const,
      'count_distinct' as const,
    ),
    fc.option(arbitraryNumericPart, { freq: 8 }),
    fc.option(condition, { freq: 2 }),
  )
  .map(([name, argument, filter]) => ({
    kind: 'aggregate',
    aggregate: { name: argument ? name : 'count', argument, filter },
  }));

const filters = fc.oneof(
  { weight: 3, arbitrary: fc.constant<ExpressionPart[]>([]) },
  { weight: 2, arbitrary: fc.array(condition, { maxLength: 2 }) },
);
const operator = fc.constantFrom('+' as const, '-' as const, '*' as const, '/' as const, '/' as const);

/** Three metrics, of which later ones may build on earlier ones. */
const metrics: fc.Arbitrary<OracleMetric[]> = fc
  .array(
    fc.record({
      formula: arbitraryAggregate,
      other: fc.option(arbitraryAggregate, { freq: 2 }),
      operator,
      on: fc.option(fc.nat(), { freq: 2 }),
      filters,
      table: tableName,
    }),
    {
      minLength: 3,
      maxLength: 3,
    },
  )
  .map((metricParts) => {
    const metrics: OracleMetric[] = [];
    for (const [index, { formula, other, operator, on, filters, table }] of metricParts.entries()) {
      const base = on === null ? undefined : metrics[on % Math.max(1, metrics.length)];
      const left: OracleFormula = base ? { kind: 'metric', metric: base } : formula;
      const fullFormula: OracleFormula = other ? { kind: 'operation', operator, left, right: other } : left;
      metrics.push({ name: `M ${index}`, table, formula: fullFormula, filters });
    }
    return metrics;
  });

const dimension = (name: string): fc.Arbitrary<OracleDimension> =>
  fc.tuple(tableName, fc.constantFrom('s', 'n', 'd'), filters).map(([of, column, filters]) => ({
    name,
    value: makeColumnPart(of, column),
    filters,
    isDate: column === 'd',
  }));

const compareValues = (left: OracleValue, right: OracleValue): number =>
  left === right ? 0 : (left as number) < (right as number) ? -1 : 1;

function makeFilter(dimension: OracleDimension, operator: GeneratedFilter['operator'], seed: number): GeneratedFilter {
  const pool: OracleValue[] = dimension.isDate ? DATES : dimension.value.sql.endsWith('.s') ? TEXTS : [0, 1, 2, 3];
  const first = pool[seed % pool.length] as OracleValue;
  const list = [first, pool[(seed + 1) % pool.length] as OracleValue];
  const operatorPredicates: Record<GeneratedFilter['operator'], (value: OracleValue) => boolean> = {
    eq: (value) => value === first,
    ne: (value) => value !== first,
    in: (value) => list.includes(value),
    nin: (value) => !list.includes(value),
    is_null: (value) => value === null,
    gte: (value) => value !== null && compareValues(value, first) >= 0,
    lt: (value) => value !== null && compareValues(value, first) < 0,
  };
  const values =
    operator === 'is_null' ? ['true'] : operator === 'in' || operator === 'nin' ? list.map(String) : [String(first)];
  return { dimension, operator, values, isMatch: operatorPredicates[operator] };
}

const query = fc
  .record({
    metrics,
    asked: fc.subarray([0, 1, 2], { minLength: 1 }),
    dimensions: fc.tuple(dimension('D 0'), dimension('D 1'), dimension('D 2')),
    grouped: fc.subarray([0, 1], { minLength: 0 }),
    grain: fc.constantFrom(
      'day' as const,
      'week' as const,
      'month' as const,
      'quarter' as const,
      'year' as const,
      null,
    ),
    filter: fc.option(
      fc.tuple(
        fc.constantFrom(
          'eq' as const,
          'ne' as const,
          'in' as const,
          'nin' as const,
          'is_null' as const,
          'gte' as const,
          'lt' as const,
        ),
        fc.nat({ max: 9 }),
      ),
      { freq: 2 },
    ),
  })
  .map(({ metrics, asked, dimensions, grouped, grain, filter }) => ({
    allMetrics: metrics,
    metrics: asked.map((index) => metrics[index] as OracleMetric),
    dimensions: grouped.map((index) => dimensions[index] as OracleDimension),
    grain,
    filters: filter ? [makeFilter(dimensions[2], ...filter)] : [],
  }));

/** Generates tables with rows, relations, and the given number of queries over them. */
export const makeArbitrarySet = (queryCount: number): fc.Arbitrary<GeneratedSet> =>
  fc.record({
    tables: fc.tuple(...TABLE_NAMES.map(generateTable)) as unknown as fc.Arbitrary<OracleTable[]>,
    relations: fc
      .tuple(
        fc.subarray(RELATION_CHAIN, { minLength: 2 }),
        fc.oneof(fc.constant([]), fc.constant([]), fc.array(relation, { maxLength: 3 })),
      )
      .map(([chain, others]) => [...chain, ...others]),
    queries: fc.array(query, { minLength: queryCount, maxLength: queryCount }),
  });

export const formatFormula = (formula: OracleFormula): string => {
  if (formula.kind === 'metric') return `{{${formula.metric.name}}}`;
  if (formula.kind === 'operation')
    return `(${formatFormula(formula.left)} ${formula.operator} ${formatFormula(formula.right)})`;
  const { name, argument, filter } = formula.aggregate;
  const callSql = name === 'count_distinct' ? `count(DISTINCT ${argument?.sql})` : `${name}(${argument?.sql ?? '*'})`;
  return filter ? `${callSql} FILTER (WHERE ${filter.sql})` : callSql;
};

/** Returns the tables that a metric itself uses: its own, and those that its formula and its filters name. */
export const listUsedTables = ({ table, formula, filters }: OracleMetric): string[] => {
  const listFormulaTables = (innerFormula: OracleFormula): string[] =>
    innerFormula.kind === 'operation'
      ? [...listFormulaTables(innerFormula.left), ...listFormulaTables(innerFormula.right)]
      : innerFormula.kind === 'aggregate'
        ? [...(innerFormula.aggregate.argument?.tables ?? []), ...(innerFormula.aggregate.filter?.tables ?? [])]
        : [];
  return [...new Set([table, ...listFormulaTables(formula), ...filters.flatMap((filter) => filter.tables)])];
};

export const formatRows = (rows: readonly OracleRow[]): string =>
  rows
    .map((row) =>
      Object.keys(COLUMNS)
        .map((column) => formatLiteral(row[column] ?? null))
        .join(', '),
    )
    .map((rowSql) => `(${rowSql})`)
    .join(', ');

const formatLiteral = (value: OracleValue): string =>
  value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`;
