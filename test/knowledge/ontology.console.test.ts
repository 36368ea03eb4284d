import { describe, expect, it } from 'vitest';
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

const NODES_PATH = `${KNOWLEDGE_PATH}/ontology/nodes`;
const RELATIONS_PATH = `${KNOWLEDGE_PATH}/ontology/relations`;

const company = await createOwnedCompany();
const ownerCaller = company.as;

const postNode = (fields: Record<string, unknown> = {}) =>
  ownerCaller.post(NODES_PATH, { json: { name: makeName('node'), description: 'x', node_type: 'class', ...fields } });
const postRelation = (fields: Record<string, unknown>) =>
  ownerCaller.post(RELATIONS_PATH, { json: { description: 'x', predicate: 'has', ...fields } });
const setParent = (id: string, parent: string | null) =>
  ownerCaller.patch(`${NODES_PATH}/${id}`, { json: { parent_node_id: parent } });

describe('an ontology node', () => {
  it('is returned with every field', async () => {
    const concept = await createConcept(ownerCaller);
    const entity = await createItem(ownerCaller, { kind: 'entity' });
    const fields = {
      name: 'Order',
      description: 'What a customer asks for.',
      node_type: 'object',
      parent_node_id: await createNode(ownerCaller),
      aliases: ['Pedido'],
      attributes: ['total'],
      constraints: ['total >= 0'],
      source_concepts: [concept],
      mapped_semantic_entities: [entity],
      mapped_catalog_assets: ['orders'],
      status: 'active',
    };
    const { status, body } = await ownerCaller.post(NODES_PATH, { json: fields });
    expect(status).toBe(201);
    expect(body).toMatchObject({ ...fields, version: 1, company_id: company.id });
  });

  it.each(['class', 'role', 'event', 'object', 'state'])('may have the type %s', async (node_type) => {
    expect((await postNode({ node_type })).body.node_type).toBe(node_type);
  });

  it('may refer only to resources of its company that have the right type', async () => {
    const other = await createOwnedCompany();
    const concept = await createConcept(ownerCaller);
    const metric = await createItem(ownerCaller, { kind: 'metric' });
    expect(readInvalidFields(await postNode({ parent_node_id: UNKNOWN_ID }))).toEqual(['parent_node_id']);
    expect(readInvalidFields(await postNode({ parent_node_id: await createNode(other.as) }))).toEqual([
      'parent_node_id',
    ]);
    expect(readInvalidFields(await postNode({ parent_node_id: concept }))).toEqual(['parent_node_id']);
    expect(readInvalidFields(await postNode({ source_concepts: [concept, UNKNOWN_ID] }))).toEqual([
      'source_concepts.1',
    ]);
    expect(readInvalidFields(await postNode({ mapped_semantic_entities: [metric] }))).toEqual([
      'mapped_semantic_entities.0',
    ]);
    expect(readInvalidFields(await postNode({ parent_node_id: 'not-an-id' }))).toEqual(['parent_node_id']);
  });

  it('is unique by type and name', async () => {
    const name = makeName('Stage');
    expect((await postNode({ name, node_type: 'state' })).status).toBe(201);
    expect((await postNode({ name, node_type: 'event' })).status).toBe(201);
    const repeatedAnswer = await postNode({ name: name.toLowerCase(), node_type: 'state' });
    expect(readStatusAndCode(repeatedAnswer)).toEqual([409, 'ONTOLOGY_NODE_DUPLICATE']);
  });

  it('is never its own ancestor', async () => {
    const [a, b, c] = [await createNode(ownerCaller), await createNode(ownerCaller), await createNode(ownerCaller)];
    expect(readInvalidFields(await setParent(a, a))).toEqual(['parent_node_id']);
    expect((await setParent(b, a)).status).toBe(200);
    expect((await setParent(c, b)).status).toBe(200);
    expect(readInvalidFields(await setParent(a, c))).toEqual(['parent_node_id']);
    expect((await setParent(b, null)).status).toBe(200);
    expect((await setParent(a, c)).status).toBe(200);
  });

  it('keeps its parent when the parent is archived', async () => {
    const parentId = await createNode(ownerCaller);
    const childId = await createNode(ownerCaller, { parent_node_id: parentId });
    await ownerCaller.delete(`${NODES_PATH}/${parentId}`);
    const changeAnswer = await ownerCaller.patch(`${NODES_PATH}/${childId}`, {
      json: { aliases: ['x'], parent_node_id: parentId },
    });
    expect(changeAnswer.body).toMatchObject({ parent_node_id: parentId, aliases: ['x'] });
  });

  it('is listed by type, status and search', async () => {
    const { as } = await createOwnedCompany();
    await createNode(as, { name: 'Invoice', node_type: 'object' });
    await createNode(as, { name: 'Payment', node_type: 'event', status: 'active' });
    const countRecords = async (query: string) => (await as.get(`${NODES_PATH}?${query}`)).body.total;
    expect(await countRecords('node_type=event')).toBe(1);
    expect(await countRecords('status=draft')).toBe(1);
    expect(await countRecords('search=INVO')).toBe(1);
  });
});

