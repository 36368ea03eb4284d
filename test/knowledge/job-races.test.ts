import { env } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { advanceClock, resetClock } from '../support/clock.ts';
import { readStatusAndCode } from '../support/console.ts';
import { countRows, sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { answerConcepts, createJobRunner, listPending, makeConceptCandidate } from './jobs.ts';
import { makeProposal } from './model.ts';
import { createConcept, KNOWLEDGE_PATH } from './support.ts';

const PATH = `${KNOWLEDGE_PATH}/concepts/generation/jobs`;
const DOMAINS = ['sales', 'people'].map((key) => ({ key, name: key }));
/** The batch that records an answer of the model. */
const RECORD_BATCH = /^insert into "knowledge_suggestions"/;
/** The batch that ends a job as failed or cancelled. */
const END_BATCH = /^delete from "knowledge_suggestions"/;

type Runner = Awaited<ReturnType<typeof createJobRunner>>;
type Message = Parameters<Runner['deliver']>[0];
let company: Company;
let asOwner: Company['as'];

beforeEach(async () => {
  company = await aCompany();
  asOwner = company.as;
  await asOwner.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains: DOMAINS } });
});
afterEach(resetClock);

/** Starts a job; answers its id and its first message. */
async function startJob(runner: Runner, path: string, json: unknown): Promise<{ id: string; message: Message }> {
  const { _id } = await must(asOwner.post(path, { json, env: runner.env }));
  return { id: _id, message: runner.messages.shift() as Message };
}

/** A generation of a batch for each domain, or of one batch where there is a text. */
const startGeneration = (runner: Runner, json: unknown = {}) => startJob(runner, PATH, json);

const startEnrichment = (runner: Runner, target_ids: string[]) =>
  startJob(runner, `${KNOWLEDGE_PATH}/jobs/enrich`, { target_type: 'concept', target_ids });

const cancelJob = (id: string, env?: Record<string, string>) =>
  asOwner.post(`${KNOWLEDGE_PATH}/jobs/${id}/cancel`, { ...(env && { env }) });

/** Delivers a message after the lease of an earlier delivery has ended. */
async function deliverLater(runner: Runner, message: Message): Promise<void> {
  advanceClock(60 * 60_000);
  await runner.deliver(message);
  resetClock();
}

const listNames = (records: { target_name: string }[]) => records.map(({ target_name }) => target_name).sort();

