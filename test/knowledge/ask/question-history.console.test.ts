import { describe, expect, it } from 'vitest';
import { advanceClock, runScheduled } from '../../support/clock.ts';
import { createAllowedUser, createProvisionedCompany } from '../../support/companies.ts';
import { readStatusAndCode } from '../../support/console.ts';
import { countRows, runSql, sendDuringRace } from '../../support/race.ts';
import { expectSuccess } from '../../support/signed.ts';
import { createModel, NO_MODEL_ENV } from '../model.ts';
import { KNOWLEDGE_PATH, makeName, UNKNOWN_ID } from '../support.ts';
import { askQuestion, createOrders, makeAnswer, REFUSAL } from './support.ts';

const ASKED_PATH = `${KNOWLEDGE_PATH}/questions`;

const company = await createProvisionedCompany();
const ownerCaller = company.as;
const orderData = await createOrders(company);

const acceptQuestion = (id: string, env: Record<string, string> = {}) =>
  ownerCaller.post(`${ASKED_PATH}/${id}/accept`, { env });
const readNewest = async (query = '') => (await expectSuccess(ownerCaller.get(`${ASKED_PATH}${query}`))).records[0];

describe('an asked question', () => {
  it('is listed with its outcome, without result rows', async () => {
    const model = await createModel(makeAnswer({ filters: [{ dimension: 'City', op: 'eq', values: ['Recife'] }] }));
    const question = makeName('What came from Recife');
    const { body } = await askQuestion(ownerCaller, question, model.env);
    const newestQuestion = await readNewest();
    expect(newestQuestion).toEqual({
      _id: body.question_id,
      question,
      kind: 'answer',
      query: body.query,
      explanation: body.explanation,
      verified_question_id: null,
      accepted_as: null,
      asked_by: company.owner.id,
      asked_at: expect.any(String),
      model: 'model-of-the-tests',
      usage: { requests: 1, prompt_tokens: 100, completion_tokens: 10 },
    });
    // Ids and times may hold any digits.
    expect(JSON.stringify([newestQuestion.query, newestQuestion.explanation])).not.toContain('150');
    await askQuestion(ownerCaller, 'What else?', (await createModel(REFUSAL)).env);
    expect(await readNewest()).toMatchObject({ question: 'What else?', kind: 'refusal', query: null });
    await askQuestion(ownerCaller, 'And now?', (await createModel({ status: 500 })).env);
    expect(await readNewest()).toMatchObject({ question: 'And now?', kind: 'failed', usage: { requests: 3 } });
    expect(await readNewest('?kind=answer')).toEqual(newestQuestion);
  });

  it('is not visible to other companies', async () => {
    const other = await createProvisionedCompany();
    await askQuestion(ownerCaller, 'Ours?', (await createModel(makeAnswer({}))).env);
    const { _id } = await readNewest();
    expect((await expectSuccess(other.as.get(ASKED_PATH))).total).toBe(0);
    expect(readStatusAndCode(await other.as.post(`${ASKED_PATH}/${_id}/accept`))).toEqual([
      404,
      'ASKED_QUESTION_NOT_FOUND',
    ]);
    expect(readStatusAndCode(await acceptQuestion(UNKNOWN_ID))).toEqual([404, 'ASKED_QUESTION_NOT_FOUND']);
  });

  it('becomes a verified question when it is accepted, and is answered by it from then on', async () => {
    const question = makeName('How many orders');
    const { body } = await askQuestion(
      ownerCaller,
      question,
      (await createModel(makeAnswer({ metrics: ['Orders'] }))).env,
    );
    const acceptanceAnswer = await acceptQuestion(body.question_id);
    expect([acceptanceAnswer.status, acceptanceAnswer.body]).toMatchObject([
      201,
      { question, query: body.query, status: 'verified' },
    ]);
    expect(acceptanceAnswer.headers.get('location')).toContain(
      `${KNOWLEDGE_PATH}/verified-questions/${acceptanceAnswer.body._id}`,
    );
    expect((await readNewest()).accepted_as).toBe(acceptanceAnswer.body._id);
    const repeatedAnswer = await askQuestion(ownerCaller, `${question}??`, NO_MODEL_ENV);
    expect(repeatedAnswer.body).toMatchObject({
      kind: 'answer',
      verified_question_id: acceptanceAnswer.body._id,
      result: { rows: [[4]] },
    });
    expect(await readNewest()).toMatchObject({
      verified_question_id: acceptanceAnswer.body._id,
      model: null,
      usage: { requests: 0 },
    });
    expect(readStatusAndCode(await acceptQuestion(body.question_id))).toEqual([409, 'VERIFIED_QUESTION_DUPLICATE']);
  });

  it('cannot be accepted if it was not answered, or its query no longer compiles', async () => {
    const { body } = await askQuestion(ownerCaller, 'What else?', (await createModel(REFUSAL)).env);
    expect(readStatusAndCode(await acceptQuestion(body.question_id))).toEqual([409, 'ASKED_QUESTION_NOT_ANSWERED']);
    const answeredQuestion = await askQuestion(
      ownerCaller,
      makeName('By status'),
      (await createModel(makeAnswer({ dimensions: ['Status'] }))).env,
    );
    await ownerCaller.patch(`${KNOWLEDGE_PATH}/semantic/${orderData.items.status}`, { json: { status: 'draft' } });
    expect(readStatusAndCode(await acceptQuestion(answeredQuestion.body.question_id))).toEqual([
      422,
      'SEMANTIC_ITEM_UNKNOWN',
    ]);
    await ownerCaller.patch(`${KNOWLEDGE_PATH}/semantic/${orderData.items.status}`, { json: { status: 'active' } });
  });

  it('records the verified question that it became only if that one was written', async () => {
    const { body } = await askQuestion(ownerCaller, makeName('Raced'), (await createModel(makeAnswer({}))).env);
    const failedAcceptance = sendDuringRace(
      /^insert into "knowledge_verified_questions"/,
      async () => {
        const { _id } = await expectSuccess(
          ownerCaller.post(`${KNOWLEDGE_PATH}/verified-questions`, {
            json: { question: makeName('One'), query: { metrics: ['Orders'] } },
          }),
        );
        await runSql(
          `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
           insert into knowledge_verified_questions
           select id || '-' || i, company_id, question, question_key || ' ' || i, query, status, stale_reason, version,
             verified_by, verified_at, last_checked_at, created_at, updated_at
           from knowledge_verified_questions, n where id = ?`,
          _id,
        );
      },
      (racingEnv) => acceptQuestion(body.question_id, racingEnv),
    );
    expect(readStatusAndCode(await failedAcceptance)).toEqual([409, 'VERIFIED_QUESTION_LIMIT']);
    expect((await readNewest()).accepted_as).toBeNull();
    await runSql(`delete from knowledge_verified_questions where id like '%-%'`);
  });

  it('is kept while it is among the last ten thousand of its company, and then deleted', async () => {
    const { body } = await askQuestion(ownerCaller, 'The first?', (await createModel(REFUSAL)).env);
    await runSql(
      `update knowledge_asked_questions set number = number + 9999 where company_id = ? and id <> ?`,
      company.id,
      body.question_id,
    );
    const countStored = () => countRows('knowledge_asked_questions where id = ?', body.question_id);
    await runSql(`update knowledge_asked_questions set number = 1 where id = ?`, body.question_id);
    const insertQuestions = (number: number) =>
      runSql(
        `insert into knowledge_asked_questions select id || '-', company_id, ?, question, asked_by, asked_at, kind, query,
           explanation, verified_question_id, accepted_as, model, usage from knowledge_asked_questions where id = ?`,
        number,
        body.question_id,
      );
    await runSql(
      'delete from knowledge_asked_questions where company_id = ? and id <> ?',
      company.id,
      body.question_id,
    );
    await insertQuestions(9_999);
    await askQuestion(ownerCaller, 'The last?', (await createModel(REFUSAL)).env);
    expect(await countStored()).toBe(1);
    await askQuestion(ownerCaller, 'One more?', (await createModel(REFUSAL)).env);
    expect(await countStored()).toBe(0);
  });
});