describe('an ontology relation', () => {
  it('needs a predicate and two nodes that exist, and no name', async () => {
    const other = await createOwnedCompany();
    const [a, b] = [await createNode(ownerCaller), await createNode(ownerCaller)];
    const fields = {
      subject_node_id: a,
      predicate: 'places',
      object_node_id: b,
      description: 'Who orders.',
      cardinality: '1:N',
      relation_type: 'association',
      confidence: 0.9,
      evidence: ['The contract says so.', { source: 'catalog', table: 'orders', column: 'customer_id', quote: null }],
      status: 'active',
    };
    const { status, body } = await ownerCaller.post(RELATIONS_PATH, { json: fields });
    expect([status, body]).toEqual([201, expect.objectContaining(fields)]);
    const nodeIds = { subject_node_id: a, object_node_id: b };
    expect(readInvalidFields(await postRelation({ ...nodeIds, subject_node_id: UNKNOWN_ID }))).toEqual([
      'subject_node_id',
    ]);
    expect(readInvalidFields(await postRelation({ ...nodeIds, object_node_id: await createNode(other.as) }))).toEqual([
      'object_node_id',
    ]);
    expect(
      readInvalidFields(await postRelation({ ...nodeIds, object_node_id: await createConcept(ownerCaller) })),
    ).toEqual(['object_node_id']);
    expect(readStatusAndCode(await postRelation({ ...nodeIds, predicate: 'PLACES' }))).toEqual([
      409,
      'ONTOLOGY_RELATION_DUPLICATE',
    ]);
    expect((await postRelation({ subject_node_id: b, object_node_id: a, predicate: 'places' })).status).toBe(201);
  });

  it('is listed by predicate, nodes and status', async () => {
    const { as } = await createOwnedCompany();
    const [a, b, c] = [await createNode(as), await createNode(as), await createNode(as)];
    await createRelation(as, a, 'Owns', b);
    await createRelation(as, b, 'owns', c);
    await createRelation(as, a, 'sees', c);
    const countRecords = async (query: string) => (await as.get(`${RELATIONS_PATH}?${query}`)).body.total;
    expect(await countRecords('')).toBe(3);
    expect(await countRecords('predicate=OWNS')).toBe(2);
    expect(await countRecords(`subject_node_id=${a}`)).toBe(2);
    expect(await countRecords(`subject_node_id=${a}&predicate=owns`)).toBe(1);
    expect(await countRecords(`object_node_id=${c}`)).toBe(2);
    expect(await countRecords('status=active')).toBe(0);
    expect(await countRecords(`subject_node_id=${UNKNOWN_ID}`)).toBe(0);
  });
});
