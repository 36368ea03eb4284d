import { describe, expect, it } from 'vitest';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { createConcept, KNOWLEDGE_PATH, makeName, readInvalidFields } from './support.ts';

const CONCEPTS_PATH = `${KNOWLEDGE_PATH}/concepts`;

const company = await createOwnedCompany();
const ownerCaller = company.as;

const postConcept = (json: unknown) => ownerCaller.post(CONCEPTS_PATH, { json });
const makeMinimalConcept = (fields: Record<string, unknown> = {}) => ({
  name: makeName('concept'),
  description: 'x',
  ...fields,
});

describe('the creation of a concept', () => {
  it('returns every field, with defaults for fields that were not sent', async () => {
    const { status, body } = await postConcept({ name: 'Churn', description: 'Customers who leave.' });
    expect(status).toBe(201);
    expect(body).toStrictEqual({
      _id: expect.stringMatching(/^[a-f0-9]{24}$/),
      company_id: company.id,
      name: 'Churn',
      description: 'Customers who leave.',
      status: 'draft',
      type: 'term',
      aliases: [],
      tags: [],
      source: null,
      confidence: null,
      related_catalog_assets: [],
      version: 1,
      suggestion_id: null,
      created_by_user_id: company.owner.id,
      updated_by_user_id: company.owner.id,
      created_at: expect.any(String),
      updated_at: body.created_at,
    });
    expect((await ownerCaller.get(`${CONCEPTS_PATH}/${body._id}`)).body).toStrictEqual(body);
  });

  it.each(['term', 'rule', 'entity_hint', 'metric_hint', 'policy_hint'])('accepts the type %s', async (type) => {
    expect((await postConcept(makeMinimalConcept({ type, status: 'active' }))).body).toMatchObject({
      type,
      status: 'active',
    });
  });

  it('is refused with a name that an unarchived concept has, in any case', async () => {
    const name = makeName('Ticket Médio');
    const id = await createConcept(ownerCaller, { name });
    const takenNameAnswer = await postConcept(
      makeMinimalConcept({ name: `  ${name.toUpperCase().replace(' ', '  ')} ` }),
    );
    expect(readStatusAndCode(takenNameAnswer)).toEqual([409, 'CONCEPT_DUPLICATE']);
    const other = await createOwnedCompany();
    expect((await other.as.post(CONCEPTS_PATH, { json: makeMinimalConcept({ name }) })).status).toBe(201);
    expect((await ownerCaller.delete(`${CONCEPTS_PATH}/${id}`)).status).toBe(204);
    const successor = await createConcept(ownerCaller, { name });
    expect(readStatusAndCode(await ownerCaller.patch(`${CONCEPTS_PATH}/${id}`, { json: { status: 'draft' } }))).toEqual(
      [409, 'CONCEPT_DUPLICATE'],
    );
    await ownerCaller.delete(`${CONCEPTS_PATH}/${successor}`);
    expect((await ownerCaller.patch(`${CONCEPTS_PATH}/${id}`, { json: { status: 'draft' } })).body.status).toBe(
      'draft',
    );
  });
});

describe('the list of concepts', () => {
  it('is returned by pages, searched and filtered', async () => {
    const { as } = await createOwnedCompany();
    for (let index = 0; index < 3; index += 1) await createConcept(as, { name: `Receita ${index}`, type: 'rule' });
    const laterConcept = await createConcept(as, { name: 'Cliente', aliases: ['FREGUÊS'], status: 'active' });
    const firstPage = await as.get(`${CONCEPTS_PATH}?per_page=2`);
    expect(firstPage.body).toMatchObject({ total: 4, page: 1, per_page: 2 });
    expect(firstPage.body.records.map(({ name }: { name: string }) => name)).toEqual(['Cliente', 'Receita 2']);
    const countRecords = async (query: string) => (await as.get(`${CONCEPTS_PATH}?${query}`)).body.total;
    expect(await countRecords('search=receita')).toBe(3);
    expect(await countRecords(`search=${encodeURIComponent('freguês')}`)).toBe(1);
    expect(await countRecords('search=%25')).toBe(0);
    expect(await countRecords('type=rule')).toBe(3);
    expect(await countRecords('status=active')).toBe(1);
    await as.delete(`${CONCEPTS_PATH}/${laterConcept}`);
    expect(await countRecords('')).toBe(3);
    expect(await countRecords('status=archived')).toBe(1);
  });
});

