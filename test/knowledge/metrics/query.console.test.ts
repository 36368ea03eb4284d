import { describe, expect, it, vi } from 'vitest';
import { parseMetric } from '../../../src/modules/knowledge/metrics/definition.ts';
import { type Table, TextBudget } from '../../../src/modules/knowledge/metrics/expression.ts';
import { createTable, createTableClient, makeColumn } from '../../managed-tables/support.ts';
import { createAllowedUser, createProvisionedCompany } from '../../support/companies.ts';
import { readStatusAndCode } from '../../support/console.ts';
import { runBeforeNextStatement } from '../../support/tunnel.ts';
import { createConcept, KNOWLEDGE_PATH, makeName, readInvalidFields } from '../support.ts';
import { createItemMaker, insertRows, queryMetrics } from './support.ts';

const { metric, dimension, mapping } = createItemMaker(
  () => ownerCaller,
  () => concept,
);
/** Ids of tables and items by their names. */
const tables: Record<string, string> = {};
const items: Record<string, string> = {};

const company = await createProvisionedCompany();
const ownerCaller = company.as;
const concept = await createConcept(ownerCaller);
tables.customers = await createTable(ownerCaller, 'customers', [
  makeColumn('name'),
  makeColumn('city'),
  makeColumn('code', 'integer'),
]);
tables.orders = await createTable(ownerCaller, 'orders', [
  makeColumn('customer_id'),
  makeColumn('total', 'decimal'),
  makeColumn('status'),
  makeColumn('day', 'date'),
  makeColumn('at', 'datetime'),
  makeColumn('gift', 'boolean'),
]);
tables.refunds = await createTable(ownerCaller, 'refunds', [makeColumn('order_id'), makeColumn('amount', 'decimal')]);
const [ana, bia, rio] = (await insertRows(ownerCaller, tables.customers, [
  { name: 'Ana', city: 'Recife', code: 1 },
  { name: 'Bia', city: 'Olinda', code: 2 },
  { name: 'Rio', city: null, code: 3 },
])) as [string, string, string];
const orderIds = await insertRows(ownerCaller, tables.orders, [
  { customer_id: ana, total: 100, status: 'paid', day: '2024-01-01', at: '2023-12-31T23:30:00-01:00', gift: true },
  { customer_id: ana, total: 50, status: 'open', day: '2024-01-07', at: '2024-01-07T23:59:59Z', gift: false },
  { customer_id: bia, total: 30, status: 'paid', day: '2024-01-08', at: '2024-01-08T00:00:00Z', gift: null },
  { customer_id: rio, total: 7, status: 'paid', day: '2024-02-29', at: '2024-02-29T10:00:00Z', gift: false },
  { customer_id: 'nobody', total: 1, status: 'paid', day: null, at: null, gift: null },
]);
await insertRows(ownerCaller, tables.refunds, [
  { order_id: orderIds[0], amount: 10 },
  { order_id: orderIds[0], amount: 5 },
  { order_id: orderIds[3], amount: 7 },
  { order_id: null, amount: 2 },
]);
await mapping('Joins', {
  mapped_relations: ['orders.customer_id = customers.id', 'refunds.order_id = orders.id'],
});
items.revenue = await metric('Revenue', { formula: 'sum(orders.total)', mapped_tables: ['orders'] });
items.paid = await metric('Paid', {
  formula: 'sum(orders.total)',
  mapped_tables: ['orders'],
  filters: ["orders.status = 'paid'"],
});
items.orders = await metric('Orders', { aggregation: 'count', mapped_tables: ['orders'] });
items.refunded = await metric('Refunded', { aggregation: 'sum', mapped_columns: ['refunds.amount'] });
items.refunds = await metric('Refunds', { formula: 'count(refunds.id)', mapped_tables: ['refunds'] });
items.average = await metric('Average order', { formula: '{{Revenue}} / {{orders}}' });
items.rate = await metric('Refund rate', { formula: '{{Refunded}} / {{Revenue}}' });
items.city = await dimension('City', { mapped_columns: ['customers.city'] });
items.status = await dimension('Status', { formula: 'upper(status)', mapped_tables: ['orders'] });
items.day = await dimension('Day', { mapped_columns: ['orders.day'] });
items.moment = await dimension('Moment', { mapped_columns: ['orders.at'] });
items.gift = await dimension('Gift', { mapped_columns: ['orders.gift'] });
items.code = await dimension('Code', { mapped_columns: [`${tables.customers}.code`] });

