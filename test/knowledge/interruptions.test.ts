import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { sendDuringRace } from '../support/race.ts';
import { createJobRunner, listPendingSuggestions, makeConceptCandidate, makeConceptsAnswer } from './jobs.ts';
import { KNOWLEDGE_PATH } from './support.ts';

const GENERATION_PATH = `${KNOWLEDGE_PATH}/concepts/generation`;
const BUSINESS_DOMAINS = ['sales', 'people'].map((key) => ({ key, name: key }));
let company: Company;
let ownerCaller: Company['as'];

beforeEach(async () => {
  company = await createOwnedCompany();
  ownerCaller = company.as;
  await ownerCaller.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains: BUSINESS_DOMAINS } });
});

type JobRunner = Awaited<ReturnType<typeof createJobRunner>>;

async function startJob(runner: JobRunner, json: unknown = {}): Promise<string> {
  const { status, body } = await ownerCaller.post(`${GENERATION_PATH}/jobs`, { json, env: runner.env });
  if (status !== 202) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return body._id;
}

const listNames = (records: { target_name: string }[]) => records.map(({ target_name }) => target_name).sort();

describe('a job that is interrupted', () => {
  it('continues after a crash at the point where it stopped', async () => {
    const runner = await createJobRunner(
      ownerCaller,
      makeConceptsAnswer(makeConceptCandidate('A')),
      makeConceptsAnswer(makeConceptCandidate('B')),
    );
    const id = await startJob(runner);
    await runner.deliver(runner.messages.shift() as never);
    // The message for the second batch is lost.
    runner.messages.splice(0);
    const listOwnMessages = () => runner.messages.filter(({ companyId }) => companyId === company.id);
    await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
    expect(listOwnMessages()).toEqual([]);
    advanceClock(61_000);
    await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
    expect(listOwnMessages()).toEqual([
      expect.objectContaining({ type: 'knowledge.generate', companyId: company.id, jobId: id }),
    ]);
    await runner.run();
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', processed_count: 2, suggestion_count: 2 });
    expect(listNames(await listPendingSuggestions(ownerCaller))).toEqual(['A', 'B']);
  });

  it('is delivered again after an internal error, and loses nothing', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    const message = runner.messages.shift() as never;
    const brokenBucket = { get: async () => Promise.reject(new Error('R2 is away')) };
    expect(await runner.deliver(message, { FILES: brokenBucket })).toBe('again');
    expect(await runner.deliver(message)).toBe('done');
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', suggestion_count: 1 });
  });

  it('starts after a crash that lost its first message', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    runner.messages.splice(0);
    advanceClock(61_000);
    await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
    await runner.run();
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', suggestion_count: 1 });
  });

  it('is not taken over by another delivery until its lease has ended', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    const message = runner.messages.shift() as never;
    const redeliverMessage = async () => {
      advanceClock(61_000);
      await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
      expect(runner.messages.filter(({ companyId }) => companyId === company.id)).toEqual([]);
      // Whoever was at it must have crashed by then: another takes over, and one answer is kept.
      advanceClock(10 * 60_000);
      await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
      expect(await runner.run()).toBe(1);
    };
    await sendDuringRace(/^insert into "knowledge_suggestions"/, redeliverMessage, (env) =>
      runner.deliver(message, env),
    );
    resetClock();
    expect(await runner.job(id)).toMatchObject({
      status: 'succeeded',
      suggestion_count: 1,
      usage: { requests: 2, prompt_tokens: 200, completion_tokens: 20 },
    });
    expect(await listPendingSuggestions(ownerCaller)).toHaveLength(1);
  });

  it('counts the usage of answers that were not stored', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    const message = runner.messages.shift() as never;
    const brokenDb = { batch: async () => Promise.reject(new Error('D1 is away')) };
    const session = env.CONTROL_DB.withSession('first-primary');
    const failingSession = new Proxy(session, {
      get: (of, field) => (field in brokenDb ? brokenDb.batch : Reflect.get(of, field).bind(of)),
    });
    expect(await runner.deliver(message, { CONTROL_DB: { withSession: () => failingSession } })).toBe('again');
    expect(await runner.job(id)).toMatchObject({ status: 'running', usage: { requests: 1, prompt_tokens: 100 } });
    expect(await runner.deliver(message)).toBe('done');
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', usage: { requests: 2, prompt_tokens: 200 } });
  });

  it('has its source text deleted by a later scheduled run when R2 fails as it ends', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    const failingBucket = new Proxy(env.FILES, {
      get: (of, field) =>
        field === 'delete' ? async () => Promise.reject(new Error('R2 is away')) : Reflect.get(of, field).bind(of),
    });
    expect(await runner.deliver(runner.messages.shift() as never, { FILES: failingBucket })).toBe('done');
    expect((await runner.job(id)).status).toBe('succeeded');
    const listTexts = async () => (await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects.length;
    expect(await listTexts()).toBe(1);
    const runningJob = await startJob(runner, { text: 'Another text.' });
    await runScheduled();
    expect(await listTexts()).toBe(2);
    advanceClock(61 * 60_000);
    await runScheduled({ MODEL_JOBS: runner.env.MODEL_JOBS });
    expect((await env.FILES.list({ prefix: 'knowledge/' })).objects.map(({ key }) => key)).toEqual([
      `knowledge/${company.id}/${runningJob}`,
    ]);
  });

  it('fails after eight deliveries without progress', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    const message = runner.messages.shift() as never;
    const brokenBucket = { get: async () => Promise.reject(new Error('R2 is away')), delete: async () => undefined };
    for (let tryCount = 0; tryCount < 8; tryCount += 1) await runner.deliver(message, { FILES: brokenBucket });
    expect((await runner.job(id)).status).toBe('running');
    await runner.deliver(message, { FILES: brokenBucket });
    expect(await runner.job(id)).toMatchObject({
      status: 'failed',
      last_error: expect.stringContaining('several times'),
    });
  });

  it('fails when its text is missing', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const id = await startJob(runner, { text: 'Some text.' });
    await env.FILES.delete(`knowledge/${company.id}/${id}`);
    await runner.run();
    expect((await runner.job(id)).status).toBe('failed');
  });

  it('deletes the staged suggestions of earlier batches when it is cancelled', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const id = await startJob(runner);
    await runner.deliver(runner.messages.shift() as never);
    await ownerCaller.post(`${KNOWLEDGE_PATH}/jobs/${id}/cancel`);
    await runner.run();
    expect(await listPendingSuggestions(ownerCaller)).toEqual([]);
    const { results } = await env.CONTROL_DB.prepare('select id from knowledge_suggestions where job_id = ?')
      .bind(id)
      .all();
    expect(results).toEqual([]);
  });
});
