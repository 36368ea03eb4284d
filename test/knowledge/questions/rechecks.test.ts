import { describe, expect, it } from 'vitest';
import type { JobMessage } from '../../../src/platform/job-messages.ts';
import { createTableClient, makeColumn } from '../../managed-tables/support.ts';
import { createAllowedUser, createProvisionedCompany } from '../../support/companies.ts';
import { runSql, selectRow, sendDuringRace } from '../../support/race.ts';
import { expectSuccess } from '../../support/signed.ts';
import { deliverMessage } from '../../uploads/support.ts';
import { createItem, KNOWLEDGE_PATH, makeName } from '../support.ts';
import { createQuestion, createSumMetric, QUESTIONS_PATH } from './support.ts';

const company = await createProvisionedCompany();
const ownerCaller = company.as;

const readQuestion = async (id: string) => await expectSuccess(ownerCaller.get(`${QUESTIONS_PATH}/${id}`));
const readState = async (id: string) => {
  const { status, stale_reason } = await readQuestion(id);
  return [status, stale_reason];
};
/** Waits until the queue's consumer has recorded a state of a question. */
const expectState = (id: string, status: string, reason: unknown = null) =>
  expect.poll(() => readState(id)).toEqual([status, reason]);
const GENERIC_REASON = 'The query does not compile any more.';
const changeItem = (item: string, json: unknown) => ownerCaller.patch(`${KNOWLEDGE_PATH}/semantic/${item}`, { json });

