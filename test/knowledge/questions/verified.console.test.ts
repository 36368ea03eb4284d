import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeQuestionKey } from '../../../src/modules/knowledge/questions/service.ts';
import { MAX_QUESTIONS } from '../../../src/modules/knowledge/questions/store.ts';
import { readStatusAndCode } from '../../support/console.ts';
import { sendOvertaken } from '../../support/rival.ts';
import { must } from '../../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../../support/worlds.ts';
import { KNOWLEDGE_PATH, makeName, readInvalidFields } from '../support.ts';
import { createQuestion, createSum, QUESTIONS } from './support.ts';

let company: Company;
let asOwner: Company['as'];
let sum: Awaited<ReturnType<typeof createSum>>;

beforeAll(async () => {
  company = await aProvisionedCompany();
  asOwner = company.as;
  sum = await createSum(asOwner);
});

const postQuestion = (fields: Record<string, unknown>, env: Record<string, string> = {}) =>
  asOwner.post(QUESTIONS, { json: { question: `${makeName('What')}?`, query: sum.query, ...fields }, env });
const readQuestion = async (id: string) => (await must(asOwner.get(`${QUESTIONS}/${id}`))) as Record<string, unknown>;

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
    expect(headers.get('location')).toContain(`${QUESTIONS}/${body._id}`);
    expect(await readQuestion(body._id)).toEqual(body);
  });

  it('is a duplicate of a question that differs only in case, accents or punctuation', async () => {
    await must(postQuestion({ question: 'Qual é a RECEITA, por cidade?' }));
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

  it('is verified anew by a change, and says by whom', async () => {
    const { id } = await createQuestion(asOwner);
    const other = await aUser(company, { can: ['semantic:update', 'semantic:list'] });
    const { body } = await other.as.patch(`${QUESTIONS}/${id}`, { json: { query: { ...sum.query, limit: 7 } } });
    expect(body).toMatchObject({ status: 'verified', verified_by: other.id, query: { limit: 7 } });
    // What changes nothing verifies nothing. (A recheck in the background, of what the test before changed, may come.)
    const same = await asOwner.patch(`${QUESTIONS}/${id}`, { json: { question: body.question, query: body.query } });
    expect([same.status, same.body]).toEqual([200, { ...body, last_checked_at: expect.any(String) }]);
  });

  it('is not listed when it is archived, can then be created anew, and is restored by its status', async () => {
    const { id, question } = await createQuestion(asOwner);
    expect((await asOwner.delete(`${QUESTIONS}/${id}`)).status).toBe(204);
    expect(readStatusAndCode(await asOwner.delete(`${QUESTIONS}/${id}`))).toEqual([404, 'VERIFIED_QUESTION_NOT_FOUND']);
    expect(await readQuestion(id)).toMatchObject({ status: 'archived' });
    const listed = await must(asOwner.get(`${QUESTIONS}?search=${encodeURIComponent(question)}`));
    expect(listed).toMatchObject({ total: 0, records: [] });
    const archived = await must(asOwner.get(`${QUESTIONS}?status=archived&search=${encodeURIComponent(question)}`));
    expect(archived.records.map(({ _id }: { _id: string }) => _id)).toEqual([id]);
    expect(readStatusAndCode(await asOwner.patch(`${QUESTIONS}/${id}`, { json: { question: 'Else?' } }))).toEqual([
      409,
      'VERIFIED_QUESTION_ARCHIVED',
    ]);
    const { body: again } = await postQuestion({ question });
    expect(readStatusAndCode(await asOwner.patch(`${QUESTIONS}/${id}`, { json: { status: 'verified' } }))).toEqual([
      409,
      'VERIFIED_QUESTION_DUPLICATE',
    ]);
    await asOwner.delete(`${QUESTIONS}/${again._id}`);
    const restored = await asOwner.patch(`${QUESTIONS}/${id}`, { json: { status: 'verified' } });
    expect([restored.status, restored.body.status]).toEqual([200, 'verified']);
  });

  it('is archived by its status only with the permission to delete', async () => {
    const { id } = await createQuestion(asOwner);
    const other = await aUser(company, { can: ['semantic:update'] });
    const refused = await other.as.patch(`${QUESTIONS}/${id}`, { json: { status: 'archived' } });
    expect(refused.status).toBe(403);
    const { body } = await asOwner.patch(`${QUESTIONS}/${id}`, { json: { status: 'archived' } });
    expect(body).toMatchObject({ status: 'archived', stale_reason: null });
  });

  it('is not listed to other companies, which may verify the same', async () => {
    const { question } = await createQuestion(asOwner);
    const other = await aProvisionedCompany();
    expect((await must(other.as.get(QUESTIONS))).total).toBe(0);
    const theirs = await createSum(other.as);
    expect((await other.as.post(QUESTIONS, { json: { question, query: theirs.query } })).status).toBe(201);
  });

  it('keeps every digit of a number in its query', async () => {
    const code = await asOwner.post(`${KNOWLEDGE_PATH}/semantic`, {
      json: {
        kind: 'dimension',
        name: makeName('Code'),
        description: 'x',
        status: 'active',
        mapped_columns: [`${sum.table.name}.a`],
        source_concept_ids: [(await must(asOwner.get(`${KNOWLEDGE_PATH}/concepts`))).records[0]._id],
      },
    });
    const question = makeName('How exact');
    const body = `{"question":"${question}","query":{"metrics":["${sum.metric}"],"filters":[{"dimension":"${code.body._id}","op":"eq","values":[9007199254740993]}]}}`;
    const made = await asOwner.post(QUESTIONS, { body, headers: { 'content-type': 'application/json' } });
    expect([made.status, made.body.query?.filters[0].values]).toEqual([201, ['9007199254740993']]);
  });
});

