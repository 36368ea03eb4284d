import { makeGuards } from '../guard.ts';

const RACE_TESTS = ['test/groups/races.test.ts'];
const POLICY_RACE_TESTS = ['test/policies/races.test.ts'];
const DIRECTORY_TESTS = ['test/directory/groups.directory.test.ts'];
const LIMIT_TESTS = ['test/policies/limits.test.ts'];

export const GROUP_AND_POLICY_GUARDS = [
  ...makeGuards('src/modules/groups/store.ts', RACE_TESTS, [
    { in: 'updateGroup', text: 'matchesUndeletedId(', without: 'matchesId(' },
    { in: 'updateGroup', text: ', eq(groups.isGlobal, false)' },
    { in: 'softDeleteGroup', text: 'matchesUndeletedId(', without: 'matchesId(' },
    { in: 'softDeleteGroup', text: ', eq(groups.isGlobal, false)' },
    {
      in: 'makeClearGroupStatements',
      text: 'eq(groupBindings.groupId, id), isDeleted',
      without: 'eq(groupBindings.groupId, id)',
    },
    {
      in: 'makeClearGroupStatements',
      text: 'eq(groupPolicies.groupId, id), isDeleted',
      without: 'eq(groupPolicies.groupId, id)',
    },
    {
      in: 'makeClearGroupStatements',
      text: 'eq(groupPermissions.groupId, id), isDeleted',
      without: 'eq(groupPermissions.groupId, id)',
    },
    {
      in: 'isPrincipalNotDeleted',
      text: 'existsSql(users, matchesUndeletedId(users, companyId, principalId))',
      without: 'sql`true`',
    },
    {
      in: 'isPrincipalNotDeleted',
      text: 'existsSql(serviceAccounts, matchesUndeletedId(serviceAccounts, companyId, principalId))',
      without: 'sql`true`',
    },
    { in: 'insertBinding', text: 'isGroupNotDeleted(record.companyId, record.groupId),' },
    { in: 'insertBinding', text: 'isPrincipalNotDeleted(record),' },
    {
      in: 'insertBinding',
      text: 'existsSql(accounts, matchesUndeletedId(accounts, record.companyId, record.accountId)),',
    },
    { in: 'attachPolicy', text: 'isGroupNotDeleted(attachment.companyId, attachment.groupId),', without: 'sql`true`,' },
    {
      in: 'attachPolicy',
      text: 'existsSql(policies, matchesId(policies, attachment.companyId, attachment.policyId))',
      without: 'undefined',
    },
  ]),
  ...makeGuards('src/modules/groups/permission-store.ts', RACE_TESTS, [
    { in: 'insertGroup', text: 'makeUniqueSlugSql(groups, record)', without: 'record.slug' },
    { in: 'insertGroup', text: ') = ${permissionIds.length}', without: ') >= 0' },
    { in: 'insertGroupPermissions', text: ' and ${isGroupNotDeleted(companyId, groupId)}' },
    { in: 'insertGroupPermissions', text: '.onConflictDoNothing()' },
  ]),
  ...makeGuards('src/modules/groups/user-group-store.ts', DIRECTORY_TESTS, [
    {
      in: 'deleteUserMembers',
      text: 'isUserMembership(companyId, [groupId]), ',
      title: 'and of other groups as they are',
    },
    {
      in: 'deleteUserMembers',
      text: ', inArray(groupBindings.principalId, makeIdListSql(userIds))',
      title: 'are changed by PATCH',
    },
  ]),
  ...makeGuards('src/modules/groups/store.ts', DIRECTORY_TESTS, [
    {
      in: 'makeNameUnlessTakenSql',
      text: 'iif(${isTaken}, null, ${name})',
      without: '${name}',
      title: 'in another case',
    },
    { in: 'makeNameUnlessTakenSql', text: 'ne(groups.id, id),', title: 'in another case' },
    { in: 'makeNameUnlessTakenSql', text: 'isNull(groups.deletedAt),', title: 'in another case' },
  ]),
  ...makeGuards('drizzle/0044_group-members-changed.sql', DIRECTORY_TESTS, [
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
  ...makeGuards('src/modules/groups/user-groups.ts', DIRECTORY_TESTS, [
    {
      in: 'changeGroupOfUsers',
      text: 'isAsRequested && found[0] ?',
      without: 'found[0] ?',
      title: 'that others change meanwhile',
    },
  ]),
  ...makeGuards('drizzle/0040_name-directory-ids.sql', DIRECTORY_TESTS, [
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
  ...makeGuards('src/modules/groups/user-group-store.ts', RACE_TESTS, [
    {
      in: 'insertMemberships',
      text: ' and ${groups.deletedAt} is null',
      tests: [...RACE_TESTS, ...DIRECTORY_TESTS],
    },
    {
      in: 'insertMemberships',
      text: ' and ${users.deletedAt} is null',
      tests: [...RACE_TESTS, ...DIRECTORY_TESTS],
    },
    {
      in: 'insertMemberships',
      text: 'where ${condition}',
      without: 'where true',
      tests: ['test/invitations/races.test.ts'],
      title: 'changes, joins and mails nothing',
    },
    {
      in: 'deleteUserFromGroups',
      text: 'isMembershipOfUser(companyId, userId), ',
      tests: ['test/users/users.console.test.ts'],
      title: 'within the default account alone',
    },
  ]),
  ...makeGuards(
    'src/modules/groups/user-groups.ts',
    ['test/users/users.console.test.ts'],
    [
      {
        in: 'changeUserGroups',
        text: 'isExpectedResult(groupIds) ? { user, groupIds: listVisibleGroups(ctx, membershipsAfter) } : undefined',
        without: '{ user, groupIds: listVisibleGroups(ctx, membershipsAfter) }',
        title: 'are the groups of the last replacement, even if another replacement comes meanwhile',
      },
      {
        in: 'changeUserGroups',
        text: 'makeJoinStatement(ctx, [userId], newlyJoinedIds)',
        without: 'makeJoinStatement(ctx, [userId], groupIdsToJoin)',
        tests: RACE_TESTS,
        title: 'checks the permission again',
      },
    ],
  ),
  ...makeGuards('drizzle/0000_identity.sql', RACE_TESTS, [
    { text: 'UNIQUE INDEX `group_bindings_once`', without: 'INDEX `group_bindings_once`' },
    { text: 'UNIQUE INDEX `groups_living_name`', without: 'INDEX `groups_living_name`' },
    { text: 'UNIQUE INDEX `groups_living_slug`', without: 'INDEX `groups_living_slug`' },
    { text: 'UNIQUE INDEX `policies_name`', without: 'INDEX `policies_name`', tests: POLICY_RACE_TESTS },
  ]),
  ...makeGuards('src/modules/policies/policy-store.ts', POLICY_RACE_TESTS, [
    { in: 'updatePolicy', text: ', eq(policies.document, previousDocument)' },
    { in: 'deletePolicy', text: ', not(existsSql(groupPolicies, isOfPolicy(companyId, id)))' },
  ]),
  ...makeGuards('src/modules/legacy-permissions/store.ts', POLICY_RACE_TESTS, [
    { in: 'updatePermission', text: 'eq(permissions.target, previousPermission.target),' },
    { in: 'updatePermission', text: 'eq(permissions.actions, previousPermission.actions),' },
  ]),
  ...makeGuards('drizzle/0016_limit-policies.sql', LIMIT_TESTS, [
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
