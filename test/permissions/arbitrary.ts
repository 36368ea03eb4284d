import fc from 'fast-check';
import type { AccessSources, GroupGrants } from '../../src/access/evaluation.ts';
import type { Action } from '../../src/permissions/actions.ts';
import type { GroupRole, LegacyAction, LegacyPermission } from '../../src/permissions/legacy.ts';
import type { PolicyDocument, PolicyStatement } from '../../src/permissions/policy-document.ts';

export const COMPANY_ID = 'c00000000000000000000001';
const OTHER_COMPANY_ID = 'c00000000000000000000002';
const USER_ID = 'a00000000000000000000001';
const GROUP_ID = 'b00000000000000000000001';

/** A few actions, so that generated statements overlap. */
export const SOME_ACTIONS: Action[] = [
  'users:list',
  'users:get',
  'users:update',
  'users:ListUsers',
  'groups:list',
  'groups:delete',
  'managed-tables:upload',
  'dashboards:share',
];
export const SOME_RESOURCES: string[] = [
  '*',
  `arn:svc:users::${COMPANY_ID}:user/*`,
  `arn:svc:users::${COMPANY_ID}:user/${USER_ID}`,
  `arn:svc:users::${COMPANY_ID}:user/${USER_ID.replace('1', '2')}`,
  `arn:svc:users::${OTHER_COMPANY_ID}:user/${USER_ID}`,
  `arn:svc:groups::${COMPANY_ID}:group/${GROUP_ID}`,
  `arn:svc:groups::${COMPANY_ID}:group/*`,
  'arn:svc:iam:::policy/managed/ReadOnly',
];

const arbitraryActionPattern = fc.constantFrom(
  ...SOME_ACTIONS,
  '*',
  'users:*',
  'groups:*',
  '*:list',
  '*:*et',
  'users:*date',
  '*s:l*',
);
const arbitraryResourcePattern = fc.constantFrom(
  ...SOME_RESOURCES,
  `arn:svc:users::${COMPANY_ID}:*`,
  `arn:svc:*:${COMPANY_ID}:*`,
  `arn:svc:*:${COMPANY_ID}:*/*1`,
  `*/${USER_ID}`,
  'arn:svc:users:*',
  'arn:*/*',
  `*:user/${USER_ID.slice(0, 5)}*`,
);
const makeArbitraryList = <T>(item: fc.Arbitrary<T>, min = 0): fc.Arbitrary<T[]> =>
  fc.array(item, { minLength: min, maxLength: 3 });

const makeArbitraryStatement = (effect: fc.Arbitrary<'Allow' | 'Deny'>): fc.Arbitrary<PolicyStatement> =>
  fc.record({
    effect,
    actions: makeArbitraryList(arbitraryActionPattern, 1),
    resources: makeArbitraryList(arbitraryResourcePattern, 1),
  });

export const arbitraryAllow = makeArbitraryStatement(fc.constant('Allow'));
export const arbitraryDeny = makeArbitraryStatement(fc.constant('Deny'));
const arbitraryStatement = makeArbitraryStatement(
  fc.oneof({ weight: 2, arbitrary: fc.constant('Allow' as const) }, fc.constant('Deny' as const)),
);

export const makeDocument = (...statements: PolicyStatement[]): PolicyDocument => ({
  version: '2024-01-01',
  statements,
});

const arbitraryLegacyActions = makeArbitraryList(
  fc.constantFrom<LegacyAction>('read', 'create', 'update', 'delete', '*'),
  1,
);
export const role: fc.Arbitrary<GroupRole> = fc.record({
  name: fc.constant('role'),
  target: fc.constantFrom('users', 'groups', 'managed-tables', 'dashboards', '*', 'content'),
  actions: arbitraryLegacyActions,
});
export const arbitraryPermission: fc.Arbitrary<LegacyPermission> = fc.record({
  id: fc.constant('d00000000000000000000001'),
  target: fc.record(
    {
      company_id: fc.constantFrom(COMPANY_ID, OTHER_COMPANY_ID, '*'),
      service_name: fc.constantFrom('users', 'groups', 'nothing'),
      service_id: fc.constantFrom(USER_ID, GROUP_ID, '*'),
    },
    { requiredKeys: ['company_id'] },
  ),
  actions: arbitraryLegacyActions,
});

const policy = fc.record({
  id: fc.constantFrom('p1', 'p2', 'p3'),
  document: fc.array(arbitraryStatement, { maxLength: 4 }).map((statements) => makeDocument(...statements)),
});

const makeArbitraryGroup = (hasLegacy: boolean): fc.Arbitrary<GroupGrants> =>
  fc.record({
    id: fc.constantFrom('g1', 'g2', 'g3'),
    policies: makeArbitraryList(policy),
    roles: hasLegacy ? fc.array(role, { maxLength: 1 }) : fc.constant([]),
    permissions: hasLegacy ? fc.array(arbitraryPermission, { maxLength: 1 }) : fc.constant([]),
  });

/** Generates the access sources of a user who owns nothing. */
export const arbitrarySources: fc.Arbitrary<AccessSources> = fc
  .array(fc.oneof(makeArbitraryGroup(false), makeArbitraryGroup(true)), { maxLength: 3 })
  .map((groups) => ({ companyId: COMPANY_ID, isOwner: false, groups }));

/** Returns `sources` with one more policy of one statement, at the start if `isFirst`, else at the end. */
export function addStatement(sources: AccessSources, addedStatement: PolicyStatement, isFirst: boolean): AccessSources {
  const group = {
    id: 'added',
    policies: [{ id: 'added', document: makeDocument(addedStatement) }],
    roles: [],
    permissions: [],
  };
  return { ...sources, groups: isFirst ? [group, ...sources.groups] : [...sources.groups, group] };
}
