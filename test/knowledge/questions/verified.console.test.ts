import { describe, expect, it } from 'vitest';
import { makeQuestionKey } from '../../../src/modules/knowledge/questions/question.ts';
import { MAX_QUESTIONS } from '../../../src/modules/knowledge/questions/store.ts';
import { createAllowedUser, createProvisionedCompany } from '../../support/companies.ts';
import { readStatusAndCode } from '../../support/console.ts';
import { runSql, sendDuringRace } from '../../support/race.ts';
import { expectSuccess } from '../../support/signed.ts';
import { createConcept, createItem, KNOWLEDGE_PATH, makeName, readInvalidFields } from '../support.ts';
import { createQuestion, createSumMetric, QUESTIONS_PATH } from './support.ts';

const company = await createProvisionedCompany();
const ownerCaller = company.as;
const sum = await createSumMetric(ownerCaller);

const postQuestion = (fields: Record<string, unknown>, env: Record<string, string> = {}) =>
  ownerCaller.post(QUESTIONS_PATH, { json: { question: `${makeName('What')}?`, query: sum.query, ...fields }, env });
const readQuestion = async (id: string) =>
  (await expectSuccess(ownerCaller.get(`${QUESTIONS_PATH}/${id}`))) as Record<string, unknown>;

describe('a verified question', () => {
  it('shows who verified it, when, and its query with the defaults filled in', async () => {
    const { status, body, headers } = await postQuestion({ question: 'How much?' });
    expect(status).toBe(201);
    expect(body).toEqual({
      _id: expect.any(String),
      company_id: company.id,
      question: 'How much?',
      query: { ...sum.query, dimensions: [], filters: [], time_grain: null, order_by: [], limit: 1000 },
      status: 'verified',
      stale_reason: null,
      verified_by: company.owner.id,
      verified_at: expect.any(String),
      last_checked_at: body.verified_at,
      created_at: body.verified_at,
      updated_at: body.verified_at,
    });
    expect(headers.get('location')).toContain(`${QUESTIONS_PATH}/${body._id}`);
    expect(await readQuestion(body._id)).toEqual(body);
  });

  it('is a duplicate of a question that differs only in case, accents or punctuation', async () => {
    await expectSuccess(postQuestion({ question: 'Qual é a RECEITA, por cidade?' }));
    for (const question of [
      'qual e a receita por cidade',
      '¿Qual é a receita - por cidade!?',
      'Qual  é a receita\npor cidade',
    ])
      expect(readStatusAndCode(await postQuestion({ question }))).toEqual([409, 'VERIFIED_QUESTION_DUPLICATE']);
    expect((await postQuestion({ question: 'Qual é a receita por cidades?' })).status).toBe(201);
  });

  it.each([
    ['Top 10.5 %?', 'top 10.5 %'],
    ['Below -5°', 'below -5°'],
    ['Top-5, please', 'top 5 please'],
    ['STRAßE: Größe', 'straße große'],
    ['राजस्व कितना है?', 'राजस्व कितना है'],
    ['売上は？', '売上は'],
    ['more than 5 > 3', 'more than 5 > 3'],
    ['?!', ''],
  ])('is compared by its normalized text: %s as %s', (question, key) => {
    expect(makeQuestionKey(question)).toBe(makeQuestionKey(key));
    expect(makeQuestionKey(question)).toBe(key.normalize('NFC'));
  });

  it('is verified anew by a change, and shows who made the change', async () => {
    const { id } = await createQuestion(ownerCaller);
    const other = await createAllowedUser(company, { can: ['semantic:update', 'semantic:list'] });
    const { body } = await other.as.patch(`${QUESTIONS_PATH}/${id}`, { json: { query: { ...sum.query, limit: 7 } } });
    expect(body).toMatchObject({ status: 'verified', verified_by: other.id, query: { limit: 7 } });
    // What changes nothing verifies nothing. (A recheck in the background, of what the test before changed, may come.)
    const unchangedAnswer = await ownerCaller.patch(`${QUESTIONS_PATH}/${id}`, {
      json: { question: body.question, query: body.query },
    });
    expect([unchangedAnswer.status, unchangedAnswer.body]).toEqual([
      200,
      { ...body, last_checked_at: expect.any(String) },
    ]);
  });

  it('is not listed when it is archived, can then be created anew, and is restored by its status', async () => {
    const { id, question } = await createQuestion(ownerCaller);
    expect((await ownerCaller.delete(`${QUESTIONS_PATH}/${id}`)).status).toBe(204);
    expect(readStatusAndCode(await ownerCaller.delete(`${QUESTIONS_PATH}/${id}`))).toEqual([
      404,
      'VERIFIED_QUESTION_NOT_FOUND',
    ]);
    expect(await readQuestion(id)).toMatchObject({ status: 'archived' });
    const listedQuestions = await expectSuccess(
      ownerCaller.get(`${QUESTIONS_PATH}?search=${encodeURIComponent(question)}`),
    );
    expect(listedQuestions).toMatchObject({ total: 0, records: [] });
    const archivedQuestions = await expectSuccess(
      ownerCaller.get(`${QUESTIONS_PATH}?status=archived&search=${encodeURIComponent(question)}`),
    );
    expect(archivedQuestions.records.map(({ _id }: { _id: string }) => _id)).toEqual([id]);
    expect(
      readStatusAndCode(await ownerCaller.patch(`${QUESTIONS_PATH}/${id}`, { json: { question: 'Else?' } })),
    ).toEqual([409, 'VERIFIED_QUESTION_ARCHIVED']);
    const { body: recreatedQuestion } = await postQuestion({ question });
    expect(
      readStatusAndCode(await ownerCaller.patch(`${QUESTIONS_PATH}/${id}`, { json: { status: 'verified' } })),
    ).toEqual([409, 'VERIFIED_QUESTION_DUPLICATE']);
    await ownerCaller.delete(`${QUESTIONS_PATH}/${recreatedQuestion._id}`);
    const restorationAnswer = await ownerCaller.patch(`${QUESTIONS_PATH}/${id}`, { json: { status: 'verified' } });
    expect([restorationAnswer.status, restorationAnswer.body.status]).toEqual([200, 'verified']);
  });

  it('is archived by its status only with the permission to delete', async () => {
    const { id } = await createQuestion(ownerCaller);
    const other = await createAllowedUser(company, { can: ['semantic:update'] });
    const refusedAnswer = await other.as.patch(`${QUESTIONS_PATH}/${id}`, { json: { status: 'archived' } });
    expect(refusedAnswer.status).toBe(403);
    const { body } = await ownerCaller.patch(`${QUESTIONS_PATH}/${id}`, { json: { status: 'archived' } });
    expect(body).toMatchObject({ status: 'archived', stale_reason: null });
  });

  it('is not listed to other companies, which may verify the same question', async () => {
    const { question } = await createQuestion(ownerCaller);
    const other = await createProvisionedCompany();
    expect((await expectSuccess(other.as.get(QUESTIONS_PATH))).total).toBe(0);
    const otherSumMetric = await createSumMetric(other.as);
    expect((await other.as.post(QUESTIONS_PATH, { json: { question, query: otherSumMetric.query } })).status).toBe(201);
  });

  it('keeps every digit of a number in its query', async () => {
    const code = await ownerCaller.post(`${KNOWLEDGE_PATH}/semantic`, {
      json: {
        kind: 'dimension',
        name: makeName('Code'),
        description: 'x',
        status: 'active',
        mapped_columns: [`${sum.table.name}.a`],
        source_concept_ids: [(await expectSuccess(ownerCaller.get(`${KNOWLEDGE_PATH}/concepts`))).records[0]._id],
      },
    });
    const question = makeName('How exact');
    const body = `{"question":"${question}","query":{"metrics":["${sum.metric}"],"filters":[{"dimension":"${code.body._id}","op":"eq","values":[9007199254740993]}]}}`;
    const createAnswer = await ownerCaller.post(QUESTIONS_PATH, {
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect([createAnswer.status, createAnswer.body.query?.filters[0].values]).toEqual([201, ['9007199254740993']]);
  });
});

describe('a question that cannot be verified', () => {
  it.each([
    [{ question: '' }, ['question']],
    [{ question: '   ' }, ['question']],
    [{ question: '?!…' }, ['question']],
    [{ question: 'a'.repeat(1001) }, ['question']],
    [{ query: { metrics: [] } }, ['query.metrics']],
    [{ query: { metrics: ['x'], limit: 10_001 } }, ['query.limit']],
  ])('%j is refused, naming %j', async (fields, expectedFields) => {
    expect(readInvalidFields(await postQuestion(fields))).toEqual(expectedFields);
  });

  it('is refused for unknown items and invalid fields of its query', async () => {
    const unknownItemAnswer = await postQuestion({ query: { metrics: ['Nothing'] } });
    expect([unknownItemAnswer.status, unknownItemAnswer.body.error, unknownItemAnswer.body.message]).toEqual([
      422,
      'SEMANTIC_ITEM_UNKNOWN',
      expect.stringContaining('"Nothing"'),
    ]);
    expect(readInvalidFields(await postQuestion({ query: { ...sum.query, time_grain: 'day' } }))).toEqual([
      'time_grain',
    ]);
    const { id } = await createQuestion(ownerCaller);
    const changeAnswer = await ownerCaller.patch(`${QUESTIONS_PATH}/${id}`, {
      json: { query: { metrics: ['Nothing'] } },
    });
    expect(readStatusAndCode(changeAnswer)).toEqual([422, 'SEMANTIC_ITEM_UNKNOWN']);
    expect(await readQuestion(id)).toMatchObject({ status: 'verified' });
  });

  it('is refused with a query of more than 50,000 characters, when it is created and when it is changed', async () => {
    const dimension = await createItem(ownerCaller, {
      kind: 'dimension',
      name: makeName('Key'),
      mapped_columns: [`${sum.table.name}.id`],
      status: 'active',
      source_concept_ids: [await createConcept(ownerCaller)],
    });
    const makeQuery = (filterCount: number) => {
      const values = Array.from({ length: 1000 }, () => crypto.randomUUID());
      return { ...sum.query, filters: Array.from({ length: filterCount }, () => ({ dimension, op: 'in', values })) };
    };
    const problem = { field: 'query', message: 'must have at most 50000 characters as JSON' };
    expect((await postQuestion({ query: makeQuery(2) })).body.details).toMatchObject([problem]);
    const { status, body } = await postQuestion({ query: makeQuery(1) });
    expect([status, JSON.stringify(body.query).length > 39_000]).toEqual([201, true]);
    const changeAnswer = await ownerCaller.patch(`${QUESTIONS_PATH}/${body._id}`, { json: { query: makeQuery(2) } });
    expect([changeAnswer.status, changeAnswer.body.details]).toMatchObject([422, [problem]]);
  });

  it('is refused if an equal question is created first', async () => {
    const question = makeName('raced');
    const answer = await sendDuringRace(
      /^insert into "knowledge_verified_questions"/,
      () => expectSuccess(postQuestion({ question })),
      (env) => postQuestion({ question: `${question}!` }, env),
    );
    expect(readStatusAndCode(answer)).toEqual([409, 'VERIFIED_QUESTION_DUPLICATE']);
  });

  it('is refused once the company has a thousand, even in a race or by a restoration', async () => {
    const fullCompany = await createProvisionedCompany();
    const existingQuestion = await createQuestion(fullCompany.as);
    const archivedQuestion = await createQuestion(fullCompany.as);
    await fullCompany.as.delete(`${QUESTIONS_PATH}/${archivedQuestion.id}`);
    await runSql(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       insert into knowledge_verified_questions
       select id || '-' || i, company_id, question, question_key || ' ' || i, query, status, stale_reason, version,
         verified_by, verified_at, last_checked_at, created_at, updated_at
       from knowledge_verified_questions, n where id = ?`,
      MAX_QUESTIONS - 2,
      existingQuestion.id,
    );
    const postQuestionTo = (question: string, env: Record<string, string> = {}) =>
      fullCompany.as.post(QUESTIONS_PATH, { json: { question, query: existingQuestion.query }, env });
    const lateAnswer = await sendDuringRace(
      /^insert into "knowledge_verified_questions"/,
      () => expectSuccess(postQuestionTo('The last')),
      (env) => postQuestionTo('One too many', env),
    );
    expect(readStatusAndCode(lateAnswer)).toEqual([409, 'VERIFIED_QUESTION_LIMIT']);
    const restorationAnswer = await fullCompany.as.patch(`${QUESTIONS_PATH}/${archivedQuestion.id}`, {
      json: { status: 'verified' },
    });
    expect(readStatusAndCode(restorationAnswer)).toEqual([409, 'VERIFIED_QUESTION_LIMIT']);
  });
});
