import fc from 'fast-check';
import type { AccessSources, GroupGrants } from '../../src/access/evaluation.ts';
import type { Action } from '../../src/permissions/actions.ts';
import type { LegacyAction, LegacyPermission, Role } from '../../src/permissions/legacy.ts';
import type { PolicyDocument, PolicyStatement } from '../../src/permissions/policy-document.ts';

export const COMPANY = 'c00000000000000000000001';
const OTHER_COMPANY = 'c00000000000000000000002';
const USER = 'a00000000000000000000001';
const GROUP = 'b00000000000000000000001';

/** Few actions and resources, so that statements meet. */
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
  `arn:svc:users::${COMPANY}:user/*`,
  `arn:svc:users::${COMPANY}:user/${USER}`,
  `arn:svc:users::${COMPANY}:user/${USER.replace('1', '2')}`,
  `arn:svc:users::${OTHER_COMPANY}:user/${USER}`,
  `arn:svc:groups::${COMPANY}:group/${GROUP}`,
  `arn:svc:groups::${COMPANY}:group/*`,
  'arn:svc:iam:::policy/managed/ReadOnly',
];

const actionPattern = fc.constantFrom(
  ...SOME_ACTIONS,
  '*',
  'users:*',
  'groups:*',
  '*:list',
  '*:*et',
  'users:*date',
  '*s:l*',
);
const resourcePattern = fc.constantFrom(
  ...SOME_RESOURCES,
  `arn:svc:users::${COMPANY}:*`,
  `arn:svc:*:${COMPANY}:*`,
  `arn:svc:*:${COMPANY}:*/*1`,
  `*/${USER}`,
  'arn:svc:users:*',
  'arn:*/*',
  `*:user/${USER.slice(0, 5)}*`,
);
const few = <T>(of: fc.Arbitrary<T>, min = 0): fc.Arbitrary<T[]> => fc.array(of, { minLength: min, maxLength: 3 });

const statementWith = (effect: fc.Arbitrary<'Allow' | 'Deny'>): fc.Arbitrary<PolicyStatement> =>
  fc.record({ effect, actions: few(actionPattern, 1), resources: few(resourcePattern, 1) });

export const allowStatement = statementWith(fc.constant('Allow'));
export const denyStatement = statementWith(fc.constant('Deny'));
const statement = statementWith(
  fc.oneof({ weight: 2, arbitrary: fc.constant('Allow' as const) }, fc.constant('Deny' as const)),
);

export const documentOf = (...statements: PolicyStatement[]): PolicyDocument => ({ version: '2024-01-01', statements });

const legacyActions = few(fc.constantFrom<LegacyAction>('read', 'create', 'update', 'delete', '*'), 1);
export const role: fc.Arbitrary<Role> = fc.record({
  name: fc.constant('role'),
  target: fc.constantFrom('users', 'groups', 'managed-tables', 'dashboards', '*', 'content'),
  actions: legacyActions,
});
export const permission: fc.Arbitrary<LegacyPermission> = fc.record({
  id: fc.constant('d00000000000000000000001'),
  target: fc.record(
    {
      company_id: fc.constantFrom(COMPANY, OTHER_COMPANY, '*'),
      service_name: fc.constantFrom('users', 'groups', 'nothing'),
      service_id: fc.constantFrom(USER, GROUP, '*'),
    },
    { requiredKeys: ['company_id'] },
  ),
  actions: legacyActions,
});

const policy = fc.record({
  id: fc.constantFrom('p1', 'p2', 'p3'),
  document: fc.array(statement, { maxLength: 4 }).map((statements) => documentOf(...statements)),
});

const groupWith = (legacy: boolean): fc.Arbitrary<GroupGrants> =>
  fc.record({
    id: fc.constantFrom('g1', 'g2', 'g3'),
    policies: few(policy),
    roles: legacy ? fc.array(role, { maxLength: 1 }) : fc.constant([]),
    permissions: legacy ? fc.array(permission, { maxLength: 1 }) : fc.constant([]),
  });

/** Sources of someone who owns nothing. */
export const sources: fc.Arbitrary<AccessSources> = fc
  .array(fc.oneof(groupWith(false), groupWith(true)), { maxLength: 3 })
  .map((groups) => ({ companyId: COMPANY, isOwner: false, groups }));

/** `sources` with one more policy of one statement, at either end. */
export function withStatement(sources: AccessSources, added: PolicyStatement, first: boolean): AccessSources {
  const group = { id: 'added', policies: [{ id: 'added', document: documentOf(added) }], roles: [], permissions: [] };
  return { ...sources, groups: first ? [group, ...sources.groups] : [...sources.groups, group] };
}
