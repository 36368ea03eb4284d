import { beforeAll, describe, expect, it } from 'vitest';
import { type Company, createProvisionedCompany } from '../../support/companies.ts';
import { expectSuccess } from '../../support/signed.ts';
import { queryDatabase } from '../../uploads/support.ts';
import { queryMetrics } from '../metrics/support.ts';
import { createModel } from '../model.ts';
import { askQuestion, createOrders, makeAnswer, readPrompt } from './support.ts';

let company: Company;
let ownerCaller: Company['as'];

beforeAll(async () => {
  company = await createProvisionedCompany();
  ownerCaller = company.as;
  await createOrders(company);
  // Rows of the first half have the greatest values, and long ones. All are equally long: none fills a gap between those before.
  await queryDatabase(company, (database) =>
    database.query(
      `INSERT INTO public.orders (total, city, status)
       SELECT 1, CASE WHEN i <= 100000 THEN rpad((2000000 - i)::text, 100, '-') ELSE (2000000 - i)::text END,
         CASE WHEN i <= 100000 THEN '1234567' ELSE repeat('-', 100) END
       FROM generate_series(1, 200000) AS i`,
    ),
  );
}, 120_000);

const makeCityAnswer = (op: string, value: string) =>
  makeAnswer({ filters: [{ dimension: 'City', op, values: [value] }] });

describe('a dimension of 200,000 values', () => {
  it('is shown to the model by 25 values of at most 80 characters', async () => {
    const model = await createModel(makeAnswer({}));
    expect((await askQuestion(ownerCaller, 'What was sold?', model.env)).body.kind).toBe('answer');
    const { user } = await readPrompt(model);
    const line = user.split('\n').find((promptLine) => promptLine.includes('"name":"City"')) as string;
    const { some_values: values } = JSON.parse(line) as { some_values: string[] };
    expect(values).toHaveLength(25);
    for (const value of values) expect(value).toMatch(/^19\d{5}-{73}$/);
  });

  it('is searched for the value of a filter', async () => {
    const { body } = await askQuestion(
      ownerCaller,
      'What was sold there?',
      (await createModel(makeCityAnswer('eq', '1800000'))).env,
    );
    expect(body).toMatchObject({ kind: 'answer', result: { rows: [[1]] } });
  });

  it('is shown to the model by five similar values if the value of a filter does not exist', async () => {
    const model = await createModel(makeCityAnswer('eq', '0001'), makeCityAnswer('eq', '1800001'));
    const { body } = await askQuestion(ownerCaller, 'What was sold there?', model.env);
    expect(body).toMatchObject({ kind: 'answer', result: { rows: [[1]] } });
    const [, like] = /has no value "0001"; it has (.*)/.exec((await readPrompt(model, 1)).user) ?? [];
    expect(JSON.parse(`[${like}]`)).toEqual(Array.from({ length: 5 }, () => expect.stringContaining('0001')));
  });

  it('is answered with at most the number of rows that the query limits', async () => {
    const longQuery = { metrics: ['Revenue'], dimensions: ['City'], limit: 10_000 };
    const { rows, row_count, truncated } = await expectSuccess(queryMetrics(ownerCaller, longQuery));
    expect([rows.length, row_count, truncated]).toEqual([10_000, 10_000, true]);
  });
});
