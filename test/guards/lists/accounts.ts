import { guardsOf } from '../guard.ts';

const RACE_TESTS = ['test/accounts/races.test.ts'];
const SERVICE_ACCOUNT_RACE_TESTS = ['test/service-accounts/races.test.ts'];

export const ACCOUNT_GUARDS = [
  ...guardsOf('src/modules/accounts/store.ts', RACE_TESTS, [
    {
      in: 'clearDefault',
      text: 'livingById(accounts, companyId, next.id)',
      without: 'byId(accounts, companyId, next.id)',
    },
    { in: 'clearDefault', text: 'eq(accounts.isActive, true)', without: 'undefined' },
    { in: 'updateAccount', text: 'livingById(', without: 'byId(' },
    { in: 'updateAccount', text: 'eq(accounts.isDefault, false)', without: 'undefined' },
    { in: 'updateAccount', text: 'eq(accounts.isActive, true)', without: 'undefined' },
    { in: 'softDeleteAccount', text: 'livingById(', without: 'byId(' },
    { in: 'softDeleteAccount', text: 'eq(accounts.isDefault, false),', without: '' },
    { in: 'softDeleteAccount', text: 'sql`${countAttachedUsers(companyId, id)} = 0`,', without: '' },
    { in: 'softDeleteAccount', text: 'sql`${countAttachedServiceAccounts(companyId, id)} = 0`,', without: '' },
    { in: 'undeleteAccount', text: ', isNotNull(accounts.deletedAt)', without: '' },
  ]),
  ...guardsOf('drizzle/0000_identity.sql', RACE_TESTS, [
    { text: 'UNIQUE INDEX `accounts_living_name`', without: 'INDEX `accounts_living_name`' },
    { text: 'UNIQUE INDEX `accounts_one_default`', without: 'INDEX `accounts_one_default`' },
  ]),
  ...guardsOf('src/modules/service-accounts/store.ts', SERVICE_ACCOUNT_RACE_TESTS, [
    { in: 'insertServiceAccount', text: 'livingById(', without: 'byId(' },
    { in: 'insertServiceAccount', text: 'exists(accounts, account)', without: 'sql`1`' },
    { in: 'updateServiceAccount', text: 'livingById(', without: 'byId(' },
    { in: 'softDeleteServiceAccount', text: 'livingById(', without: 'byId(' },
    { in: 'insertApiKey', text: 'livingById(', without: 'byId(' },
    { in: 'deactivateKey', text: ', eq(apiKeys.isActive, true)', without: '' },
  ]),
];
