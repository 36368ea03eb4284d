import { describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { createConcept, createItem, KNOWLEDGE_PATH, makeName, readInvalidFields, UNKNOWN_ID } from './support.ts';

const ITEMS_PATH = `${KNOWLEDGE_PATH}/semantic`;

const company = await createProvisionedCompany();
const ownerCaller = company.as;
const concept = await createConcept(ownerCaller);

const postItem = (fields: Record<string, unknown>, caller = ownerCaller) =>
  caller.post(ITEMS_PATH, {
    json: { kind: 'metric', name: makeName('item'), description: 'x', source_concept_ids: [concept], ...fields },
  });

describe('a semantic item', () => {
  it('is returned with every field', async () => {
    const fields = {
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
      depends_on_metrics: [await createItem(ownerCaller, { kind: 'metric' })],
      depends_on_entities: [await createItem(ownerCaller, { kind: 'entity' })],
    };
    const { status, body } = await ownerCaller.post(ITEMS_PATH, { json: fields });
    expect([status, body]).toEqual([201, expect.objectContaining({ ...fields, validation_errors: [] })]);
  });

  it.each(['entity', 'metric', 'dimension'])('of kind %s needs a source concept', async (kind) => {
    expect(readInvalidFields(await postItem({ kind, source_concept_ids: [] }))).toEqual(['source_concept_ids']);
    const { body } = await postItem({ kind });
    const answerToPatch = await ownerCaller.patch(`${ITEMS_PATH}/${body._id}`, { json: { source_concept_ids: [] } });
    expect(readInvalidFields(answerToPatch)).toEqual(['source_concept_ids']);
  });

  it('of kind mapping needs no source concept, and does not change its kind without one', async () => {
    const { status, body } = await postItem({ kind: 'mapping', source_concept_ids: [] });
    expect(status).toBe(201);
    expect(
      readInvalidFields(await ownerCaller.patch(`${ITEMS_PATH}/${body._id}`, { json: { kind: 'entity' } })),
    ).toEqual(['source_concept_ids']);
  });

  it('may refer only to existing resources of the right type', async () => {
    const foreignConcept = await createConcept((await createOwnedCompany()).as);
    const [metric, entity] = [
      await createItem(ownerCaller, { kind: 'metric' }),
      await createItem(ownerCaller, { kind: 'entity' }),
    ];
    expect(readInvalidFields(await postItem({ source_concept_ids: [concept, foreignConcept] }))).toEqual([
      'source_concept_ids.1',
    ]);
    expect(readInvalidFields(await postItem({ depends_on_concepts: [UNKNOWN_ID] }))).toEqual(['depends_on_concepts.0']);
    expect(readInvalidFields(await postItem({ depends_on_metrics: [metric, entity] }))).toEqual([
      'depends_on_metrics.1',
    ]);
    expect(readInvalidFields(await postItem({ depends_on_entities: [metric] }))).toEqual(['depends_on_entities.0']);
  });

  it('never depends on itself, even through other items', async () => {
    const a = await createItem(ownerCaller, { kind: 'metric' });
    const b = await createItem(ownerCaller, { kind: 'metric', depends_on_metrics: [a] });
    const answerToPatch = await ownerCaller.patch(`${ITEMS_PATH}/${a}`, { json: { depends_on_metrics: [b] } });
    expect(readInvalidFields(answerToPatch)).toEqual(['depends_on_metrics']);
    // Nor by metrics and entities in turn.
    const entityId = await createItem(ownerCaller, { kind: 'entity', depends_on_metrics: [b] });
    const circularAnswer = await ownerCaller.patch(`${ITEMS_PATH}/${a}`, {
      json: { depends_on_entities: [entityId], depends_on_metrics: [] },
    });
    expect(readInvalidFields(circularAnswer)).toEqual(['depends_on_entities']);
    const bothDependencies = { depends_on_entities: [entityId], depends_on_metrics: [b] };
    expect(readInvalidFields(await ownerCaller.patch(`${ITEMS_PATH}/${a}`, { json: bothDependencies })).sort()).toEqual(
      Object.keys(bothDependencies).sort(),
    );
    const selfAnswer = await ownerCaller.patch(`${ITEMS_PATH}/${a}`, { json: { depends_on_metrics: [a] } });
    expect(readInvalidFields(selfAnswer)).toEqual(['depends_on_metrics']);
  });

  it('is unique by kind and name, and listed by kind, status and search', async () => {
    const name = makeName('Margin');
    expect((await postItem({ kind: 'metric', name })).status).toBe(201);
    expect((await postItem({ kind: 'dimension', name, status: 'active' })).status).toBe(201);
    expect(readStatusAndCode(await postItem({ kind: 'metric', name: name.toUpperCase() }))).toEqual([
      409,
      'SEMANTIC_ITEM_DUPLICATE',
    ]);
    const countRecords = async (query: string) => (await ownerCaller.get(`${ITEMS_PATH}?${query}`)).body.total;
    const search = `search=${encodeURIComponent(name.toLowerCase())}`;
    expect(await countRecords(search)).toBe(2);
    expect(await countRecords(`${search}&kind=metric`)).toBe(1);
    expect(await countRecords(`${search}&status=active`)).toBe(1);
  });
});

const readValidationErrors = async (fields: Record<string, unknown>): Promise<string[][]> => {
  const { status, body } = await postItem(fields);
  expect(status).toBe(201);
  return body.validation_errors.map(({ field, code }: Record<string, string>) => [field, code]);
};

const ordersTableId = await createTable(ownerCaller, 'orders', [
  makeColumn('total', 'decimal'),
  makeColumn('customer_id', 'integer'),
]);
await createTable(ownerCaller, 'customers', [makeColumn('name')]);

describe('the mapping of a semantic item to tables', () => {
  it('is valid when tables, by name or id, and columns exist', async () => {
    expect(
      await readValidationErrors({
        mapped_tables: ['customers', ordersTableId],
        mapped_columns: ['orders.total', `${ordersTableId}.customer_id`, 'customers.id'],
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
    [{ mapped_columns: ['orders'] }, [['mapped_columns.0', 'malformed']]],
    [{ mapped_columns: ['orders.total.x'] }, [['mapped_columns.0', 'malformed']]],
    [{ mapped_relations: ['orders has customers'] }, [['mapped_relations.0', 'malformed']]],
    [{ mapped_relations: ['orders.x = customers.id'] }, [['mapped_relations.0', 'unknown_column']]],
    [{ mapped_tables: ['orders'], formula: 'sum(nothing)' }, [['formula', 'does_not_compile']]],
    [{ mapped_tables: ['orders'], formula: 'sum(total' }, [['formula', 'does_not_compile']]],
    [{ mapped_tables: ['orders'], filters: ['total > 0', 'total'] }, [['filters.1', 'does_not_compile']]],
    [{ formula: 'count(*)' }, [['formula', 'nothing_to_compile_on']]],
    [{ mapped_columns: ['orders.total'], formula: 'max(total)' }, []],
  ])('is checked, and the invalid parts are named: %j', async (fields, errors) => {
    expect(await readValidationErrors(fields)).toEqual(errors);
  });

  it.each([
    [{ formula: '(SELECT max(total) FROM orders)' }, 'formula', 'subqueries are not allowed'],
    [{ formula: 'sum(total) OVER ()' }, 'formula', '"over" is not expected there'],
    [{ formula: "max(md5('x'))" }, 'formula', 'the function "md5" is not supported'],
    [{ formula: 'sum(total) -- all' }, 'formula', 'comments are not allowed'],
    [{ formula: '{{Revenue}} +', mapped_tables: [] }, 'formula', 'it ends too early'],
    [{ kind: 'dimension', formula: 'sum(total)' }, 'formula', 'sum is an aggregate, which cannot be used here'],
    [{ filters: ['total > 0', 'total > (SELECT 0)'] }, 'filters.1', 'subqueries are not allowed'],
  ])('must follow the grammar of metric queries, even if Postgres accepts more: %j', async (fields, field, message) => {
    const { body } = await postItem({ mapped_tables: ['orders'], ...fields });
    expect(body.validation_errors).toEqual([{ field, code: 'does_not_compile', message }]);
  });

  it('is not checked if metric queries do not read it, nor for the metrics that a formula builds on', async () => {
    expect(
      await readValidationErrors({ kind: 'entity', mapped_tables: ['orders'], filters: ['total > (SELECT 0)'] }),
    ).toEqual([]);
    expect(
      await readValidationErrors({ formula: '{{Nobody has made it}} / count(*)', mapped_tables: ['orders'] }),
    ).toEqual([]);
    for (const formula of [
      '{{A}} * 2',
      "{{A}} - date '2024-01-01'",
      '{{A}} || {{B}}',
      'case when {{A}} then {{B}} end',
    ])
      expect([formula, await readValidationErrors({ formula })]).toEqual([formula, []]);
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
  ])('does not run SQL that a formula injects: %s', async (formula) => {
    expect(await readValidationErrors({ mapped_tables: ['orders'], formula })).toEqual([
      ['formula', 'does_not_compile'],
    ]);
    expect((await createTableClient(ownerCaller, ordersTableId).get()).status).toBe(200);
  });

  it('is refused with the message of Postgres', async () => {
    const { body } = await postItem({ mapped_tables: ['orders'], formula: 'sum(totl)' });
    expect(body.validation_errors[0].message).toContain('"totl" does not exist');
  });

  it('has the error unknown_table before the database is provisioned', async () => {
    const other = await createOwnedCompany();
    const source_concept_ids = [await createConcept(other.as)];
    const { status, body } = await postItem({ source_concept_ids, mapped_tables: ['orders'], formula: '1' }, other.as);
    expect(status).toBe(201);
    expect(body.validation_errors.map(({ code }: { code: string }) => code)).toEqual([
      'unknown_table',
      'nothing_to_compile_on',
    ]);
  });
});
