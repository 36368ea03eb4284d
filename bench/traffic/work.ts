import { setTimeout as sleep } from 'node:timers/promises';
import { loadJob, type System, uploadFile, waitForJob } from '../system.ts';
import type { Callers } from './callers.ts';

const REGIONS = ['norte', 'sul', 'leste', 'oeste'];
const UPLOADED_ROW_COUNT = 5000;
const POLL_MS = 500;
const TIMEOUT_MS = 60_000;

/** Objects that the traffic works on: a table, and a dashboard over it that is shared. */
export interface TrafficObjects {
  tableId: string;
  visualizationId: string;
  /** Path of an embed's API, without its last part. */
  embedPath: string;
  /** Path of a public link's API, without its last part. */
  sharePath: string;
}

/** Repeated activity of a caller. @param roundIndex number of the repetition, from 0 */
export type Activity = (roundIndex: number) => Promise<void>;

const makeCsv = (rowCount: number, seed: number): string =>
  ['regiao,produto,valor,dia']
    .concat(
      Array.from({ length: rowCount }, (_, n) => {
        const day = String(1 + (n % 28)).padStart(2, '0');
        return `${REGIONS[(n + seed) % REGIONS.length]},Produto ${n % 97},${(n * 7) % 1000}.${seed % 10},2024-05-${day}`;
      }),
    )
    .join('\n');

const makeFile = (csv: string): File => new File([csv], 'vendas.csv', { type: 'text/csv' });

/** Creates the traffic's objects through the API. */
export async function createTrafficObjects(system: System): Promise<TrafficObjects> {
  const jobId = await uploadFile(system, makeFile(makeCsv(20_000, 1)));
  const job = await waitForJob(system, jobId, 'waiting_confirm');
  const { user_table_id: tableId } = await loadJob(system, job, { display_name: 'vendas' });
  const region = { slug: 'regiao', label: 'Região', kind: 'text' };
  const { _id: visualizationId } = await system.call('POST', '/v1/visualizations', {
    name: 'Vendas por produto',
    sql: 'SELECT produto, sum(valor) AS total FROM vendas WHERE regiao = {{regiao}} GROUP BY 1 ORDER BY 1',
    parameters: [{ ...region, default: 'sul' }],
  });
  const { _id: dashboardId } = await system.call('POST', '/v1/dashboards', {
    name: 'Vendas',
    cache_seconds: 1,
    layout: [{ visualization_id: visualizationId, x: 0, y: 0, w: 6, h: 4 }],
    filters: [region],
  });
  const embed = await system.call('POST', `/api/v1/embed/dashboards/${dashboardId}`, { allowed_params: ['regiao'] });
  const share = await system.call('POST', `/api/v1/dashboards/${dashboardId}/shares`, { share_type: 'link' });
  return {
    tableId,
    visualizationId,
    embedPath: `/api/embed/d/${embed.token}`,
    sharePath: `/api/v1/public/shares/${share.token}`,
  };
}

/** Makes the activity of automation: creates a group, reads lists, deletes the group. */
export const makeAutomationActivity =
  (callers: Callers): Activity =>
  async (roundIndex) => {
    const group = await callers.sendSigned('POST', '/groups', { name: `grupo ${roundIndex} ${crypto.randomUUID()}` });
    await callers.sendSigned('GET', '/users?quantity=50');
    await callers.sendSigned('GET', '/groups?quantity=50');
    if (!group) return;
    await callers.sendSigned('GET', `/groups/${group.id}`);
    await callers.sendSigned('DELETE', `/groups/${group.id}`);
  };

/** Makes the activity of a person at the console: reads and writes rows, runs a visualization. */
export const makePersonActivity =
  (callers: Callers, { tableId, visualizationId }: TrafficObjects): Activity =>
  async (roundIndex) => {
    await callers.sendAsBearer('GET', '/v1/auth/me');
    await callers.sendAsBearer('GET', `/v1/managed-tables/${tableId}/data?page=${1 + (roundIndex % 200)}&per_page=50`);
    const rows = [{ regiao: REGIONS[roundIndex % 4], produto: 'Novo', valor: roundIndex, dia: '2024-06-01' }];
    await callers.sendAsBearer('POST', `/v1/managed-tables/${tableId}/data`, { rows });
    const parameters = { regiao: REGIONS[roundIndex % 4] };
    await callers.sendAsBearer('POST', `/v1/visualizations/${visualizationId}/execute`, { parameters });
  };

/** Makes the activity of viewers of an embed and of a public link. */
export const makeViewerActivity =
  (callers: Callers, { embedPath, sharePath }: TrafficObjects): Activity =>
  async (roundIndex) => {
    const parameters = { regiao: REGIONS[roundIndex % 4] };
    await callers.sendAsViewer('GET', `${embedPath}/info`);
    await callers.sendAsViewer('POST', `${embedPath}/execute`, { parameters });
    await callers.sendAsViewer('GET', `${sharePath}/resolve`);
    await callers.sendAsViewer('POST', `${sharePath}/execute`, { parameters });
  };

/** Makes the activity of an uploader: uploads a file, confirms, waits for the table, counts its rows, deletes it. */
export const makeUploaderActivity =
  (callers: Callers): Activity =>
  async (roundIndex) => {
    const form = new FormData();
    form.append('files', makeFile(makeCsv(UPLOADED_ROW_COUNT, roundIndex)));
    const uploadAnswer = await callers.sendAsBearer('POST', '/v1/managed-tables/upload', form);
    if (!uploadAnswer) return;
    const path = `/v1/managed-tables/upload-jobs/${uploadAnswer.job_id}`;
    const inferredJob = await readJob(callers, path, 'waiting_confirm');
    const table = { display_name: `carga_${roundIndex}`, columns: inferredJob.inferred_schema.columns };
    await callers.sendAsBearer('POST', `${path}/confirm`, table);
    const { user_table_id: tableId } = await readJob(callers, path, 'done');
    const { row_count: rows } = await callers.sendAsBearer('GET', `/v1/managed-tables/${tableId}`);
    if (rows !== UPLOADED_ROW_COUNT) throw new Error(`An upload of ${UPLOADED_ROW_COUNT} rows made a table of ${rows}`);
    await callers.sendAsBearer('DELETE', `/v1/managed-tables/${tableId}`);
  };

// biome-ignore lint/suspicious/noExplicitAny: the record as the API answers it.
async function readJob(callers: Callers, path: string, status: string): Promise<any> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const job = await callers.sendAsBearer('GET', path);
    if (job?.status === status) return job;
    if (job?.status === 'failed') throw new Error(`An upload failed: ${JSON.stringify(job.error)}`);
    if (Date.now() > deadline) throw new Error(`An upload was not ${status} after ${TIMEOUT_MS / 1000} s`);
    await sleep(POLL_MS);
  }
}
