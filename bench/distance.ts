/**
 * Simulates a latency of 0, 60 and 150 ms to D1, the Durable Objects and Postgres, and counts the remote calls that a
 * request makes one after the other.
 *
 *   npm run bench -- far
 *
 * The least of several tries counts: a busy machine may begin one call only after another has been answered. Each
 * request's duration is also printed, as a multiple of the latency.
 */
import { signedRequest } from '../examples/signing/sign.ts';
import {
  countNonHandlerQueries,
  createCompanies,
  forEachConcurrently,
  readUsage,
  sendSigned,
} from './metered/companies.ts';
import { type System, startSystem } from './system.ts';
import { createTrafficObjects } from './traffic/work.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const LATENCIES_MS = [0, 60, 150];
const TRY_COUNT = 5;
const COMPANY_COUNT = 1000;
/** Number of requests that each company sends before requests are counted, so that its key is cached. */
const WARM_UP_REQUEST_COUNT = 2;
/** Number of requests of each company that are counted. */
const COUNTED_REQUEST_COUNT = 10;

/** Sequential remote calls of one request: before its handler, in all, and to Postgres; and its duration in ms. */
interface RequestTrips {
  hopsBeforeHandler: number;
  allHops: number;
  postgresTrips: number;
  milliseconds: number;
}

const system = await startSystem('bench/metered/worker.ts');
try {
  await measureSequentialCalls(system);
  await measureSteadyState(system);
} finally {
  await system.stop();
}

async function measureSequentialCalls({ baseUrl, serviceAccountKey, ...rest }: System): Promise<void> {
  const { tableId, sharePath } = await createTrafficObjects(system);
  const dashboardId = await createSevenCharts(system);
  const headers = { authorization: `Bearer ${await rest.logIn()}`, 'content-type': 'application/json' };
  const makeBearerRequest = (path: string) => new Request(baseUrl + path, { headers });
  const requests: Record<string, () => Request | Promise<Request>> = {
    'a signed request': () => signedRequest(serviceAccountKey, 'GET', `${baseUrl}/bench/signed`),
    'a bearer request': () => makeBearerRequest('/bench/bearer'),
    'the first of a session': async () => {
      await fetch(`${baseUrl}/bench/forget`);
      return makeBearerRequest('/bench/bearer');
    },
    'a viewer who opens a share': () => new Request(`${baseUrl}${sharePath}/resolve`),
    'a page of a table': () => makeBearerRequest(`/v1/managed-tables/${tableId}/data?page=2&per_page=50`),
    'a dashboard of seven charts': () =>
      new Request(`${baseUrl}/v1/dashboards/${dashboardId}/execute`, { method: 'POST', headers, body: '{}' }),
  };
  for (const latencyMs of LATENCIES_MS) {
    await fetch(`${baseUrl}/bench/distance?milliseconds=${latencyMs}`);
    console.log(`${latencyMs} ms away`);
    const tripsByRequest = new Map<string, RequestTrips>();
    for (const [title, make] of Object.entries(requests)) {
      const triedTrips: RequestTrips[] = [];
      for (let n = 0; n < TRY_COUNT; n += 1) triedTrips.push(await sendWithLatency(await make(), latencyMs));
      const findLeastTrips = (member: keyof RequestTrips) => Math.min(...triedTrips.map((trip) => trip[member]));
      const trip = {
        hopsBeforeHandler: findLeastTrips('hopsBeforeHandler'),
        allHops: findLeastTrips('allHops'),
        postgresTrips: findLeastTrips('postgresTrips'),
        milliseconds: findLeastTrips('milliseconds'),
      };
      tripsByRequest.set(title, trip);
      const time = latencyMs === 0 ? '' : `, ${(trip.milliseconds / latencyMs).toFixed(1)} times the distance`;
      console.log(
        `  ${title.padEnd(28)} ${trip.hopsBeforeHandler} before the handler, ${trip.allHops} to D1 and objects, ${trip.postgresTrips} to Postgres${time}`,
      );
    }
    // What is answered at once cannot be told from what is asked together.
    if (latencyMs === 0) continue;
    const findTrips = (title: string) => tripsByRequest.get(title) as RequestTrips;
    const knownCallerTrips = Math.max(
      findTrips('a signed request').hopsBeforeHandler,
      findTrips('a bearer request').hopsBeforeHandler,
    );
    const printTripVerdict = (label: string, figure: number, limit: number) =>
      printVerdict(`${label}, ${latencyMs} ms away`, figure, makeUpperLimit(limit), 'in sequence');
    printTripVerdict('far hops before the handler, of a known principal', knownCallerTrips, 1);
    printTripVerdict(
      'far hops before the handler, of one that is not known',
      findTrips('the first of a session').hopsBeforeHandler,
      2,
    );
    printTripVerdict('round trips to Postgres of a page of a table', findTrips('a page of a table').postgresTrips, 4);
    printTripVerdict(
      'round trips to Postgres of a dashboard of seven charts',
      findTrips('a dashboard of seven charts').postgresTrips,
      4,
    );
  }
  await fetch(`${baseUrl}/bench/distance?milliseconds=0`);
  await system.setPostgresLatency(0);
}

/** Sends a request while the company's Postgres has this round-trip latency. */
async function sendWithLatency(request: Request, latencyMs: number): Promise<RequestTrips> {
  await system.setPostgresLatency(latencyMs);
  const startedAt = performance.now();
  const answer = await fetch(request);
  const text = await answer.text();
  const milliseconds = performance.now() - startedAt;
  if (!answer.ok) throw new Error(`${request.method} ${request.url} answered ${answer.status}: ${text}`);
  const { before, all } = JSON.parse(answer.headers.get('x-hops') ?? '') as { before: number; all: number };
  return { hopsBeforeHandler: before, allHops: all, postgresTrips: await system.countPostgresTrips(), milliseconds };
}

/** Creates a dashboard of seven charts that is not cached. @returns its id */
async function createSevenCharts({ call }: System): Promise<string> {
  const layout = [];
  for (let n = 0; n < 7; n += 1) {
    const sql = `SELECT regiao, sum(valor) + ${n} AS total FROM vendas GROUP BY 1 ORDER BY 1`;
    const { _id } = await call('POST', '/v1/visualizations', { name: `Chart ${n}`, sql });
    layout.push({ visualization_id: _id, x: 0, y: 4 * n, w: 6, h: 4 });
  }
  return (await call('POST', '/v1/dashboards', { name: 'Seven', cache_seconds: 0, layout }))._id;
}

/** Counts queries of D1 while a thousand companies send one request after the other, each by a key that is cached. */
async function measureSteadyState({ baseUrl }: System): Promise<void> {
  const companies = await createCompanies(baseUrl, COMPANY_COUNT, 1);
  const sendRound = () =>
    forEachConcurrently(companies, ({ keys: [key] }, n) => sendSigned(baseUrl, key as never, '/bench/signed', n));
  for (let n = 0; n < WARM_UP_REQUEST_COUNT; n += 1) await sendRound();
  await readUsage(baseUrl);
  for (let n = 0; n < COUNTED_REQUEST_COUNT; n += 1) await sendRound();
  const queryCount = countNonHandlerQueries(await readUsage(baseUrl));
  const requests = COUNTED_REQUEST_COUNT * COMPANY_COUNT;
  printVerdict(
    'D1 queries per thousand requests of 1,000 companies',
    (queryCount * 1000) / requests,
    makeUpperLimit(1),
    `(${queryCount} for ${requests})`,
  );
}