describe('the update of a concept', () => {
  it('changes the fields that are sent, and stores every version with its author and time', async () => {
    const { id: editorId, as: editor } = await createAllowedUser(company, { can: ['concepts:update', 'concepts:get'] });
    const id = await createConcept(ownerCaller, { description: 'first', tags: ['a'] });
    const changedConcept = await editor.patch(`${CONCEPTS_PATH}/${id}`, { json: { description: 'second' } });
    expect(changedConcept.body).toMatchObject({
      description: 'second',
      tags: ['a'],
      version: 2,
      created_by_user_id: company.owner.id,
      updated_by_user_id: editorId,
    });
    await ownerCaller.delete(`${CONCEPTS_PATH}/${id}`);
    await ownerCaller.patch(`${CONCEPTS_PATH}/${id}`, { json: { status: 'active' } });
    const { body } = await ownerCaller.get(`${CONCEPTS_PATH}/${id}/versions`);
    expect(body.total).toBe(4);
    const versionSummaries = body.records.map(
      (record: Record<string, unknown> & { resource: Record<string, unknown> }) => [
        record.version,
        record.change,
        record.changed_by_user_id,
        record.resource.description,
        record.resource.status,
      ],
    );
    expect(versionSummaries).toEqual([
      [4, 'restored', company.owner.id, 'second', 'active'],
      [3, 'archived', company.owner.id, 'second', 'archived'],
      [2, 'updated', editorId, 'second', 'draft'],
      [1, 'created', company.owner.id, 'first', 'draft'],
    ]);
    expect((await ownerCaller.get(`${CONCEPTS_PATH}/${id}/versions?per_page=1&page=4`)).body.records[0].version).toBe(
      1,
    );
  });

  it('makes no version when nothing changes', async () => {
    const id = await createConcept(ownerCaller, { tags: ['a'], status: 'active' });
    const conceptBefore = (await ownerCaller.get(`${CONCEPTS_PATH}/${id}`)).body;
    for (const json of [{}, { tags: ['a'] }, { status: 'active', description: conceptBefore.description }]) {
      expect((await ownerCaller.patch(`${CONCEPTS_PATH}/${id}`, { json })).body).toEqual(conceptBefore);
    }
    expect((await ownerCaller.get(`${CONCEPTS_PATH}/${id}/versions`)).body.total).toBe(1);
    expect(
      (await ownerCaller.patch(`${CONCEPTS_PATH}/${id}`, { json: { tags: ['a'], status: 'draft' } })).body.version,
    ).toBe(2);
  });

  it('can archive a concept by its status, which needs the permission to delete', async () => {
    const id = await createConcept(ownerCaller, { tags: ['a'] });
    const { as: editor } = await createAllowedUser(company, { can: ['concepts:update'] });
    const archiveRequest = { json: { status: 'archived', tags: ['b'] } };
    expect((await editor.patch(`${CONCEPTS_PATH}/${id}`, archiveRequest)).status).toBe(403);
    expect((await ownerCaller.get(`${CONCEPTS_PATH}/${id}`)).body).toMatchObject({ status: 'draft', version: 1 });
    expect((await ownerCaller.patch(`${CONCEPTS_PATH}/${id}`, archiveRequest)).body).toMatchObject({
      status: 'archived',
      tags: ['b'],
      version: 2,
    });
    expect((await ownerCaller.get(`${CONCEPTS_PATH}/${id}/versions`)).body.records[0].change).toBe('archived');
    expect(readStatusAndCode(await ownerCaller.patch(`${CONCEPTS_PATH}/${id}`, archiveRequest))).toEqual([
      409,
      'CONCEPT_ARCHIVED',
    ]);
    expect(readStatusAndCode(await ownerCaller.delete(`${CONCEPTS_PATH}/${id}`))).toEqual([404, 'CONCEPT_NOT_FOUND']);
  });
});

describe('business domains', () => {
  const DOMAINS = `${KNOWLEDGE_PATH}/business-domains`;

  it('are empty at first, and replaced as a whole', async () => {
    const { as } = await createOwnedCompany();
    expect((await as.get(DOMAINS)).body).toEqual({ business_domains: [] });
    const business_domains = [{ key: 'sales', name: 'Vendas', description: 'What we sell.' }];
    expect((await as.put(DOMAINS, { json: { business_domains } })).body).toEqual({ business_domains });
    const expectedDomains = [{ key: 'log-2', name: 'Logística', description: '' }];
    await as.put(DOMAINS, { json: { business_domains: [{ key: 'log-2', name: 'Logística' }] } });
    expect((await as.get(DOMAINS)).body).toEqual({ business_domains: expectedDomains });
  });

  it('have unique slugs as keys, and are at most 100', async () => {
    const putDomains = (business_domains: unknown) => ownerCaller.put(DOMAINS, { json: { business_domains } });
    const makeDomains = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ key: `d-${index}`, name: 'D' }));
    expect(readInvalidFields(await putDomains([{ key: 'Not a slug', name: 'x' }]))).toEqual(['business_domains.0.key']);
    expect(readInvalidFields(await putDomains([...makeDomains(2), ...makeDomains(1)]))).toEqual([
      'business_domains.2.key',
    ]);
    expect(readInvalidFields(await putDomains(makeDomains(101)))).toEqual(['business_domains']);
    expect((await putDomains(makeDomains(100))).status).toBe(200);
  });
});
