/**
 * Measures the CPU time of finding out who can do something among 1,000 principals, each with 50 policy documents of 20
 * KB through a different set of groups: from the documents as they are stored, against evaluating them once, as a
 * request of one of these principals does.
 *
 *   npm run bench -- who-can
 */
import { compileAccess, decideAccess, type GroupGrants } from '../src/access/evaluation.ts';
import type { GroupSet } from '../src/access/population.ts';
import { decideForGroupSets, makeStatementFilter } from '../src/access/who-can.ts';
import type { Action } from '../src/permissions/actions.ts';
import { ALL_ACTIONS } from '../src/permissions/actions.ts';
import { makeResourceArn } from '../src/permissions/arn.ts';
import { POLICY_LIMITS, POLICY_VERSION, type PolicyDocument } from '../src/permissions/policy-document.ts';
import { computeMedian, makeUpperLimit, printVerdict } from './verdict.ts';

const PRINCIPAL_COUNT = 1000;
const DOCUMENT_COUNT = 50;
const MAX_SECONDS = 2;
const MAX_RATIO = 2;
const ROUND_COUNT = 9;
const COMPANY_ID = '65f000000000000000000001';
const ACTION: Action = 'users:get';
const makeId = (number: number): string => number.toString(16).padStart(24, '0');
const RESOURCE_ARN = makeResourceArn(ACTION, COMPANY_ID, makeId(1));

/** Makes a document of about 20 KB: single resources, and a pattern now and then. */
function makeDocument(number: number): PolicyDocument {
  const statements: PolicyDocument['statements'] = [];
  for (let size = 0; size < POLICY_LIMITS.bytes - 300 && statements.length < POLICY_LIMITS.statements; ) {
    const at = number * 1000 + statements.length;
    const action = ALL_ACTIONS[at % ALL_ACTIONS.length] as Action;
    const statement = {
      effect: at % 17 === 0 ? ('Deny' as const) : ('Allow' as const),
      actions: at % 5 === 0 ? [`${action.split(':')[0]}:*`] : [action, ACTION],
      resources: [
        makeResourceArn(action, COMPANY_ID, makeId(at)),
        `arn:svc:*:${COMPANY_ID}:*/*${makeId(at).slice(-4)}`,
      ],
    };
    statements.push(statement);
    size += JSON.stringify(statement).length + 1;
  }
  return { version: POLICY_VERSION, statements };
}

/** Stored documents, one of each group that all principals are in; a principal's own group has none. */
const storedDocuments = Array.from({ length: DOCUMENT_COUNT }, (_, number): [string, string] => [
  makeId(number),
  JSON.stringify(makeDocument(number)),
]);
const ownGroupIds = Array.from({ length: PRINCIPAL_COUNT }, (_, at) => makeId(1000 + at));
const groupSets: GroupSet[] = ownGroupIds.map((id) => ({
  isOwner: 0,
  groups: JSON.stringify([...storedDocuments.map(([groupId]) => groupId), id]),
}));

const makeGrants = (id: string, ...documents: PolicyDocument[]): GroupGrants => ({
  id,
  roles: [],
  permissions: [],
  policies: documents.map((document) => ({ id, document })),
});

/** Reads and compiles one principal's documents, and decides one action, as a request does. @returns 1 if allowed */
function evaluateOnce(): number {
  const groups = [
    ...storedDocuments.map(([id, text]) => makeGrants(id, JSON.parse(text))),
    makeGrants(ownGroupIds[0] as string),
  ];
  return decideAccess(compileAccess({ companyId: COMPANY_ID, isOwner: false, groups }), ACTION, RESOURCE_ARN).allowed
    ? 1
    : 0;
}

function findAllPrincipals(): number {
  const filterStatements = makeStatementFilter(ACTION);
  const grants = new Map([
    ...storedDocuments.map(([id, text]) => [id, makeGrants(id, filterStatements(JSON.parse(text)))] as const),
    ...ownGroupIds.map((id) => [id, makeGrants(id)] as const),
  ]);
  return decideForGroupSets(groupSets, grants, { companyId: COMPANY_ID, action: ACTION, resource: RESOURCE_ARN }).size;
}

/** Seconds of CPU of each of the two runs, taken in turns: other load on the machine affects both. */
const takenSeconds = { all: [] as number[], once: [] as number[] };
for (let round = 0; round < ROUND_COUNT; round += 1) {
  for (const [name, run, expected] of [
    ['once', evaluateOnce, 1],
    ['all', findAllPrincipals, PRINCIPAL_COUNT],
  ] as const) {
    const startedAt = process.cpuUsage();
    const foundCount = run();
    const { user, system } = process.cpuUsage(startedAt);
    if (foundCount !== expected) throw new Error(`${foundCount} are found who can, of ${expected}`);
    takenSeconds[name].push((user + system) / 1e6);
  }
}
const [all, once] = [computeMedian(takenSeconds.all), computeMedian(takenSeconds.once)];

printVerdict(
  'CPU of who can among 1,000 principals with 50 documents of 20 KB each',
  all,
  makeUpperLimit(MAX_SECONDS),
  's',
);
printVerdict('the same, against evaluating them once', all / once, makeUpperLimit(MAX_RATIO));
