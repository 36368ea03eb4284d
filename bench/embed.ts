/**
 * Measures what embedding costs.
 *
 *   npm run bench -- embed
 *
 * A cached execution may add 2 ms of the Worker's own time to a bare Hono route in the same workerd: for the token's
 * signature, the rules and the cache's key. In production D1, Durable Objects, queues and the cache are on other
 * machines, so the printed line with the limit is measured with their calls answered at once; another line is measured
 * with their local simulators in this process. An uncached execution may take 1.5 times as long as the same SQL sent
 * through the bare driver, everything included. Requests are sent one at a time; rounds take turns, and the median of
 * each counts, so that other load on the machine affects all of them.
 */
import { startSystem } from './system.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const MAX_ADDED_MS = 2;
const MAX_RATIO = 1.5;
const ROUND_COUNT = 10;
const REQUESTS_PER_ROUND = 100;
const SLOW_REQUEST_COUNT = 20;

/** Makes a query that takes PostgreSQL about 20 ms. */
const makeSlowSql = (minimum: string) =>
  `SELECT (n % 7)::text AS region, sum(n) AS total FROM generate_series(1, 40000) AS n WHERE n >= ${minimum} GROUP BY 1 ORDER BY 1`;

type MeasuredLine = 'bare' | 'own' | 'cached' | 'driver' | 'uncached';

const system = await startSystem('bench/embed/worker.ts');
try {
  const embed = await createEmbed(60);
  const uncachedPath = await createEmbed(0);
  let minimum = 0;
  const sendByLine: Record<MeasuredLine, () => Promise<void>> = {
    bare: () => sendPost('/bench/bare', { parameters: { least: 1 } }),
    own: () => sendPost(`/bench/own${embed}`, { parameters: { least: 1 } }),
    cached: () => sendPost(embed, { parameters: { least: 1 } }),
    driver: () => sendPost('/bench/sql', { sql: makeSlowSql('$1::numeric'), values: [String(++minimum)] }),
    uncached: () => sendPost(uncachedPath, { parameters: { least: ++minimum } }),
  };
  const times: Record<MeasuredLine, number[]> = { bare: [], own: [], cached: [], driver: [], uncached: [] };
  // From here on the result is cached.
  await sendByLine.cached();
  for (let round = 0; round <= ROUND_COUNT; round += 1) {
    for (const line of Object.keys(sendByLine) as MeasuredLine[]) {
      const requests = line === 'driver' || line === 'uncached' ? SLOW_REQUEST_COUNT : REQUESTS_PER_ROUND;
      for (let sentCount = 0; sentCount < requests; sentCount += 1) {
        const startedAt = performance.now();
        await sendByLine[line]();
        // The first round is a warm-up.
        if (round > 0) times[line].push(performance.now() - startedAt);
      }
    }
  }
  printTimes(times);
} finally {
  await system.stop();
}

/** Makes an embedded dashboard with one widget. @returns the path that executes it */
async function createEmbed(cacheSeconds: number): Promise<string> {
  const parameters = [{ slug: 'least', label: 'Least', kind: 'number' }];
  const chart = { name: 'Totals', sql: makeSlowSql('{{least}}'), parameters };
  const { _id: visualization_id } = await system.call('POST', '/v1/visualizations', chart);
  const dashboard = await system.call('POST', '/v1/dashboards', {
    name: 'Totals',
    cache_seconds: cacheSeconds,
    layout: [{ visualization_id, x: 0, y: 0, w: 6, h: 4 }],
    filters: [{ slug: 'least', label: 'Least', kind: 'number' }],
  });
  const { token } = await system.call('POST', `/api/v1/embed/dashboards/${dashboard._id}`, {
    allowed_params: ['least'],
  });
  return `/api/embed/d/${token}/execute`;
}

async function sendPost(path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(system.baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok || text.includes('"error"')) throw new Error(`${path} answered ${response.status}: ${text}`);
}

function printTimes(times: Record<MeasuredLine, number[]>): void {
  const [bare, own, cached, driver, uncached] = ([...Object.values(times)] as number[][]).map(
    (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)],
  ) as [number, number, number, number, number];
  const printLine = (lineLabel: string, ms: number, verdict = '') =>
    console.log(`${lineLabel.padEnd(58)} ${ms.toFixed(2).padStart(6)} ms  ${verdict}`);
  printLine('bare Hono route', bare);
  printLine('cached execution of an embed', own, `adds ${(own - bare).toFixed(2)} ms`);
  printLine('the same, with the platform in this process', cached);
  printLine('the SQL through the driver alone', driver);
  printLine('uncached execution of an embed', uncached, `${(uncached / driver).toFixed(2)} times`);
  printVerdict(
    'what a cached execution of an embed adds to a bare Hono route',
    own - bare,
    makeUpperLimit(MAX_ADDED_MS),
    'ms',
  );
  printVerdict(
    'an uncached one, against the same SQL through the driver',
    uncached / driver,
    makeUpperLimit(MAX_RATIO),
  );
}
