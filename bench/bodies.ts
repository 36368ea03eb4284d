/**
 * Measures what the most costly bodies cost at every route that takes JSON: of a mebibyte, at every place of its schema.
 *
 *   npm run bench -- bodies
 *
 * CPU of workerd beside that of an honest body of the same size at the same route, which is one long text. Bodies that pass
 * and are worked with are those of `bodies/worked.ts`. None may cost more than eight times as much.
 */
import { bodyWith, COSTLY } from '../test/contract/costly.ts';
import { type Asked, requestFor, routesOf } from './bodies/routes.ts';
import { WORKED } from './bodies/worked.ts';
import { startSystem } from './system.ts';
import { exactCpuSeconds } from './usage.ts';
import { atMost, median, verdict } from './verdict.ts';

const LIMIT = 8;
const BYTES = 1024 * 1024;
/** Room for the names of the place. */
const AROUND = 300;
/** What seems to cost this much is measured again, as often as this: one measurement says little. */
const SUSPICIOUS = 4;
const AGAIN = 5;
/** A refused body of few bytes costs so little that its share of noise is large (s). */
const MIN_REQUEST_SECONDS = 0.004;

const system = await startSystem();
try {
  const routes = await routesOf(system);
  const worker = await system.workerd();
  let token = await system.logIn();

  /** Sends a body. @returns seconds of CPU of workerd */
  const costOf = async (route: Asked, body: string, mustPass = false): Promise<number> => {
    const before = await exactCpuSeconds(worker);
    const answer = await fetch(await requestFor(system, route, body, token));
    const said = await answer.text();
    const isKnown = answer.status !== 401 || route.credential === 'none';
    if (!isKnown || (mustPass && !answer.ok))
      throw new Error(`${route.method} ${route.path} answered ${answer.status}: ${said.slice(0, 500)}`);
    return (await exactCpuSeconds(worker)) - before;
  };
  const costs = async (route: Asked, bodyFor: (n: number) => string, mustPass = false) => {
    const figures = [];
    for (let n = 0; n < AGAIN; n += 1) figures.push(await costOf(route, bodyFor(n), mustPass));
    return Math.max(median(figures), MIN_REQUEST_SECONDS);
  };

  const letters = COSTLY.find(([what]) => what === 'letters') as (typeof COSTLY)[number];
  let most = { times: 0, what: 'nothing' };
  for (const route of routes) {
    token = await system.logIn();
    const written = COSTLY.map(([what, json]) => [what, json(BYTES - AROUND)] as const);
    const honestBody = bodyWith(['a-member'], letters[1](BYTES - AROUND));
    const honest = await costs(route, () => honestBody);
    let worst = { times: 0, what: '' };
    for (const [place, path] of route.places) {
      for (const [what, json] of written) {
        const body = bodyWith(path, json);
        let times = (await costOf(route, body)) / honest;
        if (times > SUSPICIOUS) times = (await costs(route, () => body)) / (await costs(route, () => honestBody));
        if (times > worst.times) worst = { times, what: `${what} in "${place}"` };
      }
    }
    console.log(
      `  ${worst.times.toFixed(1)} times ${(honest * 1000).toFixed(0)} ms: ${route.name}, ${worst.what}, of ${route.places.size} places`,
    );
    if (worst.times > most.times) most = { times: worst.times, what: `${route.name}, ${worst.what}` };
  }
  console.log(`The most costly: ${most.what}`);
  verdict(
    'CPU of the most costly body of 1 MiB at any route, against one text of that size',
    most.times,
    atMost(LIMIT),
  );

  token = await system.logIn();
  for (const { what, prepare, honest, costly } of WORKED) {
    const route = { ...(await prepare(system)), credential: 'bearer' };
    const theirs = await costs(route, (n) => JSON.stringify(honest(n)), true);
    const ours = await costs(route, (n) => JSON.stringify(costly(AGAIN + n)), true);
    verdict(`CPU of ${what}, against an honest one of its size`, ours / theirs, atMost(LIMIT));
  }
} finally {
  await system.stop();
}
