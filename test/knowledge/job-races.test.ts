import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { advanceClock, resetClock } from '../support/clock.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { countRows, runSql, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { createJobRunner, listPendingSuggestions, makeConceptCandidate, makeConceptsAnswer } from './jobs.ts';
import { makeProposal } from './model.ts';
import { createConcept, KNOWLEDGE_PATH } from './support.ts';

const JOBS_PATH = `${KNOWLEDGE_PATH}/concepts/generation/jobs`;
const BUSINESS_DOMAINS = ['sales', 'people'].map((key) => ({ key, name: key }));
/** Matches the batch that records an answer of the model. */
const RECORD_BATCH_PATTERN = /^insert into "knowledge_suggestions"/;
/** Matches the batch that ends a job as failed or cancelled. */
const END_BATCH_PATTERN = /^delete from "knowledge_suggestions"/;

type JobRunner = Awaited<ReturnType<typeof createJobRunner>>;
type RunnerMessage = Parameters<JobRunner['deliver']>[0];
let company: Company;
let ownerCaller: Company['as'];

beforeEach(async () => {
  company = await createOwnedCompany();
  ownerCaller = company.as;
  await ownerCaller.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains: BUSINESS_DOMAINS } });
});

/** Starts a job, and returns its id and its first message. */
async function startJob(
  runner: JobRunner,
  path: string,
  json: unknown,
): Promise<{ id: string; message: RunnerMessage }> {
  const { _id } = await expectSuccess(ownerCaller.post(path, { json, env: runner.env }));
  return { id: _id, message: runner.messages.shift() as RunnerMessage };
}

/** Starts a generation that has one batch for each business domain, or a single batch if a text is sent. */
const startGeneration = (runner: JobRunner, json: unknown = {}) => startJob(runner, JOBS_PATH, json);

const startEnrichment = (runner: JobRunner, target_ids: string[]) =>
  startJob(runner, `${KNOWLEDGE_PATH}/jobs/enrich`, { target_type: 'concept', target_ids });

const cancelJob = (id: string, env?: Record<string, string>) =>
  ownerCaller.post(`${KNOWLEDGE_PATH}/jobs/${id}/cancel`, { env });

/** Delivers a message after the lease of an earlier delivery has ended. */
async function deliverMessageLater(runner: JobRunner, message: RunnerMessage): Promise<void> {
  advanceClock(60 * 60_000);
  await runner.deliver(message);
  resetClock();
}

const listNames = (records: { target_name: string }[]) => records.map(({ target_name }) => target_name).sort();

