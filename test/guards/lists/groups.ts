import { guardsOf } from '../guard.ts';

const RACES = ['test/groups/races.test.ts'];
const POLICIES = ['test/policies/races.test.ts'];
const LIMITS = ['test/policies/limits.test.ts'];

export const GROUPS_AND_POLICIES = [
  ...guardsOf('src/modules/groups/store.ts', RACES, [
    { in: 'insertGroupWithFreeSlug', text: 'iif(${taken}, ${slug + suffix}, ${slug})', without: '${slug}' },
    { in: 'updateGroup', text: 'living(', without: 'one(' },
    { in: 'updateGroup', text: ', eq(groups.isGlobal, false)', without: '' },
    { in: 'softDeleteGroup', text: 'living(', without: 'one(' },
    { in: 'softDeleteGroup', text: ', eq(groups.isGlobal, false)', without: '' },
    { in: 'clearGroup', text: 'eq(groupBindings.groupId, id), isDeleted', without: 'eq(groupBindings.groupId, id)' },
    { in: 'clearGroup', text: 'eq(groupPolicies.groupId, id), isDeleted', without: 'eq(groupPolicies.groupId, id)' },
    {
      in: 'clearGroup',
      text: 'eq(groupPermissions.groupId, id), isDeleted',
      without: 'eq(groupPermissions.groupId, id)',
    },
    {
      in: 'principalLives',
      text: 'from users where id = ${principalId} and company_id = ${companyId} and deleted_at is null',
      without: 'from users',
    },
    {
      in: 'principalLives',
      text: 'from service_accounts where id = ${principalId} and company_id = ${companyId} and deleted_at is null',
      without: 'from service_accounts',
    },
    { in: 'insertBinding', text: '${groupLives(record.companyId, record.groupId)} and ', without: '' },
    { in: 'insertBinding', text: '${principalLives(record)} and ', without: '' },
    { in: 'insertBinding', text: 'id = ${record.accountId} and ', without: '' },
    { in: 'attachPolicy', text: '${groupLives(of.companyId, of.groupId)} and ', without: '' },
    { in: 'attachPolicy', text: ' and ${exists}', without: '' },
  ]),
  ...guardsOf('src/modules/groups/permission-store.ts', RACES, [
    { in: 'insertGroupWithPermissions', text: ') = ${permissionIds.length}', without: ') >= 0' },
    { in: 'addPermissions', text: ' and ${groupLives(companyId, groupId)}', without: '' },
    { in: 'addPermissions', text: '.onConflictDoNothing()', without: '' },
  ]),
  ...guardsOf('src/modules/groups/user-group-store.ts', RACES, [
    { in: 'joinGroups', text: ' and groups.deleted_at is null', without: '' },
    { in: 'joinGroups', text: ' and users.deleted_at is null', without: '' },
    { in: 'joinGroups', text: "joining.value ->> 'joins' or", without: 'true or' },
    { in: 'joinGroups', text: ' and known.principal_id = users.id', without: '' },
  ]),
  ...guardsOf('drizzle/0000_identity.sql', RACES, [
    { text: 'UNIQUE INDEX `group_bindings_once`', without: 'INDEX `group_bindings_once`' },
    { text: 'UNIQUE INDEX `groups_living_name`', without: 'INDEX `groups_living_name`' },
    { text: 'UNIQUE INDEX `groups_living_slug`', without: 'INDEX `groups_living_slug`' },
    { text: 'UNIQUE INDEX `policies_name`', without: 'INDEX `policies_name`', tests: POLICIES },
  ]),
  ...guardsOf('src/modules/policies/policy-store.ts', POLICIES, [
    { in: 'updatePolicy', text: ', eq(policies.document, before)', without: '' },
    { in: 'deletePolicy', text: 'not exists (', without: 'true or exists (' },
  ]),
  ...guardsOf('src/modules/legacy-permissions/store.ts', POLICIES, [
    { in: 'updatePermission', text: 'eq(permissions.target, before.target),', without: '' },
    { in: 'updatePermission', text: 'eq(permissions.actions, before.actions),', without: '' },
  ]),
  ...guardsOf('drizzle/0016_limit-policies.sql', LIMITS, [
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
