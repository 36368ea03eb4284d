import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { later, resetClock } from '../support/clock.ts';
import { rivalBefore, rowOf } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aJobRunner, pendingOf } from './jobs.ts';
import { proposal } from './model.ts';
import { aPromotion, aSuggestion, SUGGESTIONS } from './suggesting.ts';
import { aConcept, aName, PREFIX, refusal } from './support.ts';

let company: Company;
let as: Company['as'];

beforeAll(async () => {
  company = await aCompany();
  as = company.as;
});
afterEach(resetClock);

const reject = (id: string) => must(as.post(`${SUGGESTIONS}/${id}/reject`, { json: {} }));
const accept = (id: string, env: Record<string, string>) => as.post(`${SUGGESTIONS}/${id}/accept`, { env });

describe('accepting a suggestion that is rejected meanwhile', () => {
  it('changes nothing', async () => {
    const { id, conceptId } = await aSuggestion(as, 'Too late.');
    const { env, hasRun } = rivalBefore(/^update "knowledge_resources"/, () => reject(id));
    expect(refusal(await accept(id, env))).toEqual([409, 'SUGGESTION_NOT_PENDING']);
    expect(hasRun()).toBe(true);
    expect((await as.get(`${PREFIX}/concepts/${conceptId}`)).body).toMatchObject({ version: 1 });
  });

  it('stays pending when what it is about changes meanwhile and it fits no more', async () => {
    const { id, conceptId } = await aSuggestion(as, 'For an earlier version.');
    const { env, hasRun } = rivalBefore(/^update "knowledge_resources"/, () =>
      must(as.delete(`${PREFIX}/concepts/${conceptId}`)),
    );
    const answer = await accept(id, env);
    expect([answer.status >= 400, hasRun()]).toEqual([true, true]);
    expect(await rowOf('select status from knowledge_suggestions where id = ?', id)).toEqual({ status: 'pending' });
  });

  it('creates nothing', async () => {
    const name = aName('never made');
    const { id } = await aPromotion(as, { name, description: 'A class.', node_type: 'class' }, 'promote-ontology');
    const { env, hasRun } = rivalBefore(/^insert into "knowledge_resources"/, () => reject(id));
    expect(refusal(await accept(id, env))).toEqual([409, 'SUGGESTION_NOT_PENDING']);
    expect(hasRun()).toBe(true);
    const { records } = (await as.get(`${PREFIX}/ontology/nodes?search=${encodeURIComponent(name)}`)).body;
    expect(records).toEqual([]);
  });
});

describe('a batch that another delivery has done meanwhile', () => {
  it('does not set the job back', async () => {
    const ids = [await aConcept(as), await aConcept(as), await aConcept(as)];
    const runner = await aJobRunner(as, ...['one', 'two', 'three'].map((tag) => proposal({ tags: [tag] })));
    const json = { target_type: 'concept', target_ids: ids };
    const job = await must(as.post(`${PREFIX}/jobs/enrich`, { json, env: runner.env }));
    const message = runner.messages.shift() as Parameters<typeof runner.deliver>[0];
    const { env, hasRun } = rivalBefore(/^insert into "knowledge_suggestions"/, async () => {
      // The lease of the first delivery ends.
      later(60 * 60_000);
      await runner.deliver(message);
      await runner.deliver(runner.messages.shift() as typeof message);
      resetClock();
    });
    await runner.deliver(message, env);
    expect(hasRun()).toBe(true);
    expect(await runner.job(job._id)).toMatchObject({ processed_count: 2, suggestion_count: 2 });
    expect(await pendingOf(as, `&job_id=${job._id}`)).toHaveLength(2);
  });
});

describe('accepting several suggestions', () => {
  it('answers what was accepted before an internal error', async () => {
    const [first, second, third] = [await aSuggestion(as), await aSuggestion(as), await aSuggestion(as)];
    let acceptances = 0;
    const secondAcceptance = {
      test: (sql: string) => {
        if (!/^update "knowledge_resources"/.test(sql)) return false;
        acceptances += 1;
        return acceptances === 2;
      },
    } as RegExp;
    const { env, hasRun } = rivalBefore(secondAcceptance, async () => {
      throw new Error('D1 is away');
    });
    const ids = [first.id, second.id, third.id];
    const { status, body } = await as.post(`${SUGGESTIONS}/bulk-accept`, { json: { ids }, env });
    expect([status, hasRun()]).toEqual([200, false]);
    expect(body.accepted.map(({ suggestion }: { suggestion: { _id: string } }) => suggestion._id)).toEqual([first.id]);
    expect(body.failed.map(({ id, error }: { id: string; error: string }) => [id, error])).toEqual([
      [second.id, 'SERVICE_UNAVAILABLE'],
      [third.id, 'SERVICE_UNAVAILABLE'],
    ]);
    const version = async (id: string) => (await as.get(`${PREFIX}/concepts/${id}`)).body.version;
    expect([await version(first.conceptId), await version(third.conceptId)]).toEqual([2, 1]);
  });
});
