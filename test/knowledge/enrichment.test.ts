import { beforeAll, describe, expect, it } from 'vitest';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { aWorkshop, pendingOf } from './jobs.ts';
import { NO_MODEL, proposal, theModel } from './model.ts';
import { aConcept, aNode, anItem, aRelation, fieldsOf, NOBODY, PREFIX, refusal } from './support.ts';

const PATH = `${PREFIX}/jobs`;
let company: Company;
let as: Company['as'];

beforeAll(async () => {
  company = await aCompany();
  as = company.as;
});

type Workshop = Awaited<ReturnType<typeof aWorkshop>>;

const enrich = (workshop: Pick<Workshop, 'env'>, target_type: unknown, target_ids: unknown, caller = as) =>
  caller.post(`${PATH}/enrich`, { json: { target_type, target_ids }, env: workshop.env });

describe('enriching', () => {
  it('asks about each target, and shows what comes of it as it comes', async () => {
    const ids = [await aConcept(as), await aConcept(as)];
    const workshop = await aWorkshop(as, proposal({ tags: ['one'] }), proposal({ tags: ['two'] }));
    const { status, body } = await enrich(workshop, 'concept', ids);
    expect([status, body]).toEqual([
      202,
      expect.objectContaining({ type: 'enrichment', target_type: 'concept', target_ids: ids, total_count: 2 }),
    ]);
    await workshop.deliver(workshop.messages.shift() as never);
    expect(await pendingOf(as, `&job_id=${body._id}`)).toHaveLength(1);
    await workshop.run();
    expect(await workshop.job(body._id)).toMatchObject({
      status: 'succeeded',
      processed_count: 2,
      suggestion_count: 2,
    });
    const pending = await pendingOf(as, `&job_id=${body._id}`);
    expect(new Set(pending.map(({ target_id }: { target_id: string }) => target_id))).toEqual(new Set(ids));
    for (const id of ids) expect((await as.get(`${PREFIX}/concepts/${id}`)).body.version).toBe(1);
  });

  it.each(['semantic', 'ontology_node', 'ontology_relation'])('asks about a %s', async (type) => {
    const made: Record<string, () => Promise<string>> = {
      semantic: () => anItem(as),
      ontology_node: () => aNode(as),
      ontology_relation: async () => aRelation(as, await aNode(as), 'has', await aNode(as)),
    };
    const id = (await made[type]?.()) as string;
    const workshop = await aWorkshop(as, proposal({ description: 'Clearer.' }));
    const { body } = await enrich(workshop, type, [id]);
    await workshop.run();
    expect(await pendingOf(as, `&job_id=${body._id}`)).toEqual([
      expect.objectContaining({ target_type: type, target_id: id, suggested_payload: { description: 'Clearer.' } }),
    ]);
  });

  it('passes over what needs nothing and what is gone, and counts it', async () => {
    const [good, same, gone] = [await aConcept(as), await aConcept(as), await aConcept(as)];
    const workshop = await aWorkshop(as, proposal({ tags: ['x'] }), proposal({ tags: [] }));
    const { body } = await enrich(workshop, 'concept', [good, same, gone]);
    await as.delete(`${PREFIX}/concepts/${gone}`);
    await workshop.run();
    expect(await workshop.job(body._id)).toMatchObject({ status: 'succeeded', suggestion_count: 1, rejected_count: 2 });
  });

  it('fails with what went wrong, and keeps what it had', async () => {
    const ids = [await aConcept(as), await aConcept(as)];
    const workshop = await aWorkshop(as, proposal({ tags: ['x'] }), { status: 500 });
    const { body } = await enrich(workshop, 'concept', ids);
    await workshop.run();
    expect(await workshop.job(body._id)).toMatchObject({
      status: 'failed',
      processed_count: 1,
      last_error: expect.any(String),
      usage: { requests: 4, prompt_tokens: 100, completion_tokens: 10 },
    });
    expect(await pendingOf(as, `&job_id=${body._id}`)).toHaveLength(1);
  });

  it('ends when it is cancelled, and keeps what it had', async () => {
    const ids = [await aConcept(as), await aConcept(as), await aConcept(as)];
    const workshop = await aWorkshop(as, proposal({ tags: ['x'] }));
    const { body } = await enrich(workshop, 'concept', ids);
    await workshop.deliver(workshop.messages.shift() as never);
    expect((await as.post(`${PATH}/${body._id}/cancel`)).body).toMatchObject({
      status: 'cancelled',
      processed_count: 1,
    });
    await workshop.run();
    expect((await workshop.model.asked()).length).toBe(1);
    expect(await workshop.job(body._id)).toMatchObject({
      status: 'cancelled',
      processed_count: 1,
      suggestion_count: 1,
    });
    expect(await pendingOf(as, `&job_id=${body._id}`)).toHaveLength(1);
    expect(refusal(await as.post(`${PATH}/${body._id}/cancel`))).toEqual([409, 'JOB_ENDED']);
  });

  it('fails when the key is taken away meanwhile', async () => {
    const workshop = await aWorkshop(as, proposal({ tags: ['x'] }));
    const { body } = await enrich(workshop, 'concept', [await aConcept(as)]);
    await workshop.deliver(workshop.messages.shift() as never, NO_MODEL);
    expect(await workshop.job(body._id)).toMatchObject({
      status: 'failed',
      last_error: 'No AI provider is configured.',
    });
  });

  it('does nothing twice', async () => {
    const workshop = await aWorkshop(as, proposal({ tags: ['x'] }));
    const { body } = await enrich(workshop, 'concept', [await aConcept(as)]);
    const message = workshop.messages.shift() as never;
    await Promise.all([workshop.deliver(message), workshop.deliver(message)]);
    await workshop.deliver(message);
    expect(await pendingOf(as, `&job_id=${body._id}`)).toHaveLength(1);
    expect((await workshop.model.asked()).length).toBe(1);
  });

  it('takes 1 to 100 targets that exist in the company', async () => {
    const workshop = await aWorkshop(as, proposal({}));
    const id = await aConcept(as);
    const foreign = await aConcept((await aCompany()).as);
    const archived = await aConcept(as);
    await as.delete(`${PREFIX}/concepts/${archived}`);
    expect(fieldsOf(await enrich(workshop, 'concept', []))).toEqual(['target_ids']);
    expect(fieldsOf(await enrich(workshop, 'concept', Array(101).fill(id)))).toEqual(['target_ids']);
    expect(fieldsOf(await enrich(workshop, 'concept_create', [id]))).toEqual(['target_type']);
    expect(fieldsOf(await enrich(workshop, 'concept', [id, NOBODY, foreign, archived]))).toEqual([
      'target_ids.1',
      'target_ids.2',
      'target_ids.3',
    ]);
    expect(fieldsOf(await enrich(workshop, 'semantic', [id]))).toEqual(['target_ids.0']);
    const all = await enrich(workshop, 'concept', Array(100).fill(id));
    expect([all.status, all.body.total_count]).toEqual([202, 1]);
  });

  it('is listed by type and status, for those who may see it', async () => {
    const { as } = await aCompany();
    const workshop = await aWorkshop(as, proposal({ description: 'new' }));
    const { body } = await enrich(workshop, 'concept', [await aConcept(as)], as);
    await enrich(workshop, 'ontology_node', [await aNode(as)], as);
    const total = async (query: string) => (await as.get(`${PATH}?${query}`)).body.total;
    expect([await total(''), await total('target_type=concept'), await total('status=succeeded')]).toEqual([2, 1, 0]);
    await workshop.run();
    expect(await total('status=succeeded')).toBe(2);
    expect((await as.get(`${PATH}?target_type=concept`)).body.records[0]._id).toBe(body._id);
    expect(fieldsOf(await as.get(`${PATH}?status=done`))).toEqual(['status']);
    const { as: nobody } = await aUser(company, { can: ['knowledge_reviews:generate'] });
    expect((await nobody.get(PATH)).status).toBe(403);
  });

  it('needs a key and a permission', async () => {
    const answer = await as.post(`${PATH}/enrich`, {
      json: { target_type: 'concept', target_ids: [NOBODY] },
      env: NO_MODEL,
    });
    expect(refusal(answer)).toEqual([503, 'AI_PROVIDER_NOT_CONFIGURED']);
    const { as: lister } = await aUser(company, { can: ['knowledge_reviews:list'] });
    expect((await enrich(await aWorkshop(as, proposal({})), 'concept', [NOBODY], lister)).status).toBe(403);
  });
});

describe('the queue itself', () => {
  it('delivers a job to its end', async () => {
    await theModel(proposal({ tags: ['x'] }));
    const { body } = await enrich({ env: {} }, 'concept', [await aConcept(as), await aConcept(as)]);
    const status = async () => (await as.get(`${PATH}/${body._id}`)).body.status;
    await expect.poll(status, { timeout: 15_000 }).toBe('succeeded');
    expect(await pendingOf(as, `&job_id=${body._id}`)).toHaveLength(2);
  });
});
