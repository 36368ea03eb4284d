import { beforeAll, describe, expect, it } from 'vitest';
import { aCompany, type Company } from '../support/worlds.ts';
import { aConcept, aName, aNode, anItem, fieldsOf, KNOWLEDGE_PATH, NOBODY } from './support.ts';

let company: Company;
let asOwner: Company['as'];
/** The required fields of each type. */
let least: Record<string, () => Record<string, unknown>>;
/** Resources that fields can refer to. */
let ids: { concept: string; metric: string; entity: string };

const described = () => ({ name: aName('limited'), description: 'x' });

beforeAll(async () => {
  company = await aCompany();
  asOwner = company.as;
  const [concept, subject, object] = [await aConcept(asOwner), await aNode(asOwner), await aNode(asOwner)];
  ids = {
    concept,
    metric: await anItem(asOwner, { kind: 'metric' }),
    entity: await anItem(asOwner, { kind: 'entity' }),
  };
  least = {
    concepts: described,
    semantic: () => ({ kind: 'metric', ...described(), source_concept_ids: [concept] }),
    'ontology/nodes': described,
    'ontology/relations': () => ({
      subject_node_id: subject,
      predicate: aName('knows'),
      object_node_id: object,
      description: 'x',
    }),
  };
});

const leastOf = (path: string) => least[path]?.() ?? {};
const create = (path: string, fields: Record<string, unknown>) =>
  asOwner.post(`${KNOWLEDGE_PATH}/${path}`, { json: { ...leastOf(path), ...fields } });

const text = (length: number) => 'x'.repeat(length);
const texts = (count: number, length = 1) => Array.from({ length: count }, () => text(length));
const idsOfType = (type: keyof typeof ids, count: number) => Array.from({ length: count }, () => ids[type]);

/** A field, its longest value, and one that is too long. Values made of ids are made when these exist. */
const LIMITS: [path: string, field: string, good: unknown | (() => unknown), bad: unknown | (() => unknown)][] = [
  ['concepts', 'name', text(200), text(201)],
  ['concepts', 'description', text(4096), text(4097)],
  ['concepts', 'aliases', texts(20, 200), texts(21)],
  ['concepts', 'tags', texts(20, 200), texts(21)],
  ['concepts', 'related_catalog_assets', texts(20, 300), texts(21)],
  ['concepts', 'source', text(200), text(201)],
  ['concepts', 'confidence', 1, 1.01],
  ['concepts', 'confidence', 0, -0.01],
  ['concepts', 'status', 'draft', 'archived'],
  ['concepts', 'status', 'active', 'published'],
  ['concepts', 'type', 'rule', 'entity'],
  ['semantic', 'kind', 'dimension', 'measure'],
  ['semantic', 'status', 'active', 'archived'],
  ['semantic', 'name', text(200), text(201)],
  ['semantic', 'description', text(4096), text(4097)],
  ['semantic', 'formula', text(4096), text(4097)],
  ['semantic', 'grain', text(200), text(201)],
  ['semantic', 'filters', texts(20), texts(21)],
  ['semantic', 'aggregation', text(100), text(101)],
  ['semantic', 'mapped_tables', texts(20), texts(21)],
  ['semantic', 'mapped_columns', texts(100), texts(101)],
  ['semantic', 'mapped_relations', texts(100), texts(101)],
  ['semantic', 'source_concept_ids', () => idsOfType('concept', 20), () => idsOfType('concept', 21)],
  ['semantic', 'depends_on_concepts', () => idsOfType('concept', 100), () => idsOfType('concept', 101)],
  ['semantic', 'depends_on_metrics', () => idsOfType('metric', 100), () => idsOfType('metric', 101)],
  ['semantic', 'depends_on_entities', () => idsOfType('entity', 100), () => idsOfType('entity', 101)],
  ['ontology/nodes', 'name', text(200), text(201)],
  ['ontology/nodes', 'description', text(4096), text(4097)],
  ['ontology/nodes', 'node_type', 'state', 'thing'],
  ['ontology/nodes', 'status', 'active', 'archived'],
  ['ontology/nodes', 'aliases', texts(20, 200), texts(21)],
  ['ontology/nodes', 'attributes', texts(100, 300), texts(101)],
  ['ontology/nodes', 'constraints', texts(100, 1000), texts(101)],
  ['ontology/nodes', 'mapped_catalog_assets', texts(100, 300), texts(101)],
  ['ontology/nodes', 'source_concepts', () => idsOfType('concept', 100), () => idsOfType('concept', 101)],
  ['ontology/nodes', 'mapped_semantic_entities', () => idsOfType('entity', 100), () => idsOfType('entity', 101)],
  ['ontology/relations', 'predicate', text(200), text(201)],
  ['ontology/relations', 'description', text(4096), text(4097)],
  ['ontology/relations', 'cardinality', text(50), text(51)],
  ['ontology/relations', 'relation_type', text(100), text(101)],
  ['ontology/relations', 'confidence', 1, 1.01],
  ['ontology/relations', 'status', 'active', 'archived'],
  ['ontology/relations', 'evidence', texts(100, 1000), texts(101)],
];

