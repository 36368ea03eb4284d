/**
 * Measures the checks of a signed request: the CPU time of one request to a route that does nothing else, beside a bare
 * Hono route in the same workerd.
 *
 *   npm run bench -- signed-request
 *
 * The figure is the CPU time of workerd, from the socket to the answer. In production D1, Durable Objects and the queue
 * are on other machines, and their local simulators would be most of the measured time. So the line with the limit has
 * their calls answered at once, D1's with its first answer (signed-request/without-platform.ts); the last line has them
 * all in the same process, for comparison.
 */
import { type Key, sign } from '../examples/signing/sign.ts';
import { openLoop } from './signed-request/requests.ts';
import { startBenchWorker } from './signed-request/start.ts';
import { cpuSeconds } from './usage.ts';
import { atMost, verdict } from './verdict.ts';

const LIMIT = 2.5;
const ROUNDS = 8;
const REQUESTS = 1500;
/** The number of requests for the last line, which takes ten times as long and has no limit. */
const FEWER_REQUESTS = 200;

const LINES = {
  '/bench/bare': 'bare Hono route',
  '/bench/crypto': 'HMAC and digest alone',
  '/bench/signed': 'signed, every check',
  '/bench/platform': 'the same, with D1, Durable Objects and queue in this process',
} as const;
type Path = keyof typeof LINES;
const PATHS = Object.keys(LINES) as Path[];

const worker = await startBenchWorker();
try {
  const key = await found();
  const best = new Map<Path, number>(PATHS.map((path) => [path, Number.POSITIVE_INFINITY]));
  // The first signed request writes to the database that its key was used.
  await measure(key, '/bench/platform', 1);
  // Rounds take turns, and the best of each counts, so that other load on the machine does not distort one of them.
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const path of PATHS) {
      const requests = path === '/bench/platform' ? FEWER_REQUESTS : REQUESTS;
      best.set(path, Math.min(best.get(path) as number, await measure(key, path, requests)));
    }
  }
  report(best);
} finally {
  await worker.stop();
}

/** Creates an organization. @returns the key of its first service account */
async function found(): Promise<Key> {
  const owner = { email: 'owner@bench.test', name: 'Olga', password: 'correct-horse-battery' };
  const response = await fetch(`${worker.origin}/admin/organizations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${worker.operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Bench', slug: 'bench', owner }),
  });
  const { api_key } = (await response.json()) as { api_key: Key };
  return api_key;
}

/** Microseconds of CPU that one request to `path` takes. */
async function measure(key: Key, path: Path, requests: number): Promise<number> {
  const url = worker.origin + path;
  const headers = await Promise.all(Array.from({ length: requests }, () => sign(key, 'GET', url)));
  const before = await cpuSeconds(worker.pid);
  await openLoop(url, headers);
  return (((await cpuSeconds(worker.pid)) - before) * 1e6) / requests;
}

function report(best: Map<Path, number>): void {
  const bare = best.get('/bench/bare') as number;
  for (const [path, microseconds] of best) {
    console.log(
      `${LINES[path].padEnd(62)} ${microseconds.toFixed(0).padStart(5)} µs  ${(microseconds / bare).toFixed(2)}`,
    );
  }
  const ratio = (best.get('/bench/signed') as number) / bare;
  verdict('CPU of a signed request with every check, against a bare Hono route', ratio, atMost(LIMIT));
}
