/**
 * Measures how much of the platform a million API requests and a million shared views use, and computes the cost by the
 * list prices of `cost/prices.ts`. Writes the measured use to `cost/measured.json`, and the cost of a month to
 * `docs/operations.md`.
 *
 *   npm run bench -- cost
 *
 * Requests are sent one after the other, so that each appends its record to the log in a call of its own. A shared view
 * is one that `view_count` counts: an execution by a viewer with the link; every second execution is answered from the
 * cache. The requests' log records are billed for as long as they stay in their logs, and then for being moved to R2.
 * The costs of Neon are not included.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signedRequest } from '../examples/signing/sign.ts';
import { computeTotalCost } from './cost/prices.ts';
import { type MeasuredUse, replaceTable, TRAFFIC_KINDS, type TrafficKind } from './cost/table.ts';
import { printUseAndCost, scaleToMillion, type Usage } from './cost/usage.ts';
import { startSystem } from './system.ts';
import { createTrafficObjects } from './traffic/work.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const MAX_DOLLARS = 3.5;
/** Number of measured rounds of each sort of traffic: 400 requests, as many as a quiet company sends in a day. */
const ROUND_COUNTS: Record<TrafficKind, number> = { api: 20, views: 200 };
const WARM_UP_ROUND_COUNT = 2;
const MEASURED_ROUND_COUNT = 20;
/** Milliseconds until the work that follows the answers is finished. */
const SETTLE_MS = 3000;

/** Number of requests of each kind in a round of twenty API requests; two of the kinds write. */
const API_REQUEST_COUNTS = { users: 5, groups: 4, newGroup: 1, me: 1, rows: 5, newRow: 1, run: 3 };

