import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { createTable, createTableClient, makeColumn } from '../../managed-tables/support.ts';
import { type Company, createAllowedUser, createProvisionedCompany } from '../../support/companies.ts';
import { readStatusAndCode } from '../../support/console.ts';
import { sendDuringRace } from '../../support/race.ts';
import { expectSuccess } from '../../support/signed.ts';
import { postVisualization } from '../../visualizations/support.ts';
import { createItemMaker, insertRows, queryMetrics } from '../metrics/support.ts';
import { createConcept, createItem, createNode, createRelation, KNOWLEDGE_PATH } from '../support.ts';
import { findOssieProblems, type OssieDocument } from './ossie-rules.ts';
import { acceptAllSuggestions, exportKnowledge, importDocument } from './support.ts';

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';

/** Creates tables, with the same names in every company. */
async function createTables({ as }: Company): Promise<void> {
  const customers = await createTable(as, 'customers', [makeColumn('city')]);
  const orders = await createTable(as, 'orders', [
    makeColumn('total', 'decimal'),
    makeColumn('state'),
    makeColumn('day', 'date'),
    makeColumn('customer_id'),
  ]);
  const [anna, bruno] = await insertRows(as, customers, [{ city: 'Recife' }, { city: "L'Aquila" }]);
  await expectSuccess(
    createTableClient(as, orders).insert([
      { total: 10, state: 'paid', day: '2026-01-05', customer_id: anna },
      { total: 30, state: 'paid', day: '2026-01-06', customer_id: bruno },
      { total: 5, state: "can't", day: '2026-02-01', customer_id: anna },
    ]),
  );
}

/** Creates knowledge of every kind, with references between its parts. */
async function createKnowledge({ as }: Company): Promise<void> {
  const saleConcept = await createConcept(as, {
    name: 'Sale',
    status: 'active',
    type: 'metric_hint',
    aliases: ['order', 'açaí'],
  });
  const cityConcept = await createConcept(as, {
    name: 'City',
    status: 'active',
    tags: ['=1+1', '<b>x</b>'],
    confidence: 0.5,
  });
  await createConcept(as, { name: 'Only a draft' });
  const itemMaker = createItemMaker(
    () => as,
    () => saleConcept,
  );
  const { records } = (await as.get('/v1/managed-tables?search=orders')).body;
  const entity = await createItem(as, {
    kind: 'entity',
    name: 'Order',
    status: 'active',
    source_concept_ids: [cityConcept, saleConcept],
    // By its id: another company's table has another.
    mapped_tables: [records[0]._id],
  });
  const revenueMetric = await itemMaker.metric('Revenue', {
    formula: 'sum(orders.total)',
    mapped_tables: ['orders'],
    filters: ["orders.state = 'paid'"],
    depends_on_entities: [entity],
  });
  await itemMaker.metric('Average order', {
    formula: '{{Revenue}} / count(*)',
    mapped_tables: ['orders'],
    depends_on_metrics: [revenueMetric],
  });
  await itemMaker.metric('Last total', {
    aggregation: 'last',
    mapped_tables: ['orders'],
    mapped_columns: ['orders.total', 'orders.day'],
  });
  await itemMaker.metric('Broken', { formula: 'sum(orders.nothing)', mapped_tables: ['orders'] });
  await itemMaker.dimension('City', { formula: 'upper(customers.city)', mapped_tables: ['customers'] });
  await itemMaker.dimension('Day', { mapped_columns: ['orders.day'], filters: ["orders.state <> 'can''t'"] });
  await itemMaker.mapping('Orders of customers', { mapped_relations: ['orders.customer_id = customers.id'] });
  const thingNode = await createNode(as, { name: 'Thing', status: 'active' });
  const placeNode = await createNode(as, {
    name: 'Place',
    status: 'active',
    node_type: 'object',
    parent_node_id: thingNode,
    source_concepts: [cityConcept],
    mapped_semantic_entities: [entity],
  });
  const relation = await createRelation(as, placeNode, 'holds', thingNode);
  await expectSuccess(
    as.patch(`${KNOWLEDGE_PATH}/ontology/relations/${relation}`, { json: { status: 'active', cardinality: '1:N' } }),
  );
}

const company = await createProvisionedCompany();
await createTables(company);
await createKnowledge(company);

async function createEmptyCompany(): Promise<Company> {
  const emptyCompany = await createProvisionedCompany();
  await createTables(emptyCompany);
  return emptyCompany;
}

