import { makeGuards } from '../guard.ts';

const RACE_TESTS = ['test/accounts/races.test.ts'];
const SERVICE_ACCOUNT_RACE_TESTS = ['test/service-accounts/races.test.ts'];

export const ACCOUNT_GUARDS = [
  ...makeGuards('src/modules/accounts/store.ts', RACE_TESTS, [
    {
      in: 'clearDefault',
      text: 'matchesUndeletedId(accounts, companyId, newDefault.id)',
      without: 'matchesId(accounts, companyId, newDefault.id)',
    },
    { in: 'clearDefault', text: 'eq(accounts.isActive, true)', without: 'undefined' },
    { in: 'updateAccount', text: 'matchesUndeletedId(', without: 'matchesId(' },
    { in: 'updateAccount', text: 'eq(accounts.isDefault, false)', without: 'undefined' },
    { in: 'updateAccount', text: 'eq(accounts.isActive, true)', without: 'undefined' },
    { in: 'softDeleteAccount', text: 'matchesUndeletedId(', without: 'matchesId(' },
    { in: 'softDeleteAccount', text: 'eq(accounts.isDefault, false),' },
    { in: 'softDeleteAccount', text: 'sql`${countAttachedUsers(companyId, id)} = 0`,' },
    { in: 'softDeleteAccount', text: 'sql`${countAttachedServiceAccounts(companyId, id)} = 0`,' },
    { in: 'undeleteAccount', text: ', isNotNull(accounts.deletedAt)' },
  ]),
  ...makeGuards('drizzle/0000_identity.sql', RACE_TESTS, [
    { text: 'UNIQUE INDEX `accounts_living_name`', without: 'INDEX `accounts_living_name`' },
    { text: 'UNIQUE INDEX `accounts_one_default`', without: 'INDEX `accounts_one_default`' },
  ]),
  ...makeGuards('src/modules/service-accounts/store.ts', SERVICE_ACCOUNT_RACE_TESTS, [
    { in: 'insertServiceAccount', text: 'matchesUndeletedId(', without: 'matchesId(' },
    { in: 'insertServiceAccount', text: 'existsSql(accounts, account)', without: 'sql`1`' },
    { in: 'updateServiceAccount', text: 'matchesUndeletedId(', without: 'matchesId(' },
    { in: 'softDeleteServiceAccount', text: 'matchesUndeletedId(', without: 'matchesId(' },
    { in: 'insertApiKey', text: 'matchesUndeletedId(', without: 'matchesId(' },
    { in: 'deactivateKey', text: ', eq(apiKeys.isActive, true)' },
  ]),
];
