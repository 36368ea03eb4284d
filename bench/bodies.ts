/**
 * Measures what the most costly bodies cost at every route that takes JSON: of a mebibyte, at every place of its schema.
 *
 *   npm run bench -- bodies
 *
 * CPU of workerd beside that of an honest body of the same size at the same route, which is one long text. Bodies that pass
 * and are worked with are those of `bodies/worked.ts`. None may cost more than eight times as much.
 */
import { COSTLY, makeBody } from '../test/contract/costly.ts';
import { listRoutes, makeRequest, type RequestTarget } from './bodies/routes.ts';
import { ACCEPTED_BODIES } from './bodies/worked.ts';
import { startSystem } from './system.ts';
import { readExactCpuSeconds } from './usage.ts';
import { computeMedian, makeUpperLimit, printVerdict } from './verdict.ts';

const LIMIT = 8;
const BYTES = 1024 * 1024;
/** Room for the names of the place. */
const NAMES_ROOM_BYTES = 300;
/** What seems to cost this much is measured again, as often as this: one measurement says little. */
const REMEASURED_FROM = 4;
const REMEASUREMENTS = 5;
/** A refused body of few bytes costs so little that its share of noise is large (s). */
const MIN_REQUEST_SECONDS = 0.004;

const system = await startSystem();
try {
  const routes = await listRoutes(system);
  const worker = await system.workerd();
  let token = await system.logIn();

  /** Sends a body. @returns seconds of CPU of workerd */
  const costOf = async (route: RequestTarget, body: string, mustPass = false): Promise<number> => {
    const before = await readExactCpuSeconds(worker);
    const answer = await fetch(await makeRequest(system, route, body, token));
    const said = await answer.text();
    const isKnown = answer.status !== 401 || route.credential === 'none';
    if (!isKnown || (mustPass && !answer.ok))
      throw new Error(`${route.method} ${route.path} answered ${answer.status}: ${said.slice(0, 500)}`);
    return (await readExactCpuSeconds(worker)) - before;
  };
  const costs = async (route: RequestTarget, bodyFor: (n: number) => string, mustPass = false) => {
    const figures = [];
    for (let n = 0; n < REMEASUREMENTS; n += 1) figures.push(await costOf(route, bodyFor(n), mustPass));
    return Math.max(computeMedian(figures), MIN_REQUEST_SECONDS);
  };

  const letters = COSTLY.find(([what]) => what === 'letters') as (typeof COSTLY)[number];
  let most = { times: 0, what: 'nothing' };
  for (const route of routes) {
    token = await system.logIn();
    const written = COSTLY.map(([what, json]) => [what, json(BYTES - NAMES_ROOM_BYTES)] as const);
    const honestBody = makeBody(['a-member'], letters[1](BYTES - NAMES_ROOM_BYTES));
    const honest = await costs(route, () => honestBody);
    let worst = { times: 0, what: '' };
    for (const [place, path] of route.places) {
      for (const [what, json] of written) {
        const body = makeBody(path, json);
        let times = (await costOf(route, body)) / honest;
        if (times > REMEASURED_FROM) times = (await costs(route, () => body)) / (await costs(route, () => honestBody));
        if (times > worst.times) worst = { times, what: `${what} in "${place}"` };
      }
    }
    console.log(
      `  ${worst.times.toFixed(1)} times ${(honest * 1000).toFixed(0)} ms: ${route.name}, ${worst.what}, of ${route.places.size} places`,
    );
    if (worst.times > most.times) most = { times: worst.times, what: `${route.name}, ${worst.what}` };
  }
  console.log(`The most costly: ${most.what}`);
  printVerdict(
    'CPU of the most costly body of 1 MiB at any route, against one text of that size',
    most.times,
    makeUpperLimit(LIMIT),
  );

  token = await system.logIn();
  for (const { what, prepare, honest, costly } of ACCEPTED_BODIES) {
    const route = { ...(await prepare(system)), credential: 'bearer' };
    const theirs = await costs(route, (n) => JSON.stringify(honest(n)), true);
    const ours = await costs(route, (n) => JSON.stringify(costly(REMEASUREMENTS + n)), true);
    printVerdict(`CPU of ${what}, against an honest one of its size`, ours / theirs, makeUpperLimit(LIMIT));
  }
} finally {
  await system.stop();
}
