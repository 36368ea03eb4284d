/**
 * Measures who can do something among 1,000 principals, each of whom 50 documents of 20 KB reach through groups of their own mixture:
 * CPU against deciding once for each of them, from the same compiled groups.
 *
 *   npm run bench -- who-can
 */
import { type Access, compileAccess, decide, type GroupGrants } from '../src/access/evaluation.ts';
import type { Likes } from '../src/access/population.ts';
import { decideAll, onlyOn } from '../src/access/who-can.ts';
import type { Action } from '../src/permissions/actions.ts';
import { ALL_ACTIONS } from '../src/permissions/actions.ts';
import { resourceArn } from '../src/permissions/arn.ts';
import { POLICY_LIMITS, POLICY_VERSION, type PolicyDocument } from '../src/permissions/policy-document.ts';
import { atMost, verdict } from './verdict.ts';

const PRINCIPALS = 1000;
const DOCUMENTS = 50;
const SECONDS = 2;
const RATIO = 0.2;
/** So many times fewer are decided one by one: all would take a minute. */
const PART = 50;
const ROUNDS = 3;
const COMPANY = '65f000000000000000000001';
const ACTION: Action = 'users:get';
const idOf = (number: number): string => number.toString(16).padStart(24, '0');
const RESOURCE = resourceArn(ACTION, COMPANY, idOf(1));

/** A document of about 20 KB: single resources, and a pattern now and then. */
function documentOf(number: number): PolicyDocument {
  const statements: PolicyDocument['statements'] = [];
  for (let size = 0; size < POLICY_LIMITS.bytes - 300 && statements.length < POLICY_LIMITS.statements; ) {
    const at = number * 1000 + statements.length;
    const action = ALL_ACTIONS[at % ALL_ACTIONS.length] as Action;
    const statement = {
      effect: at % 17 === 0 ? ('Deny' as const) : ('Allow' as const),
      actions: at % 5 === 0 ? [`${action.split(':')[0]}:*`] : [action, ACTION],
      resources: [resourceArn(action, COMPANY, idOf(at)), `arn:svc:*:${COMPANY}:*/*${idOf(at).slice(-4)}`],
    };
    statements.push(statement);
    size += JSON.stringify(statement).length + 1;
  }
  return { version: POLICY_VERSION, statements };
}

const grantsOf = (id: string, documents: PolicyDocument[]): [string, GroupGrants] => [
  id,
  { id, roles: [], permissions: [], policies: documents.map((document, at) => ({ id: idOf(at), document })) },
];

/** A group with one document each, which all are in, and a group of its own for each principal. */
const documents = Array.from({ length: DOCUMENTS }, (_, number) => documentOf(number));
const shared = documents.map((document, at) => grantsOf(idOf(at), [document]));
const grants = new Map([...shared, ...Array.from({ length: PRINCIPALS }, (_, at) => grantsOf(idOf(1000 + at), []))]);
const likes: Likes[] = Array.from({ length: PRINCIPALS }, (_, at) => ({
  isOwner: 0,
  groups: JSON.stringify([...shared.map(([id]) => id), idOf(1000 + at)]),
}));

const seconds = (run: () => void): number => {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const started = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(started);
    best = Math.min(best, (user + system) / 1e6);
  }
  return best;
};

/** Once for each, as a request of each would be: from groups that are compiled already. */
let allowed = 0;
const once = seconds(() => {
  const compiled = compileAccess({ companyId: COMPANY, isOwner: false, groups: [...grants.values()] }).groups;
  const own = compiled.slice(0, DOCUMENTS);
  allowed = 0;
  for (let at = 0; at < PRINCIPALS / PART; at += 1) {
    const groups = [...own, compiled[DOCUMENTS + at] as Access['groups'][number]];
    if (decide({ isOwner: false, groups, scopes: null, index: null, recent: null }, ACTION, RESOURCE).allowed)
      allowed += 1;
  }
});

let found = 0;
const all = seconds(() => {
  const keep = onlyOn(ACTION);
  const kept = new Map(
    [...grants].map(([id, group]) => [
      id,
      { ...group, policies: group.policies.map((policy) => ({ ...policy, document: keep(policy.document) })) },
    ]),
  );
  found = decideAll(likes, kept, { companyId: COMPANY, action: ACTION, resource: RESOURCE }).size;
});
if (found !== allowed * PART || found === 0) throw new Error(`${found} are found who can, of ${allowed * PART}`);

verdict('CPU of who can among 1,000 principals with 50 documents of 20 KB each', all, atMost(SECONDS), 's');
verdict('the same, against deciding once for each of them', all / (once * PART), atMost(RATIO));