it('asking a question is limited per minute and principal if a model is called', async () => {
  const other = await createAllowedUser(company, { can: ['semantic:list', 'managed-tables:data-read'] });
  const model = await createModel(makeAnswer({}));
  const limitedEnv = { ...model.env, RATE_LIMIT_QUESTIONS_PER_MINUTE: '2' };
  const question = makeName('Free');
  await expectSuccess(
    ownerCaller.post(`${KNOWLEDGE_PATH}/verified-questions`, { json: { question, query: { metrics: ['Revenue'] } } }),
  );
  expect((await askQuestion(other.as, 'One?', limitedEnv)).status).toBe(200);
  // One that comes in between counts.
  const lateAnswer = await sendDuringRace(
    /^insert into "knowledge_asked_questions"/,
    () => expectSuccess(askQuestion(other.as, 'Two?', limitedEnv)),
    (racingEnv) => askQuestion(other.as, 'Three?', { ...limitedEnv, ...racingEnv }),
  );
  expect([lateAnswer.status, lateAnswer.body.error, lateAnswer.headers.get('retry-after')]).toEqual([
    429,
    'RateLimitExceeded',
    '60',
  ]);
  expect((await askQuestion(other.as, question, limitedEnv)).status).toBe(200);
  const otherUser = await createAllowedUser(company, { can: ['semantic:list', 'managed-tables:data-read'] });
  expect((await askQuestion(otherUser.as, 'One?', limitedEnv)).status).toBe(200);
  advanceClock(61_000);
  expect((await askQuestion(other.as, 'Three?', limitedEnv)).status).toBe(200);
});

it('an old question is deleted after 90 days', async () => {
  // Of a company of its own: sessions end meanwhile.
  const other = await createProvisionedCompany();
  const { body } = await askQuestion(other.as, 'How old?', (await createModel(REFUSAL)).env);
  const countStored = () => countRows('knowledge_asked_questions where id = ?', body.question_id);
  advanceClock(89 * 86_400_000);
  await runScheduled();
  expect(await countStored()).toBe(1);
  advanceClock(91 * 86_400_000);
  await runScheduled();
  expect(await countStored()).toBe(0);
});
