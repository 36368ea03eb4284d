/**
 * What a million API requests and a million shared views use of the platform, by its own counters, and what that costs by
 * the list prices of `cost/prices.ts`. The figures go to `cost/measured.json`, and what a month costs to `docs/operations.md`.
 *
 *   npm run bench -- cost
 *
 * Requests are sent one after the other, so that none shares a call of its log with others. A shared view is one that
 * `view_count` counts: an execution by somebody with the link; every other one is answered by the cache. Their records are
 * billed for as long as they stay in their logs, and then for being moved to R2. Neon stands apart.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signedRequest } from '../examples/signing/sign.ts';
import { computePrice } from './cost/prices.ts';
import { type Measured, replaceTable, SORTS, type Sort } from './cost/table.ts';
import { printUse, scaleToMillion, type Usage } from './cost/usage.ts';
import { startSystem } from './system.ts';
import { createScene } from './traffic/work.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const LIMIT = 3.5;
/** How often each sort of traffic is gone through: four hundred requests, which is a quiet company's day. */
const ROUNDS: Record<Sort, number> = { api: 20, views: 200 };
const WARM_UP_ROUNDS = 2;
const MEASURED_ROUNDS = 20;
/** Until what is done after the answers is done. */
const SETTLE_MS = 3000;

/** Of twenty API requests so many are of each kind; two of them write. */
const API = { users: 5, groups: 4, newGroup: 1, me: 1, rows: 5, newRow: 1, run: 3 };

const system = await startSystem('bench/metered/worker.ts');
try {
  const { tableId, visualizationId, share } = await createScene(system);
  const token = await system.logIn();
  let turn = 0;

  const send = async (request: Request): Promise<void> => {
    const answer = await fetch(request);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${request.method} ${request.url} answered ${answer.status}: ${text}`);
  };
  const signed = async (method: string, path: string, body?: object) =>
    send(await signedRequest(system.serviceAccount, method, system.baseUrl + path, body));
  const plain = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    send(
      new Request(system.baseUrl + path, {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
  const bearer = (method: string, path: string, body?: object) =>
    plain(method, path, body, { authorization: `Bearer ${token}` });
  const data = `/v1/managed-tables/${tableId}/data`;
  const aRow = { regiao: 'sul', produto: 'Novo', valor: 1, dia: '2024-06-01' };
  const kinds: Record<keyof typeof API, () => Promise<void>> = {
    users: () => signed('GET', '/users?quantity=50'),
    groups: () => signed('GET', '/groups?quantity=50'),
    newGroup: () => signed('POST', '/groups', { name: `grupo ${turn}` }),
    me: () => bearer('GET', '/v1/auth/me'),
    rows: () => bearer('GET', `${data}?page=${1 + (turn % 200)}&per_page=50`),
    newRow: () => bearer('POST', data, { rows: [aRow] }),
    run: () => bearer('POST', `/v1/visualizations/${visualizationId}/execute`, { parameters: { regiao: 'sul' } }),
  };
  const view = (regiao: string) => plain('POST', `${share}/execute`, { parameters: { regiao } });

  /** One round of each sort of traffic. @returns how many requests it was */
  const rounds: Record<Sort, () => Promise<number>> = {
    async api() {
      let requests = 0;
      for (const [kind, times] of Object.entries(API) as [keyof typeof API, number][]) {
        for (let time = 0; time < times; time += 1, requests += 1, turn += 1) await kinds[kind]();
      }
      return requests;
    },
    async views() {
      turn += 1;
      await view(`sul ${turn}`);
      await view(`sul ${turn}`);
      return 2;
    },
  };
  const used = async (): Promise<Usage> => {
    await sleep(SETTLE_MS);
    return (await fetch(`${system.baseUrl}/bench/usage`)).json() as Promise<Usage>;
  };

  /** Has the logs move all that they hold, as they do once it is 90 days old. */
  const move = async (): Promise<void> => {
    await sleep(SETTLE_MS);
    const answer = await fetch(`${system.baseUrl}/bench/move`);
    if (!answer.ok) throw new Error(`The records were not moved: ${await answer.text()}`);
  };

  const measured = {} as Measured;
  for (const sort of Object.keys(SORTS) as Sort[]) {
    for (let round = 0; round < WARM_UP_ROUNDS; round += 1) await rounds[sort]();
    await move();
    await used();
    let requests = 0;
    for (let round = 0; round < ROUNDS[sort]; round += 1) requests += await rounds[sort]();
    const usage = await used();
    const recordsEach = Math.round((usage['objects.records'] ?? 0) / requests);
    const million = scaleToMillion(usage, requests, usage['objects.records'] ?? 0);
    await move();
    const moving = scaleToMillion(await used(), requests, 0);
    measured[sort] = { used: million, moving, recordsEach };
    printUse(SORTS[sort], million);
    printUse(`${SORTS[sort]}, when their records move to R2,`, moving);
    printVerdict(
      `a million ${SORTS[sort]}, by list prices, their records moved to R2 after 90 days`,
      computePrice(million) + computePrice(moving),
      makeUpperLimit(LIMIT),
      'US dollars',
    );
  }
  await writeCosts(measured);

  // What is left to the control database, whose one primary answers so many batches a second.
  let refreshToken = '';
  const tokens = async (path: string, body: object) => {
    const answer = await fetch(`${system.baseUrl}/v1/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    refreshToken = ((await answer.json()) as { refresh_token: string }).refresh_token;
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  };
  const left: Record<string, () => Promise<void>> = {
    'a sign-in': () => tokens('login', system.owner),
    'a refresh': () => tokens('refresh', { refresh_token: refreshToken }),
    'a new group': () => signed('POST', '/groups', { name: `grupo ${crypto.randomUUID()}` }),
    'a list of users': kinds.users,
  };
  console.log('\nwhat asks the control database');
  for (const [what, work] of Object.entries(left)) {
    await used();
    for (let n = 0; n < MEASURED_ROUNDS; n += 1) await work();
    const { 'd1.queries': queries = 0, 'd1.rowsRead': read = 0, 'd1.rowsWritten': written = 0 } = await used();
    const each = (amount: number) => (amount / MEASURED_ROUNDS).toFixed(1);
    console.log(`  ${what.padEnd(16)} ${each(queries)} batches, ${each(read)} rows read, ${each(written)} written`);
  }
} finally {
  await system.stop();
}

/** Writes what was measured, and what a month of it costs. */
async function writeCosts(measured: Measured): Promise<void> {
  const operations = join(import.meta.dirname, '../docs/operations.md');
  await writeFile(join(import.meta.dirname, 'cost/measured.json'), `${JSON.stringify(measured, null, 2)}\n`);
  await writeFile(operations, replaceTable(await readFile(operations, 'utf8'), measured));
}
