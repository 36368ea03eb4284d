import { describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  makeName,
  readInvalidFields,
  UNKNOWN_ID,
} from './support.ts';

const makeNameAndDescription = () => ({ name: makeName('limited'), description: 'x' });

const company = await createOwnedCompany();
const ownerCaller = company.as;
const [concept, subject, object] = [
  await createConcept(ownerCaller),
  await createNode(ownerCaller),
  await createNode(ownerCaller),
];
/** Resources that fields can refer to. */
const ids = {
  concept,
  metric: await createItem(ownerCaller, { kind: 'metric' }),
  entity: await createItem(ownerCaller, { kind: 'entity' }),
};
/** Functions that make the required fields of each type of resource. */
const requiredFields: Record<string, () => Record<string, unknown>> = {
  concepts: makeNameAndDescription,
  semantic: () => ({ kind: 'metric', ...makeNameAndDescription(), source_concept_ids: [concept] }),
  'ontology/nodes': makeNameAndDescription,
  'ontology/relations': () => ({
    subject_node_id: subject,
    predicate: makeName('knows'),
    object_node_id: object,
    description: 'x',
  }),
};

const makeRequiredFields = (path: string) => requiredFields[path]?.() ?? {};
const createResource = (path: string, fields: Record<string, unknown>) =>
  ownerCaller.post(`${KNOWLEDGE_PATH}/${path}`, { json: { ...makeRequiredFields(path), ...fields } });

const makeText = (length: number) => 'x'.repeat(length);
const makeTexts = (count: number, length = 1) => Array.from({ length: count }, () => makeText(length));
const repeatId = (type: keyof typeof ids, count: number) => Array.from({ length: count }, () => ids[type]);

/** A field, its longest value, and a value that is too long. Values with ids are functions, as the ids are created later. */
const LIMITS: [path: string, field: string, good: unknown | (() => unknown), bad: unknown | (() => unknown)][] = [
  ['concepts', 'name', makeText(200), makeText(201)],
  ['concepts', 'description', makeText(4096), makeText(4097)],
  ['concepts', 'aliases', makeTexts(20, 200), makeTexts(21)],
  ['concepts', 'tags', makeTexts(20, 200), makeTexts(21)],
  ['concepts', 'related_catalog_assets', makeTexts(20, 300), makeTexts(21)],
  ['concepts', 'source', makeText(200), makeText(201)],
  ['concepts', 'confidence', 1, 1.01],
  ['concepts', 'confidence', 0, -0.01],
  ['concepts', 'status', 'draft', 'archived'],
  ['concepts', 'status', 'active', 'published'],
  ['concepts', 'type', 'rule', 'entity'],
  ['semantic', 'kind', 'dimension', 'measure'],
  ['semantic', 'status', 'active', 'archived'],
  ['semantic', 'name', makeText(200), makeText(201)],
  ['semantic', 'description', makeText(4096), makeText(4097)],
  ['semantic', 'formula', makeText(4096), makeText(4097)],
  ['semantic', 'grain', makeText(200), makeText(201)],
  ['semantic', 'filters', makeTexts(20), makeTexts(21)],
  ['semantic', 'aggregation', makeText(100), makeText(101)],
  ['semantic', 'mapped_tables', makeTexts(20), makeTexts(21)],
  ['semantic', 'mapped_columns', makeTexts(100), makeTexts(101)],
  ['semantic', 'mapped_relations', makeTexts(100), makeTexts(101)],
  ['semantic', 'source_concept_ids', () => repeatId('concept', 20), () => repeatId('concept', 21)],
  ['semantic', 'depends_on_concepts', () => repeatId('concept', 100), () => repeatId('concept', 101)],
  ['semantic', 'depends_on_metrics', () => repeatId('metric', 100), () => repeatId('metric', 101)],
  ['semantic', 'depends_on_entities', () => repeatId('entity', 100), () => repeatId('entity', 101)],
  ['ontology/nodes', 'name', makeText(200), makeText(201)],
  ['ontology/nodes', 'description', makeText(4096), makeText(4097)],
  ['ontology/nodes', 'node_type', 'state', 'thing'],
  ['ontology/nodes', 'status', 'active', 'archived'],
  ['ontology/nodes', 'aliases', makeTexts(20, 200), makeTexts(21)],
  ['ontology/nodes', 'attributes', makeTexts(100, 300), makeTexts(101)],
  ['ontology/nodes', 'constraints', makeTexts(100, 1000), makeTexts(101)],
  ['ontology/nodes', 'mapped_catalog_assets', makeTexts(100, 300), makeTexts(101)],
  ['ontology/nodes', 'source_concepts', () => repeatId('concept', 100), () => repeatId('concept', 101)],
  ['ontology/nodes', 'mapped_semantic_entities', () => repeatId('entity', 100), () => repeatId('entity', 101)],
  ['ontology/relations', 'predicate', makeText(200), makeText(201)],
  ['ontology/relations', 'description', makeText(4096), makeText(4097)],
  ['ontology/relations', 'cardinality', makeText(50), makeText(51)],
  ['ontology/relations', 'relation_type', makeText(100), makeText(101)],
  ['ontology/relations', 'confidence', 1, 1.01],
  ['ontology/relations', 'status', 'active', 'archived'],
  ['ontology/relations', 'evidence', makeTexts(100, 1000), makeTexts(101)],
];

