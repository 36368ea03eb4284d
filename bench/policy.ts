/**
 * Measures a decision of the policies: 200 statements on one action, beside `Map.get` with interned keys, and beside
 * casbin and CASL with the same rules, in the same run.
 *
 *   npm run bench -- policy
 *
 * "again" asks a compiled access, as a request does after its first check: it must reach half the speed of the Map and
 * be faster than both libraries, each at its best. "first" compiles the 200 statements and asks once, as a request does
 * at its beginning.
 */
import { createMongoAbility, type MongoAbility, type RawRuleOf, subject } from '@casl/ability';
import { type Enforcer, newCachedEnforcer, newEnforcer, newModel } from 'casbin';
import type { AccessSources } from '../src/access/evaluation.ts';
import { compileAccess, decide } from '../src/access/evaluation.ts';
import type { Action } from '../src/permissions/actions.ts';
import { ALL_ACTIONS } from '../src/permissions/actions.ts';
import { resourceArn } from '../src/permissions/arn.ts';
import type { PolicyStatement } from '../src/permissions/policy-document.ts';
import { matches } from '../src/permissions/wildcard.ts';
import { makeLowerLimit, printVerdict } from './verdict.ts';

const LIMIT = 0.5;
const STATEMENTS = 200;
const ROUNDS = 9;
const COMPANY = '65f000000000000000000001';
const makeId = (number: number): string => number.toString(16).padStart(24, '0');

/** 200 statements in ten policies: single resources, whole types, whole services; one in ten denies. */
function makeSources(): AccessSources {
  const statements = Array.from({ length: STATEMENTS }, (_, number): PolicyStatement => {
    const action = ALL_ACTIONS[(number * 7) % ALL_ACTIONS.length] as Action;
    const service = action.slice(0, action.indexOf(':'));
    const resources = [resourceArn(action, COMPANY, number % 3 === 0 ? '*' : makeId(number))];
    return {
      effect: number % 10 === 9 ? 'Deny' : 'Allow',
      actions: number % 4 === 0 ? [`${service}:*`] : [action, 'users:list'],
      resources,
    };
  });
  const policies = Array.from({ length: 10 }, (_, number) => ({
    id: makeId(number),
    document: { version: '2024-01-01' as const, statements: statements.slice(number * 20, number * 20 + 20) },
  }));
  return { companyId: COMPANY, isOwner: false, groups: [{ id: makeId(1), policies, roles: [], permissions: [] }] };
}

/** The statements in the order for libraries in which the last rule wins: Deny comes last. */
const sortStatements = ({ groups }: AccessSources): PolicyStatement[] =>
  groups
    .flatMap(({ policies }) => policies.flatMap(({ document }) => document.statements))
    .toSorted((a, b) => Number(a.effect === 'Deny') - Number(b.effect === 'Deny'));

/** CASL knows no patterns: actions are expanded, `type/*` is the type, one resource a condition. */
function createCasl(from: AccessSources): MongoAbility {
  const rules = sortStatements(from).flatMap(({ effect, actions, resources }) =>
    actions.flatMap((pattern) =>
      resources.map((resource): RawRuleOf<MongoAbility> => {
        const [type, id] = resource.slice(resource.lastIndexOf(':') + 1).split('/') as [string, string];
        const matching = ALL_ACTIONS.filter((action) => matches(pattern, action));
        return {
          action: matching,
          subject: type,
          inverted: effect === 'Deny',
          ...(id !== '*' && { conditions: { id } }),
        };
      }),
    ),
  );
  return createMongoAbility(rules);
}

const CASBIN_MODEL = `
[request_definition]
r = obj, act
[policy_definition]
p = obj, act, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = keyMatch(r.obj, p.obj) && keyMatch(r.act, p.act)
`;

async function createCasbin<E extends Enforcer>(
  from: AccessSources,
  make: (...model: unknown[]) => Promise<E>,
): Promise<E> {
  const enforcer = await make(newModel(CASBIN_MODEL));
  await enforcer.addPolicies(
    sortStatements(from).flatMap(({ effect, actions, resources }) =>
      actions.flatMap((action) => resources.map((resource) => [resource, action, effect.toLowerCase()])),
    ),
  );
  return enforcer;
}

/** 64 questions about users, some with the answer yes. */
const ACTION: Action = 'users:get';
const QUESTIONS = Array.from({ length: 64 }, (_, number) => resourceArn(ACTION, COMPANY, makeId(number * 3)));

