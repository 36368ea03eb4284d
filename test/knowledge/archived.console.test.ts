import { describe, expect, it } from 'vitest';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { createConcept, createItem, createNode, createRelation, KNOWLEDGE_PATH } from './support.ts';

const company = await createOwnedCompany();

describe.each([
  ['concept', '/concepts', (as: Company['as']) => createConcept(as)],
  ['semantic item', '/semantic', (as: Company['as']) => createItem(as)],
  ['node', '/ontology/nodes', (as: Company['as']) => createNode(as)],
  [
    'relation',
    '/ontology/relations',
    async (as: Company['as']) => createRelation(as, await createNode(as), 'is part of', await createNode(as)),
  ],
])('an archived %s', (_what, path, createResource) => {
  it('can be read by its id, is listed with status=archived, and cannot be archived again', async () => {
    const { as } = company;
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