/** Runs a metric query that must succeed, and returns its rows. */
async function queryRows(json: Record<string, unknown>): Promise<unknown[][]> {
  const { status, body } = await queryMetrics(ownerCaller, json);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.rows;
}

describe('a metric query', () => {
  it('returns the columns, dimensions first, and the items that it used', async () => {
    const { status, body } = await queryMetrics(ownerCaller, {
      metrics: ['Refund rate', items.orders],
      dimensions: ['city'],
    });
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['columns', 'row_count', 'rows', 'sql', 'truncated', 'used']);
    expect(body.columns).toEqual([
      { name: 'City', type: 'text' },
      { name: 'Refund rate', type: 'decimal' },
      { name: 'Orders', type: 'integer' },
    ]);
    expect(body.rows).toEqual([
      ['Olinda', null, 1],
      ['Recife', 0.1, 2],
      [null, 1.125, 2],
    ]);
    expect(body).toMatchObject({ row_count: 3, truncated: false });
    expect(body.sql).toContain('sum(f."total")');
    expect(body.used).toEqual([
      { id: items.rate, kind: 'metric', name: 'Refund rate' },
      { id: items.orders, kind: 'metric', name: 'Orders' },
      { id: items.refunded, kind: 'metric', name: 'Refunded' },
      { id: items.revenue, kind: 'metric', name: 'Revenue' },
      { id: items.city, kind: 'dimension', name: 'City' },
    ]);
  });

  it('aggregates each metric on its own table, and counts no row twice', async () => {
    // The order of 100 has two refunds.
    expect(await queryRows({ metrics: ['Revenue', 'Refunded', 'Refunds'], dimensions: ['City'] })).toEqual([
      ['Olinda', 30, null, 0],
      ['Recife', 150, 15, 2],
      [null, 8, 9, 2],
    ]);
    expect(await queryRows({ metrics: ['Revenue', 'Refunded', 'Average order'] })).toEqual([[188, 24, 37.6]]);
  });

  it('counts the rows of the table that FILTER names where its own tables are not joined', async () => {
    await createTable(ownerCaller, 'visits', [makeColumn('kind')]);
    const formula = `count(*) FILTER (WHERE orders.status = 'paid') + count(*) FILTER (WHERE visits.kind = 'web')`;
    await metric('Paid and visits', { formula, mapped_tables: ['orders', 'visits'] });
    expect(await queryRows({ metrics: ['Paid and visits'] })).toEqual([[4]]);
  });

  it.each(['count(*)', 'count(1)'])(
    'counts the rows of its own table by %s, whichever table FILTER names',
    async (call) => {
      const mapped_tables = ['orders', 'customers'];
      const name = `Recife by ${call}`;
      await metric(name, { formula: `${call} FILTER (WHERE customers.city = 'Recife')`, mapped_tables });
      expect(await queryRows({ metrics: [name], dimensions: ['Status'] })).toEqual([
        ['OPEN', 1],
        ['PAID', 1],
      ]);
    },
  );

  it('leaves out groups that no metric counts, and a metric that is absent from a group is null', async () => {
    expect(await queryRows({ metrics: ['Paid'], dimensions: ['Status'] })).toEqual([['PAID', 138]]);
    expect(await queryRows({ metrics: ['Paid', 'Orders'], dimensions: ['Status'] })).toEqual([
      ['OPEN', null, 1],
      ['PAID', 138, 4],
    ]);
  });

  it('returns one row without dimensions, even if no row matches', async () => {
    const filters = [{ dimension: 'City', op: 'eq', values: ['Nowhere'] }];
    expect(await queryRows({ metrics: ['Revenue', 'Orders', 'Refunds'], filters })).toEqual([[null, 0, 0]]);
    expect(await queryRows({ metrics: ['Revenue', 'Orders'], filters, dimensions: ['City'] })).toEqual([]);
  });

  it.each([
    [
      'day',
      [
        ['2024-01-01', 100],
        ['2024-01-07', 50],
        ['2024-01-08', 30],
        ['2024-02-29', 7],
        [null, 1],
      ],
    ],
    [
      'week',
      [
        ['2024-01-01', 150],
        ['2024-01-08', 30],
        ['2024-02-26', 7],
        [null, 1],
      ],
    ],
    [
      'month',
      [
        ['2024-01-01', 180],
        ['2024-02-01', 7],
        [null, 1],
      ],
    ],
    [
      'quarter',
      [
        ['2024-01-01', 187],
        [null, 1],
      ],
    ],
    [
      'year',
      [
        ['2024-01-01', 187],
        [null, 1],
      ],
    ],
  ])('truncates dates and times to the %s, in UTC', async (time_grain, expected) => {
    for (const name of ['Day', 'Moment']) {
      const { body } = await queryMetrics(ownerCaller, { metrics: ['Revenue'], dimensions: [name], time_grain });
      expect([body.columns[0], body.rows]).toEqual([{ name, type: 'date' }, expected]);
    }
  });

  it.each([
    ['City', 'eq', ['Recife'], 150],
    ['City', 'ne', ['Recife'], 38],
    ['City', 'in', ['Recife', 'Olinda'], 180],
    ['City', 'nin', ['Recife'], 38],
    ['City', 'contains', ['CIF'], 150],
    ['City', 'starts_with', ['ol'], 30],
    ['City', 'is_null', [true], 8],
    ['City', 'is_null', ['false'], 180],
    ['Code', 'gte', [2], 37],
    ['Code', 'in', ['1', 3], 157],
    ['Gift', 'eq', [false], 57],
    ['Day', 'lt', ['2024-01-08'], 150],
    ['Moment', 'lte', ['2024-01-08T00:00:00Z'], 180],
    ['Status', 'eq', ["PAID' OR true --"], null],
  ])('filters by %s %s %j', async (dimension, op, values, total) => {
    expect(await queryRows({ metrics: ['Revenue'], filters: [{ dimension, op, values }] })).toEqual([[total]]);
  });

  it('is sorted as requested, nulls last, and reports if it was truncated', async () => {
    const json = { metrics: ['Revenue'], dimensions: ['City'], order_by: [{ by: 'revenue', descending: true }] };
    expect(await queryRows(json)).toEqual([
      ['Recife', 150],
      ['Olinda', 30],
      [null, 8],
    ]);
    expect(await queryRows({ ...json, order_by: [{ by: items.city, descending: true }] })).toEqual([
      ['Recife', 150],
      ['Olinda', 30],
      [null, 8],
    ]);
    const { body } = await queryMetrics(ownerCaller, { ...json, limit: 2 });
    expect(body).toMatchObject({ row_count: 2, truncated: true });
  });

  it.each([
    [{ metrics: [] }, ['metrics']],
    [{ metrics: Array.from({ length: 11 }, (_, index) => `m${index}`) }, ['metrics']],
    [{ metrics: ['Revenue', 'revenue'] }, ['metrics.1']],
    [{ metrics: ['Revenue'], limit: 10_001 }, ['limit']],
    [{ metrics: ['Revenue'], time_grain: 'hour' }, ['time_grain']],
    [{ metrics: ['Revenue'], dimensions: ['City'], time_grain: 'day' }, ['time_grain']],
    [{ metrics: ['Revenue'], order_by: [{ by: 'City' }] }, ['order_by.0.by']],
    [{ metrics: ['Revenue'], filters: [{ dimension: 'City', op: 'like', values: ['x'] }] }, ['filters.0.op']],
    [{ metrics: ['Revenue'], filters: [{ dimension: 'Code', op: 'contains', values: ['1'] }] }, ['filters.0.op']],
    [{ metrics: ['Revenue'], filters: [{ dimension: 'Code', op: 'eq', values: ['one'] }] }, ['filters.0.values']],
    [{ metrics: ['Revenue'], filters: [{ dimension: 'City', op: 'eq', values: ['a', 'b'] }] }, ['filters.0.values']],
    [{ metrics: ['Revenue'], filters: [{ dimension: 'City', op: 'eq', values: [null] }] }, ['filters.0.values']],
    [{ metrics: ['Revenue'], filters: [{ dimension: 'Day', op: 'eq', values: ['2024-02-30'] }] }, ['filters.0.values']],
    [
      {
        metrics: ['Revenue'],
        filters: Array.from({ length: 1000 }, () => ({ dimension: 'City', op: 'eq', values: ['x'] })),
      },
      ['filters'],
    ],
  ])('is refused with the name of the invalid field: %j', async (json, fields) => {
    expect(readInvalidFields(await queryMetrics(ownerCaller, json))).toEqual(fields);
  });

  it('is refused if a table that it reads or joins is denied to the caller', async () => {
    const allowedActions = ['semantic:list', 'managed-tables:data-read'];
    const orderReader = await createAllowedUser(company, {
      can: allowedActions,
      on: [`arn:svc:semantic::${company.id}:item/*`, `arn:svc:managed-tables::${company.id}:table/${tables.orders}`],
    });
    expect((await queryMetrics(orderReader.as, { metrics: ['Revenue'] })).status).toBe(200);
    expect(
      readStatusAndCode(await queryMetrics(orderReader.as, { metrics: ['Revenue'], dimensions: ['City'] })),
    ).toEqual([403, 'FORBIDDEN']);
    const filters = [{ dimension: 'City', op: 'eq', values: ['Recife'] }];
    expect((await queryMetrics(orderReader.as, { metrics: ['Revenue'], filters })).status).toBe(403);
    expect((await queryMetrics(orderReader.as, { metrics: ['Refund rate'] })).status).toBe(403);
    const { as: deniedCaller } = await createAllowedUser(company, {
      can: allowedActions,
      denied: ['managed-tables:data-read'],
      deniedArns: [`*/${tables.orders}`],
    });
    expect((await queryMetrics(deniedCaller, { metrics: ['Refunds'] })).status).toBe(200);
    expect((await queryMetrics(deniedCaller, { metrics: ['Revenue'] })).status).toBe(403);
    const { as: reader } = await createAllowedUser(company, { can: ['managed-tables:data-read'] });
    expect((await queryMetrics(reader, { metrics: ['Revenue'] })).status).toBe(403);
  });
});