describe('a question that cannot be verified', () => {
  it.each([
    [{ question: '' }, ['question']],
    [{ question: '   ' }, ['question']],
    [{ question: '?!…' }, ['question']],
    [{ question: 'a'.repeat(1001) }, ['question']],
    [{ question: undefined }, ['question']],
    [{ query: undefined }, ['query']],
    [{ query: { metrics: [] } }, ['query.metrics']],
    [{ query: { metrics: ['x'], limit: 10_001 } }, ['query.limit']],
  ])('%j is refused, naming %j', async (fields, named) => {
    expect(readInvalidFields(await postQuestion(fields))).toEqual(named);
  });

  it('is refused for unknown items and invalid fields of its query', async () => {
    const unknown = await postQuestion({ query: { metrics: ['Nothing'] } });
    expect([unknown.status, unknown.body.error, unknown.body.message]).toEqual([
      422,
      'SEMANTIC_ITEM_UNKNOWN',
      expect.stringContaining('"Nothing"'),
    ]);
    expect(readInvalidFields(await postQuestion({ query: { ...sum.query, time_grain: 'day' } }))).toEqual([
      'time_grain',
    ]);
    const { id } = await createQuestion(asOwner);
    const changed = await asOwner.patch(`${QUESTIONS}/${id}`, { json: { query: { metrics: ['Nothing'] } } });
    expect(readStatusAndCode(changed)).toEqual([422, 'SEMANTIC_ITEM_UNKNOWN']);
    expect(await readQuestion(id)).toMatchObject({ status: 'verified' });
  });

  it('is refused if an equal one is created first', async () => {
    const question = makeName('raced');
    const answer = await sendOvertaken(
      /^insert into "knowledge_verified_questions"/,
      () => must(postQuestion({ question })),
      (env) => postQuestion({ question: `${question}!` }, env),
    );
    expect(readStatusAndCode(answer)).toEqual([409, 'VERIFIED_QUESTION_DUPLICATE']);
  });

  it('is refused once the company has a thousand, also in a race and by a restore', async () => {
    const full = await aProvisionedCompany();
    const theirs = await createQuestion(full.as);
    const archived = await createQuestion(full.as);
    await full.as.delete(`${QUESTIONS}/${archived.id}`);
    await env.CONTROL_DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       insert into knowledge_verified_questions
       select id || '-' || i, company_id, question, question_key || ' ' || i, query, status, stale_reason, version,
         verified_by, verified_at, last_checked_at, created_at, updated_at
       from knowledge_verified_questions, n where id = ?`,
    )
      .bind(MAX_QUESTIONS - 2, theirs.id)
      .run();
    const post = (question: string, env: Record<string, string> = {}) =>
      full.as.post(QUESTIONS, { json: { question, query: theirs.query }, env });
    const late = await sendOvertaken(
      /^insert into "knowledge_verified_questions"/,
      () => must(post('The last')),
      (env) => post('One too many', env),
    );
    expect(readStatusAndCode(late)).toEqual([409, 'VERIFIED_QUESTION_LIMIT']);
    const restored = await full.as.patch(`${QUESTIONS}/${archived.id}`, { json: { status: 'verified' } });
    expect(readStatusAndCode(restored)).toEqual([409, 'VERIFIED_QUESTION_LIMIT']);
  });
});