describe('GET /export', () => {
  it('contains only active knowledge, with references by name, without ids, times or the company', async () => {
    const text = await exportKnowledge(company.as);
    expect(text).not.toMatch(/[0-9a-f]{24}|_at"|company|draft|status/);
    const { concepts, semantic, nodes, relations } = JSON.parse(text);
    expect(concepts.map(({ name }: { name: string }) => name)).toEqual(['City', 'Sale']);
    expect(semantic.map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`)).toEqual([
      'dimension City',
      'dimension Day',
      'entity Order',
      'mapping Orders of customers',
      'metric Average order',
      'metric Broken',
      'metric Last total',
      'metric Revenue',
    ]);
    expect(semantic[2]).toMatchObject({ source_concepts: ['City', 'Sale'], mapped_tables: ['orders'] });
    expect(semantic[7]).toMatchObject({ depends_on_entities: ['Order'] });
    expect(nodes[1]).toMatchObject({
      name: 'Place',
      parent_node: { node_type: 'class', name: 'Thing' },
      mapped_semantic_entities: ['Order'],
    });
    expect(relations).toMatchObject([{ subject: { name: 'Place' }, predicate: 'holds', object: { name: 'Thing' } }]);
  });

  it.each(['concepts:list', 'semantic:list', 'ontology:list'])('needs the permission %s', async (deniedAction) => {
    const allActions = ['concepts:list', 'semantic:list', 'ontology:list'];
    const limitedUser = await createAllowedUser(company, {
      can: allActions.filter((action) => action !== deniedAction),
    });
    const answer = await limitedUser.as.get(`${KNOWLEDGE_PATH}/export`);
    expect([answer.status, answer.body.details.action]).toEqual([403, deniedAction]);
    const allowedUser = await createAllowedUser(company, { can: allActions });
    expect((await allowedUser.as.get(`${KNOWLEDGE_PATH}/export`)).status).toBe(200);
  });

  it('is empty for a company without knowledge', async () => {
    const emptyCompany = await createProvisionedCompany();
    expect(await expectSuccess(emptyCompany.as.get(`${KNOWLEDGE_PATH}/export`))).toMatchObject({
      concepts: [],
      relations: [],
    });
    await createConcept(emptyCompany.as, { status: 'active' });
    expect(parse(await exportKnowledge(emptyCompany.as, 'ossie'))).toEqual({
      version: '0.2.0.dev0',
      semantic_model: [],
    });
  });
});

describe('knowledge that is larger than an import may be', () => {
  it('is not exported (409), with the limit in bytes', async () => {
    const other = await createProvisionedCompany();
    for (const part of ['A', 'B']) {
      const makeLongTexts = (length: number) => Array.from({ length: 20 }, (_, n) => `${n}`.padEnd(length, '\u{6f22}'));
      const concepts = Array.from({ length: 60 }, (_, index) => ({
        name: `${part} ${index}`,
        description: '\u{6f22}'.repeat(4_096),
        aliases: makeLongTexts(200),
        tags: makeLongTexts(200),
        related_catalog_assets: makeLongTexts(300),
      }));
      await expectSuccess(importDocument(other.as, JSON_TYPE, JSON.stringify({ concepts })));
    }
    expect(await acceptAllSuggestions(other.as)).toEqual([]);
    const answer = await other.as.get(`${KNOWLEDGE_PATH}/export`);
    expect([readStatusAndCode(answer), answer.body.details]).toEqual([[409, 'EXPORT_TOO_LARGE'], { limit: 5_242_880 }]);
  });
});

describe('an export that is imported into another company', () => {
  it.each([
    ['json', JSON_TYPE],
    ['ossie', YAML_TYPE],
  ] as const)('as %s has the same bytes when it is accepted there and exported again', async (format, type) => {
    const exportBefore = await exportKnowledge(company.as, format);
    const other = await createEmptyCompany();
    const dryRun = await expectSuccess(importDocument(other.as, type, exportBefore, '?dry_run=true'));
    expect((await expectSuccess(other.as.get(`${KNOWLEDGE_PATH}/suggestions`))).total).toBe(0);
    const importResult = await expectSuccess(importDocument(other.as, type, exportBefore));
    expect(importResult).toEqual(dryRun);
    expect(importResult).toMatchObject({ skipped: [], errors: [] });
    expect(importResult.suggestions).toHaveLength(13);
    // Nothing is there before it is accepted.
    expect((await expectSuccess(other.as.get(`${KNOWLEDGE_PATH}/concepts`))).total).toBe(0);
    expect(await acceptAllSuggestions(other.as)).toEqual([]);
    expect(await exportKnowledge(other.as, format)).toBe(exportBefore);
    expect(await exportKnowledge(other.as)).toBe(await exportKnowledge(company.as));
    const secondImport = await expectSuccess(importDocument(other.as, type, exportBefore));
    expect([secondImport.suggestions, secondImport.skipped.length, secondImport.errors]).toEqual([[], 13, []]);
  });

  it('keeps items whose concepts are all archived or drafts', async () => {
    const from = await createProvisionedCompany();
    const retiredConcept = await createConcept(from.as, { name: 'Retired', status: 'active' });
    const goneConcept = await createConcept(from.as, { name: 'Gone', status: 'active' });
    const plannedConcept = await createConcept(from.as, { name: 'Planned' });
    await createConcept(from.as, { name: 'Unused' });
    const items: [string, string[]][] = [
      ['Of archived ones', [retiredConcept, goneConcept]],
      ['Of a draft', [plannedConcept]],
      ['Of one that has a successor', [goneConcept]],
    ];
    for (const [name, of] of items) {
      await createItem(from.as, { kind: 'metric', name, status: 'active', source_concept_ids: of });
    }
    for (const id of [retiredConcept, goneConcept])
      await expectSuccess(from.as.delete(`${KNOWLEDGE_PATH}/concepts/${id}`));
    const successorConcept = await createConcept(from.as, { name: 'GONE', status: 'active' });
    const exportBefore = await exportKnowledge(from.as);
    const { concepts, semantic } = JSON.parse(exportBefore);
    expect(concepts.map(({ name }: { name: string }) => name)).toEqual(['GONE', 'Planned', 'Retired']);
    const sources = semantic.map((item: { name: string; source_concepts: string[] }) => [
      item.name,
      item.source_concepts,
    ]);
    expect(sources).toEqual([
      ['Of a draft', ['Planned']],
      ['Of archived ones', ['GONE', 'Retired']],
      ['Of one that has a successor', ['GONE']],
    ]);
    for (const action of ['concepts:list', 'concepts:get']) {
      const deniedArns = [successorConcept, retiredConcept].map((id) => `arn:svc:concepts::${from.id}:concept/${id}`);
      const { as } = await createAllowedUser(from, { can: ['*'], denied: [action], deniedArns });
      const exportedNames = JSON.parse(await exportKnowledge(as)).concepts.map(({ name }: { name: string }) => name);
      expect([action, exportedNames]).toEqual([action, ['Gone', 'Planned']]);
    }

    const other = await createProvisionedCompany();
    const importResult = await expectSuccess(importDocument(other.as, JSON_TYPE, exportBefore));
    expect([importResult.suggestions.length, importResult.errors]).toEqual([6, []]);
    expect(await acceptAllSuggestions(other.as)).toEqual([]);
    expect(await exportKnowledge(other.as)).toBe(exportBefore);
  });

  it('makes no suggestion twice while none of them was accepted', async () => {
    const other = await createEmptyCompany();
    const text = await exportKnowledge(company.as);
    await expectSuccess(importDocument(other.as, JSON_TYPE, text));
    const secondImport = await expectSuccess(importDocument(other.as, JSON_TYPE, text));
    expect([secondImport.suggestions, secondImport.skipped.length]).toEqual([[], 13]);
    expect((await expectSuccess(other.as.get(`${KNOWLEDGE_PATH}/suggestions`))).total).toBe(13);
  });

  it('makes no suggestion twice if another import came in between', async () => {
    const other = await createEmptyCompany();
    const text = await exportKnowledge(company.as);
    const lateImport = await sendDuringRace(
      /insert into "knowledge_suggestions"/,
      () => expectSuccess(importDocument(other.as, JSON_TYPE, text)),
      (env) => expectSuccess(importDocument(other.as, JSON_TYPE, text, '', env)),
    );
    expect([lateImport.suggestions, lateImport.skipped.length, lateImport.errors]).toEqual([[], 13, []]);
    expect((await expectSuccess(other.as.get(`${KNOWLEDGE_PATH}/suggestions`))).total).toBe(13);
    expect(await acceptAllSuggestions(other.as)).toEqual([]);
    expect(await exportKnowledge(other.as)).toBe(text);
  });

  it('does not suggest a relation twice while only its nodes were accepted', async () => {
    const other = await createEmptyCompany();
    const end = (name: string) => ({ name, description: 'An end.' });
    const relationEnds = { subject: { node_type: 'class', name: 'A' }, object: { node_type: 'class', name: 'B' } };
    const relations = [{ ...relationEnds, predicate: 'holds', description: 'What it does.' }];
    const text = JSON.stringify({ nodes: [end('A'), end('B')], relations });
    await expectSuccess(importDocument(other.as, JSON_TYPE, text));
    const { records } = await expectSuccess(
      other.as.get(`${KNOWLEDGE_PATH}/suggestions?target_type=ontology_node_create`),
    );
    const ids = records.map(({ _id }: { _id: string }) => _id);
    await expectSuccess(other.as.post(`${KNOWLEDGE_PATH}/suggestions/bulk-accept`, { json: { ids } }));
    const secondImport = await expectSuccess(importDocument(other.as, JSON_TYPE, text));
    expect([secondImport.suggestions, secondImport.skipped.length]).toEqual([[], 3]);
  });
});

describe('a semantic model of Apache Ossie', () => {
  const exportModel = async () => parse(await exportKnowledge(company.as, 'ossie')) as OssieDocument;

  it('is valid according to the rules of the Ossie validator', async () => {
    const document = await exportModel();
    expect(findOssieProblems(document)).toEqual([]);
    const [model] = document.semantic_model;
    expect(model?.datasets.map(({ name, source }) => [name, source])).toEqual([
      ['customers', 'public.customers'],
      ['orders', 'public.orders'],
    ]);
    expect(model?.relationships).toEqual([
      {
        name: 'orders.customer_id = customers.id',
        from: 'orders',
        to: 'customers',
        from_columns: ['customer_id'],
        to_columns: ['id'],
      },
    ]);
    // One of a single moment cannot be said by an aggregate, and one with errors is as if absent.
    expect(model?.metrics?.map(({ name, datatype }) => [name, datatype])).toEqual([
      ['Average order', 'Decimal'],
      ['Revenue', 'Decimal'],
    ]);
  });

  it('contains the missing tables that items are mapped to, so that an import loses nothing', async () => {
    const other = await createProvisionedCompany();
    const concept = await createConcept(other.as, { name: 'No', status: 'active' });
    const itemMaker = createItemMaker(
      () => other.as,
      () => concept,
    );
    await itemMaker.metric('on', { formula: 'sum(sales.total)', mapped_tables: ['sales'] });
    await itemMaker.dimension('2024-01-01', { mapped_columns: ['shops.city'] });
    const text = await exportKnowledge(other.as, 'ossie');
    const document = parse(text, { version: '1.1' }) as OssieDocument;
    expect(findOssieProblems(document)).toEqual([]);
    const [model] = document.semantic_model;
    expect(model?.datasets.map(({ name, fields }) => [name, fields?.map((field) => field.name)])).toEqual([
      ['sales', []],
      ['shops', ['2024-01-01']],
    ]);
    const emptyCompany = await createProvisionedCompany();
    await expectSuccess(importDocument(emptyCompany.as, YAML_TYPE, text));
    expect(await acceptAllSuggestions(emptyCompany.as)).toEqual([]);
    expect(await exportKnowledge(emptyCompany.as, 'ossie')).toBe(text);
  });

  it('imported before the tables exist has the same extension, and is the same model once they do', async () => {
    const model = await exportKnowledge(company.as, 'ossie');
    const other = await createProvisionedCompany();
    await expectSuccess(importDocument(other.as, YAML_TYPE, model));
    expect(await acceptAllSuggestions(other.as)).toEqual([]);
    expect(await exportKnowledge(other.as)).toBe(await exportKnowledge(company.as));
    const [modelWithoutTables] = (parse(await exportKnowledge(other.as, 'ossie')) as OssieDocument).semantic_model;
    expect(modelWithoutTables).toMatchObject({
      custom_extensions: (parse(model) as OssieDocument).semantic_model[0]?.custom_extensions,
      relationships: [],
      metrics: [],
    });
    await createTables(other);
    await expect.poll(() => exportKnowledge(other.as, 'ossie'), { timeout: 10_000 }).toBe(model);
  });

  it('has SQL expressions that compute what metric queries compute, with the metrics they build on written out', async () => {
    const [model] = (await exportModel()).semantic_model;
    const [average, revenue] = (model?.metrics ?? []).map(({ expression }) => expression.dialects[0]?.expression);
    expect(revenue).toBe(`sum("orders"."total") FILTER (WHERE ("orders"."state" = 'paid'))`);
    expect(average).not.toContain('{{');
    const [city] = model?.datasets[0]?.fields ?? [];
    const [day] = model?.datasets[1]?.fields ?? [];
    expect([city?.dimension, day?.dimension]).toEqual([{ is_time: false }, { is_time: true }]);
    const dimension = city?.expression.dialects[0]?.expression;
    const sql = `SELECT ${dimension} AS city, ${revenue} AS revenue, ${average} AS average, max(${day?.expression.dialects[0]?.expression}) AS day
      FROM orders JOIN customers ON orders.customer_id = customers.id::text GROUP BY 1 ORDER BY 1`;
    const chart = await postVisualization(company.as, sql);
    const executedSql = await expectSuccess(company.as.post(`/v1/visualizations/${chart._id}/execute`, { json: {} }));
    const { rows } = executedSql.result;
    const metricQuery = { metrics: ['Revenue', 'Average order'], dimensions: ['City'] };
    const computedMetrics = await expectSuccess(queryMetrics(company.as, metricQuery));
    expect(rows.map((row: unknown[]) => row.slice(0, 3))).toEqual(computedMetrics.rows);
    expect(rows.map((row: unknown[]) => row[3])).toEqual(['2026-01-06', '2026-01-05']);
  });

  it('of another tool is imported: entities, dimensions, metrics and joins, each with a concept', async () => {
    const other = await createEmptyCompany();
    const importResult = await expectSuccess(importDocument(other.as, 'text/yaml; charset=utf-8', FOREIGN_DOCUMENT));
    expect(importResult.errors).toEqual([
      { line: 28, message: expect.stringMatching(/^Margin: has no expression in ANSI_SQL/) },
      { line: 33, message: expect.stringMatching(/names a dataset that does not exist/) },
    ]);
    expect(await acceptAllSuggestions(other.as)).toEqual([]);
    const { rows } = await expectSuccess(queryMetrics(other.as, { metrics: ['Total sales'], dimensions: ['Town'] }));
    expect(rows).toEqual([
      ["L'Aquila", 30],
      ['Recife', 15],
    ]);
    const { records } = await expectSuccess(other.as.get(`${KNOWLEDGE_PATH}/concepts?search=turnover`));
    expect(records).toMatchObject([{ name: 'Total sales', type: 'metric_hint', aliases: ['turnover'] }]);
  });

  it('of another tool maps a metric to the tables that it names, and to none whose name is part of another', async () => {
    const other = await createEmptyCompany();
    const datasets = ['item', 'line_item', 'order', 'price'].map((name) => ({ name, source: `db.public.${name}` }));
    const metrics = [
      ['Sold', 'sum(line_item.price_paid)'],
      ['Quoted', `sum("line_item"."price_paid") FILTER (WHERE "order".state <> 'item')`],
    ].map(([name, expression]) => ({ name, expression: { dialects: [{ dialect: 'ANSI_SQL', expression }] } }));
    const model = { version: '0.2.0.dev0', semantic_model: [{ name: 'shop', datasets, metrics }] };
    await expectSuccess(importDocument(other.as, 'application/json', JSON.stringify(model)));
    const path = `${KNOWLEDGE_PATH}/suggestions?target_type=semantic_create&per_page=100`;
    const { records } = await expectSuccess(other.as.get(path));
    const readTables = (metric: string) =>
      records.find(({ target_name }: { target_name: string }) => target_name === metric).suggested_payload
        .mapped_tables;
    expect([readTables('Sold'), readTables('Quoted')]).toEqual([['line_item'], ['line_item', 'order']]);
  });

  it('of another tool maps a metric to no table that has the name of a column, and ignores the case of words', async () => {
    const other = await createEmptyCompany();
    const datasets = ['item', 'line_item', 'order', 'price'].map((name) => ({ name, source: `db.public.${name}` }));
    const metrics = [
      ['Sold', 'sum(line_item.price)'],
      ['Spaced', 'sum("order" . /* the goods */ "item")'],
      ['Qualified', 'sum(public.item.price)'],
      ['Shouted', 'SUM(LINE_ITEM.PRICE)'],
      ['Other', `sum("LINE_ITEM".paid) - sum(item.paid)`],
    ].map(([name, expression]) => ({ name, expression: { dialects: [{ dialect: 'ANSI_SQL', expression }] } }));
    const model = { version: '0.2.0.dev0', semantic_model: [{ name: 'shop', datasets, metrics }] };
    await expectSuccess(importDocument(other.as, 'application/json', JSON.stringify(model)));
    const path = `${KNOWLEDGE_PATH}/suggestions?target_type=semantic_create&per_page=100`;
    const { records } = await expectSuccess(other.as.get(path));
    const readTables = (metric: string) =>
      records.find(({ target_name }: { target_name: string }) => target_name === metric).suggested_payload
        .mapped_tables;
    expect(metrics.map(({ name }) => readTables(name as string))).toEqual([
      ['line_item'],
      ['order'],
      ['item'],
      ['line_item'],
      ['item'],
    ]);
  });

  it('may be written on one line', async () => {
    const concepts = Array.from({ length: 30 }, (_, index) => ({ name: `Term ${index}`, description: 'A term.' }));
    const text = JSON.stringify({ concepts });
    const { suggestions, errors } = await expectSuccess(importDocument(company.as, YAML_TYPE, text, '?dry_run=true'));
    expect([suggestions.length, errors]).toEqual([30, []]);
  });

  it('may have 2,400 metrics', async () => {
    const expression = {
      dialects: [{ dialect: 'ANSI_SQL', expression: `sum(orders.total) + 0 * ${'1'.repeat(300)}` }],
    };
    const metrics = Array.from({ length: 2_400 }, (_, index) => ({ name: `Metric ${index}`, expression }));
    const models = [{ name: 'shop', datasets: [{ name: 'orders', source: 'public.orders' }], metrics }];
    const text = stringify({ version: '0.2.0.dev0', semantic_model: models }, { aliasDuplicateObjects: false });
    expect(text.length).toBeGreaterThan(1_048_576);
    const { suggestions, errors } = await expectSuccess(importDocument(company.as, YAML_TYPE, text, '?dry_run=true'));
    expect([suggestions.length, errors]).toEqual([4_802, []]);
  });

  it.each([
    ['version: 0.1.0\nsemantic_model: []\n', 1, 'version: must be exactly 0.2.0.dev0'],
    ['version: 0.2.0.dev0\nsemantic_model: 7\n', 2, 'semantic_model: must be a list'],
    ['version: 0.2.0.dev0\nsemantic_model:\n  - name: x\n', 3, 'datasets: is required'],
  ])('that is invalid is answered with the line and the error: %j', async (text, line, message) => {
    const { errors } = await expectSuccess(importDocument(company.as, YAML_TYPE, text));
    expect(errors).toEqual([{ line, message }]);
  });
});

const FOREIGN_DOCUMENT = `version: 0.2.0.dev0
semantic_model:
  - name: shop
    datasets:
      - name: Buyers
        source: db.public.customers
        fields:
          - name: Town
            expression: &town
              dialects:
                - dialect: ANSI_SQL
                  expression: customers.city
            dimension: {}
          - name: Not a dimension
            expression: *town
      - name: Orders
        source: db.public.orders
        description: What was bought.
    metrics:
      - name: Total sales
        description: All of it.
        ai_context:
          synonyms: [turnover]
        expression:
          dialects:
            - dialect: ANSI_SQL
              expression: sum(orders.total)
      - name: Margin
        expression:
          dialects:
            - {dialect: MDX, expression: '[Measures].[Margin]'}
    relationships:
      - {name: lost, from: Orders, to: Nowhere, from_columns: [a], to_columns: [b]}
      - {name: bought by, from: Orders, to: Buyers, from_columns: [customer_id], to_columns: [id]}
`;

describe('POST /import of a glossary', () => {
  const importGlossary = (text: string, query = '') => importDocument(company.as, 'text/csv', text, query);

  it('suggests concepts, and keeps formulas and markup as plain text', async () => {
    const other = await createProvisionedCompany();
    const text =
      'name,description,type,aliases,tags\r\n' +
      'Churn,"Customers who ""left"", over\n two lines",rule,attrition; loss ;,hr\r\n' +
      '=HYPERLINK("http://x"),<script>alert(1)</script>,,,@cmd\r\n' +
      'Sale,There is no type,nonsense,,\r\n' +
      ',No name,term,,\r\n' +
      'churn,Again,,,\r\n' +
      'Wide,a,term,,,,\r\n' +
      '\r\n';
    const { suggestions, errors } = await expectSuccess(importDocument(other.as, 'text/csv', text));
    expect(suggestions).toEqual([
      { target_type: 'concept_create', name: 'Churn' },
      { target_type: 'concept_create', name: '=HYPERLINK("http://x")' },
    ]);
    expect(errors.map(({ line, message }: { line: number; message: string }) => `${line} ${message}`)).toEqual([
      expect.stringMatching(/^5 Sale: type: /),
      expect.stringMatching(/^6 name: /),
      '7 churn: appears in the document twice',
      '8 has 7 cells, but the header has 5',
    ]);
    expect(await acceptAllSuggestions(other.as)).toEqual([]);
    const { concepts } = await expectSuccess(other.as.get(`${KNOWLEDGE_PATH}/export`));
    expect(concepts[1]).toMatchObject({
      name: 'Churn',
      description: 'Customers who "left", over\n two lines',
      type: 'rule',
      aliases: ['attrition', 'loss'],
      tags: ['hr'],
    });
    expect(concepts[0]).toMatchObject({ description: '<script>alert(1)</script>', tags: ['@cmd'], type: 'term' });
  });

  it('skips existing concepts, and accepts columns in any order and other delimiters', async () => {
    const { suggestions, skipped } = await expectSuccess(
      importGlossary('Description;Name\nAny;SALE\nOther;New\n', '?dry_run=true'),
    );
    expect(skipped).toEqual([{ target_type: 'concept_create', name: 'SALE' }]);
    expect(suggestions).toEqual([{ target_type: 'concept_create', name: 'New' }]);
  });

  it.each([
    ['name\nx\n', /must have the column description/],
    ['name,description,secret\nx,y,z\n', /"secret"/],
    ['name,description,name\nx,y,z\n', /each once/],
    ['name,description\nx,"never closed\n', /not closed/],
    ['\n\n', /is empty/],
  ])('refuses %j as a whole', async (text, message) => {
    const answer = await importGlossary(text);
    expect(readStatusAndCode(answer)).toEqual([422, 'IMPORT_UNREADABLE']);
    expect(answer.body.message).toMatch(message);
  });
});

describe('POST /import of a document', () => {
  const makeDocument = (value: unknown) =>
    importDocument(company.as, JSON_TYPE, JSON.stringify(value, null, 1), '?dry_run=true');
  const makeItem = (name: string, extraFields: object = {}) => ({ name, description: 'What it is.', ...extraFields });

  it('reports problems in the language of the caller', async () => {
    const circularItems = [
      makeItem('A', { kind: 'metric', depends_on_metrics: ['B'] }),
      makeItem('B', { kind: 'metric', depends_on_metrics: ['A'] }),
    ];
    const importInSpanish = async (type: string, body: string) => {
      const { errors } = await expectSuccess(
        company.as.post(`${KNOWLEDGE_PATH}/import?dry_run=true`, {
          headers: { 'content-type': type, 'accept-language': 'es' },
          body,
        }),
      );
      return errors.map(({ message }: { message: string }) => message);
    };
    const nodes = [makeItem('N', { node_type: 'class', source_concepts: ['Nobody'] })];
    const concepts = [makeItem('Twice'), makeItem('Twice')];
    const json = JSON.stringify({ zz: 1, concepts, semantic: circularItems, nodes });
    expect((await importInSpanish(JSON_TYPE, json)).toSorted()).toEqual([
      'A: forma parte de un círculo de referencias o se refiere a uno',
      'B: forma parte de un círculo de referencias o se refiere a uno',
      'N: source_concepts: el concepto "Nobody" no existe',
      'Twice: aparece dos veces en el documento',
      'zz: no es un campo del documento',
    ]);
    expect(await importInSpanish('text/csv', 'name,description\n,x\na,b,c\n')).toEqual([
      'name: no puede estar vacío',
      'tiene 3 celdas, pero el encabezado tiene 2',
    ]);
    expect(await importInSpanish(YAML_TYPE, FOREIGN_DOCUMENT)).toEqual([
      'Margin: no tiene expresión en ANSI_SQL',
      expect.stringMatching(/: indica un conjunto de datos que no existe$/),
    ]);
  });

  it('reports unknown references and fields with their line', async () => {
    const { suggestions, errors } = await expectSuccess(
      makeDocument({
        semantic: [
          makeItem('A', { kind: 'metric', source_concepts: ['Nobody'], depends_on_metrics: ['Revenue', 'Profit'] }),
          makeItem('B', { kind: 'metric', colour: 'red' }),
          makeItem('C', { kind: 'metric' }),
        ],
        things: [],
        nodes: { a: 1 },
      }),
    );
    expect(suggestions).toEqual([]);
    const lines = errors.map(({ line, message }: { line: number; message: string }) => `${line} ${message}`);
    expect(lines).toEqual([
      '3 A: source_concepts: concept "Nobody" does not exist',
      '3 A: depends_on_metrics: metric "Profit" does not exist',
      expect.stringMatching(/^15 B: .*colour/),
      '21 C: source_concept_ids: must name at least one concept, for an item of kind metric',
      '27 things: is not a field of the document',
      '28 nodes: must be a list',
    ]);
  });

  it('refuses items with circular references, and items that refer to such items', async () => {
    const makeMetric = (name: string, ...on: string[]) =>
      makeItem(name, { kind: 'metric', source_concepts: ['Sale'], depends_on_metrics: on });
    const makeNode = (name: string, parent: string) =>
      makeItem(name, { parent_node: { node_type: 'class', name: parent } });
    const { suggestions, errors } = await expectSuccess(
      makeDocument({
        semantic: [
          makeMetric('X', 'Y'),
          makeMetric('Y', 'Z'),
          makeMetric('Z', 'X'),
          makeMetric('On X', 'X'),
          makeMetric('Fine', 'Revenue'),
        ],
        nodes: [makeNode('Egg', 'Hen'), makeNode('Hen', 'Egg'), makeNode('Self', 'Self')],
      }),
    );
    expect(suggestions).toEqual([{ target_type: 'semantic_create', name: 'Fine' }]);
    expect(errors.map(({ message }: { message: string }) => message.split(':')[0])).toEqual(
      expect.arrayContaining(['X', 'Y', 'Z', 'On X', 'Egg', 'Hen', 'Self']),
    );
    expect(errors[0].message).toBe('X: is part of a circle of references, or refers to one');
  });

  it('makes suggestions that are accepted only after the suggestions that they refer to', async () => {
    const other = await createProvisionedCompany();
    const value = { concepts: [makeItem('Base')], nodes: [makeItem('Leaf', { source_concepts: ['Base'] })] };
    await expectSuccess(importDocument(other.as, JSON_TYPE, JSON.stringify(value)));
    const { records } = await expectSuccess(other.as.get(`${KNOWLEDGE_PATH}/suggestions`));
    const findId = (name: string) =>
      records.find(({ target_name }: { target_name: string }) => target_name === name)._id as string;
    const acceptByName = (name: string) =>
      other.as.post(`${KNOWLEDGE_PATH}/suggestions/${findId(name)}/accept`, { json: {} });
    const earlyAnswer = await acceptByName('Leaf');
    expect(readStatusAndCode(earlyAnswer)).toEqual([409, 'SUGGESTION_DEPENDENCY_PENDING']);
    expect(earlyAnswer.body.details.suggestion_ids).toEqual([findId('Base')]);
    const { resource } = await expectSuccess(acceptByName('Base'));
    expect(resource.status).toBe('active');
    expect((await expectSuccess(acceptByName('Leaf'))).resource).toMatchObject({
      source_concepts: [resource._id],
      status: 'active',
    });
  });

  it('accepts 5,000 items, and no more', async () => {
    const other = await createProvisionedCompany();
    const concepts = Array.from({ length: 5_000 }, (_, index) =>
      makeItem(`Term ${index}`, { aliases: ['a'.repeat(50)] }),
    );
    const { suggestions, errors } = await expectSuccess(
      importDocument(other.as, JSON_TYPE, JSON.stringify({ concepts })),
    );
    expect([suggestions.length, errors]).toEqual([5_000, []]);
    expect((await expectSuccess(other.as.get(`${KNOWLEDGE_PATH}/suggestions`))).total).toBe(5_000);
    const tooManyAnswer = await importDocument(
      other.as,
      JSON_TYPE,
      JSON.stringify({ concepts: [...concepts, makeItem('One more')] }),
    );
    expect(readStatusAndCode(tooManyAnswer)).toEqual([422, 'IMPORT_UNREADABLE']);
  });

  it('accepts 3,000 names of the maximum length', async () => {
    const other = await createProvisionedCompany();
    const makeLongName = (index: number) => `${index}`.padEnd(200, '\u{6f22}');
    const nodes = Array.from({ length: 3_000 }, (_, index) => ({ name: makeLongName(index), description: 'x' }));
    const value = JSON.stringify({ nodes });
    for (const [suggested, skipped] of [
      [3_000, 0],
      [0, 3_000],
    ]) {
      const importResult = await expectSuccess(importDocument(other.as, JSON_TYPE, value));
      expect([importResult.suggestions.length, importResult.skipped.length]).toEqual([suggested, skipped]);
    }
  });

  it.each([
    ['another content type', 'application/xml', '<a/>', 422, 'VALIDATION_ERROR'],
    ['an empty document', JSON_TYPE, ' ', 422, 'IMPORT_UNREADABLE'],
    ['broken JSON', JSON_TYPE, '{"concepts": [\n{"name": }]}', 422, 'IMPORT_UNREADABLE'],
    ['deep JSON', JSON_TYPE, '['.repeat(200_000), 422, 'IMPORT_UNREADABLE'],
    ['a list', JSON_TYPE, '[]', 422, 'IMPORT_UNREADABLE'],
    ['broken YAML', YAML_TYPE, 'a: [1\nb: {', 422, 'IMPORT_UNREADABLE'],
    ['JSON of a million lists', JSON_TYPE, `{"concepts": [${'[],'.repeat(1_000_000)}0]}`, 422, 'IMPORT_UNREADABLE'],
    ['too many items in one list', JSON_TYPE, `{"things": [${'0,'.repeat(5_001)}0]}`, 422, 'IMPORT_UNREADABLE'],
    [
      'a line of more cells than a CSV may have',
      'text/csv',
      `name,description\na${','.repeat(16_384)}\n`,
      422,
      'IMPORT_UNREADABLE',
    ],
    ['many wrong lines', 'text/csv', `name,description\n${'a,b,c\n'.repeat(5_002)}`, 422, 'IMPORT_UNREADABLE'],
    ['a very long quoted text', YAML_TYPE, `a: "${'x'.repeat(1_000_000)}"`, 422, 'IMPORT_UNREADABLE'],
    ['a YAML alias bomb', YAML_TYPE, makeYamlBomb(), 422, 'IMPORT_UNREADABLE'],
    ['deep YAML', YAML_TYPE, '- '.repeat(400_000), 422, 'IMPORT_UNREADABLE'],
    ['deep YAML flow maps', YAML_TYPE, '{a: '.repeat(200_000), 422, 'IMPORT_UNREADABLE'],
    ['many YAML question marks in a flow list', YAML_TYPE, `[${'? '.repeat(140_000)}`, 422, 'IMPORT_UNREADABLE'],
    ['many dashes in a YAML flow map', YAML_TYPE, `{${'- '.repeat(140_000)}`, 422, 'IMPORT_UNREADABLE'],
    ['deep YAML question marks', YAML_TYPE, '? '.repeat(400_000), 422, 'IMPORT_UNREADABLE'],
    [
      'deeply indented YAML lines',
      YAML_TYPE,
      Array.from({ length: 1_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
      422,
      'IMPORT_UNREADABLE',
    ],
    [
      'too many YAML keys',
      YAML_TYPE,
      Array.from({ length: 90_000 }, (_, index) => `k${index}: 1`).join('\n'),
      422,
      'IMPORT_UNREADABLE',
    ],
  ])('refuses %s within 20 seconds', async (_what, type, body, status, code) => {
    const startedAt = performance.now();
    expect(readStatusAndCode(await importDocument(company.as, type, body))).toEqual([status, code]);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  it.each([JSON_TYPE, YAML_TYPE, 'text/csv'])('refuses 10 MB as %s, and states the accepted size', async (type) => {
    const answer = await importDocument(company.as, type, 'x'.repeat(10_000_000));
    expect(readStatusAndCode(answer)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect([answer.body.message, answer.body.details]).toEqual([
      'The document is larger than 5242880 bytes.',
      { limit: 5_242_880 },
    ]);
  });

  it('reports the line on which a document breaks off', async () => {
    const json = await importDocument(company.as, JSON_TYPE, '{"concepts": [\n\n{"name": }]}');
    expect(json.body.details.line).toBe(3);
    const yamlAnswer = await importDocument(company.as, YAML_TYPE, 'a: 1\nb: "never closed\n');
    expect(yamlAnswer.body.details.line).toBeGreaterThan(1);
  });
});

function makeYamlBomb(): string {
  const lines = Array.from({ length: 30 }, (_, level) => `k${level}: &k${level} [*k${level - 1}, *k${level - 1}]`);
  return ['k: &k-1 [x, x]', ...lines].join('\n');
}
