import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { createConcept, createItem, KNOWLEDGE_PATH, makeName, readInvalidFields, UNKNOWN_ID } from './support.ts';

const ITEMS_PATH = `${KNOWLEDGE_PATH}/semantic`;

const company = await createOwnedCompany();
const ownerCaller = company.as;
const concept = await createConcept(ownerCaller);

const postItem = (fields: Record<string, unknown>, caller = ownerCaller) =>
  caller.post(ITEMS_PATH, {
    json: { kind: 'metric', name: makeName('item'), description: 'x', source_concept_ids: [concept], ...fields },
  });

describe('a semantic item', () => {
  it('needs a kind', async () => {
    expect(readInvalidFields(await postItem({ kind: undefined }))).toEqual(['kind']);
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
