import { beforeAll, describe, expect, it } from 'vitest';
import { statusAndCode } from '../support/console.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aConcept, aNode, anItem, aRelation, KNOWLEDGE_PATH } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

describe.each([
  ['concept', '/concepts', (as: Company['as']) => aConcept(as)],
  ['semantic item', '/semantic', (as: Company['as']) => anItem(as)],
  ['node', '/ontology/nodes', (as: Company['as']) => aNode(as)],
  [
    'relation',
    '/ontology/relations',
    async (as: Company['as']) => aRelation(as, await aNode(as), 'is part of', await aNode(as)),
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
    expect(statusAndCode(await as.delete(one))).toEqual([404, expect.stringMatching(/_NOT_FOUND$/)]);
    expect((await as.get(one)).status).toBe(200);
  });
});