describe('a verified question', () => {
  it('is stale while an item that it uses is archived, renamed or does not compile, and gives the reason', async () => {
    const { id, item, metric } = await createQuestion(ownerCaller);
    const missingMetricReason = `There is no active metric "${metric}" without validation errors.`;
    await ownerCaller.delete(`${KNOWLEDGE_PATH}/semantic/${item}`);
    await expectState(id, 'stale', missingMetricReason);
    await changeItem(item, { status: 'active' });
    await expectState(id, 'verified');
    await changeItem(item, { name: makeName('Renamed') });
    await expectState(id, 'stale', missingMetricReason);
    await changeItem(item, { name: metric, formula: 'a + 1' });
    await expectState(id, 'stale', expect.stringContaining('aggregates nothing') as never);
    await changeItem(item, { formula: 'max(a)' });
    await expectState(id, 'verified');
  });

  it('is stale while its table lacks a column, and once it is deleted', async () => {
    const { id, table } = await createQuestion(ownerCaller);
    const routes = createTableClient(ownerCaller, table.id);
    await routes.put({ columns: [{ ...makeColumn('c', 'integer'), previous_name: 'a' }, makeColumn('b')] });
    await expect.poll(() => readState(id)).toEqual(['stale', expect.any(String)]);
    await routes.put({ columns: [{ ...makeColumn('a', 'integer'), previous_name: 'c' }, makeColumn('b')] });
    await expectState(id, 'verified');
    await routes.delete();
    await expect.poll(() => readState(id)).toEqual(['stale', expect.any(String)]);
  });

  it('is stale when the unique index that its relation leads to is dropped', async () => {
    const [facts, names] = [await createSumMetric(ownerCaller), await createSumMetric(ownerCaller)];
    const concept = (await expectSuccess(ownerCaller.get(`${KNOWLEDGE_PATH}/concepts`))).records[0]._id;
    const item = { description: 'x', status: 'active', source_concept_ids: [concept] };
    const dimension = makeName('Name');
    await expectSuccess(
      ownerCaller.post(`${KNOWLEDGE_PATH}/semantic`, {
        json: {
          ...item,
          kind: 'dimension',
          name: dimension,
          mapped_columns: [`${names.table.name}.b`],
          mapped_relations: [`${facts.table.name}.a = ${names.table.name}.a`],
        },
      }),
    );
    const indexesPath = `/v1/managed-tables/${names.table.id}/indexes`;
    const index = await expectSuccess(ownerCaller.post(indexesPath, { json: { columns: ['a'], unique: true } }));
    const query = { metrics: [facts.metric], dimensions: [dimension] };
    const { _id } = await expectSuccess(
      ownerCaller.post(QUESTIONS_PATH, { json: { question: makeName('By name'), query } }),
    );
    expect((await ownerCaller.delete(`${indexesPath}/${index._id ?? index.id}`)).status).toBe(204);
    await expectState(_id, 'stale', expect.stringContaining('more than once') as never);
    // The reason may name tables: who may not see each of them is not told it.
    const deniedArns = [`arn:svc:managed-tables::${company.id}:table/${names.table.id}`];
    const other = await createAllowedUser(company, { can: ['*'], denied: ['managed-tables:list'], deniedArns });
    expect(await expectSuccess(other.as.get(`${QUESTIONS_PATH}/${_id}`))).toMatchObject({
      status: 'stale',
      stale_reason: GENERIC_REASON,
    });
    const { records } = await expectSuccess(other.as.get(`${QUESTIONS_PATH}?status=stale&per_page=100`));
    expect(records.find((record: { _id: string }) => record._id === _id).stale_reason).toBe(GENERIC_REASON);
    await expectSuccess(ownerCaller.post(indexesPath, { json: { columns: ['a'], unique: true } }));
    await expectState(_id, 'verified');
  });

  it('is stale if it compiles only for who wrote it, from whom a second relation is hidden', async () => {
    const [facts, names] = [await createSumMetric(ownerCaller), await createSumMetric(ownerCaller)];
    const [fact, name] = [facts.table.name, names.table.name];
    const dimension = makeName('Name');
    const active = { status: 'active', mapped_columns: [`${name}.b`] };
    await createItem(ownerCaller, {
      ...active,
      kind: 'dimension',
      name: dimension,
      mapped_relations: [`${fact}.a = ${name}.id`],
    });
    const hiddenItem = await createItem(ownerCaller, {
      ...active,
      kind: 'mapping',
      mapped_relations: [`${fact}.b = ${name}.id`],
    });
    const { as } = await createAllowedUser(company, {
      can: ['*'],
      denied: ['semantic:list'],
      deniedArns: [`*:item/${hiddenItem}`],
    });
    const json = { question: makeName('By name'), query: { metrics: [facts.metric], dimensions: [dimension] } };
    expect((await ownerCaller.post(QUESTIONS_PATH, { json })).body.error).toBe('SEMANTIC_QUERY_AMBIGUOUS');
    expect(await expectSuccess(as.post(QUESTIONS_PATH, { json }))).toMatchObject({ status: 'stale' });
  });

  it('keeps its ETag when it is only checked again', async () => {
    const { id, item } = await createQuestion(ownerCaller);
    const questionAnswer = await ownerCaller.get(`${QUESTIONS_PATH}/${id}`);
    const etag = questionAnswer.headers.get('etag') as string;
    await changeItem(item, { description: 'Said anew.' });
    await expect
      .poll(async () => (await readQuestion(id)).last_checked_at)
      .not.toBe(questionAnswer.body.last_checked_at);
    const changeAnswer = await ownerCaller.patch(`${QUESTIONS_PATH}/${id}`, {
      json: { question: makeName('Said anew') },
      headers: { 'if-match': etag },
    });
    expect(changeAnswer.status).toBe(200);
    const deletionAnswer = await ownerCaller.delete(`${QUESTIONS_PATH}/${id}`, { headers: { 'if-match': etag } });
    expect([deletionAnswer.status, deletionAnswer.body.error]).toEqual([412, 'PRECONDITION_FAILED']);
  });

  it('is checked once more when an item changes while the question is created', async () => {
    const { item, query, metric } = await createSumMetric(ownerCaller);
    const { status, body } = await sendDuringRace(
      /^insert into "knowledge_verified_questions"/,
      () => changeItem(item, { status: 'draft' }),
      (env) => ownerCaller.post(QUESTIONS_PATH, { json: { question: makeName('raced'), query }, env }),
    );
    expect([status, body.status, body.stale_reason]).toEqual([201, 'stale', expect.stringContaining(metric)]);
  });
});

