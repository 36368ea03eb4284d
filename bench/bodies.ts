/**
 * Measures the CPU time of workerd that the most costly JSON bodies of one mebibyte take, at every route that takes
 * JSON, and with the costly value at every place of the route's schema.
 *
 *   npm run bench -- bodies
 *
 * Each body may take at most eight times the CPU time of an ordinary body of the same size at the same route, which is
 * one long text. Bodies that a route accepts and processes are those of `bodies/accepted-bodies.ts`.
 */
import { COSTLY_VALUES, makeBody } from '../test/contract/costly.ts';
import { ACCEPTED_BODIES } from './bodies/accepted-bodies.ts';
import { listRoutes, makeRequest, type RequestTarget } from './bodies/routes.ts';
import { startSystem } from './system.ts';
import { readExactCpuSeconds } from './usage.ts';
import { computeMedian, makeUpperLimit, printVerdict } from './verdict.ts';

const MAX_COST_RATIO = 8;
const BODY_BYTES = 1024 * 1024;
/** Bytes of the body that are reserved for the member names around the costly value. */
const RESERVED_NAME_BYTES = 300;
/** Cost ratio above which a body is measured again, `REMEASUREMENT_COUNT` times: one measurement says little. */
const REMEASUREMENT_RATIO = 4;
const REMEASUREMENT_COUNT = 5;
/** Lower bound of a measured cost in seconds: below it, noise is a large share of the figure. */
const MIN_REQUEST_SECONDS = 0.004;

const system = await startSystem();
try {
  const routes = await listRoutes(system);
  const worker = await system.findWorkerdPid();
  let token = await system.logIn();

  /** Sends a body and measures its cost. @returns seconds of CPU of workerd */
  const measureCost = async (route: RequestTarget, body: string, mustSucceed = false): Promise<number> => {
    const cpuBefore = await readExactCpuSeconds(worker);
    const answer = await fetch(await makeRequest(system, route, body, token));
    const answerText = await answer.text();
    const isCallerAccepted = answer.status !== 401 || route.credential === 'none';
    if (!isCallerAccepted || (mustSucceed && !answer.ok))
      throw new Error(`${route.method} ${route.path} answered ${answer.status}: ${answerText.slice(0, 500)}`);
    return (await readExactCpuSeconds(worker)) - cpuBefore;
  };
  const measureMedianCost = async (route: RequestTarget, makeBodyFor: (n: number) => string, mustSucceed = false) => {
    const measuredCosts = [];
    for (let n = 0; n < REMEASUREMENT_COUNT; n += 1)
      measuredCosts.push(await measureCost(route, makeBodyFor(n), mustSucceed));
    return Math.max(computeMedian(measuredCosts), MIN_REQUEST_SECONDS);
  };

  const lettersValue = COSTLY_VALUES.find(([title]) => title === 'letters') as (typeof COSTLY_VALUES)[number];
  let mostCostlyBody = { times: 0, what: 'nothing' };
  for (const route of routes) {
    token = await system.logIn();
    const costlyValues = COSTLY_VALUES.map(
      ([title, makeJson]) => [title, makeJson(BODY_BYTES - RESERVED_NAME_BYTES)] as const,
    );
    const ordinaryBody = makeBody(['a-member'], lettersValue[1](BODY_BYTES - RESERVED_NAME_BYTES));
    const ordinaryCost = await measureMedianCost(route, () => ordinaryBody);
    let worstCost = { times: 0, what: '' };
    for (const [bodyPlace, path] of route.bodyPaths) {
      for (const [title, json] of costlyValues) {
        const body = makeBody(path, json);
        let costRatio = (await measureCost(route, body)) / ordinaryCost;
        if (costRatio > REMEASUREMENT_RATIO)
          costRatio =
            (await measureMedianCost(route, () => body)) / (await measureMedianCost(route, () => ordinaryBody));
        if (costRatio > worstCost.times) worstCost = { times: costRatio, what: `${title} in "${bodyPlace}"` };
      }
    }
    console.log(
      `  ${worstCost.times.toFixed(1)} times ${(ordinaryCost * 1000).toFixed(0)} ms: ${route.name}, ${worstCost.what}, of ${route.bodyPaths.size} places`,
    );
    if (worstCost.times > mostCostlyBody.times)
      mostCostlyBody = { times: worstCost.times, what: `${route.name}, ${worstCost.what}` };
  }
  console.log(`The most costly: ${mostCostlyBody.what}`);
  printVerdict(
    'CPU of the most costly body of 1 MiB at any route, against one text of that size',
    mostCostlyBody.times,
    makeUpperLimit(MAX_COST_RATIO),
  );

  token = await system.logIn();
  for (const { bodyLabel, prepare, makeOrdinaryBody, makeCostlyBody } of ACCEPTED_BODIES) {
    const route = { ...(await prepare(system)), credential: 'bearer' };
    const ordinaryCost = await measureMedianCost(route, (n) => JSON.stringify(makeOrdinaryBody(n)), true);
    const remeasuredCost = await measureMedianCost(
      route,
      (n) => JSON.stringify(makeCostlyBody(REMEASUREMENT_COUNT + n)),
      true,
    );
    printVerdict(
      `CPU of ${bodyLabel}, against an honest one of its size`,
      remeasuredCost / ordinaryCost,
      makeUpperLimit(MAX_COST_RATIO),
    );
  }
} finally {
  await system.stop();
}