describe('a message that is delivered twice', () => {
  it('runs its batch once while the first delivery leases the job', async () => {
    const runner = await createJobRunner(
      asOwner,
      ...['A', 'B', 'C'].map((name) => answerConcepts(makeConceptCandidate(name))),
    );
    const { id, message } = await startGeneration(runner);
    const rival = () => runner.deliver(message);
    await sendOvertaken(RECORD_BATCH, rival, (env) => runner.deliver(message, env));
    expect(await runner.model.asked()).toHaveLength(1);
    expect(await runner.job(id)).toMatchObject({ processed_count: 1, suggestion_count: 1 });
    await runner.run();
    await runner.deliver(message);
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', processed_count: 2, suggestion_count: 2 });
    expect(listNames(await listPending(asOwner))).toEqual(['A', 'B']);
  });

  it('does not set the job back when its batch is done meanwhile', async () => {
    const ids = [await createConcept(asOwner), await createConcept(asOwner), await createConcept(asOwner)];
    const runner = await createJobRunner(
      asOwner,
      ...['one', 'two', 'three'].map((tag) => makeProposal({ tags: [tag] })),
    );
    const { id, message } = await startEnrichment(runner, ids);
    const twoBatches = async () => {
      await deliverLater(runner, message);
      await runner.deliver(runner.messages.shift() as Message);
    };
    await sendOvertaken(RECORD_BATCH, twoBatches, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({ processed_count: 2, suggestion_count: 2 });
    expect(await listPending(asOwner, `&job_id=${id}`)).toHaveLength(2);
  });

  it('does not publish again a suggestion that was reviewed meanwhile', async () => {
    const runner = await createJobRunner(
      asOwner,
      answerConcepts(makeConceptCandidate('A')),
      answerConcepts(makeConceptCandidate('B')),
    );
    const { message } = await startGeneration(runner, { text: 'Some text.' });
    const review = async () => {
      await deliverLater(runner, message);
      const [suggestion] = await listPending(asOwner);
      await must(asOwner.post(`${KNOWLEDGE_PATH}/suggestions/${suggestion._id}/reject`, { json: {} }));
    };
    await sendOvertaken(RECORD_BATCH, review, (env) => runner.deliver(message, env));
    expect(await listPending(asOwner)).toEqual([]);
    expect(await listPending(asOwner, '&status=rejected')).toHaveLength(1);
  });

  it('does not fail the job when the other delivery made progress meanwhile', async () => {
    const runner = await createJobRunner(
      asOwner,
      { status: 401 },
      answerConcepts(makeConceptCandidate('A')),
      answerConcepts(makeConceptCandidate('B')),
    );
    const { id, message } = await startGeneration(runner);
    const rival = () => deliverLater(runner, message);
    await sendOvertaken(END_BATCH, rival, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({ status: 'running', processed_count: 1, last_error: null });
    await runner.run();
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded' });
    expect(listNames(await listPending(asOwner))).toEqual(['A', 'B']);
  });

  it('does not release the lease of the delivery that took over the job when it fails', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const { id, message } = await startGeneration(runner, { text: 'Some text.' });
    const takeOver = () =>
      env.CONTROL_DB.prepare('update knowledge_jobs set leased_until = ? where id = ?')
        .bind(Date.now() + 60 * 60_000, id)
        .run();
    const FILES = { get: async () => Promise.reject(new Error('R2 is away')) };
    const release = /^update "knowledge_jobs" set "usage"/;
    expect(await sendOvertaken(release, takeOver, (env) => runner.deliver(message, { ...env, FILES }))).toBe('again');
    await runner.deliver(message);
    expect(await runner.model.asked()).toEqual([]);
  });
});

describe('a job that is cancelled', () => {
  it('discards an answer that arrives afterwards, but counts its usage', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('Late')));
    const { id, message } = await startGeneration(runner, { text: 'Some text.' });
    const cancelled = async () =>
      expect(await must(cancelJob(id))).toMatchObject({ status: 'cancelled', ended_at: expect.any(String) });
    await sendOvertaken(RECORD_BATCH, cancelled, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({
      status: 'cancelled',
      processed_count: 0,
      suggestion_count: 0,
      usage: { requests: 1, prompt_tokens: 100, completion_tokens: 10 },
    });
    expect(await countRows('knowledge_suggestions where job_id = ?', id)).toBe(0);
    expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
    expect(readStatusAndCode(await cancelJob(id))).toEqual([409, 'JOB_ENDED']);
    expect((await asOwner.post(PATH, { json: {}, env: runner.env })).status).toBe(202);
  });

  it('stays cancelled when the model fails afterwards', async () => {
    const runner = await createJobRunner(asOwner, { status: 401 });
    const { id, message } = await startGeneration(runner);
    const rival = () => must(cancelJob(id));
    await sendOvertaken(END_BATCH, rival, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({ status: 'cancelled', last_error: null });
  });

  it('stays succeeded, with its suggestions, when its last batch is done first', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const { id, message } = await startGeneration(runner, { text: 'Some text.' });
    const answer = await sendOvertaken(
      END_BATCH,
      () => runner.deliver(message),
      (env) => cancelJob(id, env),
    );
    expect(readStatusAndCode(answer)).toEqual([409, 'JOB_ENDED']);
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded' });
    expect(await listPending(asOwner)).toHaveLength(1);
  });
});

describe('the start of a generation', () => {
  it('is refused when another starts first, and leaves no stored text', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts());
    const post = (json: unknown, more = {}) => asOwner.post(PATH, { json, env: { ...runner.env, ...more } });
    const rival = () => must(post({}));
    const answer = await sendOvertaken(/^insert into "knowledge_jobs"/, rival, (env) => post({ text: 'x' }, env));
    expect(readStatusAndCode(answer)).toEqual([409, 'JOB_RUNNING']);
    expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
  });
});
