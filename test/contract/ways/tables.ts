import { makeName } from '../../knowledge/support.ts';
import { column, createTable, makeTableRoutes } from '../../managed-tables/support.ts';
import type { ApiResponse, Caller } from '../../support/api.ts';
import { must } from '../../support/signed.ts';
import type { Company } from '../../support/worlds.ts';
import {
  createHeldQueue,
  deliverAllMessages,
  loadFiles,
  makeFile,
  readJob,
  uploadFiles,
} from '../../uploads/support.ts';
import { requestUpload } from '../../uploads/tus.ts';
import { type AccessPath, type AccessTarget, makeResourceArn } from './way.ts';

export const createNumberTable = async ({ as }: Pick<Company, 'as'>): Promise<{ id: string; name: string }> => {
  const name = makeName('matrix').replace(' ', '_');
  const id = await createTable(as, name, [column('n', 'integer')]);
  await must(makeTableRoutes(as, id).insert([{ n: 41 }]));
  return { id, name };
};

const makeNumbersFile = () => [makeFile('n.csv', 'n\n1\n')];

type Asking = (company: Company, tableId: string) => Promise<AccessTarget['ask']>;

/** Rows of a table, which a load changes. */
const makeLoadWay = (way: string, route: string, ask: Asking): AccessPath =>
  loading("table's rows", 'managed-tables:data-write', way, route, ask);

/** Columns of a table, which a load changes. */
const makeGrowthWay = (way: string, route: string, ask: Asking): AccessPath =>
  loading("table's columns", 'managed-tables:update', way, route, ask);

const loading = (
  thing: string,
  action: AccessPath['denied'][number],
  way: string,
  route: string,
  ask: Asking,
): AccessPath => ({
  thing,
  way,
  routes: [route],
  besides: ['managed-tables:upload'],
  needs: [action],
  denied: [action, 'managed-tables:upload'],
  async make(company) {
    const { id } = await createNumberTable(company);
    return { arn: makeResourceArn(company, 'table', id), ask: await ask(company, id) };
  },
});

const JOBS_PATH = '/v1/managed-tables/upload-jobs';

/** A call of a tool, as an answer: what it holds, or why not. */
export const callTool =
  (name: string, sent: object) =>
  async (as: Caller): Promise<ApiResponse> => {
    const params = { name, arguments: sent };
    const headers = { accept: 'application/json, text/event-stream' };
    return as.post('/mcp', { headers, json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } });
  };
export const hasToolAnswered = ({ status, body }: ApiResponse): boolean =>
  status === 200 && body.result?.isError !== true;

/** Tables and their rows, beside their own routes. */
export const TABLE_WAYS: AccessPath[] = [
  makeLoadWay('replaced by an upload', 'POST /v1/managed-tables/{id}/upload', async (_, id) => (as) => {
    const form = new FormData();
    form.append('mode', 'replace');
    for (const file of makeNumbersFile()) form.append('files', file);
    return as.post(`/v1/managed-tables/${id}/upload`, { body: form, env: createHeldQueue().env as never });
  }),
  makeLoadWay(
    'replaced by an upload from an address',
    'POST /v1/managed-tables/upload-from-url',
    async (_, id) => (as) => {
      const json = { url: 'https://files.example.com/n.csv', table_id: id, mode: 'replace' };
      return as.post('/v1/managed-tables/upload-from-url', { json, env: createHeldQueue().env as never });
    },
  ),
  makeLoadWay(
    'replaced by a resumable upload',
    'POST /v1/managed-tables/uploads',
    async (_, id) => (as) => requestUpload(as, 10, { said: { table_id: id, mode: 'replace' } }),
  ),
  makeLoadWay('replaced by an upload that is confirmed', `POST ${JOBS_PATH}/{jobId}/confirm`, async (company, id) => {
    const queue = createHeldQueue();
    const job = await uploadFiles(company, makeNumbersFile(), { ...queue, into: id, mode: 'replace' });
    await deliverAllMessages(queue);
    const { columns } = (await readJob(company, job)).inferred_schema;
    return (as) => as.post(`${JOBS_PATH}/${job}/confirm`, { json: { columns }, env: createHeldQueue().env as never });
  }),
  makeGrowthWay('changed by an upload', 'POST /v1/managed-tables/{id}/upload', async (_, id) => (as) => {
    const form = new FormData();
    form.append('evolve', 'add');
    for (const file of makeNumbersFile()) form.append('files', file);
    return as.post(`/v1/managed-tables/${id}/upload`, { body: form, env: createHeldQueue().env as never });
  }),
  makeGrowthWay(
    'changed by an upload from an address',
    'POST /v1/managed-tables/upload-from-url',
    async (_, id) => (as) => {
      const json = { url: 'https://files.example.com/n.csv', table_id: id, evolve: 'add' };
      return as.post('/v1/managed-tables/upload-from-url', { json, env: createHeldQueue().env as never });
    },
  ),
  makeGrowthWay('changed by an upload that is confirmed', `POST ${JOBS_PATH}/{jobId}/confirm`, async (company, id) => {
    const queue = createHeldQueue();
    const job = await uploadFiles(company, makeNumbersFile(), { ...queue, into: id, evolve: 'add' });
    await deliverAllMessages(queue);
    const { columns } = (await readJob(company, job)).inferred_schema;
    return (as) => as.post(`${JOBS_PATH}/${job}/confirm`, { json: { columns }, env: createHeldQueue().env as never });
  }),
  makeLoadWay('a load of them, undone', `POST ${JOBS_PATH}/{jobId}/undo`, async (company, id) => {
    const { _id } = await loadFiles(company, makeNumbersFile(), {}, { into: id });
    return (as) => as.post(`${JOBS_PATH}/${_id}/undo`);
  }),
  {
    thing: 'table',
    way: 'described to an agent',
    routes: ['POST /mcp'],
    needs: ['managed-tables:list'],
    denied: ['managed-tables:list'],
    async make(company) {
      const { id } = await createNumberTable(company);
      return { arn: makeResourceArn(company, 'table', id), ask: callTool('describe_table', { table_id: id }) };
    },
    reached: hasToolAnswered,
  },
  {
    thing: 'table',
    way: 'listed to an agent',
    routes: ['POST /mcp'],
    besides: ['managed-tables:list'],
    denied: ['managed-tables:list'],
    async make(company) {
      const { id, name } = await createNumberTable(company);
      return { arn: makeResourceArn(company, 'table', id), ask: callTool('list_tables', { search: name }) };
    },
    reached: (answer) => hasToolAnswered(answer) && answer.body.result.structuredContent.data.total === 1,
  },
  {
    thing: "table's rows",
    way: 'read by an agent',
    routes: ['POST /mcp'],
    needs: ['managed-tables:data-read'],
    denied: ['managed-tables:data-read'],
    async make(company) {
      const { id } = await createNumberTable(company);
      return { arn: makeResourceArn(company, 'table', id), ask: callTool('query_rows', { table_id: id }) };
    },
    reached: hasToolAnswered,
  },
];
