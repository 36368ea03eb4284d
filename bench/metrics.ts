/**
 * Measures the statements that metric queries are compiled to, over tables of 1M, 100,000 and 1,000 rows, beside the fastest
 * of several statements written by hand for the same question, in the same Postgres and run.
 *
 *   npm run bench -- metrics   (or: npx node bench/metrics.ts)
 *
 * A compiled statement must cost at most 1.2 times the fastest, and answer the same.
 */
import { Client } from 'pg';
import { type System, startSystem } from './system.ts';
import { computeMedian, makeUpperLimit, printVerdict } from './verdict.ts';

const MAX_RATIO = 1.2;
const ROUND_COUNT = 9;
const ROW_COUNTS = { lines: 1_000_000, orders: 100_000, customers: 1_000 };

interface Question {
  title: string;
  metrics: string[];
  handWrittenSql: string[];
}

const JOINED_TABLES_SQL = `bench_lines AS l LEFT JOIN bench_orders AS o ON o.code = l.order_code
  LEFT JOIN bench_customers AS c ON c.code = o.customer_code`;
const ORDERS_BY_SEGMENT_SQL = `SELECT c.segment, count(*) AS orders FROM bench_orders AS o
  LEFT JOIN bench_customers AS c ON c.code = o.customer_code GROUP BY 1`;
const AMOUNT_BY_ORDER_SQL = 'SELECT order_code, sum(amount) AS amount FROM bench_lines GROUP BY 1';

const QUESTIONS: Question[] = [
  {
    title: 'the sum of 1M rows by a column two joins away',
    metrics: ['Bench amount'],
    handWrittenSql: [
      `SELECT c.segment, sum(l.amount) FROM ${JOINED_TABLES_SQL} GROUP BY 1 ORDER BY 1`,
      `SELECT c.segment, sum(l.amount) FROM (${AMOUNT_BY_ORDER_SQL}) AS l LEFT JOIN bench_orders AS o ON o.code = l.order_code
        LEFT JOIN bench_customers AS c ON c.code = o.customer_code GROUP BY 1 ORDER BY 1`,
    ],
  },
  {
    title: 'a ratio of sums of 1M and of 100,000 rows by a column of a third table',
    metrics: ['Bench average'],
    handWrittenSql: [
      `SELECT a.segment, a.amount / o.orders FROM (SELECT c.segment, sum(l.amount) AS amount FROM ${JOINED_TABLES_SQL} GROUP BY 1) AS a
        LEFT JOIN (${ORDERS_BY_SEGMENT_SQL}) AS o ON o.segment IS NOT DISTINCT FROM a.segment ORDER BY 1`,
      `SELECT c.segment, sum(l.amount) / count(o.code) FROM bench_orders AS o
        LEFT JOIN (${AMOUNT_BY_ORDER_SQL}) AS l ON l.order_code = o.code LEFT JOIN bench_customers AS c ON c.code = o.customer_code
        GROUP BY 1 ORDER BY 1`,
    ],
  },
];

const makeColumn = (name: string, type: string) => ({ name, display_name: name, type, nullable: true });
type Column = ReturnType<typeof makeColumn>;

async function makeTable(system: System, name: string, columns: Column[]): Promise<void> {
  const { _id } = await system.call('POST', '/v1/managed-tables', { display_name: name, columns });
  const hasCode = columns.some((column) => column.name === 'code');
  if (hasCode) await system.call('POST', `/v1/managed-tables/${_id}/indexes`, { columns: ['code'], unique: true });
}

async function makeItems(system: System): Promise<void> {
  const path = '/api/v1/domain-knowledge';
  const concept = await system.call('POST', `${path}/concepts`, { name: 'Sales', description: 'What was sold.' });
  const makeItem = (kind: string, name: string, fields: object) =>
    system.call('POST', `${path}/semantic`, {
      kind,
      name,
      description: 'x',
      status: 'active',
      source_concept_ids: [concept._id],
      ...fields,
    });
  const mapped_relations = [
    'bench_lines.order_code = bench_orders.code',
    'bench_orders.customer_code = bench_customers.code',
  ];
  await makeItem('mapping', 'Bench joins', { mapped_relations });
  await makeItem('metric', 'Bench amount', { formula: 'sum(amount)', mapped_tables: ['bench_lines'] });
  await makeItem('metric', 'Bench orders', { formula: 'count(*)', mapped_tables: ['bench_orders'] });
  await makeItem('metric', 'Bench average', { formula: '{{Bench amount}} / {{Bench orders}}' });
  await makeItem('dimension', 'Bench segment', { mapped_columns: ['bench_customers.segment'] });
}

async function fillTables(client: Client): Promise<void> {
  await client.query(`INSERT INTO bench_customers (code, segment) SELECT n, 'segment ' || n % 20 FROM generate_series(1, ${ROW_COUNTS.customers}) AS n;
    INSERT INTO bench_orders (code, customer_code) SELECT n, 1 + n * 7919 % ${ROW_COUNTS.customers} FROM generate_series(1, ${ROW_COUNTS.orders}) AS n;
    INSERT INTO bench_lines (order_code, amount) SELECT 1 + n::bigint * 7919 % ${ROW_COUNTS.orders}, n % 997 + 0.25 FROM generate_series(1, ${ROW_COUNTS.lines}) AS n`);
  await client.query('VACUUM ANALYZE bench_customers');
  await client.query('VACUUM ANALYZE bench_orders');
  await client.query('VACUUM ANALYZE bench_lines');
}

/** Returns the values of an answer as text, decimals without the trailing digits of their scale. */
const toPlainValues = (rows: unknown[][]): string =>
  JSON.stringify(rows.map(([group, value]) => [group, Number(value).toPrecision(12)]));

const system = await startSystem();
try {
  await makeTable(system, 'bench_customers', [makeColumn('code', 'integer'), makeColumn('segment', 'text')]);
  await makeTable(system, 'bench_orders', [makeColumn('code', 'integer'), makeColumn('customer_code', 'integer')]);
  await makeTable(system, 'bench_lines', [makeColumn('order_code', 'integer'), makeColumn('amount', 'decimal')]);
  await makeItems(system);
  const client = new Client({ connectionString: system.postgresUrl });
  await client.connect();
  try {
    await fillTables(client);
    for (const { title, metrics, handWrittenSql } of QUESTIONS) {
      const body = { metrics, dimensions: ['Bench segment'] };
      const { sql, rows } = await system.call('POST', '/api/v1/domain-knowledge/semantic/query', body);
      // Without filters and texts only the number of rows is bound.
      const statements = [
        { text: sql as string, values: ['1001'] },
        ...handWrittenSql.map((text) => ({ text, values: [] })),
      ];
      const times = statements.map((): number[] => []);
      for (let round = 0; round <= ROUND_COUNT; round++) {
        for (const [index, statement] of statements.entries()) {
          const startedAt = performance.now();
          const result = await client.query({ ...statement, rowMode: 'array' });
          if (round > 0) times[index]?.push(performance.now() - startedAt);
          if (toPlainValues(result.rows) !== toPlainValues(rows)) throw new Error(`another answer: ${statement.text}`);
        }
      }
      const [ours, ...others] = times.map(computeMedian) as [number, ...number[]];
      console.log(`compiled ${ours.toFixed(0)} ms, by hand ${others.map((time) => time.toFixed(0)).join(' and ')} ms`);
      printVerdict(
        `${title}, against the fastest statement by hand`,
        ours / Math.min(...others),
        makeUpperLimit(MAX_RATIO),
      );
    }
  } finally {
    await client.end();
  }
} finally {
  await system.stop();
}
