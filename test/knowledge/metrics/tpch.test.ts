import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../../src/kernel/ids.ts';
import { compileQuery, type MetricQuery } from '../../../src/modules/knowledge/metrics/compile.ts';
import type { SemanticItem } from '../../../src/modules/knowledge/metrics/definition.ts';
import type { Table } from '../../../src/modules/knowledge/metrics/expression.ts';
import { MetricModel } from '../../../src/modules/knowledge/metrics/model.ts';
import type { TenantSql } from '../../../src/tenant-sql/client.ts';
import type { ColumnType } from '../../../src/tenant-sql/columns.ts';
import type { FilterOperator } from '../../../src/tenant-sql/row-filters.ts';
import { createTenant } from '../../support/tenant.ts';
import { POSTGRES_TYPES } from './generated.ts';
import { TPCH_RELATIONS, TPCH_TABLES } from './tpch-tables.ts';

let owner: TenantSql;
const tables: Table[] = Object.entries(TPCH_TABLES).map(([name, { columns }]) => {
  const parsedColumns = columns.split(', ').map((column) => column.split(' ') as [string, string]);
  return {
    id: name,
    name,
    version: 1,
    columns: parsedColumns.map(([column, type]) => ({ name: column, type: type.replace('!', '') as ColumnType })),
    uniqueColumns: new Set(parsedColumns.flatMap(([column, type]) => (type.endsWith('!') ? [column] : []))),
  };
});

beforeAll(async () => {
  owner = (await createTenant(newId(Date.now()))).openOwnerSql();
  for (const { name, columns } of tables) {
    const columnTypes = columns.map(
      (column) => `${column.name} ${POSTGRES_TYPES[column.type as keyof typeof POSTGRES_TYPES]}`,
    );
    const rows = (TPCH_TABLES[name]?.rows ?? []).map((row) => `(${row.map((value) => `'${value}'`).join(', ')})`);
    await owner.query(`CREATE TABLE public.${name} (${columnTypes.join(', ')})`);
    await owner.query(`INSERT INTO public.${name} VALUES ${rows.join(', ')}`);
  }
});
afterAll(() => owner.close());

const TABLE_NAMES = tables.map(({ name }) => name);
const makeItem = (kind: SemanticItem['kind'], formula: string, filters: string[] = []): SemanticItem => ({
  id: formula + filters.join(),
  kind,
  name: formula,
  formula,
  filters,
  aggregation: null,
  mapped_tables: TABLE_NAMES,
  mapped_columns: [],
  mapped_relations: [],
});

const REVENUE_FORMULA = 'sum(l_extendedprice * (1 - l_discount))';

interface TpchQuestion {
  metrics: SemanticItem[];
  dimensions?: string[];
  filters?: [string, FilterOperator, ...string[]][];
  orderBy?: [number, boolean][];
  limit?: number;
  /** Relations in addition to those of the schema. */
  relations?: string[];
  /** The SQL of the TPC-H question, with its columns in the order of the metric query. */
  sql: string;
}

const makeMetric = (formula: string, ...filters: string[]): SemanticItem => makeItem('metric', formula, filters);

