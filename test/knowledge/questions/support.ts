import { aTable, column } from '../../managed-tables/support.ts';
import type { Caller } from '../../support/api.ts';
import { must } from '../../support/signed.ts';
import { aConcept, aName, anItem, KNOWLEDGE_PATH } from '../support.ts';

export const QUESTIONS = `${KNOWLEDGE_PATH}/verified-questions`;

let tables = 0;

/** A table of numbers, an active metric that sums them, and a question that it answers. */
export async function aSum(as: Caller) {
  tables += 1;
  const name = `summed_${tables}`;
  const id = await aTable(as, name, [column('a', 'integer'), column('b')]);
  const metric = aName('Sum');
  const item = await anItem(as, {
    kind: 'metric',
    name: metric,
    formula: 'sum(a)',
    mapped_tables: [name],
    status: 'active',
    source_concept_ids: [await aConcept(as)],
  });
  return { table: { id, name }, item, metric, query: { metrics: [metric] } };
}

/** A verified question about a sum of its own. */
export async function aQuestion(as: Caller, fields: Record<string, unknown> = {}) {
  const sum = await aSum(as);
  const json = { question: `${aName('How much')}?`, query: sum.query, ...fields };
  const { _id } = await must(as.post(QUESTIONS, { json }));
  return { ...sum, id: _id as string, question: json.question };
}
