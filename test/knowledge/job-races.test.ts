import { env } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { later, resetClock } from '../support/clock.ts';
import { statusAndCode } from '../support/console.ts';
import { countOf, overtaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aJobRunner, concepts, newConcept, pendingOf } from './jobs.ts';
import { proposal } from './model.ts';
import { aConcept, KNOWLEDGE_PATH } from './support.ts';

const PATH = `${KNOWLEDGE_PATH}/concepts/generation/jobs`;
const DOMAINS = ['sales', 'people'].map((key) => ({ key, name: key }));
/** The batch that records an answer of the model. */
const RECORD = /^insert into "knowledge_suggestions"/;
/** The batch that ends a job as failed or cancelled. */
const END = /^delete from "knowledge_suggestions"/;

type Runner = Awaited<ReturnType<typeof aJobRunner>>;
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
async function started(runner: Runner, path: string, json: unknown): Promise<{ id: string; message: Message }> {
  const { _id } = await must(asOwner.post(path, { json, env: runner.env }));
  return { id: _id, message: runner.messages.shift() as Message };
}

/** A generation of a batch for each domain, or of one batch where there is a text. */
const startGeneration = (runner: Runner, json: unknown = {}) => started(runner, PATH, json);

const startEnrichment = (runner: Runner, target_ids: string[]) =>
  started(runner, `${KNOWLEDGE_PATH}/jobs/enrich`, { target_type: 'concept', target_ids });

const cancel = (id: string, env?: Record<string, string>) =>
  asOwner.post(`${KNOWLEDGE_PATH}/jobs/${id}/cancel`, { ...(env && { env }) });

/** Delivers a message after the lease of an earlier delivery has ended. */
async function deliverLater(runner: Runner, message: Message): Promise<void> {
  later(60 * 60_000);
  await runner.deliver(message);
  resetClock();
}

const namesOf = (records: { target_name: string }[]) => records.map(({ target_name }) => target_name).sort();

