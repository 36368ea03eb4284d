import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Step } from '../support/ai-server.ts';
import { later, resetClock } from '../support/clock.ts';
import { runScheduled } from '../support/scheduled.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aWorkshop, concepts, newConcept, pendingOf } from './jobs.ts';
import { PREFIX, refusal } from './support.ts';

const PATH = `${PREFIX}/concepts/generation`;
const DOMAINS = ['sales', 'people'].map((key) => ({ key, name: key }));
let company: Company;
let as: Company['as'];

beforeEach(async () => {
  resetClock();
  company = await aCompany();
  as = company.as;
  await as.put(`${PREFIX}/business-domains`, { json: { business_domains: DOMAINS } });
});

type Workshop = Awaited<ReturnType<typeof aWorkshop>>;

async function start(workshop: Workshop, json: unknown = {}): Promise<string> {
  const { status, body } = await as.post(`${PATH}/jobs`, { json, env: workshop.env });
  if (status !== 202) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return body._id;
}

const namesOf = (records: { target_name: string }[]) => records.map(({ target_name }) => target_name).sort();

describe('a generation that meets with accidents', () => {
  it('does nothing twice when messages are delivered twice, one after the other and at once', async () => {
    const workshop = await aWorkshop(
      as,
      concepts(newConcept('A')),
      concepts(newConcept('B')),
      concepts(newConcept('C')),
    );
    const id = await start(workshop);
    const [message] = workshop.messages.splice(0);
    await Promise.all([workshop.deliver(message as never), workshop.deliver(message as never)]);
    expect(await workshop.job(id)).toMatchObject({ processed_count: 1, suggestion_count: 1 });
    await workshop.run();
    await workshop.deliver(message as never);
    expect(await workshop.job(id)).toMatchObject({ status: 'succeeded', processed_count: 2, suggestion_count: 2 });
    expect(await pendingOf(as)).toHaveLength(2);
  });

  it('goes on after a crash, where it was', async () => {
    const workshop = await aWorkshop(as, concepts(newConcept('A')), concepts(newConcept('B')));
    const id = await start(workshop);
    await workshop.deliver(workshop.messages.shift() as never);
    // The message for the second batch is lost.
    workshop.messages.splice(0);
    const ours = () => workshop.messages.filter(({ companyId }) => companyId === company.id);
    await runScheduled({ MODEL_JOBS: workshop.env.MODEL_JOBS });
    expect(ours()).toEqual([]);
    later(61_000);
    await runScheduled({ MODEL_JOBS: workshop.env.MODEL_JOBS });
    expect(ours()).toEqual([expect.objectContaining({ type: 'knowledge.generate', companyId: company.id, jobId: id })]);
    await workshop.run();
    expect(await workshop.job(id)).toMatchObject({ status: 'succeeded', processed_count: 2, suggestion_count: 2 });
    expect(namesOf(await pendingOf(as))).toEqual(['A', 'B']);
  });

  it('is delivered again when our own side fails, and loses nothing', async () => {
    const workshop = await aWorkshop(as, concepts(newConcept('A')));
    const id = await start(workshop, { text: 'Some text.' });
    const message = workshop.messages.shift() as never;
    const broken = { get: async () => Promise.reject(new Error('R2 is away')) };
    expect(await workshop.deliver(message, { FILES: broken })).toBe('again');
    expect(await workshop.deliver(message)).toBe('done');
    expect(await workshop.job(id)).toMatchObject({ status: 'succeeded', suggestion_count: 1 });
  });

  it('starts after a crash that lost its very first message', async () => {
    const workshop = await aWorkshop(as, concepts(newConcept('A')));
    const id = await start(workshop, { text: 'Some text.' });
    workshop.messages.splice(0);
    later(61_000);
    await runScheduled({ MODEL_JOBS: workshop.env.MODEL_JOBS });
    await workshop.run();
    expect(await workshop.job(id)).toMatchObject({ status: 'succeeded', suggestion_count: 1 });
  });

  it('is left to whoever is at it, until that is too long ago', async () => {
    const slow = { ...concepts(newConcept('A')), afterMs: 700 } as Step;
    const workshop = await aWorkshop(as, slow);
    const id = await start(workshop, { text: 'Some text.' });
    const message = workshop.messages.shift() as never;
    const first = workshop.deliver(message);
    await expect.poll(async () => (await workshop.model.asked()).length).toBe(1);
    later(61_000);
    await runScheduled({ MODEL_JOBS: workshop.env.MODEL_JOBS });
    expect(workshop.messages.filter(({ companyId }) => companyId === company.id)).toEqual([]);
    // Whoever was at it must have crashed by then: another takes over, and one answer is kept.
    later(10 * 60_000);
    await runScheduled({ MODEL_JOBS: workshop.env.MODEL_JOBS });
    expect(await workshop.run()).toBe(1);
    await first;
    resetClock();
    expect(await workshop.job(id)).toMatchObject({
      status: 'succeeded',
      suggestion_count: 1,
      usage: { requests: 2, prompt_tokens: 200, completion_tokens: 20 },
    });
    expect(await pendingOf(as)).toHaveLength(1);
  });

  it('counts what the model was asked for nothing', async () => {
    const workshop = await aWorkshop(as, concepts(newConcept('A')));
    const id = await start(workshop, { text: 'Some text.' });
    const message = workshop.messages.shift() as never;
    const broken = { batch: async () => Promise.reject(new Error('D1 is away')) };
    const session = env.CONTROL_DB.withSession('first-primary');
    const failing = new Proxy(session, {
      get: (of, member) => (member in broken ? broken.batch : Reflect.get(of, member).bind(of)),
    });
    expect(await workshop.deliver(message, { CONTROL_DB: { withSession: () => failing } })).toBe('again');
    expect(await workshop.job(id)).toMatchObject({ status: 'running', usage: { requests: 1, prompt_tokens: 100 } });
    expect(await workshop.deliver(message)).toBe('done');
    expect(await workshop.job(id)).toMatchObject({ status: 'succeeded', usage: { requests: 2, prompt_tokens: 200 } });
  });

  it('leaves no text behind, although R2 was away at its end', async () => {
    const workshop = await aWorkshop(as, concepts(newConcept('A')));
    const id = await start(workshop, { text: 'Some text.' });
    const away = new Proxy(env.FILES, {
      get: (of, member) =>
        member === 'delete' ? async () => Promise.reject(new Error('R2 is away')) : Reflect.get(of, member).bind(of),
    });
    expect(await workshop.deliver(workshop.messages.shift() as never, { FILES: away })).toBe('done');
    expect((await workshop.job(id)).status).toBe('succeeded');
    const texts = async () => (await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects.length;
    expect(await texts()).toBe(1);
    const running = await start(workshop, { text: 'Another text.' });
    await runScheduled();
    expect(await texts()).toBe(2);
    later(61 * 60_000);
    await runScheduled({ MODEL_JOBS: workshop.env.MODEL_JOBS });
    expect((await env.FILES.list({ prefix: 'knowledge/' })).objects.map(({ key }) => key)).toEqual([
      `knowledge/${company.id}/${running}`,
    ]);
  });

  it('is given up when it does not get on at all', async () => {
    const workshop = await aWorkshop(as, concepts(newConcept('A')));
    const id = await start(workshop, { text: 'Some text.' });
    const message = workshop.messages.shift() as never;
    const broken = { get: async () => Promise.reject(new Error('R2 is away')), delete: async () => undefined };
    for (let tries = 0; tries < 8; tries += 1) await workshop.deliver(message, { FILES: broken });
    expect((await workshop.job(id)).status).toBe('running');
    await workshop.deliver(message, { FILES: broken });
    expect(await workshop.job(id)).toMatchObject({
      status: 'failed',
      last_error: expect.stringContaining('several times'),
    });
  });

  it('fails when its text is gone', async () => {
    const workshop = await aWorkshop(as, concepts(newConcept('A')));
    const id = await start(workshop, { text: 'Some text.' });
    await env.FILES.delete(`knowledge/${company.id}/${id}`);
    await workshop.run();
    expect((await workshop.job(id)).status).toBe('failed');
  });

  it('throws away an answer that comes after it was cancelled', async () => {
    const workshop = await aWorkshop(as, { ...concepts(newConcept('Late')), afterMs: 800 } as Step);
    const id = await start(workshop, { text: 'Some text.' });
    const delivery = workshop.deliver(workshop.messages.shift() as never);
    await expect.poll(async () => (await workshop.model.asked()).length).toBe(1);
    const { status, body } = await as.post(`${PREFIX}/jobs/${id}/cancel`);
    expect([status, body.status, body.ended_at]).toEqual([200, 'cancelled', expect.any(String)]);
    await delivery;
    expect(await workshop.job(id)).toMatchObject({
      status: 'cancelled',
      processed_count: 0,
      suggestion_count: 0,
      usage: { requests: 1, prompt_tokens: 100, completion_tokens: 10 },
    });
    expect(await pendingOf(as)).toEqual([]);
    expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
    expect(refusal(await as.post(`${PREFIX}/jobs/${id}/cancel`))).toEqual([409, 'JOB_ENDED']);
    expect((await as.post(`${PATH}/jobs`, { json: {}, env: workshop.env })).status).toBe(202);
  });

  it('keeps nothing of batches before it was cancelled', async () => {
    const workshop = await aWorkshop(as, concepts(newConcept('A')));
    const id = await start(workshop);
    await workshop.deliver(workshop.messages.shift() as never);
    await as.post(`${PREFIX}/jobs/${id}/cancel`);
    await workshop.run();
    expect(await pendingOf(as)).toEqual([]);
    const { results } = await env.CONTROL_DB.prepare('select id from knowledge_suggestions where job_id = ?')
      .bind(id)
      .all();
    expect(results).toEqual([]);
  });
});