/** Creates a queue whose messages the test delivers. */
function createQueue() {
  const sentMessages: { message: JobMessage; pause: number | undefined }[] = [];
  const send = async (message: JobMessage, options?: { delaySeconds?: number }) =>
    void sentMessages.push({ message, pause: options?.delaySeconds });
  return { sent: sentMessages, env: { RECHECKS: { send } } };
}

describe('a recheck of all verified questions', () => {
  const makeRecheckMessage = (after = '', tryCount?: number): JobMessage => ({
    type: 'knowledge.recheck_questions',
    companyId: company.id,
    after,
    ...(tryCount !== undefined && { tries: tryCount }),
  });

  it('records the state at its end when an item changes meanwhile', async () => {
    const { id, item } = await createQuestion(ownerCaller);
    // Just before the check is recorded, which found nothing wrong.
    await sendDuringRace(
      /^update "knowledge_verified_questions"/,
      async () => {
        await runSql(`update knowledge_resources set status = 'draft' where id = ?`, item);
      },
      (racingEnv) => deliverMessage(makeRecheckMessage(), { ...createQueue().env, ...racingEnv }),
    );
    // A recheck of what came before may record what it found, until it checks once more.
    await expectState(id, 'stale', expect.any(String));
  });

  it('records nothing for a question that was changed or archived meanwhile', async () => {
    const [changed, archived] = [await createQuestion(ownerCaller), await createQuestion(ownerCaller)];
    const other = await createSumMetric(ownerCaller);
    await runSql(`update knowledge_resources set status = 'draft' where id in (?, ?)`, changed.item, archived.item);
    await sendDuringRace(
      /^update "knowledge_verified_questions"/,
      async () => {
        await expectSuccess(ownerCaller.patch(`${QUESTIONS_PATH}/${changed.id}`, { json: { query: other.query } }));
        await ownerCaller.delete(`${QUESTIONS_PATH}/${archived.id}`);
      },
      (env) => deliverMessage(makeRecheckMessage(), { ...createQueue().env, ...env }),
    );
    expect([await readState(changed.id), (await readQuestion(archived.id)).status]).toEqual([
      ['verified', null],
      'archived',
    ]);
  });

  it('continues in further messages, and is retried while the database cannot be reached', async () => {
    const { id } = await createQuestion(ownerCaller);
    await runSql(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 30)
       insert into knowledge_verified_questions
       select id || '-' || i, company_id, question, question_key || ' ' || i, query, 'stale', 'wrong', version,
         verified_by, verified_at, last_checked_at, created_at, updated_at
       from knowledge_verified_questions, n where id = ?`,
      id,
    );
    const queue = createQueue();
    const unreachableEnv = { ...queue.env, NEON_WS_PROXY: 'ws://127.0.0.1:1/v2' };
    expect(await deliverMessage(makeRecheckMessage(), unreachableEnv)).toBe('done');
    expect(queue.sent.splice(0)).toEqual([
      { message: expect.objectContaining({ ...makeRecheckMessage(), tries: 1 }), pause: 60 },
    ]);
    expect(await deliverMessage(makeRecheckMessage('', 30), unreachableEnv)).toBe('again');
    let deliveryCount = 0;
    for (let next: JobMessage | undefined = makeRecheckMessage(); next; next = queue.sent.shift()?.message) {
      await deliverMessage(next, queue.env);
      deliveryCount += 1;
    }
    expect(deliveryCount).toBeGreaterThan(1);
    const staleQuestion = await selectRow(
      `select count(*) as count from knowledge_verified_questions where company_id = ? and stale_reason = 'wrong'`,
      company.id,
    );
    expect(staleQuestion).toEqual({ count: 0 });
  });
});
