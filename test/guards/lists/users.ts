import { makeGuards } from '../guard.ts';

const USER_RACE_TESTS = ['test/users/races.test.ts'];
const SIGN_IN_RACE_TESTS = ['test/sign-in/races.test.ts'];
const OVERTAKEN_SIGN_IN_TESTS = ['test/sign-in/races-with-changes.test.ts'];
const INVITATION_RACE_TESTS = ['test/invitations/races.test.ts'];
const DIRECTORY_TESTS = ['test/directory/races.directory.test.ts'];
const STORED_COUNT_TESTS = ['test/users/stored-counts.organization.test.ts'];

export const USER_AND_INVITATION_GUARDS = [
  ...makeGuards(
    'src/modules/companies/store.ts',
    ['test/companies/branding.console.test.ts'],
    [{ in: 'updateBranding', text: ', eq(companies.branding, storedBranding)', title: 'half of it' }],
  ),
  ...makeGuards(
    'src/modules/companies/store.ts',
    ['test/companies/settings.console.test.ts'],
    [
      {
        in: 'updateSettings',
        text: ', mustKeepSignInRules ? hasSignInRules(changes) : undefined',
        title: 'sent back as they were read',
      },
    ],
  ),
  ...makeGuards('src/modules/users/store.ts', USER_RACE_TESTS, [
    { in: 'recordSignIn', text: ', HAS_CHANGED_ROWS', tests: SIGN_IN_RACE_TESTS },
    {
      in: 'endInvitation',
      text: ', HAS_CHANGED_ROWS',
      tests: ['test/directory/users.directory.test.ts'],
      title: 'to inactive ends the invitation',
    },
    {
      in: 'upgradePasswordHash',
      text: ', eq(users.passwordHash, user.passwordHash as string)',
      tests: OVERTAKEN_SIGN_IN_TESTS,
    },
    { in: 'setPassword', text: 'matchesUndeletedId(', without: 'matchesId(', tests: SIGN_IN_RACE_TESTS },
    { in: 'setPassword', text: ', eq(users.passwordHash, user.passwordHash as string)', tests: SIGN_IN_RACE_TESTS },
    {
      in: 'endPasswordResets',
      text: 'existsSql(users, matchesId(users, companyId, id), eq(users.email, email))',
      without: 'undefined',
      tests: ['test/directory/users.directory.test.ts'],
      title: 'reset link',
    },
    { in: 'updateUser', text: 'matchesUndeletedId(', without: 'matchesId(' },
    { in: 'updateUser', text: 'eq(users.isOwner, false)', without: 'undefined' },
    { in: 'updateUser', text: 'isNotNull(users.activatedAt)', without: 'undefined' },
    { in: 'softDeleteUser', text: 'matchesUndeletedId(', without: 'matchesId(' },
    { in: 'softDeleteUser', text: ', eq(users.isOwner, false)' },
    { in: 'removeMemberships', text: ', isNotNull(users.deletedAt)' },
  ]),
  ...makeGuards('src/modules/users/service.ts', DIRECTORY_TESTS, [
    {
      in: 'changeUser',
      text: 'if (changes.email === undefined || isAdministrator(ctx.actor.access)) return writeChanges();',
      without: 'return writeChanges();',
      title: 'is not given to somebody who meanwhile',
    },
    {
      in: 'writeUser',
      text: 'updateUser(ctx.db, companyId, id, now, batch, changes)',
      without: 'updateUser(ctx.db, companyId, id, now, batch)',
      title: 'or nothing is',
    },
  ]),
  ...makeGuards('src/modules/invitations/store.ts', INVITATION_RACE_TESTS, [
    {
      in: 'replaceInvitation',
      text: 'case when ${isMailed} then ${record.digest} else ${invitations.digest} end',
      without: '${record.digest}',
    },
    {
      in: 'replaceInvitation',
      text: 'isStillInvited(record.companyId, record.userId)',
      without: 'sql`true`',
      title: 'changes, joins and mails nothing',
    },
    { in: 'updateInvitedUser', text: ', isNull(users.activatedAt)', title: 'changes, joins and mails nothing' },
    {
      in: 'updateInvitedUser',
      text: 'matchesUndeletedId(users, companyId, id)',
      without: 'matchesId(users, companyId, id)',
      title: 'is one to a new user',
    },
    { in: 'prepareAcceptance', text: ', isNull(users.activatedAt)' },
    { in: 'prepareAcceptance', text: ', isNull(users.deletedAt)' },
    { in: 'prepareAcceptance', text: ', HAS_CHANGED_ROWS' },
  ]),
  ...makeGuards('drizzle/0000_identity.sql', USER_RACE_TESTS, [
    { text: 'UNIQUE INDEX `users_living_email`', without: 'INDEX `users_living_email`' },
    { text: 'UNIQUE INDEX `companies_slug`', without: 'INDEX `companies_slug`', tests: USER_RACE_TESTS },
  ]),
  ...makeGuards('drizzle/0003_user_counts.sql', STORED_COUNT_TESTS, [
    { text: 'AFTER INSERT ON `users`', without: 'AFTER INSERT ON `users` WHEN 0' },
    { text: 'AFTER UPDATE OF `deleted_at` ON `users`', without: 'AFTER UPDATE OF `deleted_at` ON `users` WHEN 0' },
  ]),
  ...makeGuards('drizzle/0006_account_users.sql', STORED_COUNT_TESTS, [
    { text: 'AFTER INSERT ON `account_users`', without: 'AFTER INSERT ON `account_users` WHEN 0' },
    { text: 'AFTER DELETE ON `account_users`', without: 'AFTER DELETE ON `account_users` WHEN 0' },
    { text: 'AFTER INSERT ON `group_bindings` WHEN', without: 'AFTER INSERT ON `group_bindings` WHEN 0 AND' },
    { text: 'AFTER DELETE ON `group_bindings` WHEN', without: 'AFTER DELETE ON `group_bindings` WHEN 0 AND' },
    {
      text: 'AFTER UPDATE OF `email`, `updated_at`, `last_login_at` ON `users`',
      without: 'AFTER UPDATE OF `email`, `updated_at`, `last_login_at` ON `users` WHEN 0',
    },
  ]),
];
