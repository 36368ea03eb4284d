import { describe, expect, it } from 'vitest';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { type Company, createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { expectSuccess } from '../support/signed.ts';
import { REFUSAL } from './ask/support.ts';
import { createItemMaker, queryMetrics } from './metrics/support.ts';
import { createModel, NO_MODEL_ENV } from './model.ts';
import { QUESTIONS_PATH } from './questions/support.ts';
import { acceptSuggestion, createPromotion, SUGGESTIONS_PATH } from './suggesting.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  makeName,
  readInvalidFields,
} from './support.ts';

const company = await createProvisionedCompany();
const { as } = company;
await createTable(as, 'payments', [makeColumn('amount', 'integer'), makeColumn('city')]);
const concepts = {
  hiddenId: await createConcept(as, { name: 'Salary', status: 'active' }),
  openId: await createConcept(as, { name: 'Turnover', status: 'active' }),
};
const { metric } = createItemMaker(
  () => as,
  () => concepts.openId,
);
const on = { mapped_tables: ['payments'] };
const items = {
  hiddenId: await metric('Payroll', { ...on, formula: 'sum(amount)' }),
  builtId: await metric('Share of it', { formula: '{{Payroll}} * 2' }),
  openId: await metric('Income', { ...on, formula: 'sum(amount)' }),
};
await createItem(as, {
  kind: 'metric',
  name: 'Of salaries',
  formula: 'sum(amount)',
  status: 'active',
  source_concept_ids: [concepts.hiddenId],
  ...on,
});
const nodes = {
  hiddenId: await createNode(as, { name: 'Employee', status: 'active' }),
  openId: await createNode(as, { name: 'Customer', status: 'active' }),
};
const relation = await createRelation(as, nodes.hiddenId, 'serves', nodes.openId);
await expectSuccess(as.patch(`${KNOWLEDGE_PATH}/ontology/relations/${relation}`, { json: { status: 'active' } }));

const listArns = () => [
  `arn:svc:semantic::${company.id}:item/${items.hiddenId}`,
  `arn:svc:concepts::${company.id}:concept/${concepts.hiddenId}`,
  `arn:svc:ontology::${company.id}:node/${nodes.hiddenId}`,
];
/** Creates a user who may do everything, but is denied a metric, a concept and a node. */
const createDeniedUser = () =>
  createAllowedUser(company, {
    can: ['*'],
    denied: ['semantic:*', 'concepts:get', 'ontology:*', 'knowledge_reviews:list'],
    deniedArns: listArns(),
  });
const DENIED_NAMES_PATTERN = /Payroll|Share of it|Salary|Of salaries|Employee/;

describe('an item that the caller is denied', () => {
  it.each(['Payroll', 'Share of it', 'Of salaries'])(
    'is reported as unknown in a metric query, and so are items built on it: %s',
    async (name) => {
      const { as } = await createDeniedUser();
      const answer = await queryMetrics(as, { metrics: [name] });
      const unknownItemAnswer = await queryMetrics(as, { metrics: ['Never defined'] });
      expect(answer.status).toBe(unknownItemAnswer.status);
      expect(JSON.stringify(answer.body)).toBe(
        JSON.stringify(unknownItemAnswer.body).replaceAll('Never defined', name),
      );
      expect((await queryMetrics(company.as, { metrics: [name] })).status).toBe(200);
      expect((await queryMetrics(as, { metrics: ['Income'] })).status).toBe(200);
    },
  );

  it('is neither offered nor named in an answer to a question', async () => {
    const { as } = await createDeniedUser();
    const question = 'How high is the payroll?';
    await expectSuccess(company.as.post(QUESTIONS_PATH, { json: { question, query: { metrics: ['Payroll'] } } }));
    // The verified question is not there for who may not see what answers it: the model would be asked.
    expect((await as.post(`${KNOWLEDGE_PATH}/ask`, { json: { question }, env: NO_MODEL_ENV })).status).toBe(503);
    const model = await createModel(REFUSAL);
    const { body } = await as.post(`${KNOWLEDGE_PATH}/ask`, { json: { question: 'What else?' }, env: model.env });
    expect([body.kind, JSON.stringify(body.alternatives)]).toEqual(['refusal', expect.stringContaining('Income')]);
    expect(JSON.stringify([body, await model.asked()])).not.toMatch(DENIED_NAMES_PATTERN);
  });

  it('is left out of exports, and so are its relations and items built on it', async () => {
    const { as } = await createDeniedUser();
    for (const format of ['json', 'ossie']) {
      const path = `${KNOWLEDGE_PATH}/export?format=${format}`;
      const text = JSON.stringify(await expectSuccess(as.get(path)));
      expect(text).not.toMatch(DENIED_NAMES_PATTERN);
      expect(text).toMatch(/Income/);
      expect(JSON.stringify(await expectSuccess(company.as.get(path)))).toMatch(DENIED_NAMES_PATTERN);
    }
  });
});

