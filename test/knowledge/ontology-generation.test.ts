import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { column, createTable } from '../managed-tables/support.ts';
import type { Step } from '../support/ai-server.ts';
import { readStatusAndCode } from '../support/console.ts';
import { createCountingD1 } from '../support/counted.ts';
import { sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';
import { createJobRunner, listPending } from './jobs.ts';
import { NO_MODEL } from './model.ts';
import { createConcept, createNode, createRelation, KNOWLEDGE_PATH, readInvalidFields, UNKNOWN_ID } from './support.ts';

const PATH = `${KNOWLEDGE_PATH}/ontology/generation`;
let company: Company;
let asOwner: Company['as'];
let connection_id: string;
let hint: string;

beforeEach(async () => {
  company = await aProvisionedCompany();
  asOwner = company.as;
  connection_id = (await asOwner.get('/v1/managed-tables/status')).body.connection_id;
  await createTable(asOwner, 'orders', [column('total', 'decimal')]);
  hint = await createConcept(asOwner, { name: 'Customer', type: 'entity_hint' });
});

const GROUNDS = {
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
  ...GROUNDS,
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
  ...GROUNDS,
  ...fields,
});
const answerOntology = (nodes: unknown[], relations: unknown[] = []): Step => ({ answer: { nodes, relations } });

async function runGeneration(...steps: Step[]) {
  const runner = await createJobRunner(asOwner, ...steps);
  const { status, body } = await asOwner.post(`${PATH}/jobs`, { json: { connection_id }, env: runner.env });
  if (status !== 202) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  await runner.run();
  return { job: await runner.job(body._id), model: runner.model };
}

/** Tables that one part of the catalogue does not hold. */
async function createLargeCatalogue(): Promise<void> {
  const columns = Array.from({ length: 250 }, (_, index) => column(`column_with_a_long_name_${index}`));
  for (const name of ['big_1', 'big_2', 'big_3']) await createTable(asOwner, name, columns);
}

type Suggested = { _id: string; target_type: string; target_name: string; suggested_payload: Record<string, unknown> };
const findByName = (records: Suggested[], name: string) =>
  records.find((record) => record.target_name === name) as Suggested;
const acceptSuggestion = (id: string, json?: unknown) =>
  asOwner.post(`${KNOWLEDGE_PATH}/suggestions/${id}/accept`, { json });

