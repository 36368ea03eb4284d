import { beforeAll, describe, expect, it } from 'vitest';
import { aTable, column, tableRoutes } from '../managed-tables/support.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';
import { aFile, load } from '../uploads/support.ts';
import { aConcept, aName, anItem, fieldsOf, NOBODY, PREFIX, refusal } from './support.ts';

const PATH = `${PREFIX}/semantic`;
let company: Company;
let as: Company['as'];
let concept: string;

beforeAll(async () => {
  company = await aProvisionedCompany();
  as = company.as;
  concept = await aConcept(as);
});

const create = (members: Record<string, unknown>, caller = as) =>
  caller.post(PATH, {
    json: { kind: 'metric', name: aName('item'), description: 'x', source_concept_ids: [concept], ...members },
  });

const wrong = async (members: Record<string, unknown>): Promise<string[][]> => {
  const { status, body } = await create(members);
  expect(status).toBe(201);
  return body.validation_errors.map(({ field, code }: Record<string, string>) => [field, code]);
};

/** What is wrong with an item, once that is what it should be. */
async function errorsWhen(id: string, good: (codes: string[]) => boolean): Promise<string[]> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    const { body } = await as.get(`${PATH}?per_page=100`);
    const item = body.records.find(({ _id }: { _id: string }) => _id === id);
    const codes = item.validation_errors.map(({ code }: { code: string }) => code);
    if (good(codes)) return codes;
    if (Date.now() > deadline) throw new Error(`Still ${JSON.stringify(item.validation_errors)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('semantic items', () => {
  it('answer every member', async () => {
    const members = {
      kind: 'metric',
      name: 'Revenue',
      description: 'All that was sold.',
      status: 'active',
      formula: null,
      grain: 'day',
      filters: [],
      aggregation: 'sum',
      mapped_tables: [],
      mapped_columns: [],
      mapped_relations: [],
      source_concept_ids: [concept],
      depends_on_concepts: [concept],
      depends_on_metrics: [await anItem(as, { kind: 'metric' })],
      depends_on_entities: [await anItem(as, { kind: 'entity' })],
    };
    const { status, body } = await as.post(PATH, { json: members });
    expect([status, body]).toEqual([201, expect.objectContaining({ ...members, validation_errors: [] })]);
  });

  it.each(['entity', 'metric', 'dimension'])('of kind %s need a source concept', async (kind) => {
    expect(fieldsOf(await create({ kind, source_concept_ids: [] }))).toEqual(['source_concept_ids']);
    const { body } = await create({ kind });
    const patched = await as.patch(`${PATH}/${body._id}`, { json: { source_concept_ids: [] } });
    expect(fieldsOf(patched)).toEqual(['source_concept_ids']);
  });

  it('of kind mapping need none, and become nothing else without one', async () => {
    const { status, body } = await create({ kind: 'mapping', source_concept_ids: [] });
    expect(status).toBe(201);
    expect(fieldsOf(await as.patch(`${PATH}/${body._id}`, { json: { kind: 'entity' } }))).toEqual([
      'source_concept_ids',
    ]);
  });

  it('have a kind, and no other', async () => {
    expect(fieldsOf(await create({ kind: undefined }))).toEqual(['kind']);
    expect(fieldsOf(await create({ kind: 'measure' }))).toEqual(['kind']);
  });

  it('refer to what exists, each as what it is', async () => {
    const foreign = await aConcept((await aCompany()).as);
    const [metric, entity] = [await anItem(as, { kind: 'metric' }), await anItem(as, { kind: 'entity' })];
    expect(fieldsOf(await create({ source_concept_ids: [concept, foreign] }))).toEqual(['source_concept_ids.1']);
    expect(fieldsOf(await create({ depends_on_concepts: [NOBODY] }))).toEqual(['depends_on_concepts.0']);
    expect(fieldsOf(await create({ depends_on_metrics: [metric, entity] }))).toEqual(['depends_on_metrics.1']);
    expect(fieldsOf(await create({ depends_on_entities: [metric] }))).toEqual(['depends_on_entities.0']);
    const many = Array.from({ length: 21 }, () => concept);
    expect(fieldsOf(await create({ source_concept_ids: many }))).toEqual(['source_concept_ids']);
    expect((await create({ source_concept_ids: many.slice(1) })).status).toBe(201);
  });

  it('depend on themselves by no way round', async () => {
    const a = await anItem(as, { kind: 'metric' });
    const b = await anItem(as, { kind: 'metric', depends_on_metrics: [a] });
    const patched = await as.patch(`${PATH}/${a}`, { json: { depends_on_metrics: [b] } });
    expect(fieldsOf(patched)).toEqual(['depends_on_metrics']);
  });

  it('are unique by kind and name, and listed by kind, status and search', async () => {
    const name = aName('Margin');
    expect((await create({ kind: 'metric', name })).status).toBe(201);
    expect((await create({ kind: 'dimension', name, status: 'active' })).status).toBe(201);
    expect(refusal(await create({ kind: 'metric', name: name.toUpperCase() }))).toEqual([
      409,
      'SEMANTIC_ITEM_DUPLICATE',
    ]);
    const total = async (query: string) => (await as.get(`${PATH}?${query}`)).body.total;
    const search = `search=${encodeURIComponent(name.toLowerCase())}`;
    expect(await total(search)).toBe(2);
    expect(await total(`${search}&kind=metric`)).toBe(1);
    expect(await total(`${search}&status=active`)).toBe(1);
  });
});

describe('what items say about tables', () => {
  let orders: string;
  beforeAll(async () => {
    orders = await aTable(as, 'orders', [column('total', 'decimal'), column('customer_id', 'integer')]);
    await aTable(as, 'customers', [column('name')]);
  });

  it('is right when tables, by name or id, and columns exist', async () => {
    expect(
      await wrong({
        mapped_tables: ['customers', orders],
        mapped_columns: ['orders.total', `${orders}.customer_id`, 'customers.id'],
        mapped_relations: ['orders.customer_id = customers.id'],
        formula: 'sum(orders.total) / nullif(count(DISTINCT orders.customer_id), 0)',
        filters: ['orders.total > 0', "customers.name ILIKE 'a%, (b)'"],
      }),
    ).toEqual([]);
  });

  it.each([
    [{ mapped_tables: ['orders', 'nothing'] }, [['mapped_tables.1', 'unknown_table']]],
    [{ mapped_columns: ['orders.nothing'] }, [['mapped_columns.0', 'unknown_column']]],
    [{ mapped_columns: ['nothing.total'] }, [['mapped_columns.0', 'unknown_table']]],
    [{ mapped_columns: ['orders'] }, [['mapped_columns.0', 'unknown_column']]],
    [{ mapped_relations: ['orders.x = customers.id'] }, [['mapped_relations.0', 'unknown_column']]],
    [{ mapped_tables: ['orders'], formula: 'sum(nothing)' }, [['formula', 'does_not_compile']]],
    [{ mapped_tables: ['orders'], formula: 'sum(total' }, [['formula', 'does_not_compile']]],
    [{ mapped_tables: ['orders'], filters: ['total > 0', 'total'] }, [['filters.1', 'does_not_compile']]],
    [{ formula: 'count(*)' }, [['formula', 'nothing_to_compile_on']]],
    [{ mapped_columns: ['orders.total'], formula: 'max(total)' }, []],
  ])('is checked: %j', async (members, errors) => {
    expect(await wrong(members)).toEqual(errors);
  });

  it.each([
    '1); DELETE FROM orders; SELECT (1',
    '1) FROM orders; DROP TABLE orders --',
    '1) FROM pg_catalog.pg_class, (SELECT 1',
    '(SELECT count(*) FROM console.managed_tables)',
    "(SELECT rolpassword FROM pg_authid LIMIT 1) || ''",
    "set_config('role', 'postgres', false)",
    'total /* open',
    "total || 'open",
    'total, total',
    '1] , ARRAY[1',
    "repeat('x', 2000000000) || total",
  ])('runs nothing and reaches nothing: %s', async (formula) => {
    expect(await wrong({ mapped_tables: ['orders'], formula })).toEqual([['formula', 'does_not_compile']]);
    expect((await tableRoutes(as, orders).get()).status).toBe(200);
  });

  it('tells what Postgres said', async () => {
    const { body } = await create({ mapped_tables: ['orders'], formula: 'sum(totl)' });
    expect(body.validation_errors[0].message).toContain('"totl" does not exist');
  });

  it('is checked again when a table is renamed, changed, deleted or made', async () => {
    const name = 'later';
    const { body } = await create({ mapped_tables: [name], mapped_columns: [`${name}.a`], formula: 'sum(a)' });
    const unknown = (codes: string[]) => codes.includes('unknown_table');
    const fine = (codes: string[]) => codes.length === 0;
    expect(unknown(body.validation_errors.map(({ code }: { code: string }) => code))).toBe(true);
    const id = await aTable(as, name, [column('a', 'integer')]);
    await errorsWhen(body._id, fine);
    const table = tableRoutes(as, id);
    await table.put({ display_name: 'moved' });
    await errorsWhen(body._id, unknown);
    await table.put({ display_name: name });
    await errorsWhen(body._id, fine);
    await table.put({ columns: [column('b', 'integer')] });
    expect(await errorsWhen(body._id, (codes) => !fine(codes))).toEqual(['unknown_column', 'does_not_compile']);
    await table.delete();
    await errorsWhen(body._id, unknown);
    // Checking is no change of the item.
    expect((await as.get(`${PATH}/${body._id}/versions`)).body.total).toBe(1);
    await load(company, [aFile('later.csv', 'a\n1\n2\n')], { display_name: name });
    await errorsWhen(body._id, fine);
  });

  it('has nothing to be checked against before provisioning', async () => {
    const other = await aCompany();
    const source_concept_ids = [await aConcept(other.as)];
    const { status, body } = await create({ source_concept_ids, mapped_tables: ['orders'], formula: '1' }, other.as);
    expect(status).toBe(201);
    expect(body.validation_errors.map(({ code }: { code: string }) => code)).toEqual([
      'unknown_table',
      'nothing_to_compile_on',
    ]);
  });

  it('is checked later when the database cannot be reached', async () => {
    const { body } = await as.post(PATH, {
      json: {
        kind: 'metric',
        name: aName('m'),
        description: 'x',
        source_concept_ids: [concept],
        mapped_tables: ['orders'],
      },
      env: { NEON_WS_PROXY: 'ws://127.0.0.1:1/v2' },
    });
    expect(body.validation_errors).toEqual([
      { field: 'mapped_tables', code: 'not_checked', message: expect.any(String) },
    ]);
  });
});