describe('a suggestion whose acceptance creates an item that the caller is denied', () => {
  const acceptAlone = async (as: Company['as'], id: string) => expectSuccess(acceptSuggestion(as, id));
  const acceptAmongSeveral = async (as: Company['as'], id: string) => {
    const { accepted, failed } = await expectSuccess(
      as.post(`${SUGGESTIONS_PATH}/bulk-accept`, { json: { ids: [id] } }),
    );
    expect(failed).toEqual([]);
    return accepted[0];
  };

  it.each([
    ['alone', acceptAlone],
    ['among several', acceptAmongSeveral],
  ])('is accepted, and the answer shows only the id of the item: %s', async (_, accept) => {
    const { as } = await createAllowedUser(company, { can: ['*'], denied: ['semantic:list'] });
    const name = makeName('Promoted');
    const { id } = await createPromotion(company.as, { kind: 'entity', name, description: 'x' });
    const { suggestion, resource } = await accept(as, id);
    expect(resource).toEqual({ _id: expect.any(String) });
    expect(suggestion).toMatchObject({ _id: id, status: 'accepted', resource_id: resource._id });
    expect((await expectSuccess(as.get(`${SUGGESTIONS_PATH}?status=accepted`))).records).not.toContainEqual(suggestion);
    const listed = await expectSuccess(company.as.get(`${SUGGESTIONS_PATH}?status=accepted`));
    expect(listed.records).toContainEqual(suggestion);
    const { name: createdName } = await expectSuccess(company.as.get(`${KNOWLEDGE_PATH}/semantic/${resource._id}`));
    expect(createdName).toBe(name);
  });
});

describe('a list that names a concept that the caller is denied', () => {
  it('can be put in another order and be shortened, but the concept is added by nobody who may not see it', async () => {
    const { as } = await createDeniedUser();
    const { hiddenId, openId } = concepts;
    const id = await createItem(company.as, { depends_on_concepts: [openId, hiddenId] });
    const sendList = (depends_on_concepts: string[]) =>
      as.patch(`${KNOWLEDGE_PATH}/semantic/${id}`, { json: { depends_on_concepts } });
    for (const list of [[hiddenId, openId], [hiddenId], []])
      expect((await expectSuccess(sendList(list))).depends_on_concepts).toEqual(list);
    expect(readInvalidFields(await sendList([openId, hiddenId]))).toEqual(['depends_on_concepts.1']);
  });

  it('says nothing about the other lists of the item', async () => {
    const { as } = await createDeniedUser();
    const id = await createItem(company.as, { depends_on_concepts: [concepts.hiddenId] });
    const json = { source_concept_ids: [concepts.hiddenId] };
    expect(readInvalidFields(await as.patch(`${KNOWLEDGE_PATH}/semantic/${id}`, { json }))).toEqual([
      'source_concept_ids.0',
    ]);
  });
});

describe('a caller who may read no table', () => {
  const createUserWithoutTables = async () =>
    (await createAllowedUser(company, { can: ['semantic:*', 'concepts:*', 'ontology:list'] })).as;
  const makeItem = (name: string, fields: Record<string, unknown>) => ({
    kind: 'mapping',
    name,
    description: 'A probe.',
    ...fields,
  });
  const createAndReadErrors = async (as: Company['as'], fields: Record<string, unknown>, name: string) =>
    (await expectSuccess(as.post(`${KNOWLEDGE_PATH}/semantic`, { json: makeItem(name, fields) }))).validation_errors;

  it.each([
    ['a table', { mapped_tables: ['payments'] }, { mapped_tables: ['nowhere'] }],
    ['a column', { mapped_columns: ['payments.amount'] }, { mapped_columns: ['nowhere.amount'] }],
    [
      'a type',
      { mapped_tables: ['payments'], formula: 'city + 1' },
      { mapped_tables: ['nowhere'], formula: 'city + 1' },
    ],
    [
      'a column of a formula',
      { mapped_tables: ['payments'], formula: 'amounts' },
      { mapped_tables: ['nowhere'], formula: 'amounts' },
    ],
  ])(
    'gets the same errors for %s that exists as for an unknown one',
    async (subject, existingFields, unknownFields) => {
      const as = await createUserWithoutTables();
      const reportedErrors = JSON.stringify(
        await createAndReadErrors(as, existingFields, `There ${subject}`),
      ).replaceAll('payments', 'nowhere');
      expect(reportedErrors).toBe(JSON.stringify(await createAndReadErrors(as, unknownFields, `Nowhere ${subject}`)));
      expect(reportedErrors).toContain('unknown_table');
      // Neither when it is read, listed or changed.
      const { records } = await expectSuccess(as.get(`${KNOWLEDGE_PATH}/semantic?search=There ${subject}`));
      const storedItem = await expectSuccess(as.get(`${KNOWLEDGE_PATH}/semantic/${records[0]._id}`));
      const json = { description: 'Changed.' };
      const changedItem = await expectSuccess(as.patch(`${KNOWLEDGE_PATH}/semantic/${records[0]._id}`, { json }));
      for (const { validation_errors } of [records[0], storedItem, changedItem])
        expect(JSON.stringify(validation_errors).replaceAll('payments', 'nowhere')).toBe(reportedErrors);
    },
  );

  it('gets 403 for an invalid query, without the reason why it is invalid', async () => {
    const as = await createUserWithoutTables();
    const wrongQuery = { metrics: ['Income'], time_grain: 'day' };
    expect((await queryMetrics(company.as, wrongQuery)).status).toBe(422);
    expect((await queryMetrics(as, wrongQuery)).status).toBe(403);
    const json = { question: 'By day?', query: wrongQuery };
    expect((await as.post(QUESTIONS_PATH, { json })).status).toBe(403);
  });

  it('gets an export without tables', async () => {
    const as = await createUserWithoutTables();
    expect(JSON.stringify(await expectSuccess(company.as.get(`${KNOWLEDGE_PATH}/export?format=ossie`)))).toContain(
      'public.payments',
    );
    expect(JSON.stringify(await expectSuccess(as.get(`${KNOWLEDGE_PATH}/export?format=ossie`)))).not.toContain(
      'public.payments',
    );
  });
});
