import { beforeAll, describe, expect, it } from 'vitest';
import questionsText from '../../../eval/demo.ndjson?raw';
import { type EvalQuestion, judge, parseQuestions, type Row } from '../../../eval/judge.ts';
import { CONCEPTS, KNOWLEDGE_ITEMS, QUESTIONS } from '../../../local/demo-metrics.ts';
import birdstrikes from '../../../node_modules/vega-datasets/data/birdstrikes.csv?raw';
import { type Company, createProvisionedCompany } from '../../support/companies.ts';
import { expectSuccess } from '../../support/signed.ts';
import { loadFiles, makeFile, queryDatabase } from '../../uploads/support.ts';
import { createModel, NO_MODEL_ENV } from '../model.ts';
import { KNOWLEDGE_PATH } from '../support.ts';
import { askQuestion, makeAnswer, makeClarification, REFUSAL } from './support.ts';

type WrittenQuery = Record<string, unknown>;

/** A question with the query that a good model writes, and independent SQL that computes the same result. */
interface WrittenQuestion extends EvalQuestion {
  query?: WrittenQuery;
  sql?: string;
  readings?: { query: WrittenQuery; sql: string; rows: Row[] }[];
}

const ALL_QUESTIONS = parseQuestions(questionsText) as WrittenQuestion[];
let company: Company;

beforeAll(async () => {
  company = await createProvisionedCompany();
  const { as } = company;
  await loadFiles(company, [makeFile('birdstrikes.csv', birdstrikes)], { display_name: 'birdstrikes' });
  const concepts = new Map<string, string>();
  for (const [name, [description, ...aliases]] of Object.entries(CONCEPTS)) {
    const json = { name, description, aliases, status: 'active' };
    concepts.set(name, (await expectSuccess(as.post(`${KNOWLEDGE_PATH}/concepts`, { json })))._id);
  }
  for (const { concept, ...item } of KNOWLEDGE_ITEMS) {
    const json = { ...item, status: 'active', source_concept_ids: [concepts.get(concept)] };
    const { validation_errors } = await expectSuccess(as.post(`${KNOWLEDGE_PATH}/semantic`, { json }));
    expect([item.name, validation_errors]).toEqual([item.name, []]);
  }
  for (const json of QUESTIONS) await expectSuccess(as.post(`${KNOWLEDGE_PATH}/verified-questions`, { json }));
}, 120_000);

/** Computes rows by independent SQL in the company's Postgres. */
const queryRowsBySql = (sql: string): Promise<Row[]> =>
  queryDatabase(company, async (database) =>
    (await database.query<Record<string, Row[number]>>(sql)).map((row) => Object.values(row)),
  );

const toAnswer = (rows: Row[]) => ({ kind: 'answer' as const, result: { rows } });

