import { guardsOf } from '../guard.ts';

const RACE_TESTS = ['test/groups/races.test.ts'];
const POLICY_RACE_TESTS = ['test/policies/races.test.ts'];
const DIRECTORY_TESTS = ['test/directory/groups.directory.test.ts'];
const LIMIT_TESTS = ['test/policies/limits.test.ts'];

export const GROUP_AND_POLICY_GUARDS = [
  ...guardsOf('src/modules/groups/store.ts', RACE_TESTS, [
    { in: 'updateGroup', text: 'livingById(', without: 'byId(' },
    { in: 'updateGroup', text: ', eq(groups.isGlobal, false)', without: '' },
    { in: 'softDeleteGroup', text: 'livingById(', without: 'byId(' },
    { in: 'softDeleteGroup', text: ', eq(groups.isGlobal, false)', without: '' },
    { in: 'clearGroup', text: 'eq(groupBindings.groupId, id), isDeleted', without: 'eq(groupBindings.groupId, id)' },
    { in: 'clearGroup', text: 'eq(groupPolicies.groupId, id), isDeleted', without: 'eq(groupPolicies.groupId, id)' },
    {
      in: 'clearGroup',
      text: 'eq(groupPermissions.groupId, id), isDeleted',
      without: 'eq(groupPermissions.groupId, id)',
    },
    {
      in: 'isPrincipalLiving',
      text: 'exists(users, livingById(users, companyId, principalId))',
      without: 'sql`true`',
    },
    {
      in: 'isPrincipalLiving',
      text: 'exists(serviceAccounts, livingById(serviceAccounts, companyId, principalId))',
      without: 'sql`true`',
    },
    { in: 'insertBinding', text: 'isGroupLiving(record.companyId, record.groupId),', without: '' },
    { in: 'insertBinding', text: 'isPrincipalLiving(record),', without: '' },
    {
      in: 'insertBinding',
      text: 'exists(accounts, livingById(accounts, record.companyId, record.accountId)),',
      without: '',
    },
    { in: 'attachPolicy', text: 'isGroupLiving(of.companyId, of.groupId),', without: 'sql`true`,' },
    { in: 'attachPolicy', text: 'exists(policies, byId(policies, of.companyId, of.policyId))', without: 'undefined' },
  ]),
  ...guardsOf('src/modules/groups/permission-store.ts', RACE_TESTS, [
    { in: 'insertGroup', text: 'slugOrSuffixedSql(groups, record)', without: 'record.slug' },
    { in: 'insertGroup', text: ') = ${permissionIds.length}', without: ') >= 0' },
    { in: 'insertGroupPermissions', text: ' and ${isGroupLiving(companyId, groupId)}', without: '' },
    { in: 'insertGroupPermissions', text: '.onConflictDoNothing()', without: '' },
  ]),
  ...guardsOf('src/modules/groups/user-member-store.ts', DIRECTORY_TESTS, [
    { in: 'insertUserMembers', text: 'livingById(', without: 'byId(', title: 'enter no group' },
    {
      in: 'insertUserMembers',
      text: ' and ${users.deletedAt} is null',
      without: '',
      title: 'that are deleted meanwhile',
    },
    {
      in: 'deleteUserMembers',
      text: 'isUserMembership(companyId, [groupId]), ',
      without: '',
      title: 'and of other groups as they are',
    },
    {
      in: 'deleteUserMembers',
      text: ', inArray(groupBindings.principalId, idListSql(userIds))',
      without: '',
      title: 'are changed by PATCH',
    },
  ]),
  ...guardsOf('src/modules/groups/store.ts', DIRECTORY_TESTS, [
    { in: 'nameUnlessTaken', text: 'iif(${isTaken}, null, ${name})', without: '${name}', title: 'in another case' },
    { in: 'nameUnlessTaken', text: ', ne(groups.id, id)', without: '', title: 'in another case' },
    { in: 'nameUnlessTaken', text: ', isNull(groups.deletedAt)', without: '', title: 'in another case' },
  ]),
  ...guardsOf('drizzle/0044_group-members-changed.sql', DIRECTORY_TESTS, [
    {
      text: "AFTER INSERT ON `group_bindings` WHEN NEW.`principal_type` = 'user'",
      without: 'AFTER INSERT ON `group_bindings` WHEN 0',
      title: 'is modified when users enter or leave',
    },
    {
      text: "AFTER DELETE ON `group_bindings` WHEN OLD.`principal_type` = 'user'",
      without: 'AFTER DELETE ON `group_bindings` WHEN 0',
      title: 'is modified when users enter or leave',
    },
  ]),
  ...guardsOf('src/modules/groups/user-members.ts', DIRECTORY_TESTS, [
    {
      in: 'changeGroupOfUsers',
      text: 'isAsWanted && found[0] ?',
      without: 'found[0] ?',
      title: 'that others change meanwhile',
    },
  ]),
  ...guardsOf('drizzle/0040_name-directory-ids.sql', DIRECTORY_TESTS, [
    {
      text: 'UNIQUE INDEX `groups_living_external_id`',
      without: 'INDEX `groups_living_external_id`',
      title: 'is made once',
    },
    {
      text: 'UNIQUE INDEX `users_living_external_id`',
      without: 'INDEX `users_living_external_id`',
      tests: ['test/directory/users.directory.test.ts'],
      title: 'is made once',
    },
  ]),
  ...guardsOf('src/modules/groups/user-group-store.ts', RACE_TESTS, [
    { in: 'joinGroups', text: ' and ${groups.deletedAt} is null', without: '' },
    { in: 'joinGroups', text: 'livingById(', without: 'byId(' },
    {
      in: 'leaveGroups',
      text: 'isMembershipOfUser(companyId, userId), ',
      without: '',
      tests: ['test/users/users.console.test.ts'],
      title: 'within the default account alone',
    },
  ]),
  ...guardsOf(
    'src/modules/groups/user-groups.ts',
    ['test/users/users.console.test.ts'],
    [
      {
        in: 'changeUserGroups',
        text: 'fits(groupIds) ? { user, groupIds: shownGroups(ctx, after) } : undefined',
        without: '{ user, groupIds: shownGroups(ctx, after) }',
        title: 'whoever else does so meanwhile',
      },
      {
        in: 'changeUserGroups',
        text: 'prepareJoinStatement(ctx, userId, joined)',
        without: 'prepareJoinStatement(ctx, userId, enter)',
        tests: RACE_TESTS,
        title: 'checks the permission again',
      },
    ],
  ),
  ...guardsOf('drizzle/0000_identity.sql', RACE_TESTS, [
    { text: 'UNIQUE INDEX `group_bindings_once`', without: 'INDEX `group_bindings_once`' },
    { text: 'UNIQUE INDEX `groups_living_name`', without: 'INDEX `groups_living_name`' },
    { text: 'UNIQUE INDEX `groups_living_slug`', without: 'INDEX `groups_living_slug`' },
    { text: 'UNIQUE INDEX `policies_name`', without: 'INDEX `policies_name`', tests: POLICY_RACE_TESTS },
  ]),
  ...guardsOf('src/modules/policies/policy-store.ts', POLICY_RACE_TESTS, [
    { in: 'updatePolicy', text: ', eq(policies.document, before)', without: '' },
    { in: 'deletePolicy', text: ', not(exists(groupPolicies, isOfPolicy(companyId, id)))', without: '' },
  ]),
  ...guardsOf('src/modules/legacy-permissions/store.ts', POLICY_RACE_TESTS, [
    { in: 'updatePermission', text: 'eq(permissions.target, before.target),', without: '' },
    { in: 'updatePermission', text: 'eq(permissions.actions, before.actions),', without: '' },
  ]),
  ...guardsOf('drizzle/0016_limit-policies.sql', LIMIT_TESTS, [
    { text: '> 50 BEGIN', without: '> 5000 BEGIN' },
    {
      text: 'AFTER INSERT ON `group_policies` WHEN CASE WHEN',
      without: 'AFTER INSERT ON `group_policies` WHEN CASE WHEN 1 OR',
    },
    { text: 'AFTER INSERT ON `group_bindings` WHEN', without: 'AFTER INSERT ON `group_bindings` WHEN 0 AND' },
    {
      text: 'AFTER UPDATE OF `document` ON `policies` WHEN CASE WHEN',
      without: 'AFTER UPDATE OF `document` ON `policies` WHEN CASE WHEN 1 OR',
    },
  ]),
];
