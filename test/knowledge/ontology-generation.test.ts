import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import type { ScriptStep } from '../support/ai-server.ts';
import { type Company, createAllowedUser, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { runSql, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { createJobRunner, listPendingSuggestions } from './jobs.ts';
import { NO_MODEL_ENV } from './model.ts';
import { createConcept, createNode, createRelation, KNOWLEDGE_PATH, readInvalidFields, UNKNOWN_ID } from './support.ts';

const GENERATION_PATH = `${KNOWLEDGE_PATH}/ontology/generation`;
let company: Company;
let ownerCaller: Company['as'];
let connection_id: string;
let hintConceptId: string;

beforeEach(async () => {
  company = await createProvisionedCompany();
  ownerCaller = company.as;
  connection_id = (await ownerCaller.get('/v1/managed-tables/status')).body.connection_id;
  await createTable(ownerCaller, 'orders', [makeColumn('total', 'decimal')]);
  hintConceptId = await createConcept(ownerCaller, { name: 'Customer', type: 'entity_hint' });
});

const CANDIDATE_REASONS = {
  explanation: 'The table says so.',
  evidence: [{ source: 'catalog', quote: null, table: 'orders', column: 'total' }],
  confidence: 0.6,
};
const makeNodeCandidate = (key: string, name: string, fields: Record<string, unknown> = {}) => ({
  key,
  name,
  description: `What ${name} is.`,
  node_type: 'class',
  aliases: null,
  attributes: ['total'],
  constraints: null,
  source_concept_ids: null,
  mapped_catalog_assets: ['orders'],
  ...CANDIDATE_REASONS,
  ...fields,
});
const makeRelationCandidate = (
  subject_key: string,
  predicate: string,
  object_key: string,
  fields: Record<string, unknown> = {},
) => ({
  subject_key,
  predicate,
  object_key,
  description: null,
  cardinality: '1:N',
  relation_type: null,
  ...CANDIDATE_REASONS,
  ...fields,
});
const makeOntologyAnswer = (nodes: unknown[], relations: unknown[] = []): ScriptStep => ({
  answer: { nodes, relations },
});

async function runGeneration(...steps: ScriptStep[]) {
  const runner = await createJobRunner(ownerCaller, ...steps);
  const { status, body } = await ownerCaller.post(`${GENERATION_PATH}/jobs`, {
    json: { connection_id },
    env: runner.env,
  });
  if (status !== 202) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  await runner.run();
  return { job: await runner.job(body._id), model: runner.model };
}

/** Creates tables that do not fit into one part of the catalogue. */
async function createLargeCatalogue(): Promise<void> {
  const columns = Array.from({ length: 250 }, (_, index) => makeColumn(`column_with_a_long_name_${index}`));
  for (const name of ['big_1', 'big_2', 'big_3']) await createTable(ownerCaller, name, columns);
}

type SuggestionRecord = {
  _id: string;
  target_type: string;
  target_name: string;
  suggested_payload: Record<string, unknown>;
};
const findByName = (records: SuggestionRecord[], name: string) =>
  records.find((record) => record.target_name === name) as SuggestionRecord;
const acceptSuggestion = (id: string, json?: unknown) =>
  ownerCaller.post(`${KNOWLEDGE_PATH}/suggestions/${id}/accept`, { json });

describe('a generation of an ontology', () => {
  it('suggests nodes and relations from concepts and catalogue, and changes nothing', async () => {
    await createConcept(ownerCaller, { name: 'No hint', type: 'term' });
    const { job, model } = await runGeneration(
      makeOntologyAnswer(
        [
          makeNodeCandidate('c', 'Customer', { source_concept_ids: [hintConceptId, UNKNOWN_ID] }),
          makeNodeCandidate('o', 'Order', { node_type: 'object' }),
        ],
        [makeRelationCandidate('c', 'places', 'o')],
      ),
    );
    expect(job).toMatchObject({
      type: 'ontology_generation',
      target_type: 'ontology_node',
      connection_id,
      status: 'succeeded',
      total_count: 1,
      suggestion_count: 3,
      rejected_count: 0,
    });
    expect((await ownerCaller.get(`${GENERATION_PATH}/jobs/${job._id}`)).body).toEqual(job);
    const promptText = (await model.asked())[0]?.messages[1]?.content ?? '';
    expect(promptText).toContain('orders (0 rows): total decimal');
    expect([promptText.includes(hintConceptId), promptText.includes('No hint')]).toEqual([true, false]);
    for (const path of ['nodes', 'relations'])
      expect((await ownerCaller.get(`${KNOWLEDGE_PATH}/ontology/${path}`)).body.total).toBe(0);
    const pendingSuggestions = await listPendingSuggestions(ownerCaller);
    expect(findByName(pendingSuggestions, 'Customer')).toMatchObject({
      target_type: 'ontology_node_create',
      concept_id: hintConceptId,
      suggested_payload: { name: 'Customer', source_concepts: [hintConceptId], attributes: ['total'] },
      evidence: CANDIDATE_REASONS.evidence,
    });
    expect(findByName(pendingSuggestions, 'Customer places Order').suggested_payload).toMatchObject({
      predicate: 'places',
      subject_node_id: null,
      subject_suggestion_id: findByName(pendingSuggestions, 'Customer')._id,
      object_suggestion_id: findByName(pendingSuggestions, 'Order')._id,
    });
  });

  it('suggests relations that are accepted only after their nodes', async () => {
    await runGeneration(
      makeOntologyAnswer(
        [makeNodeCandidate('c', 'Customer'), makeNodeCandidate('o', 'Order')],
        [makeRelationCandidate('c', 'places', 'o')],
      ),
    );
    const pendingSuggestions = await listPendingSuggestions(ownerCaller);
    const [customer, order, places] = ['Customer', 'Order', 'Customer places Order'].map(
      (name) => findByName(pendingSuggestions, name)._id,
    ) as [string, string, string];
    const earlyAnswer = await acceptSuggestion(places);
    expect(readStatusAndCode(earlyAnswer)).toEqual([409, 'SUGGESTION_DEPENDENCY_PENDING']);
    expect(earlyAnswer.body.details.suggestion_ids.sort()).toEqual([customer, order].sort());
    const subjectId = (await acceptSuggestion(customer)).body.resource._id;
    expect((await acceptSuggestion(places)).body.details.suggestion_ids).toEqual([order]);
    await ownerCaller.post(`${KNOWLEDGE_PATH}/suggestions/${order}/reject`, { json: {} });
    const lateAnswer = await acceptSuggestion(places);
    expect(readStatusAndCode(lateAnswer)).toEqual([409, 'SUGGESTION_DEPENDENCY_PENDING']);
    expect(lateAnswer.body.message).toContain('have not been accepted');
    // The reviewer may put a node in the place of one that was turned down.
    const objectId = await createNode(ownerCaller);
    const { status, body } = await acceptSuggestion(places, { override_payload: { object_node_id: objectId } });
    expect([status, body.resource]).toEqual([
      200,
      expect.objectContaining({
        subject_node_id: subjectId,
        object_node_id: objectId,
        predicate: 'places',
        cardinality: '1:N',
      }),
    ]);
  });

  it('suggests nodes and relations that are accepted together, nodes first', async () => {
    await runGeneration(
      makeOntologyAnswer(
        [makeNodeCandidate('c', 'Customer'), makeNodeCandidate('o', 'Order')],
        [makeRelationCandidate('c', 'places', 'o')],
      ),
    );
    const pendingSuggestions: SuggestionRecord[] = await listPendingSuggestions(ownerCaller);
    const ids = pendingSuggestions.toSorted((a, b) => b.target_type.localeCompare(a.target_type)).map(({ _id }) => _id);
    expect(findByName(pendingSuggestions, 'Customer places Order')._id).toBe(ids[0]);
    const { body } = await ownerCaller.post(`${KNOWLEDGE_PATH}/suggestions/bulk-accept`, { json: { ids } });
    expect([body.accepted.length, body.failed]).toEqual([3, []]);
    const { records } = (await ownerCaller.get(`${KNOWLEDGE_PATH}/ontology/relations`)).body;
    expect(records).toHaveLength(1);
    expect(records[0].evidence).toEqual(CANDIDATE_REASONS.evidence);
  });

  it('hides suggested relations from callers who are denied one of their nodes, or the suggestion to create it', async () => {
    await runGeneration(
      makeOntologyAnswer(
        [makeNodeCandidate('a', 'Salary'), makeNodeCandidate('b', 'Order')],
        [makeRelationCandidate('a', 'pays', 'b')],
      ),
    );
    const salarySuggestion = findByName(await listPendingSuggestions(ownerCaller), 'Salary');
    const deniedSuggestionUser = await createAllowedUser(company, {
      can: ['*'],
      denied: ['knowledge_reviews:*'],
      deniedArns: [`arn:svc:knowledge_reviews::${company.id}:suggestion/${salarySuggestion._id}`],
    });
    const listNames = async (as: Company['as']) =>
      (await listPendingSuggestions(as)).map(({ target_name }: SuggestionRecord) => target_name).toSorted();
    expect(await listNames(deniedSuggestionUser.as)).toEqual(['Order']);
    const nodeId = (await acceptSuggestion(salarySuggestion._id)).body.resource._id;
    await runGeneration(
      makeOntologyAnswer(
        [makeNodeCandidate('c', 'Region')],
        [
          makeRelationCandidate(`node:${nodeId}`, 'depends on', 'c'),
          makeRelationCandidate('c', 'sets', `node:${nodeId}`),
        ],
      ),
    );
    const relationNames = ['Region sets Salary', 'Salary depends on Region', 'Salary pays Order'];
    expect(await listNames(ownerCaller)).toEqual(['Order', 'Region', ...relationNames]);
    const { as } = await createAllowedUser(company, {
      can: ['*'],
      denied: ['ontology:*'],
      deniedArns: [`arn:svc:ontology::${company.id}:node/${nodeId}`],
    });
    expect(await listNames(as)).toEqual(['Order', 'Region']);
    expect((await as.get(`${KNOWLEDGE_PATH}/suggestions`)).body.total).toBe(2);
    const pendingSuggestions = await listPendingSuggestions(ownerCaller);
    for (const name of relationNames) {
      const path = `${KNOWLEDGE_PATH}/suggestions/${findByName(pendingSuggestions, name)._id}`;
      for (const action of ['accept', 'reject'])
        expect((await as.post(`${path}/${action}`, { json: {} })).status).toBe(404);
    }
  });

  it('suggests nothing that exists or was already suggested', async () => {
    const existingNode = await createNode(ownerCaller, { name: 'Customer', node_type: 'class' });
    const otherNode = await createNode(ownerCaller, { name: 'Region' });
    await createRelation(ownerCaller, existingNode, 'lives in', otherNode);
    const answer = makeOntologyAnswer(
      [makeNodeCandidate('c', 'CUSTOMER'), makeNodeCandidate('o', 'Order')],
      [
        makeRelationCandidate('c', 'places', 'o'),
        makeRelationCandidate('c', 'Lives in', `node:${otherNode}`),
        makeRelationCandidate('o', 'ships to', `node:${otherNode}`),
      ],
    );
    const first = await runGeneration(answer);
    expect(first.job).toMatchObject({ suggestion_count: 3, rejected_count: 1 });
    expect((await first.model.asked())[0]?.messages[1]?.content).toContain(`node:${otherNode}`);
    const pendingSuggestions = await listPendingSuggestions(ownerCaller);
    expect(findByName(pendingSuggestions, 'Customer places Order').suggested_payload).toMatchObject({
      subject_node_id: existingNode,
    });
    const secondJob = await runGeneration(answer);
    expect(secondJob.job).toMatchObject({ status: 'succeeded', suggestion_count: 0, rejected_count: 3 });
    expect(await listPendingSuggestions(ownerCaller)).toEqual(pendingSuggestions);
  });

  it('suggests no relation again after one of its nodes was accepted', async () => {
    const answer = makeOntologyAnswer(
      [makeNodeCandidate('c', 'Customer'), makeNodeCandidate('o', 'Order')],
      [makeRelationCandidate('c', 'places', 'o')],
    );
    await runGeneration(answer);
    const customerSuggestion = findByName(await listPendingSuggestions(ownerCaller), 'Customer');
    expect((await acceptSuggestion(customerSuggestion._id)).status).toBe(200);
    expect((await runGeneration(answer)).job).toMatchObject({ suggestion_count: 0, rejected_count: 1 });
    expect(await listPendingSuggestions(ownerCaller)).toHaveLength(2);
  });

  it('counts the candidates that are not valid, and stores none of them', async () => {
    const { job } = await runGeneration(
      makeOntologyAnswer(
        [
          makeNodeCandidate('a', 'A'),
          makeNodeCandidate('a', 'Same key'),
          makeNodeCandidate('b', 'B', { node_type: 'thing' }),
          makeNodeCandidate('c', 'C', { description: '' }),
          makeNodeCandidate('d', 'D', { aliases: Array.from({ length: 21 }, String) }),
          makeNodeCandidate('', 'E'),
          7,
        ],
        [
          makeRelationCandidate('a', '', 'a'),
          makeRelationCandidate('a', 'knows', 'nobody'),
          makeRelationCandidate('a', 'knows', 'a'),
          makeRelationCandidate('a', 'KNOWS', 'a'),
          null,
        ],
      ),
    );
    expect(job).toMatchObject({ status: 'succeeded', suggestion_count: 2, rejected_count: 10 });
  });

  it('keeps the pending suggestions when it fails', async () => {
    await runGeneration(makeOntologyAnswer([makeNodeCandidate('c', 'Customer')]));
    const suggestionsBefore = await listPendingSuggestions(ownerCaller);
    expect((await runGeneration({ status: 500 })).job).toMatchObject({
      status: 'failed',
      last_error: expect.any(String),
    });
    expect(await listPendingSuggestions(ownerCaller)).toEqual(suggestionsBefore);
  });

  it('asks the model about a large catalogue part by part, and relates nodes of different parts', async () => {
    await createLargeCatalogue();
    const runner = await createJobRunner(
      ownerCaller,
      makeOntologyAnswer([makeNodeCandidate('c', 'Customer')]),
      makeOntologyAnswer([], []),
    );
    const { body } = await ownerCaller.post(`${GENERATION_PATH}/jobs`, { json: { connection_id }, env: runner.env });
    expect(body.total_count).toBeGreaterThan(1);
    await runner.deliver(runner.messages.shift() as never);
    const { results } = await env.CONTROL_DB.prepare('select id from knowledge_suggestions where job_id = ?')
      .bind(body._id)
      .all<{ id: string }>();
    const key = `suggested:${results[0]?.id}`;
    await runner.model.follow(
      makeOntologyAnswer([makeNodeCandidate('o', 'Order')], [makeRelationCandidate(key, 'places', 'o')]),
      makeOntologyAnswer([]),
    );
    await runner.run();
    const modelRequests = await runner.model.asked();
    expect(modelRequests.length).toBe(body.total_count);
    expect(modelRequests[1]?.messages[1]?.content).toContain(key);
    const promptText = modelRequests.map(({ messages }) => messages[1]?.content).join('');
    for (const name of ['orders', 'big_1', 'big_2', 'big_3']) expect(promptText).toContain(`${name} (0 rows)`);
    expect(findByName(await listPendingSuggestions(ownerCaller), 'Customer places Order')).toBeDefined();
  });

  it('suggests a relation once when one of its nodes is accepted while the generation runs', async () => {
    await runGeneration(makeOntologyAnswer([makeNodeCandidate('c', 'Customer'), makeNodeCandidate('o', 'Order')]));
    const pendingSuggestions = await listPendingSuggestions(ownerCaller);
    const [customer, order] = [
      findByName(pendingSuggestions, 'Customer')._id,
      findByName(pendingSuggestions, 'Order')._id,
    ];
    await createLargeCatalogue();
    const relationAnswer = makeOntologyAnswer(
      [],
      [makeRelationCandidate(`suggested:${customer}`, 'places', `suggested:${order}`)],
    );
    const runner = await createJobRunner(ownerCaller, relationAnswer, relationAnswer, makeOntologyAnswer([]));
    await expectSuccess(ownerCaller.post(`${GENERATION_PATH}/jobs`, { json: { connection_id }, env: runner.env }));
    await runner.deliver(runner.messages.shift() as never);
    const ACCEPTED_QUERY_PATTERN = /from "knowledge_suggestions" where .*"id" in \(select/s;
    const secondMessage = runner.messages.shift() as never;
    const acceptConcurrently = () => expectSuccess(acceptSuggestion(customer));
    const deliveryResult = await sendDuringRace(ACCEPTED_QUERY_PATTERN, acceptConcurrently, (env) =>
      runner.deliver(secondMessage, env),
    );
    expect(deliveryResult).toBe('done');
    await runner.run();
    const names = (await listPendingSuggestions(ownerCaller)).map(({ target_name }: SuggestionRecord) => target_name);
    expect(names.toSorted()).toEqual(['Customer places Order', 'Order']);
  });

  it('asks the model about all of a wide table and of many long concepts', async () => {
    const columns = Array.from({ length: 1000 }, (_, index) => makeColumn(`wide_${index}`));
    await createTable(ownerCaller, 'wide', columns);
    // So many and so long that no single request holds them.
    const hintFields = Array.from({ length: 140 }, (_, index) => ({
      name: `Hint ${index}.`,
      aliases: Array(3).fill('a'.repeat(200)),
    }));
    for (const fields of hintFields)
      await createConcept(ownerCaller, { ...fields, description: 'd'.repeat(4096), type: 'entity_hint' });
    const { job, model } = await runGeneration(makeOntologyAnswer([]));
    const modelRequests = await model.asked();
    expect(job).toMatchObject({ status: 'succeeded', total_count: modelRequests.length });
    const promptTexts = modelRequests.map(({ messages }) => messages[1]?.content ?? '');
    for (const content of promptTexts) expect(content.length).toBeLessThan(150_000);
    const allText = promptTexts.join('\n');
    expect(hintFields.filter(({ name }) => !allText.includes(`"${name}"`))).toEqual([]);
    // Each column once, on a line that says which table it is of.
    const lines = allText.split('\n').filter((line) => line.startsWith('wide (0 rows), columns '));
    const foundTables = lines.flatMap((line) => [...line.matchAll(/(wide_\d+) text/g)].map(([, name]) => name));
    expect(new Set(foundTables)).toEqual(new Set(columns.map(({ name }) => name)));
  });

  it('does not load 800 large existing suggestions in full', async () => {
    await runGeneration(makeOntologyAnswer([makeNodeCandidate('c', 'Customer')]));
    const runner = await createJobRunner(
      ownerCaller,
      makeOntologyAnswer([makeNodeCandidate('n', 'Node 700'), makeNodeCandidate('o', 'Order')]),
    );
    const { body } = await ownerCaller.post(`${GENERATION_PATH}/jobs`, { json: { connection_id }, env: runner.env });
    const columns = `company_id, target_type, explanation, evidence, model, prompt_version, request_id, created_at,
      updated_at, created_by_user_id`;
    await runSql(
      `insert into knowledge_suggestions (id, target_name, payload, status, job_id, candidate_key, ${columns})
       with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 800)
       select printf('%024x', n), 'Node ' || n,
         json_object('name', 'Node ' || n, 'node_type', 'class', 'description', hex(zeroblob(5000))),
         'staged', ?, 'node ' || n, ${columns}
       from numbers, knowledge_suggestions where target_name = 'Customer' and company_id = ?`,
      body._id,
      company.id,
    );
    const { env: measuringEnv, measureLongestAnswer } = createCountingD1();
    await runner.deliver(runner.messages.shift() as never, measuringEnv);
    // 800 nodes with 10,000 characters each.
    expect(measureLongestAnswer()).toBeLessThan(400_000);
    expect(await runner.job(body._id)).toMatchObject({ status: 'succeeded', suggestion_count: 1 });
    const [asked] = await runner.model.asked();
    expect(asked?.messages[1]?.content).toContain('Node 800');
  });

  it('is refused with the names of all missing prerequisites', async () => {
    const { model } = await createJobRunner(ownerCaller, makeOntologyAnswer([]));
    const readyPrerequisites = (await ownerCaller.get(`${GENERATION_PATH}/prerequisites`, { env: model.env })).body;
    expect(readyPrerequisites).toStrictEqual({
      ready: true,
      ai_configured: true,
      connections: [{ connection_id, name: expect.any(String), table_count: 1 }],
      entity_hint_count: 1,
      missing: [],
    });
    const postJob = (json: unknown, env: Record<string, string> = model.env) =>
      ownerCaller.post(`${GENERATION_PATH}/jobs`, { json, env });
    expect(readInvalidFields(await postJob({}))).toEqual(['connection_id']);
    expect(readInvalidFields(await postJob({ connection_id: UNKNOWN_ID }))).toEqual(['connection_id']);
    expect(readStatusAndCode(await postJob({ connection_id }, NO_MODEL_ENV))).toEqual([
      503,
      'AI_PROVIDER_NOT_CONFIGURED',
    ]);
    await ownerCaller.delete(`${KNOWLEDGE_PATH}/concepts/${hintConceptId}`);
    expect(readInvalidFields(await postJob({ connection_id }))).toEqual(['entity_hint_concepts']);
    expect(readInvalidFields(await postJob({ connection_id: UNKNOWN_ID }))).toEqual([
      'entity_hint_concepts',
      'connection_id',
    ]);
    const companyWithoutDatabase = await createOwnedCompany();
    await createConcept(companyWithoutDatabase.as, { type: 'entity_hint' });
    const missingPrerequisites = (
      await companyWithoutDatabase.as.get(`${GENERATION_PATH}/prerequisites`, { env: NO_MODEL_ENV })
    ).body;
    expect(missingPrerequisites).toMatchObject({
      ready: false,
      connections: [],
      missing: ['ai_provider', 'connection'],
    });
    const foreignAnswer = await companyWithoutDatabase.as.post(`${GENERATION_PATH}/jobs`, {
      json: { connection_id },
      env: model.env,
    });
    expect(readInvalidFields(foreignAnswer)).toEqual(['connection_id']);
  });

  it('counts only concepts that the caller is not denied as prerequisites', async () => {
    const { model } = await createJobRunner(ownerCaller, makeOntologyAnswer([]));
    const { as } = await createAllowedUser(company, {
      can: ['*'],
      denied: ['concepts:*'],
      deniedArns: [`arn:svc:concepts::${company.id}:concept/${hintConceptId}`],
    });
    const readPrerequisites = async () => (await as.get(`${GENERATION_PATH}/prerequisites`, { env: model.env })).body;
    expect(await readPrerequisites()).toMatchObject({ entity_hint_count: 0, missing: ['entity_hint_concepts'] });
    const answer = await as.post(`${GENERATION_PATH}/jobs`, { json: { connection_id }, env: model.env });
    expect(readInvalidFields(answer)).toEqual(['entity_hint_concepts']);
    await createConcept(ownerCaller, { type: 'entity_hint' });
    expect(await readPrerequisites()).toMatchObject({ entity_hint_count: 1, missing: [] });
  });

  it('is refused while another one runs in the company, but can run at the same time as a generation of concepts', async () => {
    await ownerCaller.put(`${KNOWLEDGE_PATH}/business-domains`, {
      json: { business_domains: [{ key: 'a', name: 'A' }] },
    });
    const runner = await createJobRunner(ownerCaller, makeOntologyAnswer([]));
    const postJob = () => ownerCaller.post(`${GENERATION_PATH}/jobs`, { json: { connection_id }, env: runner.env });
    expect((await postJob()).status).toBe(202);
    expect(readStatusAndCode(await postJob())).toEqual([409, 'JOB_RUNNING']);
    const concepts = await ownerCaller.post(`${KNOWLEDGE_PATH}/concepts/generation/jobs`, {
      json: {},
      env: runner.env,
    });
    expect(concepts.status).toBe(202);
  });
});
