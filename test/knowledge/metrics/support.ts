import type { ApiResponse, Caller } from '../../support/api.ts';
import { createItem, KNOWLEDGE_PATH } from '../support.ts';

/** Sends a metric query. */
export const queryMetrics = (as: Caller, json: Record<string, unknown>): Promise<ApiResponse> =>
  as.post(`${KNOWLEDGE_PATH}/semantic/query`, { json });

/** Creates functions that make active semantic items, each by its kind and name, all from one concept. */
export function createItemMaker(getCaller: () => Caller, getConceptId: () => string) {
  const createItemOfKind = (kind: string) => (name: string, fields: Record<string, unknown>) =>
    createItem(getCaller(), { kind, name, status: 'active', source_concept_ids: [getConceptId()], ...fields });
  return {
    metric: createItemOfKind('metric'),
    dimension: createItemOfKind('dimension'),
    mapping: createItemOfKind('mapping'),
  };
}

/** Adds rows to a table, and returns their ids in the order in which the rows were sent. */
export async function insertRows(as: Caller, table: string, rows: Record<string, unknown>[]): Promise<string[]> {
  const insertionAnswer = await as.post(`/v1/managed-tables/${table}/data`, { json: { rows } });
  if (insertionAnswer.status !== 201)
    throw new Error(`Answered ${insertionAnswer.status}: ${JSON.stringify(insertionAnswer.body)}`);
  const { body } = await as.get(`/v1/managed-tables/${table}/data?per_page=1000`);
  return body.records.slice(-rows.length).map(({ id }: { id: string }) => id);
}
