/**
 * Ten thousand events of one company within a minute, in the whole system, with two endpoints: one answers in 50 ms, the other never.
 * How long the good one waits for the last of them, whether it has each, and what a million deliveries use and cost by the list
 * prices of `cost/prices.ts`, counted as in `cost`.
 *
 *   npm run bench -- webhooks
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { computePrice } from './cost/prices.ts';
import { ASSUMED_USE, printUse, scaleToMillion, type Usage } from './cost/usage.ts';
import { startSystem } from './system.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const EVENTS = Number(process.env.WEBHOOK_EVENTS ?? 10_000);
/** Events that one request leads to: somebody becomes a member of so many groups, or of none. */
const GROUPS = 100;
const WITHIN_MS = 60_000;
const MAX_SECONDS = 120;
/** What a receiver takes for its answer. */
const ANSWER_MS = 50;
const MAX_DOLLARS = 10;
/** Until what is done after the answers is done. */
const SETTLE_MS = 5000;

const ids = new Set<string>();
let lastAt = 0;
let tries = 0;
let refusedCount = 0;
const receiver = createServer((request, response) => {
  request.resume().on('end', () => {
    if (request.url === '/mute') {
      refusedCount += 1;
      return;
    }
    tries += 1;
    ids.add(String(request.headers['webhook-id']));
    lastAt = performance.now();
    setTimeout(() => response.writeHead(204).end(), ANSWER_MS);
  });
});
await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
const base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

const system = await startSystem(
  'bench/metered/worker.ts',
  { ALLOW_PRIVATE_ISSUERS: 'true' },
  'bench/webhooks/background.ts',
);
try {
  const { _id: user } = await system.call('POST', '/v1/users/invite', { email: 'member@bench.test' });
  const groups: string[] = [];
  for (let n = 0; n < GROUPS; n += 1) {
    const group = { name: `Group ${n}`, slug: `group-${n}`, description: 'Those who are told of.' };
    groups.push((await system.call('POST', '/v1/groups', group))._id);
  }
  let isMember = false;
  const change = async (): Promise<void> => {
    isMember = !isMember;
    await system.call('PUT', `/v1/users/${user}/groups`, { group_ids: isMember ? groups : [] });
  };
  const changes = async (events: number, withinMs: number): Promise<void> => {
    const began = performance.now();
    for (let made = 0; made < events; made += GROUPS) {
      await change();
      await sleep(Math.max(0, began + (withinMs * made) / events - performance.now()));
    }
  };
  const endpoint = (path: string) =>
    system.call('POST', '/v1/webhook-endpoints', {
      url: base + path,
      event_types: ['group.member_added', 'group.member_removed'],
    });
  const arrived = async (count: number): Promise<void> => {
    for (const until = performance.now() + 10 * WITHIN_MS; ids.size < count && performance.now() < until; )
      await sleep(100);
  };
  let logged = 0;
  const used = async (): Promise<Usage> => {
    await sleep(SETTLE_MS);
    const api = (await (await fetch(`${system.baseUrl}/bench/usage`)).json()) as Usage;
    const lines = [...(await readFile(system.logFile, 'utf8')).matchAll(/bench used (\{.*\})/g)].map(
      ([, json]) => json,
    );
    const background = lines.slice(logged).map((json) => JSON.parse(json as string) as Usage);
    logged = lines.length;
    return [api, ...background].reduce<Usage>((sum, each) => {
      for (const [name, amount] of Object.entries(each)) sum[name] = (sum[name] ?? 0) + amount;
      return sum;
    }, {});
  };

  // What the changes use that are told: without anybody to tell.
  const counted = Math.min(EVENTS, 2000);
  await changes(2 * GROUPS, 0);
  await used();
  await changes(counted, 0);
  const untold = await used();
  const good = await endpoint('/good');
  await changes(2 * GROUPS, 0);
  await arrived(2 * GROUPS);
  await used();
  ids.clear();
  await changes(counted, 0);
  await arrived(counted);
  const told = await used();
  const usage: Usage = Object.fromEntries(
    Object.entries(told).map(([name, amount]) => [name, Math.max(0, amount - (untold[name] ?? 0))]),
  );
  const million = scaleToMillion(usage, counted, 0);
  // An object is active while it waits for receivers: at most as long as if it sent one at a time.
  million['objects.gigabyteSeconds'] += (1e6 * ANSWER_MS * ASSUMED_USE.objectGigabytes) / 1000;
  printUse('deliveries', million);
  printVerdict(
    'a million deliveries, by list prices',
    computePrice(million),
    makeUpperLimit(MAX_DOLLARS),
    'US dollars',
  );

  await endpoint('/mute');
  ids.clear();
  tries = 0;
  const began = performance.now();
  await changes(EVENTS, WITHIN_MS);
  const said = performance.now() - began;
  await arrived(EVENTS);
  console.log(
    `  ${EVENTS} events in ${(said / 1000).toFixed(1)} s: ${tries} tries at the good endpoint ${good._id}, ${refusedCount} at the mute one`,
  );
  printVerdict(
    `${EVENTS} events of a company within a minute: until the good endpoint has all, beside one that never answers`,
    (lastAt - began) / 1000,
    makeUpperLimit(MAX_SECONDS),
    'seconds',
  );
  printVerdict('events that the good endpoint never had', EVENTS - ids.size, makeUpperLimit(0), `of ${EVENTS}`);
} finally {
  receiver.closeAllConnections();
  receiver.close();
  await system.stop();
}
