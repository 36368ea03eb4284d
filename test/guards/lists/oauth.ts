import { guardsOf } from '../guard.ts';

const TOKEN_TESTS = ['test/oauth/tokens.oauth.test.ts'];
const AUTHORIZATION_TESTS = ['test/oauth/authorization.oauth.test.ts'];
const DEVICE_TESTS = ['test/oauth/devices.oauth.test.ts'];

export const OAUTH_GUARDS = [
  ...guardsOf('src/modules/oauth/store.ts', TOKEN_TESTS, [
    { in: 'insertClient', text: '< ${MAX_CLIENTS}', without: '< 100000', tests: AUTHORIZATION_TESTS },
    {
      in: 'rememberClient',
      text: "sql`${oauthPublicClients.clientId} like 'od_%'`,",
      without: '',
      tests: AUTHORIZATION_TESTS,
      title: 'under its host',
    },
    { in: 'rememberClient', text: 'gt(oauthPublicClients.expiresAt, now),', without: '', title: 'is forgotten' },
    { in: 'insertGrant', text: 'isActiveUser(record.companyId, record.userId),', without: '', title: 'deactivated' },
    { in: 'insertGrant', text: 'isClientKept(record),', without: '', tests: AUTHORIZATION_TESTS, title: 'deleted' },
    {
      in: 'insertGrant',
      text: 'exists(oauthDevices, isOpenDevice(deviceDigest, now))',
      without: 'undefined',
      tests: DEVICE_TESTS,
    },
    { in: 'takeCode', text: 'isNull(oauthGrants.codeUsedAt),', without: '', title: 'is used twice' },
    { in: 'takeCode', text: 'gt(oauthGrants.codeExpiresAt, now),', without: '', title: 'sixty seconds' },
    { in: 'takeCode', text: 'isCompanyActive(oauthGrants.companyId),', without: '', title: 'keeps codes' },
    {
      in: 'beginGrant',
      text: 'isNotNull(oauthGrants.begunAt),',
      without: '',
      title: 'no code of the same client',
    },
    {
      in: 'beginGrant',
      text: 'isNull(oauthGrants.endedAt),\n    isNull(oauthGrants.begunAt),',
      without: 'isNull(oauthGrants.begunAt),',
      title: 'at the same time issues no tokens',
    },
    { in: 'beginGrant', text: 'exists(oauthGrants, stillGood),', without: '', title: 'at the same time' },
    {
      in: 'beginGrant',
      text: '.where(stillGood)',
      without: '.where(byId(oauthGrants, companyId, id))',
      title: 'is used twice',
    },
    {
      in: 'rotateGrant',
      text: 'eq(oauthGrants.refreshDigest, digests.presented),',
      without: '',
      title: 'at the same time',
    },
    { in: 'rotateGrant', text: 'isCompanyActive(oauthGrants.companyId),', without: '', title: 'loses nothing' },
    { in: 'endUserGrant', text: ', isActiveGrant(now)', without: '', title: 'by its person' },
    {
      in: 'denyDevice',
      text: 'isOpenDevice(digest, now)',
      without: 'eq(oauthDevices.digest, digest)',
      tests: DEVICE_TESTS,
      title: 'when the user denies',
    },
    { in: 'denyDevice', text: ', sql`not ${isAnswered}`', without: '', tests: DEVICE_TESTS },
  ]),
  ...guardsOf('src/modules/sessions/queries.ts', TOKEN_TESTS, [
    {
      in: 'endUserGrants',
      text: 'exists(users, byId(users, companyId, userId), eq(users.passwordHash, passwordHash)),',
      without: '',
      title: 'began since',
    },
  ]),
  ...guardsOf('drizzle/0041_oauth.sql', AUTHORIZATION_TESTS, [
    {
      text: 'CREATE UNIQUE INDEX `oauth_grants_request_id_unique`',
      without: 'CREATE INDEX `oauth_grants_request_id_unique`',
      title: 'given once',
    },
  ]),
  ...guardsOf('drizzle/0042_end-grants-of-inactive.sql', TOKEN_TESTS, [
    { text: 'WHEN NEW.is_active = 0 OR', without: 'WHEN NEW.is_active = 2 OR', title: 'its person loses' },
  ]),
];
