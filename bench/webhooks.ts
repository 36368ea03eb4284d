/**
 * Sends ten thousand events of one company within a minute, in the whole system, to two endpoints: one answers in 50
 * ms, the other never. Measures how long the good endpoint waits for the last event, whether it receives each event,
 * and what a million deliveries use and cost by the list prices of `cost/prices.ts`, counted as in `cost`.
 *
 *   npm run bench -- webhooks
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { computeTotalCost } from './cost/prices.ts';
import { ASSUMED_USE_PER_REQUEST, printUseAndCost, scaleToMillion, type Usage } from './cost/usage.ts';
import { startSystem } from './system.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const EVENT_COUNT = Number(process.env.WEBHOOK_EVENTS ?? 10_000);
/** Number of events of one request: a user becomes a member of this many groups, or of none. */
const EVENTS_PER_REQUEST = 100;
const SENDING_PERIOD_MS = 60_000;
const MAX_SECONDS = 120;
/** Milliseconds after which the good receiver answers. */
const ANSWER_MS = 50;
const MAX_DOLLARS = 10;
/** Milliseconds until the work that follows the answers is finished. */
const SETTLE_MS = 5000;

const ids = new Set<string>();
let lastReceivedAt = 0;
let tryCount = 0;
let refusedCount = 0;
const receiver = createServer((request, response) => {
  request.resume().on('end', () => {
    if (request.url === '/mute') {
      refusedCount += 1;
      return;
    }
    tryCount += 1;
    ids.add(String(request.headers['webhook-id']));
    lastReceivedAt = performance.now();
    setTimeout(() => response.writeHead(204).end(), ANSWER_MS);
  });
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

const system = await startSystem(
  'bench/metered/worker.ts',
  { ALLOW_PRIVATE_ISSUERS: 'true' },
  'bench/webhooks/background.ts',
);
try {
  const { _id: user } = await system.call('POST', '/v1/users/invite', { email: 'member@bench.test' });
  const groups: string[] = [];
  for (let n = 0; n < EVENTS_PER_REQUEST; n += 1) {
    const group = { name: `Group ${n}`, slug: `group-${n}`, description: 'Those who are told of.' };
    groups.push((await system.call('POST', '/v1/groups', group))._id);
  }
  let isUserMember = false;
  const toggleMembership = async (): Promise<void> => {
    isUserMember = !isUserMember;
    await system.call('PUT', `/v1/users/${user}/groups`, { group_ids: isUserMember ? groups : [] });
  };
  const causeEvents = async (eventCount: number, withinMs: number): Promise<void> => {
    const startedAt = performance.now();
    for (let causedCount = 0; causedCount < eventCount; causedCount += EVENTS_PER_REQUEST) {
      await toggleMembership();
      await sleep(Math.max(0, startedAt + (withinMs * causedCount) / eventCount - performance.now()));
    }
  };
  const createEndpoint = (path: string) =>
    system.call('POST', '/v1/webhook-endpoints', {
      url: receiverUrl + path,
      event_types: ['group.member_added', 'group.member_removed'],
    });
  const waitForEvents = async (count: number): Promise<void> => {
    for (
      const deadline = performance.now() + 10 * SENDING_PERIOD_MS;
      ids.size < count && performance.now() < deadline;
    )
      await sleep(100);
  };
  let readLineCount = 0;
  const readUsage = async (): Promise<Usage> => {
    await sleep(SETTLE_MS);
    const apiUsage = (await (await fetch(`${system.baseUrl}/bench/usage`)).json()) as Usage;
    const lines = [...(await readFile(system.logFile, 'utf8')).matchAll(/bench used (\{.*\})/g)].map(
      ([, json]) => json,
    );
    const backgroundUsage = lines.slice(readLineCount).map((json) => JSON.parse(json as string) as Usage);
    readLineCount = lines.length;
    return [apiUsage, ...backgroundUsage].reduce<Usage>((sum, usage) => {
      for (const [name, amount] of Object.entries(usage)) sum[name] = (sum[name] ?? 0) + amount;
      return sum;
    }, {});
  };

  // What the changes use that are told: without anybody to tell.
  const countedEvents = Math.min(EVENT_COUNT, 2000);
  await causeEvents(2 * EVENTS_PER_REQUEST, 0);
  await readUsage();
  await causeEvents(countedEvents, 0);
  const usageWithoutEndpoint = await readUsage();
  const goodEndpoint = await createEndpoint('/good');
  await causeEvents(2 * EVENTS_PER_REQUEST, 0);
  await waitForEvents(2 * EVENTS_PER_REQUEST);
  await readUsage();
  ids.clear();
  await causeEvents(countedEvents, 0);
  await waitForEvents(countedEvents);
  const usageWithEndpoint = await readUsage();
  const usage: Usage = Object.fromEntries(
    Object.entries(usageWithEndpoint).map(([name, amount]) => [
      name,
      Math.max(0, amount - (usageWithoutEndpoint[name] ?? 0)),
    ]),
  );
  const usePerMillion = scaleToMillion(usage, countedEvents, 0);
  // An object is active while it waits for receivers: at most as long as if it sent one at a time.
  usePerMillion['objects.gigabyteSeconds'] += (1e6 * ANSWER_MS * ASSUMED_USE_PER_REQUEST.objectGigabytes) / 1000;
  printUseAndCost('deliveries', usePerMillion);
  printVerdict(
    'a million deliveries, by list prices',
    computeTotalCost(usePerMillion),
    makeUpperLimit(MAX_DOLLARS),
    'US dollars',
  );

  await createEndpoint('/mute');
  ids.clear();
  tryCount = 0;
  const startedAt = performance.now();
  await causeEvents(EVENT_COUNT, SENDING_PERIOD_MS);
  const causingMs = performance.now() - startedAt;
  await waitForEvents(EVENT_COUNT);
  console.log(
    `  ${EVENT_COUNT} events in ${(causingMs / 1000).toFixed(1)} s: ${tryCount} tries at the good endpoint ${goodEndpoint._id}, ${refusedCount} at the mute one`,
  );
  printVerdict(
    `${EVENT_COUNT} events of a company within a minute: until the good endpoint has all, beside one that never answers`,
    (lastReceivedAt - startedAt) / 1000,
    makeUpperLimit(MAX_SECONDS),
    'seconds',
  );
  printVerdict(
    'events that the good endpoint never had',
    EVENT_COUNT - ids.size,
    makeUpperLimit(0),
    `of ${EVENT_COUNT}`,
  );
} finally {
  receiver.closeAllConnections();
  receiver.close();
  await system.stop();
}
