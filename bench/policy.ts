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
import { compileAccess, decideAccess } from '../src/access/evaluation.ts';
import type { Action } from '../src/permissions/actions.ts';
import { ALL_ACTIONS } from '../src/permissions/actions.ts';
import { makeResourceArn } from '../src/permissions/arn.ts';
import type { PolicyStatement } from '../src/permissions/policy-document.ts';
import { matchesPattern } from '../src/permissions/wildcard.ts';
import { makeLowerLimit, printVerdict } from './verdict.ts';

const MIN_RATIO = 0.5;
const STATEMENT_COUNT = 200;
const ROUND_COUNT = 9;
const COMPANY_ID = '65f000000000000000000001';
const makeId = (number: number): string => number.toString(16).padStart(24, '0');

/** Makes 200 statements in ten policies: single resources, whole types, whole services; one in ten denies. */
function makeSources(): AccessSources {
  const statements = Array.from({ length: STATEMENT_COUNT }, (_, number): PolicyStatement => {
    const action = ALL_ACTIONS[(number * 7) % ALL_ACTIONS.length] as Action;
    const service = action.slice(0, action.indexOf(':'));
    const resources = [makeResourceArn(action, COMPANY_ID, number % 3 === 0 ? '*' : makeId(number))];
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
  return { companyId: COMPANY_ID, isOwner: false, groups: [{ id: makeId(1), policies, roles: [], permissions: [] }] };
}

/** Sorts the statements for libraries in which the last rule wins: Deny comes last. */
const sortStatements = ({ groups }: AccessSources): PolicyStatement[] =>
  groups
    .flatMap(({ policies }) => policies.flatMap(({ document }) => document.statements))
    .toSorted((a, b) => Number(a.effect === 'Deny') - Number(b.effect === 'Deny'));

/** Makes a CASL ability. CASL knows no patterns: actions are expanded, `type/*` is the type, one resource a condition. */
function createCasl(from: AccessSources): MongoAbility {
  const rules = sortStatements(from).flatMap(({ effect, actions, resources }) =>
    actions.flatMap((pattern) =>
      resources.map((resource): RawRuleOf<MongoAbility> => {
        const [type, id] = resource.slice(resource.lastIndexOf(':') + 1).split('/') as [string, string];
        const matchingActions = ALL_ACTIONS.filter((action) => matchesPattern(pattern, action));
        return {
          action: matchingActions,
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
  makeEnforcer: (...model: unknown[]) => Promise<E>,
): Promise<E> {
  const enforcer = await makeEnforcer(newModel(CASBIN_MODEL));
  await enforcer.addPolicies(
    sortStatements(from).flatMap(({ effect, actions, resources }) =>
      actions.flatMap((action) => resources.map((resource) => [resource, action, effect.toLowerCase()])),
    ),
  );
  return enforcer;
}

/** Action of all 64 questions, each about another user; the policies allow some of these. */
const ACTION: Action = 'users:get';
/** Resources of 64 questions about users, some of which the policies allow. */
const QUESTION_RESOURCES = Array.from({ length: 64 }, (_, number) =>
  makeResourceArn(ACTION, COMPANY_ID, makeId(number * 3)),
);

let allowedCount = 0;
/**
 * Measures the operations per second of each candidate: the best of several rounds, each of which runs every candidate.
 */
function measureRates(...candidates: { operationCount: number; run: () => void }[]): number[] {
  const bestRates = candidates.map(() => 0);
  for (let round = 0; round < ROUND_COUNT; round++) {
    for (const [number, { operationCount, run }] of candidates.entries()) {
      const startedAt = performance.now();
      run();
      bestRates[number] = Math.max(
        bestRates[number] as number,
        (operationCount / (performance.now() - startedAt)) * 1000,
      );
    }
  }
  return bestRates;
}

const accessSources = makeSources();
const access = compileAccess(accessSources);
const answersByResource = new Map(
  QUESTION_RESOURCES.map((resource) => [resource, decideAccess(access, ACTION, resource)]),
);

const caslAbility = createCasl(accessSources);
const caslSubjects = QUESTION_RESOURCES.map((resource) =>
  subject('user', { id: resource.slice(resource.indexOf('/') + 1) }),
);
const casbinEnforcer = await createCasbin(accessSources, newEnforcer);
const cachedEnforcer = await createCasbin(accessSources, newCachedEnforcer);
for (const [number, resource] of QUESTION_RESOURCES.entries()) {
  const isAllowed = decideAccess(access, ACTION, resource).allowed;
  const libraryAnswers = [
    caslAbility.can(ACTION, caslSubjects[number] as (typeof caslSubjects)[number]),
    casbinEnforcer.enforceSync(resource, ACTION),
    await cachedEnforcer.enforce(resource, ACTION),
  ];
  if (libraryAnswers.some((allowed) => allowed !== isAllowed))
    throw new Error(`The peers decide otherwise on ${resource}: ${libraryAnswers}`);
}

const REPEAT_COUNT = 40_000;
const CASL_REPEAT_COUNT = 4_000;
const FIRST_DECISION_COUNT = 5_000;
// Each has a loop of its own: in a shared loop the call would be measured rather than the decision.
const [map, again, first, caslRate, casbinRate] = measureRates(
  {
    operationCount: REPEAT_COUNT * QUESTION_RESOURCES.length,
    run() {
      for (let i = 0; i < REPEAT_COUNT; i++)
        for (const resource of QUESTION_RESOURCES) if (answersByResource.get(resource)?.allowed) allowedCount += 1;
    },
  },
  {
    operationCount: REPEAT_COUNT * QUESTION_RESOURCES.length,
    run() {
      for (let i = 0; i < REPEAT_COUNT; i++)
        for (const resource of QUESTION_RESOURCES)
          if (decideAccess(access, ACTION, resource).allowed) allowedCount += 1;
    },
  },
  {
    operationCount: FIRST_DECISION_COUNT,
    run() {
      for (let i = 0; i < FIRST_DECISION_COUNT; i++)
        if (decideAccess(compileAccess(accessSources), ACTION, QUESTION_RESOURCES[i % 64] as string).allowed)
          allowedCount += 1;
    },
  },
  {
    operationCount: CASL_REPEAT_COUNT * QUESTION_RESOURCES.length,
    run() {
      for (let i = 0; i < CASL_REPEAT_COUNT; i++)
        for (const caslSubject of caslSubjects) if (caslAbility.can(ACTION, caslSubject)) allowedCount += 1;
    },
  },
  {
    operationCount: QUESTION_RESOURCES.length,
    run() {
      for (const resource of QUESTION_RESOURCES) if (casbinEnforcer.enforceSync(resource, ACTION)) allowedCount += 1;
    },
  },
) as [number, number, number, number, number];
// casbin caches whole decisions, like `evaluation.ts`, and answers only by a promise.
const CACHED_REPEAT_COUNT = 400;
let cachedRate = 0;
for (let round = 0; round < ROUND_COUNT; round++) {
  const startedAt = performance.now();
  for (let i = 0; i < CACHED_REPEAT_COUNT; i++)
    for (const resource of QUESTION_RESOURCES) if (await cachedEnforcer.enforce(resource, ACTION)) allowedCount += 1;
  cachedRate = Math.max(
    cachedRate,
    ((CACHED_REPEAT_COUNT * QUESTION_RESOURCES.length) / (performance.now() - startedAt)) * 1000,
  );
}

const formatRate = (count: number): string =>
  count >= 100_000 ? `${(count / 1e6).toFixed(2)} M/s` : `${Math.round(count)} /s`;
const speedRatio = again / Math.max(caslRate, casbinRate, cachedRate);
console.log(`Map.get, interned keys   ${formatRate(map)}`);
console.log(`decide, again            ${formatRate(again)}`);
console.log(`CASL                     ${formatRate(caslRate)}`);
console.log(`casbin, cached           ${formatRate(cachedRate)}`);
console.log(`casbin                   ${formatRate(casbinRate)}`);
console.log(`compile and decide once  ${(1e6 / first).toFixed(1)} µs for ${STATEMENT_COUNT} statements`);
printVerdict('decisions over 200 statements, against an interned Map.get', again / map, makeLowerLimit(MIN_RATIO));
printVerdict('the same, against the faster of casbin and CASL', speedRatio, makeLowerLimit(1));
if (allowedCount === 0) throw new Error('Nothing was allowed: what was measured were no decisions.');
