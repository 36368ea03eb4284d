import { env } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { sendOvertaken } from '../support/rival.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { answerConcepts, createJobRunner, listPending, makeConceptCandidate } from './jobs.ts';
import { KNOWLEDGE_PATH } from './support.ts';

const PATH = `${KNOWLEDGE_PATH}/concepts/generation`;
const DOMAINS = ['sales', 'people'].map((key) => ({ key, name: key }));
let company: Company;
let asOwner: Company['as'];

afterEach(resetClock);

beforeEach(async () => {
  company = await aCompany();
  asOwner = company.as;
  await asOwner.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains: DOMAINS } });
});

type Runner = Awaited<ReturnType<typeof createJobRunner>>;

async function startJob(runner: Runner, json: unknown = {}): Promise<string> {
  const { status, body } = await asOwner.post(`${PATH}/jobs`, { json, env: runner.env });
  if (status !== 202) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return body._id;
}

const listNames = (records: { target_name: string }[]) => records.map(({ target_name }) => target_name).sort();

describe('a job that is interrupted', () => {
  it('continues after a crash where it stopped', async () => {
    const runner = await createJobRunner(
      asOwner,
      answerConcepts(makeConceptCandidate('A')),
      answerConcepts(makeConceptCandidate('B')),
    );
    const id = await startJob(runner);
    await runner.deliver(runner.messages.shift() as never);
    // The message for the second batch is lost.
    runner.messages.splice(0);
    const ours = () => runner.messages.filter(({ companyId }) => companyId === company.id);
    await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
    expect(ours()).toEqual([]);
    advanceClock(61_000);
    await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
    expect(ours()).toEqual([expect.objectContaining({ type: 'knowledge.generate', companyId: company.id, jobId: id })]);
    await runner.run();
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', processed_count: 2, suggestion_count: 2 });
    expect(listNames(await listPending(asOwner))).toEqual(['A', 'B']);
  });

  it('is delivered again after an internal error, and loses nothing', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    const message = runner.messages.shift() as never;
    const broken = { get: async () => Promise.reject(new Error('R2 is away')) };
    expect(await runner.deliver(message, { FILES: broken })).toBe('again');
    expect(await runner.deliver(message)).toBe('done');
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', suggestion_count: 1 });
  });

  it('starts after a crash that lost its first message', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    runner.messages.splice(0);
    advanceClock(61_000);
    await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
    await runner.run();
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', suggestion_count: 1 });
  });

  it('is not taken over by another delivery until its lease has ended', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    const message = runner.messages.shift() as never;
    const takeOver = async () => {
      advanceClock(61_000);
      await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
      expect(runner.messages.filter(({ companyId }) => companyId === company.id)).toEqual([]);
      // Whoever was at it must have crashed by then: another takes over, and one answer is kept.
      advanceClock(10 * 60_000);
      await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
      expect(await runner.run()).toBe(1);
    };
    await sendOvertaken(/^insert into "knowledge_suggestions"/, takeOver, (env) => runner.deliver(message, env));
    resetClock();
    expect(await runner.job(id)).toMatchObject({
      status: 'succeeded',
      suggestion_count: 1,
      usage: { requests: 2, prompt_tokens: 200, completion_tokens: 20 },
    });
    expect(await listPending(asOwner)).toHaveLength(1);
  });

  it('counts the usage of answers that were not stored', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    const message = runner.messages.shift() as never;
    const broken = { batch: async () => Promise.reject(new Error('D1 is away')) };
    const session = env.CONTROL_DB.withSession('first-primary');
    const failing = new Proxy(session, {
      get: (of, field) => (field in broken ? broken.batch : Reflect.get(of, field).bind(of)),
    });
    expect(await runner.deliver(message, { CONTROL_DB: { withSession: () => failing } })).toBe('again');
    expect(await runner.job(id)).toMatchObject({ status: 'running', usage: { requests: 1, prompt_tokens: 100 } });
    expect(await runner.deliver(message)).toBe('done');
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', usage: { requests: 2, prompt_tokens: 200 } });
  });

  it('has its source text deleted by a later scheduled run when R2 fails as it ends', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    const away = new Proxy(env.FILES, {
      get: (of, field) =>
        field === 'delete' ? async () => Promise.reject(new Error('R2 is away')) : Reflect.get(of, field).bind(of),
    });
    expect(await runner.deliver(runner.messages.shift() as never, { FILES: away })).toBe('done');
    expect((await runner.job(id)).status).toBe('succeeded');
    const texts = async () => (await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects.length;
    expect(await texts()).toBe(1);
    const running = await startJob(runner, { text: 'Another text.' });
    await runScheduled();
    expect(await texts()).toBe(2);
    advanceClock(61 * 60_000);
    await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
    expect((await env.FILES.list({ prefix: 'knowledge/' })).objects.map(({ key }) => key)).toEqual([
      `knowledge/${company.id}/${running}`,
    ]);
  });

  it('fails after eight deliveries without progress', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    const message = runner.messages.shift() as never;
    const broken = { get: async () => Promise.reject(new Error('R2 is away')), delete: async () => undefined };
    for (let tries = 0; tries < 8; tries += 1) await runner.deliver(message, { FILES: broken });
    expect((await runner.job(id)).status).toBe('running');
    await runner.deliver(message, { FILES: broken });
    expect(await runner.job(id)).toMatchObject({
      status: 'failed',
      last_error: expect.stringContaining('several times'),
    });
  });

  it('fails when its text is missing', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    await env.FILES.delete(`knowledge/${company.id}/${id}`);
    await runner.run();
    expect((await runner.job(id)).status).toBe('failed');
  });

  it('deletes the staged suggestions of earlier batches when it is cancelled', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const id = await startJob(runner);
    await runner.deliver(runner.messages.shift() as never);
    await asOwner.post(`${KNOWLEDGE_PATH}/jobs/${id}/cancel`);
    await runner.run();
    expect(await listPending(asOwner)).toEqual([]);
    const { results } = await env.CONTROL_DB.prepare('select id from knowledge_suggestions where job_id = ?')
      .bind(id)
      .all();
    expect(results).toEqual([]);
  });
});