const readValue = (of: unknown | (() => unknown)): unknown => (typeof of === 'function' ? of() : of);

describe('the body of a resource', () => {
  it.each(LIMITS)(
    'of %s accepts %s up to its limit and no more, in POST and PATCH',
    async (path, field, longestValue, tooLongValue) => {
      const createdAnswer = await createResource(path, { [field]: readValue(longestValue) });
      expect([createdAnswer.status, createdAnswer.body[field]]).toEqual([201, readValue(longestValue)]);
      expect(readInvalidFields(await createResource(path, { [field]: readValue(tooLongValue) }))).toEqual([field]);
      // What is there may be archived by its status; what is made may not.
      const refusedValue = readValue(tooLongValue) === 'archived' ? 'gone' : readValue(tooLongValue);
      expect(
        readInvalidFields(
          await ownerCaller.patch(`${KNOWLEDGE_PATH}/${path}/${createdAnswer.body._id}`, {
            json: { [field]: refusedValue },
          }),
        ),
      ).toEqual([field]);
      await ownerCaller.delete(`${KNOWLEDGE_PATH}/${path}/${createdAnswer.body._id}`);
    },
  );

  it.each([
    ['concepts', 'aliases', 200],
    ['concepts', 'tags', 200],
    ['concepts', 'related_catalog_assets', 300],
    ['semantic', 'filters', 4096],
    ['semantic', 'mapped_tables', 200],
    ['semantic', 'mapped_columns', 200],
    ['semantic', 'mapped_relations', 500],
    ['ontology/nodes', 'attributes', 300],
    ['ontology/nodes', 'constraints', 1000],
    ['ontology/nodes', 'mapped_catalog_assets', 300],
  ])('of %s accepts items of %s of at most %i characters', async (path, field, length) => {
    expect((await createResource(path, { [field]: ['y', makeText(length)] })).status).toBe(201);
    expect(readInvalidFields(await createResource(path, { [field]: ['y', makeText(length + 1)] }))).toEqual([
      `${field}.1`,
    ]);
  });

  it.each(['concepts', 'semantic', 'ontology/nodes'])('of %s needs a name and a description', async (path) => {
    for (const invalidValue of ['', '   ', undefined, null, 7, ['x'], 'a\0b', '\ud800']) {
      for (const field of ['name', 'description']) {
        expect(readInvalidFields(await createResource(path, { [field]: invalidValue }))).toEqual([field]);
      }
    }
  });

  it('of ontology/relations needs a predicate, two nodes and a description, and no name', async () => {
    for (const field of ['subject_node_id', 'predicate', 'object_node_id', 'description']) {
      expect(readInvalidFields(await createResource('ontology/relations', { [field]: undefined }))).toEqual([field]);
      expect(readInvalidFields(await createResource('ontology/relations', { [field]: '' }))).toEqual([field]);
    }
    expect((await createResource('ontology/relations', {})).status).toBe(201);
  });

  it.each([
    ['semantic', 'source_concept_ids'],
    ['semantic', 'depends_on_concepts'],
    ['semantic', 'depends_on_metrics'],
    ['semantic', 'depends_on_entities'],
    ['ontology/nodes', 'source_concepts'],
    ['ontology/nodes', 'mapped_semantic_entities'],
  ])('of %s may refer in %s only to existing ids', async (path, field) => {
    for (const invalidId of [UNKNOWN_ID, 'not-an-id', UNKNOWN_ID.toUpperCase(), 7]) {
      expect(readInvalidFields(await createResource(path, { [field]: [invalidId] }))).toEqual([`${field}.0`]);
    }
  });
});

