import { beforeAll, describe, expect, it } from 'vitest';
import { readStatusAndCode } from '../support/console.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { createConcept, createItem, createNode, createRelation, KNOWLEDGE_PATH } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

describe.each([
  ['concept', '/concepts', (as: Company['as']) => createConcept(as)],
  ['semantic item', '/semantic', (as: Company['as']) => createItem(as)],
  ['node', '/ontology/nodes', (as: Company['as']) => createNode(as)],
  [
    'relation',
    '/ontology/relations',
    async (as: Company['as']) => createRelation(as, await createNode(as), 'is part of', await createNode(as)),
  ],
])('an archived %s', (_what, path, make) => {
  it('is read by its id, listed with status=archived, and not archived again', async () => {
    const { as } = company;
    const id = await make(as);
    const one = `${KNOWLEDGE_PATH}${path}/${id}`;
    expect((await as.delete(one)).status).toBe(204);
    const { status, body } = await as.get(one);
    expect([status, body._id, body.status]).toEqual([200, id, 'archived']);
    const listed = async (query: string) =>
      (await as.get(`${KNOWLEDGE_PATH}${path}?per_page=100${query}`)).body.records.map(
        ({ _id }: { _id: string }) => _id,
      );
    expect(await listed('')).not.toContain(id);
    expect(await listed('&status=archived')).toContain(id);
    expect(readStatusAndCode(await as.delete(one))).toEqual([404, expect.stringMatching(/_NOT_FOUND$/)]);
    expect((await as.get(one)).status).toBe(200);
  });
});