const QUESTIONS: Record<string, TpchQuestion> = {
  'Q1, a pricing summary': {
    metrics: [
      'sum(l_quantity)',
      'sum(l_extendedprice)',
      REVENUE_FORMULA,
      'sum(l_extendedprice * (1 - l_discount) * (1 + l_tax))',
      'avg(l_quantity)',
      'avg(l_extendedprice)',
      'avg(l_discount)',
      'count(l_orderkey)',
    ].map((formula) => makeMetric(formula)),
    dimensions: ['l_returnflag', 'l_linestatus'],
    filters: [['l_shipdate', 'lte', '1998-09-02']],
    sql: `SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
      sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
      FROM lineitem WHERE l_shipdate <= date '1998-12-01' - interval '90' day GROUP BY 1, 2 ORDER BY 1, 2`,
  },
  'Q3, shipping priorities': {
    metrics: [makeMetric(REVENUE_FORMULA)],
    dimensions: ['l_orderkey', 'o_orderdate', 'o_shippriority'],
    filters: [
      ['c_mktsegment', 'eq', 'BUILDING'],
      ['o_orderdate', 'lt', '1995-03-15'],
      ['l_shipdate', 'gt', '1995-03-15'],
    ],
    orderBy: [
      [3, true],
      [1, false],
    ],
    limit: 10,
    sql: `SELECT l_orderkey, o_orderdate, o_shippriority, sum(l_extendedprice * (1 - l_discount)) FROM customer, orders, lineitem
      WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < '1995-03-15'
      AND l_shipdate > '1995-03-15' GROUP BY 1, 2, 3 ORDER BY 4 DESC, 2 LIMIT 10`,
  },
  'Q4, orders checked by priority': {
    metrics: [makeMetric('count(DISTINCT l_orderkey)', 'l_commitdate < l_receiptdate')],
    dimensions: ['o_orderpriority'],
    filters: [
      ['o_orderdate', 'gte', '1993-07-01'],
      ['o_orderdate', 'lt', '1993-10-01'],
    ],
    sql: `SELECT o_orderpriority, count(*) FROM orders WHERE o_orderdate >= '1993-07-01' AND o_orderdate < '1993-10-01'
      AND EXISTS (SELECT FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY 1 ORDER BY 1`,
  },
  'Q5, volume of local suppliers': {
    metrics: [makeMetric(REVENUE_FORMULA, 'c_nationkey = s_nationkey')],
    dimensions: ['customer_nation.n_name'],
    filters: [
      ['customer_region.r_name', 'eq', 'ASIA'],
      ['o_orderdate', 'gte', '1994-01-01'],
      ['o_orderdate', 'lt', '1995-01-01'],
    ],
    orderBy: [[1, true]],
    sql: `SELECT n_name, sum(l_extendedprice * (1 - l_discount)) FROM customer, orders, lineitem, supplier, nation, region
      WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
      AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA' AND o_orderdate >= '1994-01-01'
      AND o_orderdate < '1995-01-01' GROUP BY 1 ORDER BY 2 DESC`,
  },
  'Q6, a change of revenue': {
    metrics: [makeMetric('sum(l_extendedprice * l_discount)', 'l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01')],
    filters: [
      ['l_shipdate', 'gte', '1994-01-01'],
      ['l_shipdate', 'lt', '1995-01-01'],
      ['l_quantity', 'lt', '24'],
    ],
    sql: `SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01'
      AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24`,
  },
  'Q7, volume shipped between nations': {
    metrics: [
      makeMetric(
        REVENUE_FORMULA,
        "supplier_nation.n_name = 'FRANCE' AND customer_nation.n_name = 'GERMANY' OR supplier_nation.n_name = 'GERMANY' AND customer_nation.n_name = 'FRANCE'",
      ),
    ],
    dimensions: ['supplier_nation.n_name', 'customer_nation.n_name', 'extract(year FROM l_shipdate)'],
    filters: [
      ['l_shipdate', 'gte', '1995-01-01'],
      ['l_shipdate', 'lte', '1996-12-31'],
    ],
    sql: `SELECT n1.n_name, n2.n_name, extract(year FROM l_shipdate), sum(l_extendedprice * (1 - l_discount))
      FROM supplier, lineitem, orders, customer, nation n1, nation n2 WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey
      AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey AND ((n1.n_name = 'FRANCE'
      AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
      AND l_shipdate BETWEEN '1995-01-01' AND '1996-12-31' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  },
  'Q8, a share of the market': {
    metrics: [
      makeMetric(
        "sum(CASE WHEN supplier_nation.n_name = 'BRAZIL' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / sum(l_extendedprice * (1 - l_discount))",
      ),
    ],
    dimensions: ['extract(year FROM o_orderdate)'],
    filters: [
      ['customer_region.r_name', 'eq', 'AMERICA'],
      ['o_orderdate', 'gte', '1995-01-01'],
      ['o_orderdate', 'lte', '1996-12-31'],
      ['p_type', 'eq', 'ECONOMY ANODIZED STEEL'],
    ],
    sql: `SELECT o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) FROM (
      SELECT extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
      FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region WHERE p_partkey = l_partkey
      AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey
      AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey
      AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31' AND p_type = 'ECONOMY ANODIZED STEEL') AS a GROUP BY 1 ORDER BY 1`,
  },
  'Q9, profit by nation and year': {
    metrics: [
      makeMetric('sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)', "p_name LIKE '%green%'"),
    ],
    dimensions: ['supplier_nation.n_name', 'extract(year FROM o_orderdate)'],
    relations: ['lineitem.l_partsupp = partsupp.ps_key'],
    orderBy: [
      [0, false],
      [1, true],
    ],
    sql: `SELECT n_name, extract(year FROM o_orderdate), sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)
      FROM part, supplier, lineitem, partsupp, orders, nation WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey
      AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey
      AND p_name LIKE '%green%' GROUP BY 1, 2 ORDER BY 1, 2 DESC`,
  },
  'Q10, customers who return items': {
    metrics: [makeMetric(REVENUE_FORMULA)],
    dimensions: ['c_custkey', 'c_name', 'c_acctbal', 'customer_nation.n_name', 'c_address', 'c_phone', 'c_comment'],
    filters: [
      ['o_orderdate', 'gte', '1993-10-01'],
      ['o_orderdate', 'lt', '1994-01-01'],
      ['l_returnflag', 'eq', 'R'],
    ],
    orderBy: [[7, true]],
    limit: 20,
    sql: `SELECT c_custkey, c_name, c_acctbal, n_name, c_address, c_phone, c_comment, sum(l_extendedprice * (1 - l_discount))
      FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey
      AND o_orderdate >= '1993-10-01' AND o_orderdate < '1994-01-01' AND l_returnflag = 'R' AND c_nationkey = n_nationkey
      GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 8 DESC LIMIT 20`,
  },
  'Q12, shipping modes and priorities': {
    metrics: [
      makeMetric(
        "count(l_orderkey) FILTER (WHERE o_orderpriority IN ('1-URGENT', '2-HIGH'))",
        'l_commitdate < l_receiptdate AND l_shipdate < l_commitdate',
      ),
      makeMetric(
        "count(l_orderkey) FILTER (WHERE o_orderpriority NOT IN ('1-URGENT', '2-HIGH'))",
        'l_commitdate < l_receiptdate AND l_shipdate < l_commitdate',
      ),
    ],
    dimensions: ['l_shipmode'],
    filters: [
      ['l_shipmode', 'in', 'MAIL', 'SHIP'],
      ['l_receiptdate', 'gte', '1994-01-01'],
      ['l_receiptdate', 'lt', '1995-01-01'],
    ],
    sql: `SELECT l_shipmode, sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END),
      sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) FROM orders, lineitem
      WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
      AND l_shipdate < l_commitdate AND l_receiptdate >= '1994-01-01' AND l_receiptdate < '1995-01-01' GROUP BY 1 ORDER BY 1`,
  },
  'Q14, the effect of a promotion': {
    metrics: [
      makeMetric(
        "100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / sum(l_extendedprice * (1 - l_discount))",
      ),
    ],
    filters: [
      ['l_shipdate', 'gte', '1995-09-01'],
      ['l_shipdate', 'lt', '1995-10-01'],
    ],
    sql: `SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
      / sum(l_extendedprice * (1 - l_discount)) FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= '1995-09-01'
      AND l_shipdate < '1995-10-01'`,
  },
  'Q15, the top supplier': {
    metrics: [makeMetric(REVENUE_FORMULA)],
    dimensions: ['s_suppkey', 's_name'],
    filters: [
      ['l_shipdate', 'gte', '1996-01-01'],
      ['l_shipdate', 'lt', '1996-04-01'],
    ],
    orderBy: [[2, true]],
    limit: 1,
    sql: `WITH revenue AS (SELECT l_suppkey AS key, sum(l_extendedprice * (1 - l_discount)) AS total FROM lineitem
      WHERE l_shipdate >= '1996-01-01' AND l_shipdate < '1996-04-01' GROUP BY 1) SELECT s_suppkey, s_name, total
      FROM supplier, revenue WHERE s_suppkey = key AND total = (SELECT max(total) FROM revenue)`,
  },
  'Q16, suppliers of parts': {
    metrics: [
      makeMetric(
        'count(DISTINCT ps_suppkey)',
        "p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'",
        "s_comment NOT LIKE '%Customer%Complaints%'",
      ),
    ],
    dimensions: ['p_brand', 'p_type', 'p_size'],
    filters: [['p_size', 'in', '14', '9', '3']],
    relations: ['partsupp.ps_partkey = part.p_partkey', 'partsupp.ps_suppkey = supplier.s_suppkey'],
    orderBy: [
      [3, true],
      [0, false],
    ],
    sql: `SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) FROM partsupp, part WHERE p_partkey = ps_partkey
      AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (14, 9, 3) AND ps_suppkey NOT IN
      (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%') GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3`,
  },
  'Q19, discounted revenue': {
    metrics: [
      makeMetric(
        REVENUE_FORMULA,
        `p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX') AND l_quantity BETWEEN 1 AND 11
         OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX') AND l_quantity BETWEEN 10 AND 20
         OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX') AND l_quantity BETWEEN 20 AND 30`,
        "l_shipinstruct = 'DELIVER IN PERSON'",
      ),
    ],
    filters: [['l_shipmode', 'in', 'AIR', 'AIR REG']],
    sql: `SELECT sum(l_extendedprice * (1 - l_discount)) FROM lineitem, part WHERE p_partkey = l_partkey AND
      l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (
      (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX') AND l_quantity >= 1 AND l_quantity <= 11)
      OR (p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX') AND l_quantity >= 10 AND l_quantity <= 20)
      OR (p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX') AND l_quantity >= 20 AND l_quantity <= 30))`,
  },
};

