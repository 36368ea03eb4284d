/**
 * Has a thousand companies of ten principals each send requests in turn to one isolate of the running system.
 *
 *   npm run bench -- scale   (or: npx node bench/scale.ts [rounds])
 *
 * In a round each principal sends one request: some list users or groups, the others request a route that checks
 * authorization and does nothing else. After two rounds all keys are cached. From then on authorization queries D1 at
 * most once in a thousand requests, the isolate's memory stays as it is, and no object serves more requests than its
 * own company or address sends. Needs Linux, and 8,000 open files (`ulimit -n`): each of 2,500 objects has three. The
 * storage of two thousand objects is opened and closed all the time: in memory (`TMPDIR=/dev/shm`) it takes five
 * minutes, on a disk several times that. `SCALE_COMPANIES` sets another number.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readRetainedMemory } from './heap.ts';
import {
  countNonHandlerQueries,
  createCompanies,
  fetchWithRetry,
  forEachConcurrently,
  readUsage,
  sendSigned,
} from './metered/companies.ts';
import { startSystem } from './system.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const ROUND_COUNT = Number(process.argv[2] ?? 3);
const COMPANY_COUNT = Number(process.env.SCALE_COMPANIES ?? 1000);
const PRINCIPALS_PER_COMPANY = 10;
const ADDRESS_COUNT = 500;
const MAX_MEMORY_RATIO = 1.1;
const PAUSE_MS = 20;
const SETTLE_MS = 3000;
/** Paths that principals request, in turn. */
const REQUESTED_PATHS = ['/bench/signed', '/users?quantity=20', '/bench/signed', '/groups?quantity=20'];

const system = await startSystem('bench/metered/worker.ts');
try {
  const { baseUrl } = system;
  const companies = await createCompanies(baseUrl, COMPANY_COUNT, PRINCIPALS_PER_COMPANY);
  // Neighbours are of different companies, as they come in reality.
  const principals = Array.from({ length: PRINCIPALS_PER_COMPANY }, (_, n) =>
    companies.map(({ id, keys }) => ({ id, key: keys[n] })),
  ).flat();
  const sendRound = (roundIndex: number) =>
    forEachConcurrently(principals, ({ key }, n) =>
      sendSigned(
        baseUrl,
        key as never,
        REQUESTED_PATHS[(n + roundIndex) % REQUESTED_PATHS.length] as string,
        n % ADDRESS_COUNT,
      ),
    );

  console.log(`${companies.length} companies are made`);
  for (let roundIndex = 0; roundIndex < 2; roundIndex += 1) {
    await sendRound(roundIndex);
    console.log(`round ${roundIndex + 1} of two, which make the keys known, is over`);
  }
  // What follows the answers is over, so that it is not counted with what comes.
  await sleep(SETTLE_MS);
  await readUsage(baseUrl);
  const memorySamples: number[] = [await measureHeldMemory()];
  let queryCount = 0;
  const callsByObject = new Map<string, number>();
  for (let roundIndex = 2; roundIndex < 2 + ROUND_COUNT; roundIndex += 1) {
    await sendRound(roundIndex);
    const usage = await readUsage(baseUrl);
    queryCount += countNonHandlerQueries(usage);
    for (const [name, count] of Object.entries(usage)) {
      if (name.startsWith('calls ')) callsByObject.set(name, (callsByObject.get(name) ?? 0) + count);
    }
    memorySamples.push(await measureHeldMemory());
    console.log(
      `round ${roundIndex - 1}: ${queryCount} queries so far, the Worker holds ${memorySamples.at(-1)?.toFixed(1)} MB`,
    );
  }

  const requests = ROUND_COUNT * principals.length;
  printVerdict(
    'D1 queries per thousand authenticated requests of 10,000 principals',
    (queryCount * 1000) / requests,
    makeUpperLimit(1),
    `(${queryCount} for ${requests})`,
  );
  printVerdict(
    'memory that the Worker holds at the end, against that when all are known',
    (memorySamples.at(-1) as number) / (memorySamples[0] as number),
    makeUpperLimit(MAX_MEMORY_RATIO),
  );
  const findMostCalls = (name: string) =>
    Math.max(...[...callsByObject].flatMap(([call, count]) => (call.startsWith(`calls ${name} `) ? count : [])));
  const requestsPerCompany = ROUND_COUNT * PRINCIPALS_PER_COMPANY;
  printVerdict(
    'calls of the busiest gate, against the requests of its company',
    findMostCalls('ORGANIZATION_GATE') / requestsPerCompany,
    makeUpperLimit(1),
  );
  printVerdict(
    'calls of the busiest log, against the same',
    findMostCalls('COMPANY_LOG') / requestsPerCompany,
    makeUpperLimit(1),
  );
  printVerdict(
    'calls of the busiest limiter of addresses, against the requests of its address',
    findMostCalls('IP_LIMITER') / (requests / ADDRESS_COUNT),
    makeUpperLimit(1),
  );
} finally {
  await system.stop();
}

/**
 * Measures the memory that the Worker retains. An idle isolate does not answer the inspector, so requests are sent
 * meanwhile.
 */
async function measureHeldMemory(): Promise<number> {
  let isAnswered = false;
  const answer = readRetainedMemory(system.inspectorPort).finally(() => {
    isAnswered = true;
  });
  while (!isAnswered) {
    await fetchWithRetry(() => `${system.baseUrl}/bench/distance?milliseconds=0`);
    await sleep(PAUSE_MS);
  }
  return answer;
}