describe('a generation of an ontology', () => {
  it('suggests nodes and relations from concepts and catalogue, and changes nothing', async () => {
    await createConcept(asOwner, { name: 'No hint', type: 'term' });
    const { job, model } = await runGeneration(
      answerOntology(
        [
          makeNodeCandidate('c', 'Customer', { source_concept_ids: [hint, UNKNOWN_ID] }),
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
    expect((await asOwner.get(`${PATH}/jobs/${job._id}`)).body).toEqual(job);
    const shown = (await model.asked())[0]?.messages[1]?.content ?? '';
    expect(shown).toContain('orders (0 rows): total decimal');
    expect([shown.includes(hint), shown.includes('No hint')]).toEqual([true, false]);
    for (const path of ['nodes', 'relations'])
      expect((await asOwner.get(`${KNOWLEDGE_PATH}/ontology/${path}`)).body.total).toBe(0);
    const pending = await listPending(asOwner);
    expect(findByName(pending, 'Customer')).toMatchObject({
      target_type: 'ontology_node_create',
      concept_id: hint,
      suggested_payload: { name: 'Customer', source_concepts: [hint], attributes: ['total'] },
      evidence: GROUNDS.evidence,
    });
    expect(findByName(pending, 'Customer places Order').suggested_payload).toMatchObject({
      predicate: 'places',
      subject_node_id: null,
      subject_suggestion_id: findByName(pending, 'Customer')._id,
      object_suggestion_id: findByName(pending, 'Order')._id,
    });
  });

  it('suggests relations that are accepted only after their nodes', async () => {
    await runGeneration(
      answerOntology(
        [makeNodeCandidate('c', 'Customer'), makeNodeCandidate('o', 'Order')],
        [makeRelationCandidate('c', 'places', 'o')],
      ),
    );
    const pending = await listPending(asOwner);
    const [customer, order, places] = ['Customer', 'Order', 'Customer places Order'].map(
      (name) => findByName(pending, name)._id,
    ) as [string, string, string];
    const early = await acceptSuggestion(places);
    expect(readStatusAndCode(early)).toEqual([409, 'SUGGESTION_DEPENDENCY_PENDING']);
    expect(early.body.details.suggestion_ids.sort()).toEqual([customer, order].sort());
    const subject = (await acceptSuggestion(customer)).body.resource._id;
    expect((await acceptSuggestion(places)).body.details.suggestion_ids).toEqual([order]);
    await asOwner.post(`${KNOWLEDGE_PATH}/suggestions/${order}/reject`, { json: {} });
    const late = await acceptSuggestion(places);
    expect(readStatusAndCode(late)).toEqual([409, 'SUGGESTION_DEPENDENCY_PENDING']);
    expect(late.body.message).toContain('have not been accepted');
    // The reviewer may put a node in the place of one that was turned down.
    const object = await createNode(asOwner);
    const { status, body } = await acceptSuggestion(places, { override_payload: { object_node_id: object } });
    expect([status, body.resource]).toEqual([
      200,
      expect.objectContaining({
        subject_node_id: subject,
        object_node_id: object,
        predicate: 'places',
        cardinality: '1:N',
      }),
    ]);
  });

  it('suggests nodes and relations that are accepted together, nodes first', async () => {
    await runGeneration(
      answerOntology(
        [makeNodeCandidate('c', 'Customer'), makeNodeCandidate('o', 'Order')],
        [makeRelationCandidate('c', 'places', 'o')],
      ),
    );
    const pending: Suggested[] = await listPending(asOwner);
    const ids = pending.toSorted((a, b) => b.target_type.localeCompare(a.target_type)).map(({ _id }) => _id);
    expect(findByName(pending, 'Customer places Order')._id).toBe(ids[0]);
    const { body } = await asOwner.post(`${KNOWLEDGE_PATH}/suggestions/bulk-accept`, { json: { ids } });
    expect([body.accepted.length, body.failed]).toEqual([3, []]);
    const { records } = (await asOwner.get(`${KNOWLEDGE_PATH}/ontology/relations`)).body;
    expect(records).toHaveLength(1);
    expect(records[0].evidence).toEqual(GROUNDS.evidence);
  });

  it('suggests nothing that exists or is suggested already', async () => {
    const existing = await createNode(asOwner, { name: 'Customer', node_type: 'class' });
    const other = await createNode(asOwner, { name: 'Region' });
    await createRelation(asOwner, existing, 'lives in', other);
    const answer = answerOntology(
      [makeNodeCandidate('c', 'CUSTOMER'), makeNodeCandidate('o', 'Order')],
      [
        makeRelationCandidate('c', 'places', 'o'),
        makeRelationCandidate('c', 'Lives in', `node:${other}`),
        makeRelationCandidate('o', 'ships to', `node:${other}`),
      ],
    );
    const first = await runGeneration(answer);
    expect(first.job).toMatchObject({ suggestion_count: 3, rejected_count: 1 });
    expect((await first.model.asked())[0]?.messages[1]?.content).toContain(`node:${other}`);
    const pending = await listPending(asOwner);
    expect(findByName(pending, 'Customer places Order').suggested_payload).toMatchObject({ subject_node_id: existing });
    const second = await runGeneration(answer);
    expect(second.job).toMatchObject({ status: 'succeeded', suggestion_count: 0, rejected_count: 3 });
    expect(await listPending(asOwner)).toEqual(pending);
  });

  it('suggests no relation again after one of its nodes was accepted', async () => {
    const answer = answerOntology(
      [makeNodeCandidate('c', 'Customer'), makeNodeCandidate('o', 'Order')],
      [makeRelationCandidate('c', 'places', 'o')],
    );
    await runGeneration(answer);
    const customer = findByName(await listPending(asOwner), 'Customer');
    expect((await acceptSuggestion(customer._id)).status).toBe(200);
    expect((await runGeneration(answer)).job).toMatchObject({ suggestion_count: 0, rejected_count: 1 });
    expect(await listPending(asOwner)).toHaveLength(2);
  });

  it('counts the candidates that are not valid, and stores none of them', async () => {
    const { job } = await runGeneration(
      answerOntology(
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
    await runGeneration(answerOntology([makeNodeCandidate('c', 'Customer')]));
    const before = await listPending(asOwner);
    expect((await runGeneration({ status: 500 })).job).toMatchObject({
      status: 'failed',
      last_error: expect.any(String),
    });
    expect(await listPending(asOwner)).toEqual(before);
  });

  it('asks about a large catalogue part by part, and relates nodes of different parts', async () => {
    await createLargeCatalogue();
    const runner = await createJobRunner(
      asOwner,
      answerOntology([makeNodeCandidate('c', 'Customer')]),
      answerOntology([], []),
    );
    const { body } = await asOwner.post(`${PATH}/jobs`, { json: { connection_id }, env: runner.env });
    expect(body.total_count).toBeGreaterThan(1);
    await runner.deliver(runner.messages.shift() as never);
    const { results } = await env.CONTROL_DB.prepare('select id from knowledge_suggestions where job_id = ?')
      .bind(body._id)
      .all<{ id: string }>();
    const key = `suggested:${results[0]?.id}`;
    await runner.model.follow(
      answerOntology([makeNodeCandidate('o', 'Order')], [makeRelationCandidate(key, 'places', 'o')]),
      answerOntology([]),
    );
    await runner.run();
    const asked = await runner.model.asked();
    expect(asked.length).toBe(body.total_count);
    expect(asked[1]?.messages[1]?.content).toContain(key);
    const shown = asked.map(({ messages }) => messages[1]?.content).join('');
    for (const name of ['orders', 'big_1', 'big_2', 'big_3']) expect(shown).toContain(`${name} (0 rows)`);
    expect(findByName(await listPending(asOwner), 'Customer places Order')).toBeDefined();
  });

  it('suggests a relation once when one of its nodes is accepted while the generation runs', async () => {
    await runGeneration(answerOntology([makeNodeCandidate('c', 'Customer'), makeNodeCandidate('o', 'Order')]));
    const pending = await listPending(asOwner);
    const [customer, order] = [findByName(pending, 'Customer')._id, findByName(pending, 'Order')._id];
    await createLargeCatalogue();
    const places = answerOntology([], [makeRelationCandidate(`suggested:${customer}`, 'places', `suggested:${order}`)]);
    const runner = await createJobRunner(asOwner, places, places, answerOntology([]));
    await must(asOwner.post(`${PATH}/jobs`, { json: { connection_id }, env: runner.env }));
    await runner.deliver(runner.messages.shift() as never);
    const readAccepted = /from "knowledge_suggestions" where .*"id" in \(select/s;
    const second = runner.messages.shift() as never;
    const rival = () => must(acceptSuggestion(customer));
    const delivered = await sendOvertaken(readAccepted, rival, (env) => runner.deliver(second, env));
    expect(delivered).toBe('done');
    await runner.run();
    const names = (await listPending(asOwner)).map(({ target_name }: Suggested) => target_name);
    expect(names.toSorted()).toEqual(['Customer places Order', 'Order']);
  });

  it('asks about all of a wide table and of many long concepts', async () => {
    const columns = Array.from({ length: 1000 }, (_, index) => column(`wide_${index}`));
    await createTable(asOwner, 'wide', columns);
    // So many and so long that no single request holds them.
    const hints = Array.from({ length: 150 }, (_, index) => ({
      name: `Hint ${index}.`,
      aliases: Array(3).fill('a'.repeat(200)),
    }));
    for (const fields of hints)
      await createConcept(asOwner, { ...fields, description: 'd'.repeat(4096), type: 'entity_hint' });
    const { job, model } = await runGeneration(answerOntology([]));
    const asked = await model.asked();
    expect(job).toMatchObject({ status: 'succeeded', total_count: asked.length });
    const shown = asked.map(({ messages }) => messages[1]?.content ?? '');
    for (const content of shown) expect(content.length).toBeLessThan(150_000);
    const all = shown.join('\n');
    expect(hints.filter(({ name }) => !all.includes(`"${name}"`))).toEqual([]);
    // Each column once, on a line that says which table it is of.
    const lines = all.split('\n').filter((line) => line.startsWith('wide (0 rows), columns '));
    const found = lines.flatMap((line) => [...line.matchAll(/(wide_\d+) text/g)].map(([, name]) => name));
    expect(new Set(found)).toEqual(new Set(columns.map(({ name }) => name)));
  });

  it('does not load 800 large existing suggestions in full', async () => {
    await runGeneration(answerOntology([makeNodeCandidate('c', 'Customer')]));
    const runner = await createJobRunner(
      asOwner,
      answerOntology([makeNodeCandidate('n', 'Node 700'), makeNodeCandidate('o', 'Order')]),
    );
    const { body } = await asOwner.post(`${PATH}/jobs`, { json: { connection_id }, env: runner.env });
    const columns = `company_id, target_type, explanation, evidence, model, prompt_version, request_id, created_at,
      updated_at, created_by_user_id`;
    await env.CONTROL_DB.prepare(
      `insert into knowledge_suggestions (id, target_name, payload, status, job_id, candidate_key, ${columns})
       with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 800)
       select printf('%024x', n), 'Node ' || n,
         json_object('name', 'Node ' || n, 'node_type', 'class', 'description', hex(zeroblob(5000))),
         'staged', ?, 'node ' || n, ${columns}
       from numbers, knowledge_suggestions where target_name = 'Customer' and company_id = ?`,
    )
      .bind(body._id, company.id)
      .run();
    const { env: measured, longest } = createCountingD1();
    await runner.deliver(runner.messages.shift() as never, measured);
    // 800 nodes with 10,000 characters each.
    expect(longest()).toBeLessThan(400_000);
    expect(await runner.job(body._id)).toMatchObject({ status: 'succeeded', suggestion_count: 1 });
    const [asked] = await runner.model.asked();
    expect(asked?.messages[1]?.content).toContain('Node 800');
  });

  it('is refused with the name of the missing prerequisite', async () => {
    const { model } = await createJobRunner(asOwner, answerOntology([]));
    const ready = (await asOwner.get(`${PATH}/prerequisites`, { env: model.env })).body;
    expect(ready).toStrictEqual({
      ready: true,
      ai_configured: true,
      connections: [{ connection_id, name: expect.any(String), table_count: 1 }],
      entity_hint_count: 1,
      missing: [],
    });
    const post = (json: unknown, env: Record<string, string> = model.env) =>
      asOwner.post(`${PATH}/jobs`, { json, env });
    expect(readInvalidFields(await post({}))).toEqual(['connection_id']);
    expect(readInvalidFields(await post({ connection_id: UNKNOWN_ID }))).toEqual(['connection_id']);
    expect(readStatusAndCode(await post({ connection_id }, NO_MODEL))).toEqual([503, 'AI_PROVIDER_NOT_CONFIGURED']);
    await asOwner.delete(`${KNOWLEDGE_PATH}/concepts/${hint}`);
    expect(readInvalidFields(await post({ connection_id }))).toEqual(['entity_hint_concepts']);
    const bare = await aCompany();
    await createConcept(bare.as, { type: 'entity_hint' });
    const missing = (await bare.as.get(`${PATH}/prerequisites`, { env: NO_MODEL })).body;
    expect(missing).toMatchObject({ ready: false, connections: [], missing: ['ai_provider', 'connection'] });
    const foreign = await bare.as.post(`${PATH}/jobs`, { json: { connection_id }, env: model.env });
    expect(readInvalidFields(foreign)).toEqual(['connection_id']);
  });

  it('is refused while another one runs in the company, but runs beside a generation of concepts', async () => {
    await asOwner.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains: [{ key: 'a', name: 'A' }] } });
    const runner = await createJobRunner(asOwner, answerOntology([]));
    const post = () => asOwner.post(`${PATH}/jobs`, { json: { connection_id }, env: runner.env });
    expect((await post()).status).toBe(202);
    expect(readStatusAndCode(await post())).toEqual([409, 'JOB_RUNNING']);
    const concepts = await asOwner.post(`${KNOWLEDGE_PATH}/concepts/generation/jobs`, { json: {}, env: runner.env });
    expect(concepts.status).toBe(202);
  });
});