let sink = 0;
/** Operations per second of each, the best of several rounds in turns. A call of `run` does `operations`. */
function measureRates(...measured: { operations: number; run: () => void }[]): number[] {
  const best = measured.map(() => 0);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [number, { operations, run }] of measured.entries()) {
      const started = performance.now();
      run();
      best[number] = Math.max(best[number] as number, (operations / (performance.now() - started)) * 1000);
    }
  }
  return best;
}

const accessSources = makeSources();
const access = compileAccess(accessSources);
const answers = new Map(QUESTIONS.map((resource) => [resource, decide(access, ACTION, resource)]));

const ability = createCasl(accessSources);
const subjects = QUESTIONS.map((resource) => subject('user', { id: resource.slice(resource.indexOf('/') + 1) }));
const enforcer = await createCasbin(accessSources, newEnforcer);
const cached = await createCasbin(accessSources, newCachedEnforcer);
for (const [number, resource] of QUESTIONS.entries()) {
  const ours = decide(access, ACTION, resource).allowed;
  const theirs = [
    ability.can(ACTION, subjects[number] as (typeof subjects)[number]),
    enforcer.enforceSync(resource, ACTION),
    await cached.enforce(resource, ACTION),
  ];
  if (theirs.some((allowed) => allowed !== ours))
    throw new Error(`The peers decide otherwise on ${resource}: ${theirs}`);
}

const REPEATS = 40_000;
const CASL_REPEATS = 4_000;
const FIRST_DECISIONS = 5_000;
// Each has a loop of its own: in a shared loop the call would be measured rather than the decision.
const [map, again, first, caslRate, casbinRate] = measureRates(
  {
    operations: REPEATS * QUESTIONS.length,
    run() {
      for (let i = 0; i < REPEATS; i++) for (const resource of QUESTIONS) if (answers.get(resource)?.allowed) sink += 1;
    },
  },
  {
    operations: REPEATS * QUESTIONS.length,
    run() {
      for (let i = 0; i < REPEATS; i++)
        for (const resource of QUESTIONS) if (decide(access, ACTION, resource).allowed) sink += 1;
    },
  },
  {
    operations: FIRST_DECISIONS,
    run() {
      for (let i = 0; i < FIRST_DECISIONS; i++)
        if (decide(compileAccess(accessSources), ACTION, QUESTIONS[i % 64] as string).allowed) sink += 1;
    },
  },
  {
    operations: CASL_REPEATS * QUESTIONS.length,
    run() {
      for (let i = 0; i < CASL_REPEATS; i++) for (const asked of subjects) if (ability.can(ACTION, asked)) sink += 1;
    },
  },
  {
    operations: QUESTIONS.length,
    run() {
      for (const resource of QUESTIONS) if (enforcer.enforceSync(resource, ACTION)) sink += 1;
    },
  },
) as [number, number, number, number, number];
// casbin caches whole decisions, like `evaluation.ts`, and answers only by a promise.
const CACHED_REPEATS = 400;
let cachedRate = 0;
for (let round = 0; round < ROUNDS; round++) {
  const started = performance.now();
  for (let i = 0; i < CACHED_REPEATS; i++)
    for (const resource of QUESTIONS) if (await cached.enforce(resource, ACTION)) sink += 1;
  cachedRate = Math.max(cachedRate, ((CACHED_REPEATS * QUESTIONS.length) / (performance.now() - started)) * 1000);
}

const perSecond = (count: number): string =>
  count >= 100_000 ? `${(count / 1e6).toFixed(2)} M/s` : `${Math.round(count)} /s`;
const ahead = again / Math.max(caslRate, casbinRate, cachedRate);
console.log(`Map.get, interned keys   ${perSecond(map)}`);
console.log(`decide, again            ${perSecond(again)}`);
console.log(`CASL                     ${perSecond(caslRate)}`);
console.log(`casbin, cached           ${perSecond(cachedRate)}`);
console.log(`casbin                   ${perSecond(casbinRate)}`);
console.log(`compile and decide once  ${(1e6 / first).toFixed(1)} µs for ${STATEMENTS} statements`);
printVerdict('decisions over 200 statements, against an interned Map.get', again / map, makeLowerLimit(LIMIT));
printVerdict('the same, against the faster of casbin and CASL', ahead, makeLowerLimit(1));
if (sink === 0) throw new Error('Nothing was allowed: what was measured were no decisions.');