it('a metric query returns nothing of a denied table that took the name of an allowed one meanwhile', async () => {
  const swappedColumns = [makeColumn('swapped', 'integer')];
  const [open, secret] = [
    await createTable(ownerCaller, 'swap_open', swappedColumns),
    await createTable(ownerCaller, 'swap_secret', swappedColumns),
  ];
  await insertRows(ownerCaller, open, [{ swapped: 1 }]);
  await insertRows(ownerCaller, secret, [{ swapped: 42 }]);
  await metric('Swapped', { formula: 'sum(swapped)', mapped_tables: ['swap_open'] });
  const { as: deniedCaller } = await createAllowedUser(company, {
    can: ['semantic:list', 'managed-tables:data-read'],
    denied: ['managed-tables:data-read'],
    deniedArns: [`*/${secret}`],
  });
  expect((await queryMetrics(deniedCaller, { metrics: ['Swapped'] })).body.rows).toEqual([[1]]);
  const { outcome } = await runBeforeNextStatement(company.id, /sum\(f\."swapped"\)/, async () => [
    (await createTableClient(ownerCaller, open).put({ display_name: 'swap_was_open' })).status,
    (await createTableClient(ownerCaller, secret).put({ display_name: 'swap_open' })).status,
  ]);
  // Refused, or unknown while the item is checked again.
  const { status } = await queryMetrics(deniedCaller, { metrics: ['Swapped'] });
  expect([403, 422]).toContain(status);
  expect(await outcome).toEqual([200, 200]);
});

