/** The tables of TPC-H at a small scale, with the values that its questions ask for. */

let state = 1;
const random = (below: number): number => {
  state = (state * 48_271) % 2_147_483_647;
  return state % below;
};
const pickOne = <T>(of: readonly T[]): T => of[random(of.length)] as T;
const addDays = (from: string, days: number): string =>
  new Date(Date.parse(from) + days * 86_400_000).toISOString().slice(0, 10);
const makeAmount = (most: number): string => `${random(most)}.${String(random(100)).padStart(2, '0')}`;
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
const TYPES = ['PROMO BURNISHED COPPER', 'ECONOMY ANODIZED STEEL', 'MEDIUM POLISHED TIN', 'STANDARD BRUSHED BRASS'];
const CONTAINERS = ['SM CASE', 'SM BOX', 'MED BAG', 'MED BOX', 'LG CASE', 'LG BOX', 'WRAP JAR'];
const COLOURS = ['green', 'ivory', 'forest', 'blush'];
const PRIORITIES = ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'];
const MODES = ['AIR', 'AIR REG', 'MAIL', 'SHIP', 'TRUCK'];

type Values = (string | number)[];

/** Columns with their types, the unique ones with a `!`, and rows. */
export interface TpchTable {
  columns: string;
  rows: Values[];
}

const nations = NATIONS.map(([name, region], index): Values => [index + 1, name, REGIONS.indexOf(region) + 1]);
const regions = REGIONS.map((name, index): Values => [index + 1, name]);
const parts = makeRange(40).map(
  (key): Values => [
    key,
    `${pickOne(COLOURS)} ${pickOne(COLOURS)}`,
    `Brand#${pickOne([12, 23, 34, 45])}`,
    pickOne(TYPES),
    pickOne([1, 3, 5, 9, 14]),
    pickOne(CONTAINERS),
  ],
);
const suppliers = makeRange(12).map(
  (key): Values => [
    key,
    `Supplier#${key}`,
    1 + random(NATIONS.length),
    pickOne(['fine', 'Customer said Complaints', 'quick']),
  ],
);
const partsupps = parts.flatMap(([part]) =>
  makeRange(3).map((index): Values => {
    const supplier = 1 + (((part as number) + index * 4) % suppliers.length);
    return [`${part}-${supplier}`, part as number, supplier, 1 + random(99), makeAmount(900)];
  }),
);
const customers = makeRange(30).map(
  (key): Values => [
    key,
    `Customer#${key}`,
    1 + random(NATIONS.length),
    pickOne(['BUILDING', 'MACHINERY']),
    makeAmount(5000),
    `1-${key}`,
    `Street ${key}`,
    `comment ${key}`,
  ],
);
const orders = makeRange(400).map(
  (key): Values => [key, 1 + random(customers.length), addDays('1993-01-01', random(1800)), pickOne(PRIORITIES), 0],
);
const lineitems = orders.flatMap(([order, , date]) =>
  makeRange(1 + random(4)).map((line): Values => {
    const [partsupp, part, supplier] = pickOne(partsupps) as [string, number, number];
    const shipped = addDays(date as string, 1 + random(90));
    return [
      order as number,
      line,
      part,
      supplier,
      partsupp,
      1 + random(50),
      makeAmount(90_000),
      `0.0${random(10)}`,
      `0.0${random(9)}`,
      pickOne(['R', 'A', 'N']),
      pickOne(['O', 'F']),
      shipped,
      addDays(date as string, 30 + random(60)),
      addDays(shipped, 1 + random(30)),
      pickOne(['DELIVER IN PERSON', 'NONE']),
      pickOne(MODES),
    ];
  }),
);

const NATION = 'n_nationkey integer!, n_name text, n_regionkey integer';
const REGION = 'r_regionkey integer!, r_name text';
/** Each role of nations and regions is a table of its own besides. */
export const TPCH: Record<string, TpchTable> = {
  region: { columns: REGION, rows: regions },
  nation: { columns: NATION, rows: nations },
  customer_region: { columns: REGION, rows: regions },
  customer_nation: { columns: NATION, rows: nations },
  supplier_nation: { columns: NATION, rows: nations },
  part: {
    columns: 'p_partkey integer!, p_name text, p_brand text, p_type text, p_size integer, p_container text',
    rows: parts,
  },
  supplier: { columns: 's_suppkey integer!, s_name text, s_nationkey integer, s_comment text', rows: suppliers },
  partsupp: {
    columns: 'ps_key text!, ps_partkey integer, ps_suppkey integer, ps_availqty integer, ps_supplycost decimal',
    rows: partsupps,
  },
  customer: {
    columns:
      'c_custkey integer!, c_name text, c_nationkey integer, c_mktsegment text, c_acctbal decimal, c_phone text, c_address text, c_comment text',
    rows: customers,
  },
  orders: {
    columns: 'o_orderkey integer!, o_custkey integer, o_orderdate date, o_orderpriority text, o_shippriority integer',
    rows: orders,
  },
  lineitem: {
    columns:
      'l_orderkey integer, l_linenumber integer, l_partkey integer, l_suppkey integer, l_partsupp text, l_quantity integer, l_extendedprice decimal, l_discount decimal, l_tax decimal, l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct text, l_shipmode text',
    rows: lineitems,
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