describe('the questions about the demo data', () => {
  it('are sixty, of each kind and in several languages', () => {
    const count = (kind: string) => ALL_QUESTIONS.filter((eachQuestion) => eachQuestion.kind === kind).length;
    expect([ALL_QUESTIONS.length, count('answer'), count('refusal'), count('clarification')]).toEqual([60, 40, 14, 6]);
    expect(new Set(ALL_QUESTIONS.map(({ question }) => question)).size).toBe(60);
  });

  it('have expected rows that equal the rows of independent SQL', async () => {
    for (const { question, sql, rows = [], readings = [] } of ALL_QUESTIONS) {
      for (const eachReading of [...(sql ? [{ sql, rows }] : []), ...readings]) {
        // An expression that nobody named is called ?column?: two of them would be one member.
        const computedAnswer = toAnswer(await queryRowsBySql(`SELECT * FROM (${eachReading.sql}) AS answer`));
        expect([question, judge({ question, kind: 'answer', rows: eachReading.rows }, computedAnswer)]).toEqual([
          question,
          'right',
        ]);
      }
    }
  });

  it.each(ALL_QUESTIONS)('are answered, refused or clarified as expected: $question', async (eachQuestion) => {
    const { question, kind, query, readings = [] } = eachQuestion;
    const modelAnswers = {
      answer: makeAnswer(query ?? {}),
      refusal: REFUSAL,
      clarification: makeClarification(...readings.map((reading) => reading.query)),
    };
    const model = await createModel(modelAnswers[kind]);
    const { status, body } = await askQuestion(company.as, question, model.env);
    expect([status, body.kind]).toEqual([200, kind]);
    expect(judge(eachQuestion, body)).toBe('right');
    if (kind === 'answer') return expect(body.result.rows.length).toBe(eachQuestion.rows?.length);
    expect(body.result).toBeNull();
    // What is offered in its place can be asked for.
    const offeredQueries = body.alternatives.filter(({ query }: { query: unknown }) => query !== null);
    for (const [index, alternative] of offeredQueries.entries()) {
      const { body: result } = await company.as.post(`${KNOWLEDGE_PATH}/semantic/query`, { json: alternative.query });
      if (kind === 'clarification')
        expect(judge({ question, kind: 'answer', rows: readings[index]?.rows ?? [] }, { kind: 'answer', result })).toBe(
          'right',
        );
    }
    expect(body.alternatives.length).toBeGreaterThan(1);
  });

  it.each([
    ['How many strikes were there in Bavaria?', { filters: [{ dimension: 'State', op: 'eq', values: ['Bavaria'] }] }],
    ['Which species was struck most often?', { dimensions: ['wildlife_species'] }],
    ['How many passengers were hurt?', { metrics: ['Passengers hurt'] }],
    ['What is the median cost of a strike?', { metrics: ['percentile_cont(0.5) WITHIN GROUP (ORDER BY cost_total)'] }],
    [
      'Which airport had the most strikes?',
      { filters: [{ dimension: 'Airline', op: 'contains', values: ['DALLAS/FORT WORTH INTL ARPT'] }] },
    ],
  ])('are refused if no item covers them, even if the model answers with a query: %s', async (question, query) => {
    expect(ALL_QUESTIONS.find((eachQuestion) => eachQuestion.question === question)?.kind).toBe('refusal');
    const model = await createModel(makeAnswer({ metrics: ['Strikes'], ...query }));
    const { body } = await askQuestion(company.as, question, model.env);
    expect([body.kind, body.result]).toEqual(['refusal', null]);
  });

  it('are answered without a model if they are verified', async () => {
    for (const { question } of QUESTIONS) {
      const { body } = await askQuestion(company.as, question.toLowerCase(), NO_MODEL_ENV);
      expect([question, body.kind, body.result.rows.length > 0]).toEqual([question, 'answer', true]);
    }
  });
});

describe('the grader of answers', () => {
  const makeQuestion = (fields: Partial<EvalQuestion>): EvalQuestion => ({
    question: 'What?',
    kind: 'answer',
    ...fields,
  });
  const refusedAnswer = { kind: 'refusal' as const, result: null };
  const unclearAnswer = { kind: 'clarification' as const, result: null };

  it.each([
    ['the rows', makeQuestion({ rows: [[1, 'a']] }), toAnswer([[1, 'a']]), 'right'],
    [
      'the rows in another order',
      makeQuestion({
        rows: [
          [1, 'a'],
          [2, 'b'],
        ],
      }),
      toAnswer([
        ['b', 2],
        ['a', '1.0'],
      ]),
      'right',
    ],
    ['other rows', makeQuestion({ rows: [[1, 'a']] }), toAnswer([[2, 'a']]), 'wrong'],
    ['no rows', makeQuestion({ rows: [[1, 'a']] }), toAnswer([]), 'wrong'],
    ['a refusal', makeQuestion({ rows: [[1]] }), refusedAnswer, 'refused'],
    ['a question back', makeQuestion({ rows: [[1]] }), unclearAnswer, 'refused'],
    ['an answer to a question that no item covers', makeQuestion({ kind: 'refusal' }), toAnswer([[1]]), 'wrong'],
    ['a refusal of a question that no item covers', makeQuestion({ kind: 'refusal' }), refusedAnswer, 'right'],
    [
      'the rows of one reading of an ambiguous question',
      makeQuestion({ kind: 'clarification', readings: [{ rows: [[1]] }, { rows: [[2]] }] }),
      toAnswer([[2]]),
      'right',
    ],
    [
      'the rows of no reading',
      makeQuestion({ kind: 'clarification', readings: [{ rows: [[1]] }] }),
      toAnswer([[3]]),
      'wrong',
    ],
    [
      'a refusal of an ambiguous question',
      makeQuestion({ kind: 'clarification', readings: [] }),
      refusedAnswer,
      'refused',
    ],
  ])('grades %s correctly', (_, question, givenAnswer, judgement) => {
    expect(judge(question, givenAnswer)).toBe(judgement);
  });
});