it('a metric with the aggregation last or first sums the rows of the last or first date of each group', async () => {
  const stockTable = await createTable(ownerCaller, 'stock', [
    makeColumn('shop'),
    makeColumn('day', 'date'),
    makeColumn('pieces', 'integer'),
  ]);
  await insertRows(ownerCaller, stockTable, [
    { shop: 'a', day: '2024-01-01', pieces: 5 },
    { shop: 'a', day: '2024-01-31', pieces: 3 },
    { shop: 'b', day: '2024-01-31', pieces: 4 },
    { shop: 'b', day: '2024-02-01', pieces: 2 },
    { shop: 'b', day: null, pieces: 99 },
  ]);
  const mapped_columns = ['stock.pieces', 'stock.day'];
  await metric('Stock', { aggregation: 'last', mapped_columns });
  await metric('Opening stock', { aggregation: 'first', formula: 'sum(pieces)', mapped_columns });
  await dimension('Shop', { mapped_columns: ['stock.shop'] });
  await dimension('Stock day', { mapped_columns: ['stock.day'] });
  const bothMetrics = ['Stock', 'Opening stock'];
  expect(await queryRows({ metrics: bothMetrics })).toEqual([[2, 5]]);
  expect(await queryRows({ metrics: bothMetrics, dimensions: ['Shop'] })).toEqual([
    ['a', 3, 5],
    ['b', 2, 4],
  ]);
  expect(await queryRows({ metrics: bothMetrics, dimensions: ['Stock day'], time_grain: 'month' })).toEqual([
    ['2024-01-01', 7, 5],
    ['2024-02-01', 2, 2],
  ]);
  await metric('Undated', { aggregation: 'last', mapped_columns: ['stock.pieces'] });
  expect((await queryMetrics(ownerCaller, { metrics: ['Undated'] })).body.message).toContain('date or datetime');
});