const system = await startSystem('bench/metered/worker.ts');
try {
  const { tableId, visualizationId, sharePath } = await createTrafficObjects(system);
  const token = await system.logIn();
  let requestNumber = 0;

  const send = async (request: Request): Promise<void> => {
    const answer = await fetch(request);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${request.method} ${request.url} answered ${answer.status}: ${text}`);
  };
  const sendSigned = async (method: string, path: string, body?: object) =>
    send(await signedRequest(system.serviceAccountKey, method, system.baseUrl + path, body));
  const sendUnsigned = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    send(
      new Request(system.baseUrl + path, {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
  const sendWithToken = (method: string, path: string, body?: object) =>
    sendUnsigned(method, path, body, { authorization: `Bearer ${token}` });
  const dataPath = `/v1/managed-tables/${tableId}/data`;
  const insertedRow = { regiao: 'sul', produto: 'Novo', valor: 1, dia: '2024-06-01' };
  const sendByKind: Record<keyof typeof API_REQUEST_COUNTS, () => Promise<void>> = {
    users: () => sendSigned('GET', '/users?quantity=50'),
    groups: () => sendSigned('GET', '/groups?quantity=50'),
    newGroup: () => sendSigned('POST', '/groups', { name: `grupo ${requestNumber}` }),
    me: () => sendWithToken('GET', '/v1/auth/me'),
    rows: () => sendWithToken('GET', `${dataPath}?page=${1 + (requestNumber % 200)}&per_page=50`),
    newRow: () => sendWithToken('POST', dataPath, { rows: [insertedRow] }),
    run: () =>
      sendWithToken('POST', `/v1/visualizations/${visualizationId}/execute`, { parameters: { regiao: 'sul' } }),
  };
  const sendSharedView = (regiao: string) => sendUnsigned('POST', `${sharePath}/execute`, { parameters: { regiao } });

  /** Functions that send one round of a sort of traffic. @returns the number of requests of the round */
  const runRound: Record<TrafficKind, () => Promise<number>> = {
    async api() {
      let requestCount = 0;
      for (const [kind, times] of Object.entries(API_REQUEST_COUNTS) as [keyof typeof API_REQUEST_COUNTS, number][]) {
        for (let time = 0; time < times; time += 1, requestCount += 1, requestNumber += 1) await sendByKind[kind]();
      }
      return requestCount;
    },
    async views() {
      requestNumber += 1;
      await sendSharedView(`sul ${requestNumber}`);
      await sendSharedView(`sul ${requestNumber}`);
      return 2;
    },
  };
  const readUsage = async (): Promise<Usage> => {
    await sleep(SETTLE_MS);
    return (await fetch(`${system.baseUrl}/bench/usage`)).json() as Promise<Usage>;
  };

  /** Has the logs move all their records to R2, as they do once the records are 90 days old. */
  const moveLogs = async (): Promise<void> => {
    await sleep(SETTLE_MS);
    const answer = await fetch(`${system.baseUrl}/bench/move`);
    if (!answer.ok) throw new Error(`The records were not moved: ${await answer.text()}`);
  };

  const measuredUse = {} as MeasuredUse;
  for (const trafficKind of Object.keys(TRAFFIC_KINDS) as TrafficKind[]) {
    for (let round = 0; round < WARM_UP_ROUND_COUNT; round += 1) await runRound[trafficKind]();
    await moveLogs();
    await readUsage();
    let requestCount = 0;
    for (let round = 0; round < ROUND_COUNTS[trafficKind]; round += 1) requestCount += await runRound[trafficKind]();
    const usage = await readUsage();
    const recordsPerRequest = Math.round((usage['objects.records'] ?? 0) / requestCount);
    const usePerMillion = scaleToMillion(usage, requestCount, usage['objects.records'] ?? 0);
    await moveLogs();
    const moveUsePerMillion = scaleToMillion(await readUsage(), requestCount, 0);
    measuredUse[trafficKind] = {
      requestUsage: usePerMillion,
      moveUsage: moveUsePerMillion,
      recordCountPerRequest: recordsPerRequest,
    };
    printUseAndCost(TRAFFIC_KINDS[trafficKind], usePerMillion);
    printUseAndCost(`${TRAFFIC_KINDS[trafficKind]}, when their records move to R2,`, moveUsePerMillion);
    printVerdict(
      `a million ${TRAFFIC_KINDS[trafficKind]}, by list prices, their records moved to R2 after 90 days`,
      computeTotalCost(usePerMillion) + computeTotalCost(moveUsePerMillion),
      makeUpperLimit(MAX_DOLLARS),
      'US dollars',
    );
  }
  await writeCosts(measuredUse);

  // What is left to the control database, whose one primary answers so many batches a second.
  let refreshToken = '';
  const requestTokens = async (path: string, body: object) => {
    const answer = await fetch(`${system.baseUrl}/v1/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    refreshToken = ((await answer.json()) as { refresh_token: string }).refresh_token;
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  };
  const meteredRequests: Record<string, () => Promise<void>> = {
    'a sign-in': () => requestTokens('login', system.owner),
    'a refresh': () => requestTokens('refresh', { refresh_token: refreshToken }),
    'a new group': () => sendSigned('POST', '/groups', { name: `grupo ${crypto.randomUUID()}` }),
    'a list of users': sendByKind.users,
  };
  console.log('\nwhat asks the control database');
  for (const [title, work] of Object.entries(meteredRequests)) {
    await readUsage();
    for (let n = 0; n < MEASURED_ROUND_COUNT; n += 1) await work();
    const {
      'd1.queries': queries = 0,
      'd1.rowsRead': rowsRead = 0,
      'd1.rowsWritten': rowsWritten = 0,
    } = await readUsage();
    const formatPerRound = (amount: number) => (amount / MEASURED_ROUND_COUNT).toFixed(1);
    console.log(
      `  ${title.padEnd(16)} ${formatPerRound(queries)} batches, ${formatPerRound(rowsRead)} rows read, ${formatPerRound(rowsWritten)} written`,
    );
  }
} finally {
  await system.stop();
}

/** Writes the measured use to `cost/measured.json`, and the cost of a month of it to `docs/operations.md`. */
async function writeCosts(measuredUse: MeasuredUse): Promise<void> {
  const operationsDocument = join(import.meta.dirname, '../docs/operations.md');
  await writeFile(join(import.meta.dirname, 'cost/measured.json'), `${JSON.stringify(measuredUse, null, 2)}\n`);
  await writeFile(operationsDocument, replaceTable(await readFile(operationsDocument, 'utf8'), measuredUse));
}