describe('a list', () => {
  it.each([
    ['concepts', 'type=verb'],
    ['semantic', 'kind=measure'],
    ['ontology/nodes', 'node_type=thing'],
    ['jobs', 'target_type=concept_create'],
    ['jobs', 'status=done'],
    ['suggestions', 'target_type=node'],
    ['suggestions', 'status=staged'],
  ])('of %s refuses the filter %s', async (path, query) => {
    expect(readInvalidFields(await ownerCaller.get(`${KNOWLEDGE_PATH}/${path}?${query}`))).toEqual([
      query.split('=')[0],
    ]);
  });

  it.each(['concepts', 'semantic', 'ontology/nodes', 'ontology/relations', 'suggestions', 'jobs'])(
    'of %s has pages of 1 to 100, 20 by default',
    async (path) => {
      const readList = (query: string) => ownerCaller.get(`${KNOWLEDGE_PATH}/${path}?${query}`);
      expect((await readList('')).body).toMatchObject({ page: 1, per_page: 20, total: expect.any(Number) });
      expect((await readList('per_page=100&page=2')).body).toMatchObject({ page: 2, per_page: 100 });
      for (const invalidQuery of [
        'page=0',
        'page=-1',
        'page=1.5',
        'per_page=0',
        'per_page=101',
        'per_page=x',
        'status=gone',
      ]) {
        expect(readInvalidFields(await readList(invalidQuery))).toEqual([invalidQuery.split('=')[0]]);
      }
    },
  );

  it.each(['concepts', 'semantic', 'ontology/nodes'])(
    'of %s searches literally, in any case and form of Unicode',
    async (path) => {
      await createResource(path, { name: makeName('Ação 100%_ﬁm') });
      const countRecords = async (search: string) =>
        (await ownerCaller.get(`${KNOWLEDGE_PATH}/${path}?search=${encodeURIComponent(search)}`)).body.total;
      expect(await countRecords('AÇÃO 100%')).toBe(1);
      expect(await countRecords('ação'.normalize('NFD'))).toBe(1);
      expect(await countRecords('100_%')).toBe(0);
      expect(await countRecords('fim')).toBe(1);
      expect(await countRecords(makeText(200))).toBeGreaterThanOrEqual(0);
      expect(await countRecords('')).toBe((await ownerCaller.get(`${KNOWLEDGE_PATH}/${path}`)).body.total);
      expect(readInvalidFields(await ownerCaller.get(`${KNOWLEDGE_PATH}/${path}?search=${makeText(201)}`))).toEqual([
        'search',
      ]);
    },
  );
});

describe.each([
  ['concept', '/concepts', createConcept],
  ['semantic item', '/semantic', createItem],
  ['node', '/ontology/nodes', createNode],
  [
    'relation',
    '/ontology/relations',
    async (as: Caller) => createRelation(as, await createNode(as), 'is part of', await createNode(as)),
  ],
])('an archived %s', (_what, path, createResource) => {
  it('can be read by its id, is listed with status=archived, and cannot be archived again', async () => {
    const as = ownerCaller;
    const id = await createResource(as);
    const resourcePath = `${KNOWLEDGE_PATH}${path}/${id}`;
    expect((await as.delete(resourcePath)).status).toBe(204);
    const { status, body } = await as.get(resourcePath);
    expect([status, body._id, body.status]).toEqual([200, id, 'archived']);
    const listIds = async (query: string) =>
      (await as.get(`${KNOWLEDGE_PATH}${path}?per_page=100${query}`)).body.records.map(
        ({ _id }: { _id: string }) => _id,
      );
    expect(await listIds('')).not.toContain(id);
    expect(await listIds('&status=archived')).toContain(id);
    expect(readStatusAndCode(await as.delete(resourcePath))).toEqual([404, expect.stringMatching(/_NOT_FOUND$/)]);
    expect((await as.get(resourcePath)).status).toBe(200);
  });
});