const toDay = (value: unknown): unknown => (value instanceof Date ? value.toISOString().slice(0, 10) : value);
const toPlainRows = (rows: unknown[][]): unknown[][] =>
  rows.map((row) =>
    row.map((value) => (/^-?\d+(\.\d+)?$/.test(String(value)) ? Number(Number(value).toPrecision(12)) : toDay(value))),
  );

it.each(Object.entries(QUESTIONS))(
  'a metric query returns the same rows as the SQL of TPC-H %s',
  async (_, { metrics, dimensions = [], filters = [], orderBy = [], relations = [], limit = 1000, sql }) => {
    const query: MetricQuery = {
      metrics,
      dimensions: dimensions.map((formula) => makeItem('dimension', formula)),
      filters: filters.map(([formula, operator, ...values]) => ({
        dimension: makeItem('dimension', formula),
        operator,
        values,
      })),
      timeGrain: null,
      orderBy: orderBy.map(([column, descending]) => ({ column, descending })),
      limit,
    };
    const { statement } = compileQuery(
      new MetricModel(tables, [...TPCH_RELATIONS, ...relations], () => undefined),
      query,
    );
    const { rows } = await (await owner.connect()).query({
      text: statement.text,
      values: statement.values,
      rowMode: 'array',
    });
    const expectedRows = await (await owner.connect()).query({
      text: `SET search_path TO public; ${sql}`,
      rowMode: 'array',
    });
    const lastRow = Array.isArray(expectedRows) ? expectedRows.at(-1) : expectedRows;
    const right = toPlainRows(lastRow.rows);
    expect(right.length).toBeGreaterThan(0);
    expect(right[0]?.at(-1)).not.toBeNull();
    expect(toPlainRows(rows.slice(0, limit))).toEqual(right);
  },
);
