/**
 * Measures who can do something among 1,000 principals, each of whom 50 documents of 20 KB reach through groups of their own mixture:
 * CPU from the documents as they are stored, against evaluating them once, as a request of one of these principals does.
 *
 *   npm run bench -- who-can
 */
import { compileAccess, decide, type GroupGrants } from '../src/access/evaluation.ts';
import type { GroupSet } from '../src/access/population.ts';
import { decideAll, keepStatementsOn } from '../src/access/who-can.ts';
import type { Action } from '../src/permissions/actions.ts';
import { ALL_ACTIONS } from '../src/permissions/actions.ts';
import { resourceArn } from '../src/permissions/arn.ts';
import { POLICY_LIMITS, POLICY_VERSION, type PolicyDocument } from '../src/permissions/policy-document.ts';
import { computeMedian, makeUpperLimit, printVerdict } from './verdict.ts';

const PRINCIPALS = 1000;
const DOCUMENTS = 50;
const SECONDS = 2;
const RATIO = 2;
const ROUNDS = 9;
const COMPANY = '65f000000000000000000001';
const ACTION: Action = 'users:get';
const makeId = (number: number): string => number.toString(16).padStart(24, '0');
const RESOURCE = resourceArn(ACTION, COMPANY, makeId(1));

/** A document of about 20 KB: single resources, and a pattern now and then. */
function makeDocument(number: number): PolicyDocument {
  const statements: PolicyDocument['statements'] = [];
  for (let size = 0; size < POLICY_LIMITS.bytes - 300 && statements.length < POLICY_LIMITS.statements; ) {
    const at = number * 1000 + statements.length;
    const action = ALL_ACTIONS[at % ALL_ACTIONS.length] as Action;
    const statement = {
      effect: at % 17 === 0 ? ('Deny' as const) : ('Allow' as const),
      actions: at % 5 === 0 ? [`${action.split(':')[0]}:*`] : [action, ACTION],
      resources: [resourceArn(action, COMPANY, makeId(at)), `arn:svc:*:${COMPANY}:*/*${makeId(at).slice(-4)}`],
    };
    statements.push(statement);
    size += JSON.stringify(statement).length + 1;
  }
  return { version: POLICY_VERSION, statements };
}

/** As they are stored: of each group one, which all are in; and a group of their own for each principal, which has none. */
const stored = Array.from({ length: DOCUMENTS }, (_, number): [string, string] => [
  makeId(number),
  JSON.stringify(makeDocument(number)),
]);
const own = Array.from({ length: PRINCIPALS }, (_, at) => makeId(1000 + at));
const likes: GroupSet[] = own.map((id) => ({ isOwner: 0, groups: JSON.stringify([...stored.map(([of]) => of), id]) }));

const makeGrants = (id: string, ...documents: PolicyDocument[]): GroupGrants => ({
  id,
  roles: [],
  permissions: [],
  policies: documents.map((document) => ({ id, document })),
});

/** What one request of one principal takes: its documents are read, compiled, and decide. */
function evaluateOnce(): number {
  const groups = [...stored.map(([id, text]) => makeGrants(id, JSON.parse(text))), makeGrants(own[0] as string)];
  return decide(compileAccess({ companyId: COMPANY, isOwner: false, groups }), ACTION, RESOURCE).allowed ? 1 : 0;
}

function findAll(): number {
  const keep = keepStatementsOn(ACTION);
  const grants = new Map([
    ...stored.map(([id, text]) => [id, makeGrants(id, keep(JSON.parse(text)))] as const),
    ...own.map((id) => [id, makeGrants(id)] as const),
  ]);
  return decideAll(likes, grants, { companyId: COMPANY, action: ACTION, resource: RESOURCE }).size;
}

/** Seconds of CPU that each takes, by turns: what else the machine does meets both. */
const taken = { all: [] as number[], once: [] as number[] };
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [name, run, expected] of [
    ['once', evaluateOnce, 1],
    ['all', findAll, PRINCIPALS],
  ] as const) {
    const started = process.cpuUsage();
    const found = run();
    const { user, system } = process.cpuUsage(started);
    if (found !== expected) throw new Error(`${found} are found who can, of ${expected}`);
    taken[name].push((user + system) / 1e6);
  }
}
const [all, once] = [computeMedian(taken.all), computeMedian(taken.once)];

printVerdict(
  'CPU of who can among 1,000 principals with 50 documents of 20 KB each',
  all,
  makeUpperLimit(SECONDS),
  's',
);
printVerdict('the same, against evaluating them once', all / once, makeUpperLimit(RATIO));
