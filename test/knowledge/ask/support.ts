import { createTable, makeColumn } from '../../managed-tables/support.ts';
import type { ApiResponse, Caller } from '../../support/api.ts';
import type { Company } from '../../support/companies.ts';
import { createItemMaker, insertRows } from '../metrics/support.ts';
import type { createModel } from '../model.ts';
import { createConcept, KNOWLEDGE_PATH } from '../support.ts';

/** Creates a table of orders in three cities, with metrics and dimensions. */
export async function createOrders(company: Company) {
  const { as } = company;
  const concept = await createConcept(as, { name: 'Turnover', aliases: ['Receita', 'Umsatz'], status: 'active' });
  const { metric, dimension } = createItemMaker(
    () => as,
    () => concept,
  );
  const table = await createTable(as, 'orders', [
    makeColumn('total', 'decimal'),
    makeColumn('city'),
    makeColumn('status'),
    makeColumn('day', 'date'),
  ]);
  await insertRows(as, table, [
    { total: 100, city: 'Recife', status: 'paid', day: '2024-01-05' },
    { total: 50, city: 'Recife', status: 'open', day: '2024-02-07' },
    { total: 30, city: 'Olinda', status: 'paid', day: '2024-02-09' },
    { total: 7, city: 'São Paulo', status: 'paid', day: null },
  ]);
  const of = { mapped_tables: ['orders'] };
  return {
    table,
    items: {
      revenue: await metric('Revenue', { ...of, formula: 'sum(total)', description: 'What was sold.' }),
      orders: await metric('Orders', { ...of, aggregation: 'count' }),
      city: await dimension('City', { mapped_columns: ['orders.city'] }),
      status: await dimension('Status', { mapped_columns: ['orders.status'] }),
      day: await dimension('Day', { mapped_columns: ['orders.day'] }),
    },
  };
}

export const askQuestion = (
  as: Caller,
  json: Record<string, unknown> | string,
  env: Record<string, string> = {},
): Promise<ApiResponse> =>
  as.post(`${KNOWLEDGE_PATH}/ask`, { json: typeof json === 'string' ? { question: json } : json, env });

/** Reads the full prompt that a model received in one of its turns. */
export async function readPrompt(model: Awaited<ReturnType<typeof createModel>>, turn = 0) {
  const { messages, response_format } = (await model.asked())[turn] as never as {
    messages: { content: string }[];
    response_format: unknown;
  };
  return {
    system: messages[0]?.content as string,
    user: messages[1]?.content as string,
    format: JSON.stringify(response_format),
  };
}

/** Makes a query in the form in which a model writes it. */
export const makeQuery = (fields: Record<string, unknown>) => ({
  metrics: ['Revenue'],
  dimensions: [],
  filters: [],
  time_grain: null,
  order_by: [],
  limit: null,
  ...fields,
});

/** Makes a model's answer that is a query, in contrast to a clarification or a refusal. */
export const makeAnswer = (fields: Record<string, unknown>) => ({
  answer: { kind: 'answer', query: makeQuery(fields), alternatives: [] },
});
export const makeClarification = (...readings: Record<string, unknown>[]) => ({
  answer: { kind: 'clarification', query: null, alternatives: readings.map(makeQuery) },
});
export const REFUSAL = { answer: { kind: 'refusal', query: null, alternatives: [] } };
