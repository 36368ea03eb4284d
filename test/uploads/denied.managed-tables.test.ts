import { beforeAll, expect, it } from 'vitest';
import { aTable, column } from '../managed-tables/support.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { aFile, aHeldQueue, deliverAll, jobOf, upload } from './support.ts';

const JOBS_PATH = '/v1/managed-tables/upload-jobs';
const ON_TABLES = ['managed-tables:list', 'managed-tables:upload'];

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
});

const arnOf = (tableId: string) => `arn:svc:managed-tables::${company.id}:table/${tableId}`;

/** A job that waits to be confirmed, into a table of its own. */
async function aWaitingJob(name: string) {
  const queue = aHeldQueue();
  const tableId = await aTable(company.as, name, [column('n', 'integer')]);
  const jobId = await upload(company, [aFile('n.csv', 'n\n1\n')], { ...queue, into: tableId });
  await deliverAll(queue);
  const { columns } = (await jobOf(company, jobId)).inferred_schema;
  return { tableId, jobId, columns };
}

it('a Deny on a table also denies its upload jobs', async () => {
  const secret = await aWaitingJob('secreta');
  const open = await aWaitingJob('aberta');
  const { as } = await aUser(company, {
    can: ON_TABLES,
    denied: ['managed-tables:*'],
    deniedOn: [arnOf(secret.tableId)],
  });

  expect((await as.get(`${JOBS_PATH}/${secret.jobId}`)).status).toBe(403);
  const { columns } = secret;
  expect((await as.post(`${JOBS_PATH}/${secret.jobId}/confirm`, { json: { columns } })).status).toBe(403);
  expect((await as.post(`${JOBS_PATH}/${secret.jobId}/cancel`)).status).toBe(403);
  const listed = await as.get(`${JOBS_PATH}/active`);
  expect(listed.body.records.map(({ _id }: { _id: string }) => _id)).toEqual([open.jobId]);
  expect((await company.as.get(`${JOBS_PATH}/active`)).body.records).toHaveLength(2);
  expect(await jobOf(company, secret.jobId)).toMatchObject({ status: 'waiting_confirm' });

  expect((await as.get(`${JOBS_PATH}/${open.jobId}`)).status).toBe(200);
  expect((await as.post(`${JOBS_PATH}/${open.jobId}/cancel`)).status).toBe(200);
});

it('a caller with read but not upload permission on a table may read its upload jobs, not confirm or cancel them', async () => {
  const { tableId, jobId, columns } = await aWaitingJob('so_leitura');
  const { as } = await aUser(company, {
    can: ON_TABLES,
    denied: ['managed-tables:upload'],
    deniedOn: [arnOf(tableId)],
  });
  expect((await as.get(`${JOBS_PATH}/${jobId}`)).status).toBe(200);
  expect((await as.post(`${JOBS_PATH}/${jobId}/confirm`, { json: { columns } })).status).toBe(403);
  expect((await as.post(`${JOBS_PATH}/${jobId}/cancel`)).status).toBe(403);
});
