import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { createRacingEnv, runSql, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { createPromotion, createSuggestion, SUGGESTIONS_PATH } from './suggesting.ts';
import { createConcept, createItem, createNode, KNOWLEDGE_PATH, makeName, readInvalidFields } from './support.ts';

const company = await createOwnedCompany();
const ownerCaller = company.as;

const rejectSuggestion = (id: string) =>
  expectSuccess(ownerCaller.post(`${SUGGESTIONS_PATH}/${id}/reject`, { json: {} }));
const acceptSuggestion = (id: string, env: Record<string, string> = {}) =>
  ownerCaller.post(`${SUGGESTIONS_PATH}/${id}/accept`, { env });
const readVersions = async (id: string) =>
  (await ownerCaller.get(`${KNOWLEDGE_PATH}/concepts/${id}/versions`)).body.total;

const RESOURCE_INSERT_PATTERN = /^insert into "knowledge_resources"/;
const RESOURCE_UPDATE_PATTERN = /^update "knowledge_resources"/;

it('the creation of a concept is refused when another concept of its name is created first', async () => {
  const json = { name: makeName('race'), description: 'What it is.' };
  const createAgain = (env: Record<string, string> = {}) =>
    ownerCaller.post(`${KNOWLEDGE_PATH}/concepts`, { json, env });
  const answer = await sendTwice(RESOURCE_INSERT_PATTERN, createAgain);
  expect(readStatusAndCode(answer)).toEqual([409, 'CONCEPT_DUPLICATE']);
});

it('a change of a concept keeps fields that another change sets meanwhile', async () => {
  const id = await createConcept(ownerCaller);
  const changeConcept = (json: unknown, env: Record<string, string> = {}) =>
    ownerCaller.patch(`${KNOWLEDGE_PATH}/concepts/${id}`, { json, env });
  const changeConcurrently = () => expectSuccess(changeConcept({ tags: ['t'] }));
  const { status, body } = await sendDuringRace(RESOURCE_UPDATE_PATTERN, changeConcurrently, (env) =>
    changeConcept({ aliases: ['a'] }, env),
  );
  expect([status, body]).toEqual([200, expect.objectContaining({ tags: ['t'], aliases: ['a'], version: 3 })]);
  expect(await readVersions(id)).toBe(3);
});

describe('a change of a concept whose next version already exists', () => {
  it('fails, and writes neither the concept nor the version', async () => {
    const id = await createConcept(ownerCaller);
    // Routes cannot bring this about: somebody has worked by hand, or restored a backup of one table.
    const VERSION_INSERT_SQL = `insert into knowledge_versions
      select 'by hand', company_id, resource_id, 2, change, status, content, changed_by_user_id, suggestion_id, changed_at
      from knowledge_versions where resource_id = ?`;
    await runSql(VERSION_INSERT_SQL, id);
    expect((await ownerCaller.patch(`${KNOWLEDGE_PATH}/concepts/${id}`, { json: { tags: ['t'] } })).status).toBe(500);
    expect(await selectRow('select version from knowledge_resources where id = ?', id)).toEqual({ version: 1 });
    expect(await readVersions(id)).toBe(2);
  });
});

describe('a dependency that closes a cycle', () => {
  const patchItem = (path: string, json: unknown, env: Record<string, string> = {}) =>
    ownerCaller.patch(`${KNOWLEDGE_PATH}${path}`, { json, env });

  it('is refused when the parent of a node is moved below it meanwhile', async () => {
    const [firstNode, secondNode] = [await createNode(ownerCaller), await createNode(ownerCaller)];
    const answer = await sendDuringRace(
      RESOURCE_UPDATE_PATTERN,
      () => expectSuccess(patchItem(`/ontology/nodes/${secondNode}`, { parent_node_id: firstNode })),
      (env) => patchItem(`/ontology/nodes/${firstNode}`, { parent_node_id: secondNode }, env),
    );
    expect(readInvalidFields(answer)).toEqual(['parent_node_id']);
  });

  it('is refused when the other item meanwhile depends on the changed item', async () => {
    const [metric, entity] = [
      await createItem(ownerCaller, { kind: 'metric' }),
      await createItem(ownerCaller, { kind: 'entity' }),
    ];
    const answer = await sendDuringRace(
      RESOURCE_UPDATE_PATTERN,
      () => expectSuccess(patchItem(`/semantic/${entity}`, { depends_on_metrics: [metric] })),
      (env) => patchItem(`/semantic/${metric}`, { depends_on_entities: [entity] }, env),
    );
    expect(readInvalidFields(answer)).toEqual(['depends_on_entities']);
  });
});

describe('a suggestion that somebody else accepts first', () => {
  it('changes its target once', async () => {
    const { id, conceptId } = await createSuggestion(ownerCaller);
    const acceptConcurrently = () => expectSuccess(acceptSuggestion(id));
    const answer = await sendDuringRace(RESOURCE_UPDATE_PATTERN, acceptConcurrently, (env) =>
      acceptSuggestion(id, env),
    );
    expect(readStatusAndCode(answer)).toEqual([409, 'SUGGESTION_NOT_PENDING']);
    expect((await ownerCaller.get(`${KNOWLEDGE_PATH}/concepts/${conceptId}`)).body.version).toBe(2);
    expect(await readVersions(conceptId)).toBe(2);
  });

  it('creates one resource', async () => {
    const name = makeName('Once');
    const { id } = await createPromotion(ownerCaller, { name, description: 'x' });
    const answer = await sendTwice(RESOURCE_INSERT_PATTERN, (env) => acceptSuggestion(id, env));
    expect(readStatusAndCode(answer)).toEqual([409, 'SUGGESTION_NOT_PENDING']);
    expect((await ownerCaller.get(`${KNOWLEDGE_PATH}/semantic?search=${encodeURIComponent(name)}`)).body.total).toBe(1);
  });

  it('is not rejected', async () => {
    const { id } = await createSuggestion(ownerCaller);
    const answer = await sendDuringRace(
      /^update "knowledge_suggestions"/,
      () => expectSuccess(acceptSuggestion(id)),
      (env) => ownerCaller.post(`${SUGGESTIONS_PATH}/${id}/reject`, { json: {}, env }),
    );
    expect(readStatusAndCode(answer)).toEqual([409, 'SUGGESTION_NOT_PENDING']);
    expect(await selectRow('select status from knowledge_suggestions where id = ?', id)).toEqual({
      status: 'accepted',
    });
  });

  it('makes another suggestion for the same version stale', async () => {
    const first = await createSuggestion(ownerCaller, 'One.');
    const secondSuggestion = await createSuggestion(ownerCaller, 'Two.', first.conceptId);
    const acceptConcurrently = () => expectSuccess(acceptSuggestion(first.id));
    const answer = await sendDuringRace(RESOURCE_UPDATE_PATTERN, acceptConcurrently, (env) =>
      acceptSuggestion(secondSuggestion.id, env),
    );
    expect(readStatusAndCode(answer)).toEqual([409, 'SUGGESTION_STALE']);
    expect((await ownerCaller.get(`${KNOWLEDGE_PATH}/concepts/${first.conceptId}`)).body).toMatchObject({
      description: 'One.',
      version: 2,
    });
  });
});

describe('the acceptance of a suggestion that is rejected meanwhile', () => {
  it('changes nothing', async () => {
    const { id, conceptId } = await createSuggestion(ownerCaller, 'Too late.');
    const { env, hasRun } = createRacingEnv(/^update "knowledge_resources"/, () => rejectSuggestion(id));
    expect(readStatusAndCode(await acceptSuggestion(id, env))).toEqual([409, 'SUGGESTION_NOT_PENDING']);
    expect(hasRun()).toBe(true);
    expect((await ownerCaller.get(`${KNOWLEDGE_PATH}/concepts/${conceptId}`)).body).toMatchObject({ version: 1 });
    expect(await readVersions(conceptId)).toBe(1);
  });

  it('leaves the suggestion pending if its target is archived meanwhile instead', async () => {
    const { id, conceptId } = await createSuggestion(ownerCaller, 'For an earlier version.');
    const { env, hasRun } = createRacingEnv(/^update "knowledge_resources"/, () =>
      expectSuccess(ownerCaller.delete(`${KNOWLEDGE_PATH}/concepts/${conceptId}`)),
    );
    const answer = await acceptSuggestion(id, env);
    expect([answer.status >= 400, hasRun()]).toEqual([true, true]);
    expect(await selectRow('select status from knowledge_suggestions where id = ?', id)).toEqual({ status: 'pending' });
  });

  it('creates nothing', async () => {
    const name = makeName('never made');
    const { id } = await createPromotion(
      ownerCaller,
      { name, description: 'A class.', node_type: 'class' },
      'promote-ontology',
    );
    const { env, hasRun } = createRacingEnv(/^insert into "knowledge_resources"/, () => rejectSuggestion(id));
    expect(readStatusAndCode(await acceptSuggestion(id, env))).toEqual([409, 'SUGGESTION_NOT_PENDING']);
    expect(hasRun()).toBe(true);
    const { records } = (await ownerCaller.get(`${KNOWLEDGE_PATH}/ontology/nodes?search=${encodeURIComponent(name)}`))
      .body;
    expect(records).toEqual([]);
  });
});

describe('the acceptance of several suggestions', () => {
  it('returns the suggestions that were accepted before an internal error', async () => {
    const [first, second, third] = [
      await createSuggestion(ownerCaller),
      await createSuggestion(ownerCaller),
      await createSuggestion(ownerCaller),
    ];
    let acceptanceCount = 0;
    const failingEnv = {
      test: (sql: string) => {
        if (!/^update "knowledge_resources"/.test(sql)) return false;
        acceptanceCount += 1;
        return acceptanceCount === 2;
      },
    } as RegExp;
    const { env, hasRun } = createRacingEnv(failingEnv, async () => {
      throw new Error('D1 is away');
    });
    const ids = [first.id, second.id, third.id];
    const { status, body } = await ownerCaller.post(`${SUGGESTIONS_PATH}/bulk-accept`, { json: { ids }, env });
    expect([status, hasRun()]).toEqual([200, false]);
    expect(body.accepted.map(({ suggestion }: { suggestion: { _id: string } }) => suggestion._id)).toEqual([first.id]);
    expect(body.failed.map(({ id, error }: { id: string; error: string }) => [id, error])).toEqual([
      [second.id, 'SERVICE_UNAVAILABLE'],
      [third.id, 'SERVICE_UNAVAILABLE'],
    ]);
    const readVersion = async (id: string) => (await ownerCaller.get(`${KNOWLEDGE_PATH}/concepts/${id}`)).body.version;
    expect([await readVersion(first.conceptId), await readVersion(third.conceptId)]).toEqual([2, 1]);
  });
});