const value = (of: unknown | (() => unknown)): unknown => (typeof of === 'function' ? of() : of);

describe('the body of a resource', () => {
  it.each(LIMITS)('of %s accepts %s up to its limit and no more, in POST and PATCH', async (path, field, good, bad) => {
    const made = await create(path, { [field]: value(good) });
    expect([made.status, made.body[field]]).toEqual([201, value(good)]);
    expect(fieldsOf(await create(path, { [field]: value(bad) }))).toEqual([field]);
    // What is there may be archived by its status; what is made may not.
    const refused = value(bad) === 'archived' ? 'gone' : value(bad);
    expect(
      fieldsOf(await asOwner.patch(`${KNOWLEDGE_PATH}/${path}/${made.body._id}`, { json: { [field]: refused } })),
    ).toEqual([field]);
    await asOwner.delete(`${KNOWLEDGE_PATH}/${path}/${made.body._id}`);
  });

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
    expect((await create(path, { [field]: ['y', text(length)] })).status).toBe(201);
    expect(fieldsOf(await create(path, { [field]: ['y', text(length + 1)] }))).toEqual([`${field}.1`]);
  });

  it.each(['concepts', 'semantic', 'ontology/nodes'])('of %s needs a name and a description', async (path) => {
    for (const bad of ['', '   ', undefined, null, 7, ['x'], 'a\0b', '\ud800']) {
      for (const field of ['name', 'description']) {
        expect(fieldsOf(await create(path, { [field]: bad }))).toEqual([field]);
      }
    }
  });

  it('of ontology/relations needs a predicate, two nodes and a description, and no name', async () => {
    for (const field of ['subject_node_id', 'predicate', 'object_node_id', 'description']) {
      expect(fieldsOf(await create('ontology/relations', { [field]: undefined }))).toEqual([field]);
      expect(fieldsOf(await create('ontology/relations', { [field]: '' }))).toEqual([field]);
    }
    expect((await create('ontology/relations', {})).status).toBe(201);
  });

  it.each([
    ['semantic', 'source_concept_ids'],
    ['semantic', 'depends_on_concepts'],
    ['semantic', 'depends_on_metrics'],
    ['semantic', 'depends_on_entities'],
    ['ontology/nodes', 'source_concepts'],
    ['ontology/nodes', 'mapped_semantic_entities'],
  ])('of %s may refer in %s only to existing ids', async (path, field) => {
    for (const bad of [NOBODY, 'not-an-id', NOBODY.toUpperCase(), 7]) {
      expect(fieldsOf(await create(path, { [field]: [bad] }))).toEqual([`${field}.0`]);
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
    expect(fieldsOf(await asOwner.get(`${KNOWLEDGE_PATH}/${path}?${query}`))).toEqual([query.split('=')[0]]);
  });

  it.each(['concepts', 'semantic', 'ontology/nodes', 'ontology/relations', 'suggestions', 'jobs'])(
    'of %s has pages of 1 to 100, 20 by default',
    async (path) => {
      const list = (query: string) => asOwner.get(`${KNOWLEDGE_PATH}/${path}?${query}`);
      expect((await list('')).body).toMatchObject({ page: 1, per_page: 20, total: expect.any(Number) });
      expect((await list('per_page=100&page=2')).body).toMatchObject({ page: 2, per_page: 100 });
      for (const bad of ['page=0', 'page=-1', 'page=1.5', 'per_page=0', 'per_page=101', 'per_page=x', 'status=gone']) {
        expect(fieldsOf(await list(bad))).toEqual([bad.split('=')[0]]);
      }
    },
  );

  it.each(['concepts', 'semantic', 'ontology/nodes'])(
    'of %s searches literally, in any case and form of Unicode',
    async (path) => {
      await create(path, { name: aName('Ação 100%_ﬁm') });
      const total = async (search: string) =>
        (await asOwner.get(`${KNOWLEDGE_PATH}/${path}?search=${encodeURIComponent(search)}`)).body.total;
      expect(await total('AÇÃO 100%')).toBe(1);
      expect(await total('ação'.normalize('NFD'))).toBe(1);
      expect(await total('100_%')).toBe(0);
      expect(await total('fim')).toBe(1);
      expect(await total(text(200))).toBeGreaterThanOrEqual(0);
      expect(await total('')).toBe((await asOwner.get(`${KNOWLEDGE_PATH}/${path}`)).body.total);
      expect(fieldsOf(await asOwner.get(`${KNOWLEDGE_PATH}/${path}?search=${text(201)}`))).toEqual(['search']);
    },
  );
});
