/**
 * Measures the checks of a signed request: the CPU time of one request to a route that does nothing else, beside a bare
 * Hono route in the same workerd.
 *
 *   npm run bench -- signed-request
 *
 * The figure is the CPU time of workerd, from the socket to the answer. In production D1, Durable Objects and the queue
 * are on other machines, and their local simulators would be most of the measured time. So in the line of `/bench/signed`,
 * whose figure is limited, their calls are answered at once, D1's with its first answer (signed-request/without-platform.ts).
 * The last line has them all in the same process, for comparison.
 */
import { type Key, sign } from '../examples/signing/sign.ts';
import { sendConcurrently } from './signed-request/requests.ts';
import { startBenchWorker } from './signed-request/start.ts';
import { readCpuSeconds } from './usage.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const MAX_RATIO = 2.5;
const ROUND_COUNT = 8;
const REQUEST_COUNT = 1500;
/** The number of requests for the last line, which takes ten times as long and has no limit. */
const PLATFORM_REQUEST_COUNT = 200;

const MEASURED_LINES = {
  '/bench/bare': 'bare Hono route',
  '/bench/crypto': 'HMAC and digest alone',
  '/bench/signed': 'signed, every check',
  '/bench/platform': 'the same, with D1, Durable Objects and queue in this process',
} as const;
type MeasuredPath = keyof typeof MEASURED_LINES;
const MEASURED_PATHS = Object.keys(MEASURED_LINES) as MeasuredPath[];

const benchWorker = await startBenchWorker();
try {
  const key = await createOrganization();
  const bestMicroseconds = new Map<MeasuredPath, number>(
    MEASURED_PATHS.map((path) => [path, Number.POSITIVE_INFINITY]),
  );
  // The first signed request writes to the database that its key was used.
  await measureCpu(key, '/bench/platform', 1);
  // Rounds take turns, and the best of each counts, so that other load on the machine does not distort one of them.
  for (let round = 0; round < ROUND_COUNT; round += 1) {
    for (const path of MEASURED_PATHS) {
      const requests = path === '/bench/platform' ? PLATFORM_REQUEST_COUNT : REQUEST_COUNT;
      bestMicroseconds.set(path, Math.min(bestMicroseconds.get(path) as number, await measureCpu(key, path, requests)));
    }
  }
  printFigures(bestMicroseconds);
} finally {
  await benchWorker.stop();
}

/** Creates an organization. @returns the key of its first service account */
async function createOrganization(): Promise<Key> {
  const owner = { email: 'owner@bench.test', name: 'Olga', password: 'correct-horse-battery' };
  const response = await fetch(`${benchWorker.origin}/admin/organizations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${benchWorker.operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Bench', slug: 'bench', owner }),
  });
  const { api_key } = (await response.json()) as { api_key: Key };
  return api_key;
}

/** Measures the microseconds of CPU that one request to `path` takes. */
async function measureCpu(key: Key, path: MeasuredPath, requestCount: number): Promise<number> {
  const url = benchWorker.origin + path;
  const headers = await Promise.all(Array.from({ length: requestCount }, () => sign(key, 'GET', url)));
  const cpuBefore = await readCpuSeconds(benchWorker.pid);
  await sendConcurrently(url, headers);
  return (((await readCpuSeconds(benchWorker.pid)) - cpuBefore) * 1e6) / requestCount;
}

function printFigures(bestMicroseconds: Map<MeasuredPath, number>): void {
  const bareMicroseconds = bestMicroseconds.get('/bench/bare') as number;
  for (const [path, microseconds] of bestMicroseconds) {
    console.log(
      `${MEASURED_LINES[path].padEnd(62)} ${microseconds.toFixed(0).padStart(5)} µs  ${(microseconds / bareMicroseconds).toFixed(2)}`,
    );
  }
  const ratio = (bestMicroseconds.get('/bench/signed') as number) / bareMicroseconds;
  printVerdict('CPU of a signed request with every check, against a bare Hono route', ratio, makeUpperLimit(MAX_RATIO));
}
