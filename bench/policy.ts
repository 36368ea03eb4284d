/**
 * What a decision costs: 200 statements against one action, beside `Map.get` with interned keys in the same run.
 *
 *   node bench/policy.ts
 *
 * Two numbers count. "again" asks an access that is already compiled, which is what a request does after its first check;
 * it must reach half of the Map. "first" compiles the 200 statements and asks once, which is what a request starts with.
 */
import type { Action } from '../src/kernel/actions.ts';
import { ALL_ACTIONS } from '../src/kernel/actions.ts';
import { resourceArn } from '../src/kernel/arn.ts';
import type { AccessSources } from '../src/kernel/policy.ts';
import { compileAccess, decide } from '../src/kernel/policy.ts';
import type { PolicyStatement } from '../src/kernel/policy-document.ts';

const LIMIT = 0.5;
const STATEMENTS = 200;
const ROUNDS = 9;
const COMPANY = '65f000000000000000000001';
const idOf = (number: number): string => number.toString(16).padStart(24, '0');

/** 200 statements in ten policies: single resources, whole types, whole services; one in ten denies. */
function sources(): AccessSources {
  const statements = Array.from({ length: STATEMENTS }, (_, number): PolicyStatement => {
    const action = ALL_ACTIONS[(number * 7) % ALL_ACTIONS.length] as Action;
    const service = action.slice(0, action.indexOf(':'));
    const resources = [resourceArn(action, COMPANY, number % 3 === 0 ? '*' : idOf(number))];
    return {
      effect: number % 10 === 9 ? 'Deny' : 'Allow',
      actions: number % 4 === 0 ? [`${service}:*`] : [action, 'users:list'],
      resources,
    };
  });
  const policies = Array.from({ length: 10 }, (_, number) => ({
    id: idOf(number),
    document: { version: '2024-01-01' as const, statements: statements.slice(number * 20, number * 20 + 20) },
  }));
  return { companyId: COMPANY, isOwner: false, groups: [{ id: idOf(1), policies, roles: [], permissions: [] }] };
}

/** 64 questions about users, some answered with yes. */
const ACTION: Action = 'users:get';
const QUESTIONS = Array.from({ length: 64 }, (_, number) => resourceArn(ACTION, COMPANY, idOf(number * 3)));

let sink = 0;
/** Operations per second of the best of several runs. `operations` is how many one call of `run` does. */
function rate(operations: number, run: () => void): number {
  let best = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    run();
    best = Math.max(best, (operations / (performance.now() - started)) * 1000);
  }
  return best;
}

const given = sources();
const access = compileAccess(given);
const answers = new Map(QUESTIONS.map((resource) => [resource, decide(access, ACTION, resource)]));

const REPEATS = 40_000;
const map = rate(REPEATS * QUESTIONS.length, () => {
  for (let i = 0; i < REPEATS; i++) for (const resource of QUESTIONS) if (answers.get(resource)?.allowed) sink += 1;
});
const again = rate(REPEATS * QUESTIONS.length, () => {
  for (let i = 0; i < REPEATS; i++)
    for (const resource of QUESTIONS) if (decide(access, ACTION, resource).allowed) sink += 1;
});
const FIRSTS = 5_000;
const first = rate(FIRSTS, () => {
  for (let i = 0; i < FIRSTS; i++)
    if (decide(compileAccess(given), ACTION, QUESTIONS[i % 64] as string).allowed) sink += 1;
});

const millions = (perSecond: number): string => `${(perSecond / 1e6).toFixed(2)} M/s`;
const ratio = again / map;
console.log(`Map.get, interned keys   ${millions(map)}`);
console.log(`decide, again            ${millions(again)}   ratio ${ratio.toFixed(2)} (at least ${LIMIT})`);
console.log(`compile and decide once  ${(1e6 / first).toFixed(1)} µs for ${STATEMENTS} statements`);
if (sink === 0 || ratio < LIMIT) process.exitCode = 1;
