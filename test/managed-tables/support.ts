import { createExecutionContext, env } from 'cloudflare:test';
import { openContext } from '../../src/context.ts';
import { requireDatabase } from '../../src/modules/managed-database/service.ts';
import type { TenantSql } from '../../src/tenant-sql/client.ts';
import { type ApiResponse, BASE_URL, type Caller } from '../support/api.ts';
import worker from '../support/worker.ts';

const TABLES_PATH = '/v1/managed-tables';

export type ColumnInput = { name: string; display_name: string; type: string; nullable: boolean };

/** Makes the input for a nullable column. */
export const makeColumn = (name: string, type = 'text', nullable = true): ColumnInput => ({
  name,
  display_name: name,
  type,
  nullable,
});

/** Creates a table with the given columns, and returns its id. */
export async function createTable(as: Caller, displayName: string, columns: ColumnInput[]): Promise<string> {
  const { status, body } = await as.post(TABLES_PATH, { json: { display_name: displayName, columns } });
  if (status !== 201) throw new Error(`Creating ${displayName} answered ${status}: ${JSON.stringify(body)}`);
  return body._id;
}

/** Makes functions that send requests to the routes of one table. */
export function createTableClient(as: Caller, id: string) {
  return {
    get: () => as.get(`${TABLES_PATH}/${id}`),
    put: (json: unknown) => as.put(`${TABLES_PATH}/${id}`, { json }),
    delete: () => as.delete(`${TABLES_PATH}/${id}`),
    loads: (query = '') => as.get(`${TABLES_PATH}/${id}/loads${query}`),
    restore: () => as.post(`${TABLES_PATH}/${id}/restore`),
    truncate: () => as.post(`${TABLES_PATH}/${id}/truncate`),
    rows: (query = ''): Promise<ApiResponse> => as.get(`${TABLES_PATH}/${id}/data${query}`),
    exportPath: (query = '') => `${TABLES_PATH}/${id}/export${query}`,
    export: (query = '') => as.get(`${TABLES_PATH}/${id}/export${query}`),
    rowPath: (rowId: string) => `${TABLES_PATH}/${id}/data/${rowId}`,
    row: (rowId: string) => as.get(`${TABLES_PATH}/${id}/data/${rowId}`),
    indexes: () => as.get(`${TABLES_PATH}/${id}/indexes`),
    index: (columns: unknown, isUnique?: boolean) =>
      as.post(`${TABLES_PATH}/${id}/indexes`, { json: { columns, unique: isUnique } }),
    deleteIndex: (indexId: string) => as.delete(`${TABLES_PATH}/${id}/indexes/${indexId}`),
    insert: (rows: unknown) => as.post(`${TABLES_PATH}/${id}/data`, { json: { rows } }),
    updateRow: (rowId: string, json: unknown) => as.put(`${TABLES_PATH}/${id}/data/${rowId}`, { json }),
    deleteRow: (rowId: string) => as.delete(`${TABLES_PATH}/${id}/data/${rowId}`),
  };
}

/** Requests a path, and returns the response unread. */
export const readRaw = ({ token }: { token: string }, path: string): Promise<Response> =>
  Promise.resolve(
    worker.fetch(
      new Request(`${BASE_URL}${path}`, { headers: { authorization: `Bearer ${token}` } }),
      env,
      createExecutionContext(),
    ),
  );

/** Lists the values of one column, in the order of the answer. */
export const listValues = (answer: ApiResponse, name: string): unknown[] =>
  answer.body.records.map((record: Record<string, unknown>) => record[name]);

/** Runs statements in the company's Postgres, bypassing the API. */
export async function runInCompanyDatabase<T>(
  companyId: string,
  work: (database: TenantSql) => Promise<T>,
): Promise<T> {
  const origin = { env, waitUntil: () => undefined, correlationId: 'test', baseUrl: '', ip: null };
  const { context, close } = openContext(origin, { kind: 'system', companyId });
  try {
    return await work(await requireDatabase(context));
  } finally {
    await close();
  }
}
