import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { createJobRunner, listPendingSuggestions } from './jobs.ts';
import { createDefaultModel, makeProposal, NO_MODEL_ENV } from './model.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  readInvalidFields,
  UNKNOWN_ID,
} from './support.ts';

const JOBS_PATH = `${KNOWLEDGE_PATH}/jobs`;

const company = await createOwnedCompany();
const ownerCaller = company.as;

type JobRunner = Awaited<ReturnType<typeof createJobRunner>>;

const startEnrichment = (
  runner: Pick<JobRunner, 'env'>,
  target_type: unknown,
  target_ids: unknown,
  caller = ownerCaller,
) => caller.post(`${JOBS_PATH}/enrich`, { json: { target_type, target_ids }, env: runner.env });

describe('an enrichment job', () => {
  it('asks the model about each target, and publishes each suggestion at once', async () => {
    const ids = [await createConcept(ownerCaller), await createConcept(ownerCaller)];
    const runner = await createJobRunner(ownerCaller, makeProposal({ tags: ['one'] }), makeProposal({ tags: ['two'] }));
    const { status, body } = await startEnrichment(runner, 'concept', ids);
    expect([status, body]).toEqual([
      202,
      expect.objectContaining({ type: 'enrichment', target_type: 'concept', target_ids: ids, total_count: 2 }),
    ]);
    await runner.deliver(runner.messages.shift() as never);
    expect(await listPendingSuggestions(ownerCaller, `&job_id=${body._id}`)).toHaveLength(1);
    await runner.run();
    expect(await runner.job(body._id)).toMatchObject({
      status: 'succeeded',
      processed_count: 2,
      suggestion_count: 2,
    });
    const pendingSuggestions = await listPendingSuggestions(ownerCaller, `&job_id=${body._id}`);
    expect(new Set(pendingSuggestions.map(({ target_id }: { target_id: string }) => target_id))).toEqual(new Set(ids));
    for (const id of ids) expect((await ownerCaller.get(`${KNOWLEDGE_PATH}/concepts/${id}`)).body.version).toBe(1);
  });

  it.each(['semantic', 'ontology_node', 'ontology_relation'])('asks the model about a %s', async (type) => {
    const creators: Record<string, () => Promise<string>> = {
      semantic: () => createItem(ownerCaller),
      ontology_node: () => createNode(ownerCaller),
      ontology_relation: async () =>
        createRelation(ownerCaller, await createNode(ownerCaller), 'has', await createNode(ownerCaller)),
    };
    const id = (await creators[type]?.()) as string;
    const runner = await createJobRunner(ownerCaller, makeProposal({ description: 'Clearer.' }));
    const { body } = await startEnrichment(runner, type, [id]);
    await runner.run();
    expect(await listPendingSuggestions(ownerCaller, `&job_id=${body._id}`)).toEqual([
      expect.objectContaining({ target_type: type, target_id: id, suggested_payload: { description: 'Clearer.' } }),
    ]);
  });

  it('counts unchanged and archived targets as rejected', async () => {
    const [good, same, gone] = [
      await createConcept(ownerCaller),
      await createConcept(ownerCaller),
      await createConcept(ownerCaller),
    ];
    const runner = await createJobRunner(ownerCaller, makeProposal({ tags: ['x'] }), makeProposal({ tags: [] }));
    const { body } = await startEnrichment(runner, 'concept', [good, same, gone]);
    await ownerCaller.delete(`${KNOWLEDGE_PATH}/concepts/${gone}`);
    await runner.run();
    expect(await runner.job(body._id)).toMatchObject({ status: 'succeeded', suggestion_count: 1, rejected_count: 2 });
  });

  it('reports why it failed, and keeps its suggestions', async () => {
    const ids = [await createConcept(ownerCaller), await createConcept(ownerCaller)];
    const runner = await createJobRunner(ownerCaller, makeProposal({ tags: ['x'] }), { status: 500 });
    const { body } = await startEnrichment(runner, 'concept', ids);
    await runner.run();
    expect(await runner.job(body._id)).toMatchObject({
      status: 'failed',
      processed_count: 1,
      last_error: expect.any(String),
      usage: { requests: 4, prompt_tokens: 100, completion_tokens: 10 },
    });
    expect(await listPendingSuggestions(ownerCaller, `&job_id=${body._id}`)).toHaveLength(1);
  });

  it('ends when it is cancelled, and keeps its suggestions', async () => {
    const ids = [await createConcept(ownerCaller), await createConcept(ownerCaller), await createConcept(ownerCaller)];
    const runner = await createJobRunner(ownerCaller, makeProposal({ tags: ['x'] }));
    const { body } = await startEnrichment(runner, 'concept', ids);
    await runner.deliver(runner.messages.shift() as never);
    expect((await ownerCaller.post(`${JOBS_PATH}/${body._id}/cancel`)).body).toMatchObject({
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
    expect(await listPendingSuggestions(ownerCaller, `&job_id=${body._id}`)).toHaveLength(1);
    expect(readStatusAndCode(await ownerCaller.post(`${JOBS_PATH}/${body._id}/cancel`))).toEqual([409, 'JOB_ENDED']);
  });

  it('fails when the AI key is removed meanwhile', async () => {
    const runner = await createJobRunner(ownerCaller, makeProposal({ tags: ['x'] }));
    const { body } = await startEnrichment(runner, 'concept', [await createConcept(ownerCaller)]);
    await runner.deliver(runner.messages.shift() as never, NO_MODEL_ENV);
    expect(await runner.job(body._id)).toMatchObject({
      status: 'failed',
      last_error: 'No AI provider is configured.',
    });
  });

  it('accepts 1 to 100 targets that exist in the company', async () => {
    const runner = await createJobRunner(ownerCaller, makeProposal({}));
    const id = await createConcept(ownerCaller);
    const foreignConcept = await createConcept((await createOwnedCompany()).as);
    const archivedConcept = await createConcept(ownerCaller);
    await ownerCaller.delete(`${KNOWLEDGE_PATH}/concepts/${archivedConcept}`);
    expect(readInvalidFields(await startEnrichment(runner, 'concept', []))).toEqual(['target_ids']);
    expect(readInvalidFields(await startEnrichment(runner, 'concept', Array(101).fill(id)))).toEqual(['target_ids']);
    expect(readInvalidFields(await startEnrichment(runner, 'concept_create', [id]))).toEqual(['target_type']);
    expect(
      readInvalidFields(await startEnrichment(runner, 'concept', [id, UNKNOWN_ID, foreignConcept, archivedConcept])),
    ).toEqual(['target_ids.1', 'target_ids.2', 'target_ids.3']);
    expect(readInvalidFields(await startEnrichment(runner, 'semantic', [id]))).toEqual(['target_ids.0']);
    const fullAnswer = await startEnrichment(runner, 'concept', Array(100).fill(id));
    expect([fullAnswer.status, fullAnswer.body.total_count]).toEqual([202, 1]);
  });

  it('is listed by type and status', async () => {
    const { as } = await createOwnedCompany();
    const runner = await createJobRunner(as, makeProposal({ description: 'new' }));
    const { body } = await startEnrichment(runner, 'concept', [await createConcept(as)], as);
    await startEnrichment(runner, 'ontology_node', [await createNode(as)], as);
    const countRecords = async (query: string) => (await as.get(`${JOBS_PATH}?${query}`)).body.total;
    expect([
      await countRecords(''),
      await countRecords('target_type=concept'),
      await countRecords('status=succeeded'),
    ]).toEqual([2, 1, 0]);
    await runner.run();
    expect(await countRecords('status=succeeded')).toBe(2);
    expect((await as.get(`${JOBS_PATH}?target_type=concept`)).body.records[0]._id).toBe(body._id);
    expect(readInvalidFields(await as.get(`${JOBS_PATH}?status=done`))).toEqual(['status']);
  });

  it('needs an AI key', async () => {
    const answer = await ownerCaller.post(`${JOBS_PATH}/enrich`, {
      json: { target_type: 'concept', target_ids: [UNKNOWN_ID] },
      env: NO_MODEL_ENV,
    });
    expect(readStatusAndCode(answer)).toEqual([503, 'AI_PROVIDER_NOT_CONFIGURED']);
  });
});

describe('the job queue', () => {
  it('delivers an enrichment job until it has ended', async () => {
    await createDefaultModel(makeProposal({ tags: ['x'] }));
    const { body } = await startEnrichment({ env: {} }, 'concept', [
      await createConcept(ownerCaller),
      await createConcept(ownerCaller),
    ]);
    const readStatus = async () => (await ownerCaller.get(`${JOBS_PATH}/${body._id}`)).body.status;
    await expect.poll(readStatus).toBe('succeeded');
    expect(await listPendingSuggestions(ownerCaller, `&job_id=${body._id}`)).toHaveLength(2);
  });
});
