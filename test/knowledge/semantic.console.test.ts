import { beforeAll, describe, expect, it } from 'vitest';
import { statusAndCode } from '../support/console.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aConcept, aName, anItem, fieldsOf, KNOWLEDGE_PATH, NOBODY } from './support.ts';

const PATH = `${KNOWLEDGE_PATH}/semantic`;
let company: Company;
let asOwner: Company['as'];
let concept: string;

beforeAll(async () => {
  company = await aCompany();
  asOwner = company.as;
  concept = await aConcept(asOwner);
});

const create = (fields: Record<string, unknown>, caller = asOwner) =>
  caller.post(PATH, {
    json: { kind: 'metric', name: aName('item'), description: 'x', source_concept_ids: [concept], ...fields },
  });

describe('a semantic item', () => {
  it('needs a kind', async () => {
    expect(fieldsOf(await create({ kind: undefined }))).toEqual(['kind']);
  });

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
      depends_on_metrics: [await anItem(asOwner, { kind: 'metric' })],
      depends_on_entities: [await anItem(asOwner, { kind: 'entity' })],
    };
    const { status, body } = await asOwner.post(PATH, { json: fields });
    expect([status, body]).toEqual([201, expect.objectContaining({ ...fields, validation_errors: [] })]);
  });

  it.each(['entity', 'metric', 'dimension'])('of kind %s needs a source concept', async (kind) => {
    expect(fieldsOf(await create({ kind, source_concept_ids: [] }))).toEqual(['source_concept_ids']);
    const { body } = await create({ kind });
    const patched = await asOwner.patch(`${PATH}/${body._id}`, { json: { source_concept_ids: [] } });
    expect(fieldsOf(patched)).toEqual(['source_concept_ids']);
  });

  it('of kind mapping needs no source concept, and does not change its kind without one', async () => {
    const { status, body } = await create({ kind: 'mapping', source_concept_ids: [] });
    expect(status).toBe(201);
    expect(fieldsOf(await asOwner.patch(`${PATH}/${body._id}`, { json: { kind: 'entity' } }))).toEqual([
      'source_concept_ids',
    ]);
  });

  it('may refer only to existing resources of the right type', async () => {
    const foreign = await aConcept((await aCompany()).as);
    const [metric, entity] = [await anItem(asOwner, { kind: 'metric' }), await anItem(asOwner, { kind: 'entity' })];
    expect(fieldsOf(await create({ source_concept_ids: [concept, foreign] }))).toEqual(['source_concept_ids.1']);
    expect(fieldsOf(await create({ depends_on_concepts: [NOBODY] }))).toEqual(['depends_on_concepts.0']);
    expect(fieldsOf(await create({ depends_on_metrics: [metric, entity] }))).toEqual(['depends_on_metrics.1']);
    expect(fieldsOf(await create({ depends_on_entities: [metric] }))).toEqual(['depends_on_entities.0']);
  });

  it('never depends on itself, even through others', async () => {
    const a = await anItem(asOwner, { kind: 'metric' });
    const b = await anItem(asOwner, { kind: 'metric', depends_on_metrics: [a] });
    const patched = await asOwner.patch(`${PATH}/${a}`, { json: { depends_on_metrics: [b] } });
    expect(fieldsOf(patched)).toEqual(['depends_on_metrics']);
    // Nor by metrics and entities in turn.
    const entity = await anItem(asOwner, { kind: 'entity', depends_on_metrics: [b] });
    const round = await asOwner.patch(`${PATH}/${a}`, {
      json: { depends_on_entities: [entity], depends_on_metrics: [] },
    });
    expect(fieldsOf(round)).toEqual(['depends_on_entities']);
    const both = { depends_on_entities: [entity], depends_on_metrics: [b] };
    expect(fieldsOf(await asOwner.patch(`${PATH}/${a}`, { json: both })).sort()).toEqual(Object.keys(both).sort());
    const itself = await asOwner.patch(`${PATH}/${a}`, { json: { depends_on_metrics: [a] } });
    expect(fieldsOf(itself)).toEqual(['depends_on_metrics']);
  });

  it('is unique by kind and name, and listed by kind, status and search', async () => {
    const name = aName('Margin');
    expect((await create({ kind: 'metric', name })).status).toBe(201);
    expect((await create({ kind: 'dimension', name, status: 'active' })).status).toBe(201);
    expect(statusAndCode(await create({ kind: 'metric', name: name.toUpperCase() }))).toEqual([
      409,
      'SEMANTIC_ITEM_DUPLICATE',
    ]);
    const total = async (query: string) => (await asOwner.get(`${PATH}?${query}`)).body.total;
    const search = `search=${encodeURIComponent(name.toLowerCase())}`;
    expect(await total(search)).toBe(2);
    expect(await total(`${search}&kind=metric`)).toBe(1);
    expect(await total(`${search}&status=active`)).toBe(1);
  });
});
