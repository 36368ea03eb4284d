import { beforeAll, describe, expect, it } from 'vitest';
import { statusAndCode } from '../support/console.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aJobRunner, pendingOf } from './jobs.ts';
import { NO_MODEL, proposal, theModel } from './model.ts';
import { aConcept, aNode, anItem, aRelation, fieldsOf, KNOWLEDGE_PATH, NOBODY } from './support.ts';

const PATH = `${KNOWLEDGE_PATH}/jobs`;
let company: Company;
let asOwner: Company['as'];

beforeAll(async () => {
  company = await aCompany();
  asOwner = company.as;
});

type Workshop = Awaited<ReturnType<typeof aJobRunner>>;

const enrich = (runner: Pick<Workshop, 'env'>, target_type: unknown, target_ids: unknown, caller = asOwner) =>
  caller.post(`${PATH}/enrich`, { json: { target_type, target_ids }, env: runner.env });

describe('an enrichment job', () => {
  it('asks about each target, and publishes each suggestion at once', async () => {
    const ids = [await aConcept(asOwner), await aConcept(asOwner)];
    const runner = await aJobRunner(asOwner, proposal({ tags: ['one'] }), proposal({ tags: ['two'] }));
    const { status, body } = await enrich(runner, 'concept', ids);
    expect([status, body]).toEqual([
      202,
      expect.objectContaining({ type: 'enrichment', target_type: 'concept', target_ids: ids, total_count: 2 }),
    ]);
    await runner.deliver(runner.messages.shift() as never);
    expect(await pendingOf(asOwner, `&job_id=${body._id}`)).toHaveLength(1);
    await runner.run();
    expect(await runner.job(body._id)).toMatchObject({
      status: 'succeeded',
      processed_count: 2,
      suggestion_count: 2,
    });
    const pending = await pendingOf(asOwner, `&job_id=${body._id}`);
    expect(new Set(pending.map(({ target_id }: { target_id: string }) => target_id))).toEqual(new Set(ids));
    for (const id of ids) expect((await asOwner.get(`${KNOWLEDGE_PATH}/concepts/${id}`)).body.version).toBe(1);
  });

  it.each(['semantic', 'ontology_node', 'ontology_relation'])('asks about a %s', async (type) => {
    const made: Record<string, () => Promise<string>> = {
      semantic: () => anItem(asOwner),
      ontology_node: () => aNode(asOwner),
      ontology_relation: async () => aRelation(asOwner, await aNode(asOwner), 'has', await aNode(asOwner)),
    };
    const id = (await made[type]?.()) as string;
    const runner = await aJobRunner(asOwner, proposal({ description: 'Clearer.' }));
    const { body } = await enrich(runner, type, [id]);
    await runner.run();
    expect(await pendingOf(asOwner, `&job_id=${body._id}`)).toEqual([
      expect.objectContaining({ target_type: type, target_id: id, suggested_payload: { description: 'Clearer.' } }),
    ]);
  });

  it('counts unchanged and archived targets as rejected', async () => {
    const [good, same, gone] = [await aConcept(asOwner), await aConcept(asOwner), await aConcept(asOwner)];
    const runner = await aJobRunner(asOwner, proposal({ tags: ['x'] }), proposal({ tags: [] }));
    const { body } = await enrich(runner, 'concept', [good, same, gone]);
    await asOwner.delete(`${KNOWLEDGE_PATH}/concepts/${gone}`);
    await runner.run();
    expect(await runner.job(body._id)).toMatchObject({ status: 'succeeded', suggestion_count: 1, rejected_count: 2 });
  });

  it('says why it failed, and keeps its suggestions', async () => {
    const ids = [await aConcept(asOwner), await aConcept(asOwner)];
    const runner = await aJobRunner(asOwner, proposal({ tags: ['x'] }), { status: 500 });
    const { body } = await enrich(runner, 'concept', ids);
    await runner.run();
    expect(await runner.job(body._id)).toMatchObject({
      status: 'failed',
      processed_count: 1,
      last_error: expect.any(String),
      usage: { requests: 4, prompt_tokens: 100, completion_tokens: 10 },
    });
    expect(await pendingOf(asOwner, `&job_id=${body._id}`)).toHaveLength(1);
  });

  it('ends when it is cancelled, and keeps its suggestions', async () => {
    const ids = [await aConcept(asOwner), await aConcept(asOwner), await aConcept(asOwner)];
    const runner = await aJobRunner(asOwner, proposal({ tags: ['x'] }));
    const { body } = await enrich(runner, 'concept', ids);
    await runner.deliver(runner.messages.shift() as never);
    expect((await asOwner.post(`${PATH}/${body._id}/cancel`)).body).toMatchObject({
      status: 'cancelled',
      processed_count: 1,
    });
    await runner.run();
    expect((await runner.model.asked()).length).toBe(1);
    expect(await runner.job(body._id)).toMatchObject({
      status: 'cancelled',
      processed_count: 1,
      suggestion_count: 1,
    });
    expect(await pendingOf(asOwner, `&job_id=${body._id}`)).toHaveLength(1);
    expect(statusAndCode(await asOwner.post(`${PATH}/${body._id}/cancel`))).toEqual([409, 'JOB_ENDED']);
  });

  it('fails when the AI key is removed meanwhile', async () => {
    const runner = await aJobRunner(asOwner, proposal({ tags: ['x'] }));
    const { body } = await enrich(runner, 'concept', [await aConcept(asOwner)]);
    await runner.deliver(runner.messages.shift() as never, NO_MODEL);
    expect(await runner.job(body._id)).toMatchObject({
      status: 'failed',
      last_error: 'No AI provider is configured.',
    });
  });

  it('accepts 1 to 100 targets that exist in the company', async () => {
    const runner = await aJobRunner(asOwner, proposal({}));
    const id = await aConcept(asOwner);
    const foreign = await aConcept((await aCompany()).as);
    const archived = await aConcept(asOwner);
    await asOwner.delete(`${KNOWLEDGE_PATH}/concepts/${archived}`);
    expect(fieldsOf(await enrich(runner, 'concept', []))).toEqual(['target_ids']);
    expect(fieldsOf(await enrich(runner, 'concept', Array(101).fill(id)))).toEqual(['target_ids']);
    expect(fieldsOf(await enrich(runner, 'concept_create', [id]))).toEqual(['target_type']);
    expect(fieldsOf(await enrich(runner, 'concept', [id, NOBODY, foreign, archived]))).toEqual([
      'target_ids.1',
      'target_ids.2',
      'target_ids.3',
    ]);
    expect(fieldsOf(await enrich(runner, 'semantic', [id]))).toEqual(['target_ids.0']);
    const all = await enrich(runner, 'concept', Array(100).fill(id));
    expect([all.status, all.body.total_count]).toEqual([202, 1]);
  });

  it('is listed by type and status', async () => {
    const { as } = await aCompany();
    const runner = await aJobRunner(as, proposal({ description: 'new' }));
    const { body } = await enrich(runner, 'concept', [await aConcept(as)], as);
    await enrich(runner, 'ontology_node', [await aNode(as)], as);
    const total = async (query: string) => (await as.get(`${PATH}?${query}`)).body.total;
    expect([await total(''), await total('target_type=concept'), await total('status=succeeded')]).toEqual([2, 1, 0]);
    await runner.run();
    expect(await total('status=succeeded')).toBe(2);
    expect((await as.get(`${PATH}?target_type=concept`)).body.records[0]._id).toBe(body._id);
    expect(fieldsOf(await as.get(`${PATH}?status=done`))).toEqual(['status']);
  });

  it('needs an AI key', async () => {
    const answer = await asOwner.post(`${PATH}/enrich`, {
      json: { target_type: 'concept', target_ids: [NOBODY] },
      env: NO_MODEL,
    });
    expect(statusAndCode(answer)).toEqual([503, 'AI_PROVIDER_NOT_CONFIGURED']);
  });
});

describe('the job queue', () => {
  it('delivers an enrichment job until it has ended', async () => {
    await theModel(proposal({ tags: ['x'] }));
    const { body } = await enrich({ env: {} }, 'concept', [await aConcept(asOwner), await aConcept(asOwner)]);
    const status = async () => (await asOwner.get(`${PATH}/${body._id}`)).body.status;
    await expect.poll(status).toBe('succeeded');
    expect(await pendingOf(asOwner, `&job_id=${body._id}`)).toHaveLength(2);
  });
});
