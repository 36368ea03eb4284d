import { createTable, makeColumn } from '../../managed-tables/support.ts';
import type { Caller } from '../../support/api.ts';
import { expectSuccess } from '../../support/signed.ts';
import { createConcept, createItem, KNOWLEDGE_PATH, makeName } from '../support.ts';

export const QUESTIONS_PATH = `${KNOWLEDGE_PATH}/verified-questions`;

let tableCount = 0;

/** Creates a table of numbers, an active metric that sums them, and input for a question that the metric answers. */
export async function createSumMetric(as: Caller) {
  const name = `summed_${++tableCount}`;
  const id = await createTable(as, name, [makeColumn('a', 'integer'), makeColumn('b')]);
  const metric = makeName('Sum');
  const item = await createItem(as, {
    kind: 'metric',
    name: metric,
    formula: 'sum(a)',
    mapped_tables: [name],
    status: 'active',
    source_concept_ids: [await createConcept(as)],
  });
  return { table: { id, name }, item, metric, query: { metrics: [metric] } };
}

/** Creates a verified question about a new table and metric. */
export async function createQuestion(as: Caller, fields: Record<string, unknown> = {}) {
  const sum = await createSumMetric(as);
  const json = { question: `${makeName('How much')}?`, query: sum.query, ...fields };
  const { _id } = await expectSuccess(as.post(QUESTIONS_PATH, { json }));
  return { ...sum, id: _id as string, question: json.question };
}
