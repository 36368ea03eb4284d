/** This module makes the tables of TPC-H at a small scale, with the values that its questions use. */

let state = 1;
const pickInteger = (exclusiveMax: number): number => {
  state = (state * 48_271) % 2_147_483_647;
  return state % exclusiveMax;
};
const pickValue = <T>(values: readonly T[]): T => values[pickInteger(values.length)] as T;
const addDays = (from: string, days: number): string =>
  new Date(Date.parse(from) + days * 86_400_000).toISOString().slice(0, 10);
const makeAmount = (exclusiveMax: number): string =>
  `${pickInteger(exclusiveMax)}.${String(pickInteger(100)).padStart(2, '0')}`;
const makeRange = (length: number): number[] => Array.from({ length }, (_, index) => index + 1);

const REGIONS = ['AFRICA', 'AMERICA', 'ASIA', 'EUROPE'];
const NATIONS: [string, string][] = [
  ['KENYA', 'AFRICA'],
  ['BRAZIL', 'AMERICA'],
  ['PERU', 'AMERICA'],
  ['INDIA', 'ASIA'],
  ['JAPAN', 'ASIA'],
  ['FRANCE', 'EUROPE'],
  ['GERMANY', 'EUROPE'],
];
const PART_TYPES = [
  'PROMO BURNISHED COPPER',
  'ECONOMY ANODIZED STEEL',
  'MEDIUM POLISHED TIN',
  'STANDARD BRUSHED BRASS',
];
const CONTAINERS = ['SM CASE', 'SM BOX', 'MED BAG', 'MED BOX', 'LG CASE', 'LG BOX', 'WRAP JAR'];
const COLOURS = ['green', 'ivory', 'forest', 'blush'];
const PRIORITIES = ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'];
const SHIP_MODES = ['AIR', 'AIR REG', 'MAIL', 'SHIP', 'TRUCK'];

type RowValues = (string | number)[];

/** A table: its columns with their types, a `!` after the type of unique columns, and its rows. */
export interface TpchTable {
  columns: string;
  rows: RowValues[];
}

const NATION_ROWS = NATIONS.map(([name, region], index): RowValues => [index + 1, name, REGIONS.indexOf(region) + 1]);
const REGION_ROWS = REGIONS.map((name, index): RowValues => [index + 1, name]);
const parts = makeRange(40).map(
  (key): RowValues => [
    key,
    `${pickValue(COLOURS)} ${pickValue(COLOURS)}`,
    `Brand#${pickValue([12, 23, 34, 45])}`,
    pickValue(PART_TYPES),
    pickValue([1, 3, 5, 9, 14]),
    pickValue(CONTAINERS),
  ],
);
const SUPPLIER_ROWS = makeRange(12).map(
  (key): RowValues => [
    key,
    `Supplier#${key}`,
    1 + pickInteger(NATIONS.length),
    pickValue(['fine', 'Customer said Complaints', 'quick']),
  ],
);
const PARTSUPP_ROWS = parts.flatMap(([part]) =>
  makeRange(3).map((index): RowValues => {
    const supplier = 1 + (((part as number) + index * 4) % SUPPLIER_ROWS.length);
    return [`${part}-${supplier}`, part as number, supplier, 1 + pickInteger(99), makeAmount(900)];
  }),
);
const CUSTOMER_ROWS = makeRange(30).map(
  (key): RowValues => [
    key,
    `Customer#${key}`,
    1 + pickInteger(NATIONS.length),
    pickValue(['BUILDING', 'MACHINERY']),
    makeAmount(5000),
    `1-${key}`,
    `Street ${key}`,
    `comment ${key}`,
  ],
);
const ORDER_ROWS = makeRange(400).map(
  (key): RowValues => [
    key,
    1 + pickInteger(CUSTOMER_ROWS.length),
    addDays('1993-01-01', pickInteger(1800)),
    pickValue(PRIORITIES),
    0,
  ],
);
const LINEITEM_ROWS = ORDER_ROWS.flatMap(([order, , date]) =>
  makeRange(1 + pickInteger(4)).map((line): RowValues => {
    const [partsupp, part, supplier] = pickValue(PARTSUPP_ROWS) as [string, number, number];
    const shipDate = addDays(date as string, 1 + pickInteger(90));
    return [
      order as number,
      line,
      part,
      supplier,
      partsupp,
      1 + pickInteger(50),
      makeAmount(90_000),
      `0.0${pickInteger(10)}`,
      `0.0${pickInteger(9)}`,
      pickValue(['R', 'A', 'N']),
      pickValue(['O', 'F']),
      shipDate,
      addDays(date as string, 30 + pickInteger(60)),
      addDays(shipDate, 1 + pickInteger(30)),
      pickValue(['DELIVER IN PERSON', 'NONE']),
      pickValue(SHIP_MODES),
    ];
  }),
);

const NATION_COLUMNS = 'n_nationkey integer!, n_name text, n_regionkey integer';
const REGION_COLUMNS = 'r_regionkey integer!, r_name text';
/** All tables. As nations and regions have several roles in questions, each role is a separate table, too. */
export const TPCH_TABLES: Record<string, TpchTable> = {
  region: { columns: REGION_COLUMNS, rows: REGION_ROWS },
  nation: { columns: NATION_COLUMNS, rows: NATION_ROWS },
  customer_region: { columns: REGION_COLUMNS, rows: REGION_ROWS },
  customer_nation: { columns: NATION_COLUMNS, rows: NATION_ROWS },
  supplier_nation: { columns: NATION_COLUMNS, rows: NATION_ROWS },
  part: {
    columns: 'p_partkey integer!, p_name text, p_brand text, p_type text, p_size integer, p_container text',
    rows: parts,
  },
  supplier: { columns: 's_suppkey integer!, s_name text, s_nationkey integer, s_comment text', rows: SUPPLIER_ROWS },
  partsupp: {
    columns: 'ps_key text!, ps_partkey integer, ps_suppkey integer, ps_availqty integer, ps_supplycost decimal',
    rows: PARTSUPP_ROWS,
  },
  customer: {
    columns:
      'c_custkey integer!, c_name text, c_nationkey integer, c_mktsegment text, c_acctbal decimal, c_phone text, c_address text, c_comment text',
    rows: CUSTOMER_ROWS,
  },
  orders: {
    columns: 'o_orderkey integer!, o_custkey integer, o_orderdate date, o_orderpriority text, o_shippriority integer',
    rows: ORDER_ROWS,
  },
  lineitem: {
    columns:
      'l_orderkey integer, l_linenumber integer, l_partkey integer, l_suppkey integer, l_partsupp text, l_quantity integer, l_extendedprice decimal, l_discount decimal, l_tax decimal, l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct text, l_shipmode text',
    rows: LINEITEM_ROWS,
  },
};

export const TPCH_RELATIONS = [
  'lineitem.l_orderkey = orders.o_orderkey',
  'lineitem.l_partkey = part.p_partkey',
  'lineitem.l_suppkey = supplier.s_suppkey',
  'orders.o_custkey = customer.c_custkey',
  'customer.c_nationkey = customer_nation.n_nationkey',
  'customer_nation.n_regionkey = customer_region.r_regionkey',
  'supplier.s_nationkey = supplier_nation.n_nationkey',
];