it('a metric with the aggregation last uses its date column, not a number column of the same name', () => {
  const makeTable = (id: string, ...columns: [name: string, type: 'date' | 'integer'][]): Table => ({
    id,
    name: id,
    columns: columns.map(([name, type]) => ({ name, type })),
    version: 1,
    uniqueColumns: new Set(['id']),
  });
  const tables = [makeTable('moments', ['day', 'date']), makeTable('stock', ['day', 'integer'])];
  const item = {
    kind: 'metric' as const,
    formula: null,
    filters: [],
    aggregation: 'last',
    mapped_tables: [],
    mapped_columns: ['moments.day', 'stock.day'],
    mapped_relations: [],
  };
  const { formula, semiAdditive } = parseMetric(item, tables, () => 'integer');
  expect(formula).toMatchObject({ call: { name: 'sum', argument: { table: { name: 'stock' }, column: 'day' } } });
  expect(semiAdditive?.timeExpression).toMatchObject({ table: { name: 'moments' }, column: 'day' });
});

describe('an item of a metric query', () => {
  const expectUnknownItem = async (json: Record<string, unknown>, name: string) => {
    const { status, body } = await queryMetrics(ownerCaller, json);
    expect([status, body.error, body.message]).toEqual([
      422,
      'SEMANTIC_ITEM_UNKNOWN',
      expect.stringContaining(`"${name}"`),
    ]);
    return body.message as string;
  };

  it('is unknown if it is of another kind or company, a draft, archived, or has errors', async () => {
    await expectUnknownItem({ metrics: ['Nothing'] }, 'Nothing');
    await expectUnknownItem({ metrics: ['City'] }, 'City');
    await expectUnknownItem({ metrics: ['Revenue'], dimensions: ['Revenue'] }, 'Revenue');
    await expectUnknownItem({ metrics: ['Revenue'], dimensions: ['f'.repeat(24)] }, 'f'.repeat(24));
    await metric('Draft', { formula: 'count(*)', mapped_tables: ['orders'], status: 'draft' });
    await expectUnknownItem({ metrics: ['Draft'] }, 'Draft');
    const archivedMetric = await metric('Archived', { formula: 'count(*)', mapped_tables: ['orders'] });
    await ownerCaller.delete(`${KNOWLEDGE_PATH}/semantic/${archivedMetric}`);
    await expectUnknownItem({ metrics: [archivedMetric] }, archivedMetric);
    await metric('Wrong', { formula: 'sum(orders.nothing)', mapped_tables: ['orders'] });
    await expectUnknownItem({ metrics: ['Wrong'] }, 'Wrong');
    // Its formula could be computed.
    const invalidMapping = { mapped_tables: ['orders'], mapped_columns: ['orders.nothing'] };
    await metric('Mapped wrongly', { formula: 'count(orders.id)', ...invalidMapping });
    await expectUnknownItem({ metrics: ['Mapped wrongly'] }, 'Mapped wrongly');
    await metric('Of a wrong one', { formula: '{{Wrong}} + 1' });
    await expectUnknownItem({ metrics: ['Of a wrong one'] }, 'Wrong');
    await metric('Half', { formula: '{{Revenue}} +' });
    await expectUnknownItem({ metrics: ['Half'] }, 'Half');
    const other = await createProvisionedCompany();
    await createTable(other.as, 'orders', [makeColumn('total', 'decimal')]);
    const { status, body } = await queryMetrics(other.as, { metrics: [items.revenue] });
    expect([status, body.error]).toEqual([422, 'SEMANTIC_ITEM_UNKNOWN']);
  });

  it('is unknown if its formula builds on itself', async () => {
    await metric('Egg', { formula: '{{Hen}} * 2' });
    await metric('Hen', { formula: '{{Egg}} * 2' });
    expect(await expectUnknownItem({ metrics: ['Egg'] }, 'Egg')).toContain('builds on itself');
  });

  it.each([
    '(SELECT max(total) FROM orders)',
    'sum((SELECT 1))',
    'sum(sum(orders.total))',
    'sum({{Revenue}})',
    'sum(orders.total) -- all',
    'sum(orders.total); DELETE FROM orders',
    'sum(customers.code)',
    'sum(public.orders.total)',
    'sum(orders.total) + orders.total',
    'sum($1)',
    'sum(pg_sleep(1)::text::numeric)',
    "current_setting('is_superuser')",
    'count(orders.*)',
    'sum(orders.total) OVER ()',
    'orders.total',
    '1',
  ])('is unknown if its formula or filter is %s', async (formula) => {
    const name = makeName('Bad');
    await metric(name, { formula, mapped_tables: ['orders'] });
    await expectUnknownItem({ metrics: [name] }, name);
    const dimensionName = makeName('Bad dimension');
    await dimension(dimensionName, {
      formula: formula.includes('total') ? formula : '1',
      mapped_tables: ['customers'],
    });
    await expectUnknownItem({ metrics: ['Revenue'], dimensions: [dimensionName] }, dimensionName);
    const metricName = makeName('Badly filtered');
    await metric(metricName, { formula: 'count(*)', filters: [formula], mapped_tables: ['refunds'] });
    await expectUnknownItem({ metrics: [metricName] }, metricName);
  });

  it.each([
    `sum(${'('.repeat(61)}total${')'.repeat(61)})`,
    `sum(${Array(102).fill('total').join('+')})`,
    `sum(${'-'.repeat(1)}total${'::numeric'.repeat(101)})`,
  ])('is unknown if its formula is too deep or too long to compile: %s', async (formula) => {
    const name = makeName('Long');
    const id = await metric(name, { formula, mapped_tables: ['orders'] });
    const { body } = await ownerCaller.get(`${KNOWLEDGE_PATH}/semantic/${id}`);
    expect(body.validation_errors).toEqual([
      { field: 'formula', code: 'does_not_compile', message: expect.stringMatching(/more than (60|100)/) },
    ]);
    await expectUnknownItem({ metrics: [name] }, name);
  });

  it('may be a metric of nested CASE expressions', async () => {
    let formula = '1';
    for (let depth = 0; depth < 50; depth += 1) formula = `case ${formula} when 1 then 1 when 2 then 2 end`;
    await metric('Nested cases', { formula: `sum(${formula})`, mapped_tables: ['orders'] });
    expect(await queryRows({ metrics: ['Nested cases'] })).toEqual([[5]]);
    await metric('Case of a number', {
      formula: 'sum(case 2.0 when 1 then 3 when null then 4 when 2 then 7 else 1 end)',
      mapped_tables: ['orders'],
    });
    expect(await queryRows({ metrics: ['Case of a number'] })).toEqual([[35]]);
  });

  it('is unknown if the metrics that it builds on expand to an expression that is too long', async () => {
    await metric('Grown 0', { formula: 'count(*)', mapped_tables: ['orders'] });
    for (let index = 1; index <= 9; index++) {
      const lowerMetric = `{{Grown ${index - 1}}}`;
      await metric(`Grown ${index}`, { formula: [lowerMetric, lowerMetric, lowerMetric].join(' + ') });
    }
    expect(await queryRows({ metrics: ['Grown 4'] })).toEqual([[5 * 81]]);
    const { status, body } = await queryMetrics(ownerCaller, { metrics: ['Grown 9'] });
    expect([status, body.error, body.message]).toEqual([
      422,
      'SEMANTIC_ITEM_UNKNOWN',
      expect.stringContaining('more than'),
    ]);
  });

  it('is refused as unknown if it builds on a metric with very long filters; queries and exports stop before writing them out', async () => {
    const makeLongFilter = (first: number) =>
      `orders.total in (${Array.from({ length: 580 }, (_, n) => first + n).join()})`;
    const wideMetric = {
      mapped_tables: ['orders'],
      filters: Array.from({ length: 20 }, (_, n) => makeLongFilter(100_000 + n * 1000)),
    };
    await metric('Wide', { formula: 'count(*) + sum(orders.total)', ...wideMetric });
    await metric('Wider', { formula: '{{Wide}} + {{Wide}} * {{Wide}}' });
    const writtenLengths: number[] = [];
    const spendSpy = vi.spyOn(TextBudget.prototype, 'spend');
    for (const name of ['Wide', 'Wider']) {
      spendSpy.mockClear();
      const { status, body } = await queryMetrics(ownerCaller, { metrics: [name] });
      expect([status, body.error, body.message]).toEqual([
        422,
        'SEMANTIC_ITEM_UNKNOWN',
        expect.stringContaining('more than 5000 parts'),
      ]);
      writtenLengths.push(spendSpy.mock.calls.reduce((sum, [characters]) => sum + characters, 0));
    }
    expect(Math.max(...writtenLengths)).toBeLessThan(400_000);
    spendSpy.mockClear();
    const { status, body } = await ownerCaller.get(`${KNOWLEDGE_PATH}/export?format=ossie`);
    expect([status, String(body).includes('Wider')]).toEqual([200, true]);
    expect(spendSpy.mock.calls.reduce((sum, [characters]) => sum + characters, 0)).toBeLessThan(1_000_000);
    spendSpy.mockRestore();
  });

  it('is unknown if it is a metric without a table', async () => {
    await metric('Nowhere', { formula: 'count(*)' });
    await expectUnknownItem({ metrics: ['Nowhere'] }, 'Nowhere');
  });

  it('divides sums and counts of integers as decimals', async () => {
    await metric('Share', {
      formula: 'sum(case when orders.total is null then 0 else 1 end) / (count(*) * 4)',
      mapped_tables: ['orders'],
    });
    expect(Number((await queryRows({ metrics: ['Share'] }))[0]?.[0])).toBe(0.25);
  });

  it('may divide by zero, with the result null', async () => {
    await metric('By zero', {
      formula: 'sum(orders.total / (orders.total - orders.total)) / 0',
      mapped_tables: ['orders'],
    });
    await metric('Rest by zero', { formula: 'sum(mod(orders.total, 0)) % 0', mapped_tables: ['orders'] });
    expect(await queryRows({ metrics: ['By zero', 'Rest by zero'] })).toEqual([[null, null]]);
  });

  it('is refused with DB_QUERY_ERROR if only the database can tell that it fails', async () => {
    await metric('Too large', { formula: 'exp(sum(orders.total) * 1000000)', mapped_tables: ['orders'] });
    expect(readStatusAndCode(await queryMetrics(ownerCaller, { metrics: ['Too large'] }))).toEqual([
      422,
      'DB_QUERY_ERROR',
    ]);
  });
});

