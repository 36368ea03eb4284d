import { makeName } from '../../knowledge/support.ts';
import { createTable, createTableClient, makeColumn } from '../../managed-tables/support.ts';
import type { ApiResponse, Caller } from '../../support/api.ts';
import type { Company } from '../../support/companies.ts';
import { expectSuccess } from '../../support/signed.ts';
import {
  createTestQueue,
  deliverAllMessages,
  loadFiles,
  makeFile,
  readJob,
  uploadFiles,
} from '../../uploads/support.ts';
import { requestUpload } from '../../uploads/tus.ts';
import { type AccessPath, type AccessTarget, makeResourceArn } from './access-path.ts';

export const createNumberTable = async ({ as }: Pick<Company, 'as'>): Promise<{ id: string; name: string }> => {
  const name = makeName('matrix').replace(' ', '_');
  const id = await createTable(as, name, [makeColumn('n', 'integer')]);
  await expectSuccess(createTableClient(as, id).insert([{ n: 41 }]));
  return { id, name };
};

const makeNumbersFile = () => [makeFile('n.csv', 'n\n1\n')];

type RequestMaker = (company: Company, tableId: string) => Promise<AccessTarget['ask']>;

/** Makes the access path to the rows of a table, which a load changes. */
const makeLoadPath = (label: string, route: string, makeRequest: RequestMaker): AccessPath =>
  makeUploadPath("table's rows", 'managed-tables:data-write', label, route, makeRequest);

/** Makes the access path to the columns of a table, which a load changes. */
const makeGrowthPath = (label: string, route: string, makeRequest: RequestMaker): AccessPath =>
  makeUploadPath("table's columns", 'managed-tables:update', label, route, makeRequest);

const makeUploadPath = (
  resourceName: string,
  action: AccessPath['closingActions'][number],
  label: string,
  route: string,
  makeRequest: RequestMaker,
): AccessPath => ({
  resourceTitle: resourceName,
  description: label,
  routes: [route],
  extraActions: ['managed-tables:upload'],
  neededActions: [action],
  closingActions: [action, 'managed-tables:upload'],
  async createTarget(company) {
    const { id } = await createNumberTable(company);
    return { arn: makeResourceArn(company, 'table', id), ask: await makeRequest(company, id) };
  },
});

const JOBS_PATH = '/v1/managed-tables/upload-jobs';

/** Makes a request that calls an MCP tool. */
export const makeToolCall =
  (name: string, toolArguments: object) =>
  async (as: Caller): Promise<ApiResponse> => {
    const params = { name, arguments: toolArguments };
    const headers = { accept: 'application/json, text/event-stream' };
    return as.post('/mcp', { headers, json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } });
  };
export const hasToolAnswered = ({ status, body }: ApiResponse): boolean =>
  status === 200 && body.result?.isError !== true;

/** Access paths to tables and their rows through other routes than their own. */
export const TABLE_PATHS: AccessPath[] = [
  makeLoadPath('replaced by an upload', 'POST /v1/managed-tables/{id}/upload', async (_, id) => (as) => {
    const form = new FormData();
    form.append('mode', 'replace');
    for (const file of makeNumbersFile()) form.append('files', file);
    return as.post(`/v1/managed-tables/${id}/upload`, { body: form, env: createTestQueue().env as never });
  }),
  makeLoadPath(
    'replaced by an upload from an address',
    'POST /v1/managed-tables/upload-from-url',
    async (_, id) => (as) => {
      const json = { url: 'https://files.example.com/n.csv', table_id: id, mode: 'replace' };
      return as.post('/v1/managed-tables/upload-from-url', { json, env: createTestQueue().env as never });
    },
  ),
  makeLoadPath(
    'replaced by a resumable upload',
    'POST /v1/managed-tables/uploads',
    async (_, id) => (as) => requestUpload(as, 10, { metadata: { table_id: id, mode: 'replace' } }),
  ),
  makeLoadPath('replaced by an upload that is confirmed', `POST ${JOBS_PATH}/{jobId}/confirm`, async (company, id) => {
    const queue = createTestQueue();
    const job = await uploadFiles(company, makeNumbersFile(), { ...queue, into: id, mode: 'replace' });
    await deliverAllMessages(queue);
    const { columns } = (await readJob(company, job)).inferred_schema;
    return (as) => as.post(`${JOBS_PATH}/${job}/confirm`, { json: { columns }, env: createTestQueue().env as never });
  }),
  makeGrowthPath('changed by an upload', 'POST /v1/managed-tables/{id}/upload', async (_, id) => (as) => {
    const form = new FormData();
    form.append('evolve', 'add');
    for (const file of makeNumbersFile()) form.append('files', file);
    return as.post(`/v1/managed-tables/${id}/upload`, { body: form, env: createTestQueue().env as never });
  }),
  makeGrowthPath(
    'changed by an upload from an address',
    'POST /v1/managed-tables/upload-from-url',
    async (_, id) => (as) => {
      const json = { url: 'https://files.example.com/n.csv', table_id: id, evolve: 'add' };
      return as.post('/v1/managed-tables/upload-from-url', { json, env: createTestQueue().env as never });
    },
  ),
  makeGrowthPath('changed by an upload that is confirmed', `POST ${JOBS_PATH}/{jobId}/confirm`, async (company, id) => {
    const queue = createTestQueue();
    const job = await uploadFiles(company, makeNumbersFile(), { ...queue, into: id, evolve: 'add' });
    await deliverAllMessages(queue);
    const { columns } = (await readJob(company, job)).inferred_schema;
    return (as) => as.post(`${JOBS_PATH}/${job}/confirm`, { json: { columns }, env: createTestQueue().env as never });
  }),
  makeLoadPath('a load of them, undone', `POST ${JOBS_PATH}/{jobId}/undo`, async (company, id) => {
    const { _id } = await loadFiles(company, makeNumbersFile(), {}, { into: id });
    return (as) => as.post(`${JOBS_PATH}/${_id}/undo`);
  }),
  {
    resourceTitle: 'table',
    description: 'described to an agent',
    routes: ['POST /mcp'],
    neededActions: ['managed-tables:list'],
    closingActions: ['managed-tables:list'],
    async createTarget(company) {
      const { id } = await createNumberTable(company);
      return { arn: makeResourceArn(company, 'table', id), ask: makeToolCall('describe_table', { table_id: id }) };
    },
    isReachedBy: hasToolAnswered,
  },
  {
    resourceTitle: 'table',
    description: 'listed to an agent',
    routes: ['POST /mcp'],
    extraActions: ['managed-tables:list'],
    closingActions: ['managed-tables:list'],
    async createTarget(company) {
      const { id, name } = await createNumberTable(company);
      return { arn: makeResourceArn(company, 'table', id), ask: makeToolCall('list_tables', { search: name }) };
    },
    isReachedBy: (answer) => hasToolAnswered(answer) && answer.body.result.structuredContent.data.total === 1,
  },
  {
    resourceTitle: "table's rows",
    description: 'read by an agent',
    routes: ['POST /mcp'],
    neededActions: ['managed-tables:data-read'],
    closingActions: ['managed-tables:data-read'],
    async createTarget(company) {
      const { id } = await createNumberTable(company);
      return { arn: makeResourceArn(company, 'table', id), ask: makeToolCall('query_rows', { table_id: id }) };
    },
    isReachedBy: hasToolAnswered,
  },
];
