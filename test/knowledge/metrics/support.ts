import type { ApiResponse, Caller } from '../../support/api.ts';
import { createItem, KNOWLEDGE_PATH } from '../support.ts';

/** Asks for metrics. */
export const queryMetrics = (as: Caller, json: Record<string, unknown>): Promise<ApiResponse> =>
  as.post(`${KNOWLEDGE_PATH}/semantic/query`, { json });

/** Makes active semantic items, each by its name, all of one concept. */
export function createItemMaker(as: () => Caller, concept: () => string) {
  const make = (kind: string) => (name: string, fields: Record<string, unknown>) =>
    createItem(as(), { kind, name, status: 'active', source_concept_ids: [concept()], ...fields });
  return { metric: make('metric'), dimension: make('dimension'), mapping: make('mapping') };
}

/** Adds rows to a table and answers their ids in the order that they were sent. */
export async function insertRows(as: Caller, table: string, rows: Record<string, unknown>[]): Promise<string[]> {
  const sent = await as.post(`/v1/managed-tables/${table}/data`, { json: { rows } });
  if (sent.status !== 201) throw new Error(`Answered ${sent.status}: ${JSON.stringify(sent.body)}`);
  const { body } = await as.get(`/v1/managed-tables/${table}/data?per_page=1000`);
  return body.records.slice(-rows.length).map(({ id }: { id: string }) => id);
}