describe('a message that is delivered twice', () => {
  it('runs its batch once while the first delivery leases the job', async () => {
    const runner = await createJobRunner(
      ownerCaller,
      ...['A', 'B', 'C'].map((name) => makeConceptsAnswer(makeConceptCandidate(name))),
    );
    const { id, message } = await startGeneration(runner);
    const deliverConcurrently = () => runner.deliver(message);
    await sendDuringRace(RECORD_BATCH_PATTERN, deliverConcurrently, (env) => runner.deliver(message, env));
    expect(await runner.model.asked()).toHaveLength(1);
    expect(await runner.job(id)).toMatchObject({ processed_count: 1, suggestion_count: 1 });
    await runner.run();
    await runner.deliver(message);
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', processed_count: 2, suggestion_count: 2 });
    expect(listNames(await listPendingSuggestions(ownerCaller))).toEqual(['A', 'B']);
  });

  it('does not set the job back when another delivery finishes its batch meanwhile', async () => {
    const ids = [await createConcept(ownerCaller), await createConcept(ownerCaller), await createConcept(ownerCaller)];
    const runner = await createJobRunner(
      ownerCaller,
      ...['one', 'two', 'three'].map((tag) => makeProposal({ tags: [tag] })),
    );
    const { id, message } = await startEnrichment(runner, ids);
    const deliverTwoBatches = async () => {
      await deliverMessageLater(runner, message);
      await runner.deliver(runner.messages.shift() as RunnerMessage);
    };
    await sendDuringRace(RECORD_BATCH_PATTERN, deliverTwoBatches, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({ processed_count: 2, suggestion_count: 2 });
    expect(await listPendingSuggestions(ownerCaller, `&job_id=${id}`)).toHaveLength(2);
  });

  it('does not publish a suggestion again that was reviewed meanwhile', async () => {
    const runner = await createJobRunner(
      ownerCaller,
      makeConceptsAnswer(makeConceptCandidate('A')),
      makeConceptsAnswer(makeConceptCandidate('B')),
    );
    const { message } = await startGeneration(runner, { text: 'Some text.' });
    const reviewSuggestion = async () => {
      await deliverMessageLater(runner, message);
      const [suggestion] = await listPendingSuggestions(ownerCaller);
      await expectSuccess(ownerCaller.post(`${KNOWLEDGE_PATH}/suggestions/${suggestion._id}/reject`, { json: {} }));
    };
    await sendDuringRace(RECORD_BATCH_PATTERN, reviewSuggestion, (env) => runner.deliver(message, env));
    expect(await listPendingSuggestions(ownerCaller)).toEqual([]);
    expect(await listPendingSuggestions(ownerCaller, '&status=rejected')).toHaveLength(1);
  });

  it('does not fail the job when the other delivery made progress meanwhile', async () => {
    const runner = await createJobRunner(
      ownerCaller,
      { status: 401 },
      makeConceptsAnswer(makeConceptCandidate('A')),
      makeConceptsAnswer(makeConceptCandidate('B')),
    );
    const { id, message } = await startGeneration(runner);
    const deliverConcurrently = () => deliverMessageLater(runner, message);
    await sendDuringRace(END_BATCH_PATTERN, deliverConcurrently, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({ status: 'running', processed_count: 1, last_error: null });
    await runner.run();
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded' });
    expect(listNames(await listPendingSuggestions(ownerCaller))).toEqual(['A', 'B']);
  });

  it('does not release the lease of the delivery that took over the job when the message fails', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const { id, message } = await startGeneration(runner, { text: 'Some text.' });
    const takeOverJob = () =>
      runSql('update knowledge_jobs set leased_until = ? where id = ?', Date.now() + 60 * 60_000, id);
    const FILES = { get: async () => Promise.reject(new Error('R2 is away')) };
    const RELEASE_UPDATE_PATTERN = /^update "knowledge_jobs" set "usage"/;
    expect(
      await sendDuringRace(RELEASE_UPDATE_PATTERN, takeOverJob, (env) => runner.deliver(message, { ...env, FILES })),
    ).toBe('again');
    await runner.deliver(message);
    expect(await runner.model.asked()).toEqual([]);
  });
});

describe('a job that is cancelled', () => {
  it('discards an answer that arrives afterwards, but counts its usage', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('Late')));
    const { id, message } = await startGeneration(runner, { text: 'Some text.' });
    const cancelDuringAnswer = async () =>
      expect(await expectSuccess(cancelJob(id))).toMatchObject({ status: 'cancelled', ended_at: expect.any(String) });
    await sendDuringRace(RECORD_BATCH_PATTERN, cancelDuringAnswer, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({
      status: 'cancelled',
      processed_count: 0,
      suggestion_count: 0,
      usage: { requests: 1, prompt_tokens: 100, completion_tokens: 10 },
    });
    expect(await countRows('knowledge_suggestions where job_id = ?', id)).toBe(0);
    expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
    expect(readStatusAndCode(await cancelJob(id))).toEqual([409, 'JOB_ENDED']);
    expect((await ownerCaller.post(JOBS_PATH, { json: {}, env: runner.env })).status).toBe(202);
  });

  it('stays cancelled when the model fails afterwards', async () => {
    const runner = await createJobRunner(ownerCaller, { status: 401 });
    const { id, message } = await startGeneration(runner);
    const cancelConcurrently = () => expectSuccess(cancelJob(id));
    await sendDuringRace(END_BATCH_PATTERN, cancelConcurrently, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({ status: 'cancelled', last_error: null });
  });

  it('stays succeeded, with its suggestions, when its last batch is done first', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const { id, message } = await startGeneration(runner, { text: 'Some text.' });
    const answer = await sendDuringRace(
      END_BATCH_PATTERN,
      () => runner.deliver(message),
      (env) => cancelJob(id, env),
    );
    expect(readStatusAndCode(answer)).toEqual([409, 'JOB_ENDED']);
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded' });
    expect(await listPendingSuggestions(ownerCaller)).toHaveLength(1);
  });
});

it('the start of a generation is refused when another generation starts first, and leaves no stored text', async () => {
  const runner = await createJobRunner(ownerCaller, makeConceptsAnswer());
  const postJob = (json: unknown, extraEnv = {}) =>
    ownerCaller.post(JOBS_PATH, { json, env: { ...runner.env, ...extraEnv } });
  const startConcurrently = () => expectSuccess(postJob({}));
  const answer = await sendDuringRace(/^insert into "knowledge_jobs"/, startConcurrently, (env) =>
    postJob({ text: 'x' }, env),
  );
  expect(readStatusAndCode(answer)).toEqual([409, 'JOB_RUNNING']);
  expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
});
