import { beforeAll, describe, expect, it } from 'vitest';
import { aCompany, type Company } from '../support/worlds.ts';
import { aConcept, aName, aNode, anItem, fieldsOf, NOBODY, PREFIX } from './support.ts';

let company: Company;
let as: Company['as'];
/** What each type needs at least. */
let least: Record<string, () => Record<string, unknown>>;
/** Things that members can name. */
let ids: { concept: string; metric: string; entity: string };

const described = () => ({ name: aName('limited'), description: 'x' });

beforeAll(async () => {
  company = await aCompany();
  as = company.as;
  const [concept, subject, object] = [await aConcept(as), await aNode(as), await aNode(as)];
  ids = { concept, metric: await anItem(as, { kind: 'metric' }), entity: await anItem(as, { kind: 'entity' }) };
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
const create = (path: string, members: Record<string, unknown>) =>
  as.post(`${PREFIX}/${path}`, { json: { ...leastOf(path), ...members } });

const text = (length: number) => 'x'.repeat(length);
const texts = (count: number, length = 1) => Array.from({ length: count }, () => text(length));
const named = (type: keyof typeof ids, count: number) => Array.from({ length: count }, () => ids[type]);

/** A member, the most it takes, and too much of it. What is made of ids is made when there are some. */
const LIMITS: [path: string, member: string, good: unknown | (() => unknown), bad: unknown | (() => unknown)][] = [
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
  ['semantic', 'source_concept_ids', () => named('concept', 20), () => named('concept', 21)],
  ['semantic', 'depends_on_concepts', () => named('concept', 100), () => named('concept', 101)],
  ['semantic', 'depends_on_metrics', () => named('metric', 100), () => named('metric', 101)],
  ['semantic', 'depends_on_entities', () => named('entity', 100), () => named('entity', 101)],
  ['ontology/nodes', 'name', text(200), text(201)],
  ['ontology/nodes', 'description', text(4096), text(4097)],
  ['ontology/nodes', 'node_type', 'state', 'thing'],
  ['ontology/nodes', 'status', 'active', 'archived'],
  ['ontology/nodes', 'aliases', texts(20, 200), texts(21)],
  ['ontology/nodes', 'attributes', texts(100, 300), texts(101)],
  ['ontology/nodes', 'constraints', texts(100, 1000), texts(101)],
  ['ontology/nodes', 'mapped_catalog_assets', texts(100, 300), texts(101)],
  ['ontology/nodes', 'source_concepts', () => named('concept', 100), () => named('concept', 101)],
  ['ontology/nodes', 'mapped_semantic_entities', () => named('entity', 100), () => named('entity', 101)],
  ['ontology/relations', 'predicate', text(200), text(201)],
  ['ontology/relations', 'description', text(4096), text(4097)],
  ['ontology/relations', 'cardinality', text(50), text(51)],
  ['ontology/relations', 'relation_type', text(100), text(101)],
  ['ontology/relations', 'confidence', 1, 1.01],
  ['ontology/relations', 'status', 'active', 'archived'],
  ['ontology/relations', 'evidence', texts(100, 1000), texts(101)],
];

const value = (of: unknown | (() => unknown)): unknown => (typeof of === 'function' ? of() : of);

describe('limits', () => {
  it.each(LIMITS)(
    'of %s: %s is taken to its limit and no further, by making and by changing',
    async (path, member, good, bad) => {
      const made = await create(path, { [member]: value(good) });
      expect([made.status, made.body[member]]).toEqual([201, value(good)]);
      expect(fieldsOf(await create(path, { [member]: value(bad) }))).toEqual([member]);
      // What is there may be archived by its status; what is made may not.
      const refused = value(bad) === 'archived' ? 'gone' : value(bad);
      expect(fieldsOf(await as.patch(`${PREFIX}/${path}/${made.body._id}`, { json: { [member]: refused } }))).toEqual([
        member,
      ]);
      await as.delete(`${PREFIX}/${path}/${made.body._id}`);
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
  ])('of %s: an item of %s has at most %i characters', async (path, member, length) => {
    expect((await create(path, { [member]: ['y', text(length)] })).status).toBe(201);
    expect(fieldsOf(await create(path, { [member]: ['y', text(length + 1)] }))).toEqual([`${member}.1`]);
  });

  it.each(['concepts', 'semantic', 'ontology/nodes'])('of %s: a name and a description are needed', async (path) => {
    for (const bad of ['', '   ', undefined, null, 7, ['x'], 'a\0b', '\ud800']) {
      for (const member of ['name', 'description']) {
        expect(fieldsOf(await create(path, { [member]: bad }))).toEqual([member]);
      }
    }
  });

  it('of relations: a predicate, two ends and a description are needed, and no name', async () => {
    for (const member of ['subject_node_id', 'predicate', 'object_node_id', 'description']) {
      expect(fieldsOf(await create('ontology/relations', { [member]: undefined }))).toEqual([member]);
      expect(fieldsOf(await create('ontology/relations', { [member]: '' }))).toEqual([member]);
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
  ])('of %s: %s names what exists', async (path, member) => {
    for (const bad of [NOBODY, 'not-an-id', NOBODY.toUpperCase(), 7]) {
      expect(fieldsOf(await create(path, { [member]: [bad] }))).toEqual([`${member}.0`]);
    }
  });

  it('of bodies: they are JSON objects', async () => {
    for (const path of Object.keys(least)) {
      for (const json of [[], 'text', null, 7]) expect((await as.post(`${PREFIX}/${path}`, { json })).status).toBe(422);
      const broken = await as.post(`${PREFIX}/${path}`, {
        body: '{"name":',
        headers: { 'content-type': 'application/json' },
      });
      expect([broken.status, broken.body.error]).toEqual([400, 'INVALID_JSON']);
    }
  });
});

describe('lists', () => {
  it.each([
    ['concepts', 'type=verb'],
    ['semantic', 'kind=measure'],
    ['ontology/nodes', 'node_type=thing'],
    ['jobs', 'target_type=concept_create'],
    ['jobs', 'status=done'],
    ['suggestions', 'target_type=node'],
    ['suggestions', 'status=staged'],
  ])('of %s know no %s', async (path, query) => {
    expect(fieldsOf(await as.get(`${PREFIX}/${path}?${query}`))).toEqual([query.split('=')[0]]);
  });

  it.each(['concepts', 'semantic', 'ontology/nodes', 'ontology/relations', 'suggestions', 'jobs'])(
    'of %s have pages of 1 to 100, 20 when nothing is said',
    async (path) => {
      const list = (query: string) => as.get(`${PREFIX}/${path}?${query}`);
      expect((await list('')).body).toMatchObject({ page: 1, per_page: 20, total: expect.any(Number) });
      expect((await list('per_page=100&page=2')).body).toMatchObject({ page: 2, per_page: 100 });
      for (const bad of ['page=0', 'page=-1', 'page=1.5', 'per_page=0', 'per_page=101', 'per_page=x', 'status=gone']) {
        expect(fieldsOf(await list(bad))).toEqual([bad.split('=')[0]]);
      }
    },
  );

  it.each(['concepts', 'semantic', 'ontology/nodes'])('of %s search literally, in any case and form', async (path) => {
    await create(path, { name: aName('Ação 100%_ﬁm') });
    const total = async (search: string) =>
      (await as.get(`${PREFIX}/${path}?search=${encodeURIComponent(search)}`)).body.total;
    expect(await total('AÇÃO 100%')).toBe(1);
    expect(await total('ação'.normalize('NFD'))).toBe(1);
    expect(await total('100_%')).toBe(0);
    expect(await total('fim')).toBe(1);
    expect(await total(text(200))).toBeGreaterThanOrEqual(0);
    expect(await total('')).toBe((await as.get(`${PREFIX}/${path}`)).body.total);
    expect(fieldsOf(await as.get(`${PREFIX}/${path}?search=${text(201)}`))).toEqual(['search']);
  });
});