describe('the relations of a metric query', () => {
  const createRelatedTables = async (
    name: string,
    relation: string[],
    extraColumns: ReturnType<typeof makeColumn>[] = [],
  ) => {
    const oneTable = `${name}_one`;
    const id = await createTable(ownerCaller, oneTable, [
      makeColumn('label'),
      makeColumn('key', 'integer'),
      ...extraColumns,
    ]);
    const manyTable = await createTable(ownerCaller, `${name}_many`, [
      makeColumn('one_key', 'integer'),
      makeColumn('other_key', 'integer'),
    ]);
    const owner = await mapping(`${name} joins`, { mapped_relations: relation });
    await metric(`${name} rows`, { formula: 'count(*)', mapped_tables: [`${name}_many`] });
    await dimension(`${name} label`, { mapped_columns: [`${oneTable}.label`] });
    return {
      one: id,
      many: manyTable,
      owner,
      ask: () => queryMetrics(ownerCaller, { metrics: [`${name} rows`], dimensions: [`${name} label`] }),
    };
  };
  const readFailure = async (answer: ReturnType<typeof queryMetrics>) => {
    const { status, body } = await answer;
    return [status, body.error, body.details?.items.map(({ name }: { name: string }) => name)];
  };

  it('must lead from one table to the other', async () => {
    const { ask } = await createRelatedTables('apart', []);
    expect(await readFailure(ask())).toEqual([422, 'SEMANTIC_QUERY_UNREACHABLE', ['apart rows', 'apart label']]);
    expect(await readFailure(queryMetrics(ownerCaller, { metrics: ['Revenue'], dimensions: ['apart label'] }))).toEqual(
      [422, 'SEMANTIC_QUERY_UNREACHABLE', ['Revenue', 'apart label']],
    );
  });

  it('must lead from one table to the other by one path only', async () => {
    const { ask, one, owner } = await createRelatedTables('twofold', [
      'twofold_many.one_key = twofold_one.key',
      'twofold_many.other_key = twofold_one.key',
    ]);
    await createTableClient(ownerCaller, one).index(['key'], true);
    expect(await readFailure(ask())).toEqual([422, 'SEMANTIC_QUERY_AMBIGUOUS', ['twofold rows', 'twofold label']]);
    const mapped_relations = ['twofold_many.one_key = twofold_one.key'];
    await ownerCaller.patch(`${KNOWLEDGE_PATH}/semantic/${owner}`, { json: { mapped_relations } });
    expect((await ask()).status).toBe(200);
    // Said twice, once by the table's id, it is one.
    await mapping('twofold again', { mapped_relations: [`twofold_many.one_key=${one}.key`] });
    expect((await ask()).status).toBe(200);
  });

  it('must end in a unique column, and never lead from one row to many', async () => {
    const { ask, one, many } = await createRelatedTables('fan', ['fan_many.one_key = fan_one.key']);
    expect(await readFailure(ask())).toEqual([422, 'SEMANTIC_QUERY_FANS_OUT', ['fan rows', 'fan label']]);
    const { body: index } = await createTableClient(ownerCaller, one).index(['key'], true);
    await insertRows(ownerCaller, one, [{ label: 'a', key: 1 }]);
    await insertRows(ownerCaller, many, [{ one_key: 1 }, { one_key: 1 }, { one_key: 2 }]);
    expect((await ask()).body.rows).toEqual([
      ['a', 2],
      [null, 1],
    ]);
    await metric('fan ones', { formula: 'count(*)', mapped_tables: ['fan_one'] });
    await dimension('fan key', { mapped_columns: ['fan_many.other_key'] });
    expect(await readFailure(queryMetrics(ownerCaller, { metrics: ['fan ones'], dimensions: ['fan key'] }))).toEqual([
      422,
      'SEMANTIC_QUERY_FANS_OUT',
      ['fan ones', 'fan key'],
    ]);
    await createTableClient(ownerCaller, one).deleteIndex(index.id);
    await createTableClient(ownerCaller, one).index(['key', 'label'], true);
    expect(await readFailure(ask())).toEqual([422, 'SEMANTIC_QUERY_FANS_OUT', ['fan rows', 'fan label']]);
  });

  it('are followed against their direction if both ends are unique', async () => {
    const { ask, one, many } = await createRelatedTables('ring', ['ring_one.key = ring_many.one_key']);
    await createTableClient(ownerCaller, one).index(['key'], true);
    expect(await readFailure(ask())).toEqual([422, 'SEMANTIC_QUERY_FANS_OUT', ['ring rows', 'ring label']]);
    await createTableClient(ownerCaller, many).index(['one_key'], true);
    expect((await ask()).status).toBe(200);
    // In a circle there is a way in the direction that was declared.
    await mapping('ring closed', { mapped_relations: ['ring_many.other_key = ring_one.key'] });
    expect((await ask()).status).toBe(200);
  });

  it('count only while their item is active and without errors', async () => {
    const { ask, one, owner } = await createRelatedTables('gone', ['gone_many.one_key = gone_one.key']);
    await createTableClient(ownerCaller, one).index(['key'], true);
    expect((await ask()).status).toBe(200);
    await ownerCaller.patch(`${KNOWLEDGE_PATH}/semantic/${owner}`, { json: { status: 'draft' } });
    expect((await ask()).body.error).toBe('SEMANTIC_QUERY_UNREACHABLE');
    const mapped_relations = ['gone_many.one_key = gone_one.key', 'gone_many.nothing = gone_one.key'];
    await ownerCaller.patch(`${KNOWLEDGE_PATH}/semantic/${owner}`, { json: { status: 'active', mapped_relations } });
    expect((await ask()).body.error).toBe('SEMANTIC_QUERY_UNREACHABLE');
  });
});