describe('a message that is delivered twice', () => {
  it('runs its batch once while the first delivery leases the job', async () => {
    const runner = await aJobRunner(asOwner, ...['A', 'B', 'C'].map((name) => concepts(newConcept(name))));
    const { id, message } = await startGeneration(runner);
    const rival = () => runner.deliver(message);
    await overtaken(RECORD, rival, (env) => runner.deliver(message, env));
    expect(await runner.model.asked()).toHaveLength(1);
    expect(await runner.job(id)).toMatchObject({ processed_count: 1, suggestion_count: 1 });
    await runner.run();
    await runner.deliver(message);
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded', processed_count: 2, suggestion_count: 2 });
    expect(namesOf(await pendingOf(asOwner))).toEqual(['A', 'B']);
  });

  it('does not set the job back when its batch is done meanwhile', async () => {
    const ids = [await aConcept(asOwner), await aConcept(asOwner), await aConcept(asOwner)];
    const runner = await aJobRunner(asOwner, ...['one', 'two', 'three'].map((tag) => proposal({ tags: [tag] })));
    const { id, message } = await startEnrichment(runner, ids);
    const twoBatches = async () => {
      await deliverLater(runner, message);
      await runner.deliver(runner.messages.shift() as Message);
    };
    await overtaken(RECORD, twoBatches, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({ processed_count: 2, suggestion_count: 2 });
    expect(await pendingOf(asOwner, `&job_id=${id}`)).toHaveLength(2);
  });

  it('does not publish again a suggestion that was reviewed meanwhile', async () => {
    const runner = await aJobRunner(asOwner, concepts(newConcept('A')), concepts(newConcept('B')));
    const { message } = await startGeneration(runner, { text: 'Some text.' });
    const review = async () => {
      await deliverLater(runner, message);
      const [suggestion] = await pendingOf(asOwner);
      await must(asOwner.post(`${KNOWLEDGE_PATH}/suggestions/${suggestion._id}/reject`, { json: {} }));
    };
    await overtaken(RECORD, review, (env) => runner.deliver(message, env));
    expect(await pendingOf(asOwner)).toEqual([]);
    expect(await pendingOf(asOwner, '&status=rejected')).toHaveLength(1);
  });

  it('does not fail the job when the other delivery made progress meanwhile', async () => {
    const runner = await aJobRunner(asOwner, { status: 401 }, concepts(newConcept('A')), concepts(newConcept('B')));
    const { id, message } = await startGeneration(runner);
    const rival = () => deliverLater(runner, message);
    await overtaken(END, rival, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({ status: 'running', processed_count: 1, last_error: null });
    await runner.run();
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded' });
    expect(namesOf(await pendingOf(asOwner))).toEqual(['A', 'B']);
  });

  it('does not release the lease of the delivery that took over the job when it fails', async () => {
    const runner = await aJobRunner(asOwner, concepts(newConcept('A')));
    const { id, message } = await startGeneration(runner, { text: 'Some text.' });
    const takeOver = () =>
      env.CONTROL_DB.prepare('update knowledge_jobs set leased_until = ? where id = ?')
        .bind(Date.now() + 60 * 60_000, id)
        .run();
    const FILES = { get: async () => Promise.reject(new Error('R2 is away')) };
    const release = /^update "knowledge_jobs" set "usage"/;
    expect(await overtaken(release, takeOver, (env) => runner.deliver(message, { ...env, FILES }))).toBe('again');
    await runner.deliver(message);
    expect(await runner.model.asked()).toEqual([]);
  });
});

describe('a job that is cancelled', () => {
  it('discards an answer that arrives afterwards, but counts its usage', async () => {
    const runner = await aJobRunner(asOwner, concepts(newConcept('Late')));
    const { id, message } = await startGeneration(runner, { text: 'Some text.' });
    const cancelled = async () =>
      expect(await must(cancel(id))).toMatchObject({ status: 'cancelled', ended_at: expect.any(String) });
    await overtaken(RECORD, cancelled, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({
      status: 'cancelled',
      processed_count: 0,
      suggestion_count: 0,
      usage: { requests: 1, prompt_tokens: 100, completion_tokens: 10 },
    });
    expect(await countOf('knowledge_suggestions where job_id = ?', id)).toBe(0);
    expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
    expect(statusAndCode(await cancel(id))).toEqual([409, 'JOB_ENDED']);
    expect((await asOwner.post(PATH, { json: {}, env: runner.env })).status).toBe(202);
  });

  it('stays cancelled when the model fails afterwards', async () => {
    const runner = await aJobRunner(asOwner, { status: 401 });
    const { id, message } = await startGeneration(runner);
    const rival = () => must(cancel(id));
    await overtaken(END, rival, (env) => runner.deliver(message, env));
    expect(await runner.job(id)).toMatchObject({ status: 'cancelled', last_error: null });
  });

  it('stays succeeded, with its suggestions, when its last batch is done first', async () => {
    const runner = await aJobRunner(asOwner, concepts(newConcept('A')));
    const { id, message } = await startGeneration(runner, { text: 'Some text.' });
    const answer = await overtaken(
      END,
      () => runner.deliver(message),
      (env) => cancel(id, env),
    );
    expect(statusAndCode(answer)).toEqual([409, 'JOB_ENDED']);
    expect(await runner.job(id)).toMatchObject({ status: 'succeeded' });
    expect(await pendingOf(asOwner)).toHaveLength(1);
  });
});

describe('the start of a generation', () => {
  it('is refused when another starts first, and leaves no stored text', async () => {
    const runner = await aJobRunner(asOwner, concepts());
    const post = (json: unknown, more = {}) => asOwner.post(PATH, { json, env: { ...runner.env, ...more } });
    const rival = () => must(post({}));
    const answer = await overtaken(/^insert into "knowledge_jobs"/, rival, (env) => post({ text: 'x' }, env));
    expect(statusAndCode(answer)).toEqual([409, 'JOB_RUNNING']);
    expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
  });
});
