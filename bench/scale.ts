/**
 * A thousand companies of ten principals each, all of whom send requests in turn to one isolate of the running system.
 *
 *   npm run bench -- scale   (or: npx node bench/scale.ts [rounds])
 *
 * In a round each principal sends one request: some list users or groups, the others only ask to be let in. Two rounds make
 * all keys known. From then on D1 is asked to let somebody in at most once for a thousand requests, the isolate's memory stays
 * as it is, and no object serves more requests than its own company or address sends. Needs Linux, and 8,000 open files
 * (`ulimit -n`): each of 2,500 objects has three.
 * The storage of two thousand objects is opened and closed all the time: in memory (`TMPDIR=/dev/shm`) it takes five minutes, on
 * a disk several times that. `SCALE_COMPANIES` sets another number.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readHeldMemory } from './heap.ts';
import {
  countQueries,
  createCompanies,
  fetchAgain,
  forEachConcurrently,
  readUsage,
  sendSigned,
} from './metered/crowd.ts';
import { startSystem } from './system.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const ROUNDS = Number(process.argv[2] ?? 3);
const COMPANIES = Number(process.env.SCALE_COMPANIES ?? 1000);
const PRINCIPALS = 10;
const ADDRESSES = 500;
const MEMORY_LIMIT = 1.1;
const PAUSE_MS = 20;
const SETTLE_MS = 3000;
/** What principals ask for, in turn. */
const PATHS = ['/bench/signed', '/users?quantity=20', '/bench/signed', '/groups?quantity=20'];

const system = await startSystem('bench/metered/worker.ts');
try {
  const { baseUrl } = system;
  const companies = await createCompanies(baseUrl, COMPANIES, PRINCIPALS);
  // Neighbours are of different companies, as they come in reality.
  const principals = Array.from({ length: PRINCIPALS }, (_, n) =>
    companies.map(({ id, keys }) => ({ id, key: keys[n] })),
  ).flat();
  const round = (turn: number) =>
    forEachConcurrently(principals, ({ key }, n) =>
      sendSigned(baseUrl, key as never, PATHS[(n + turn) % PATHS.length] as string, n % ADDRESSES),
    );

  console.log(`${companies.length} companies are made`);
  for (let turn = 0; turn < 2; turn += 1) {
    await round(turn);
    console.log(`round ${turn + 1} of two, which make the keys known, is over`);
  }
  // What follows the answers is over, so that it is not counted with what comes.
  await sleep(SETTLE_MS);
  await readUsage(baseUrl);
  const memory: number[] = [await measureHeldMemory()];
  let queries = 0;
  const calls = new Map<string, number>();
  for (let turn = 2; turn < 2 + ROUNDS; turn += 1) {
    await round(turn);
    const usage = await readUsage(baseUrl);
    queries += countQueries(usage);
    for (const [name, count] of Object.entries(usage)) {
      if (name.startsWith('calls ')) calls.set(name, (calls.get(name) ?? 0) + count);
    }
    memory.push(await measureHeldMemory());
    console.log(`round ${turn - 1}: ${queries} queries so far, the Worker holds ${memory.at(-1)?.toFixed(1)} MB`);
  }

  const requests = ROUNDS * principals.length;
  printVerdict(
    'D1 queries per thousand authenticated requests of 10,000 principals',
    (queries * 1000) / requests,
    makeUpperLimit(1),
    `(${queries} for ${requests})`,
  );
  printVerdict(
    'memory that the Worker holds at the end, against that when all are known',
    (memory.at(-1) as number) / (memory[0] as number),
    makeUpperLimit(MEMORY_LIMIT),
  );
  const most = (name: string) =>
    Math.max(...[...calls].flatMap(([call, count]) => (call.startsWith(`calls ${name} `) ? count : [])));
  const ofCompany = ROUNDS * PRINCIPALS;
  printVerdict(
    'calls of the busiest gate, against the requests of its company',
    most('ORGANIZATION_GATE') / ofCompany,
    makeUpperLimit(1),
  );
  printVerdict('calls of the busiest log, against the same', most('COMPANY_LOG') / ofCompany, makeUpperLimit(1));
  printVerdict(
    'calls of the busiest limiter of addresses, against the requests of its address',
    most('IP_LIMITER') / (requests / ADDRESSES),
    makeUpperLimit(1),
  );
} finally {
  await system.stop();
}

/** What the Worker holds. An isolate at rest does not answer the inspector: it is given something to do meanwhile. */
async function measureHeldMemory(): Promise<number> {
  let isAnswered = false;
  const answer = readHeldMemory(system.inspectorPort).finally(() => {
    isAnswered = true;
  });
  while (!isAnswered) {
    await fetchAgain(() => `${system.baseUrl}/bench/distance?milliseconds=0`);
    await sleep(PAUSE_MS);
  }
  return answer;
}
