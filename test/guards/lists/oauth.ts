import { makeGuards } from '../guard.ts';

const TOKEN_TESTS = ['test/oauth/tokens.oauth.test.ts'];
const AUTHORIZATION_TESTS = ['test/oauth/authorization.oauth.test.ts'];
const DEVICE_TESTS = ['test/oauth/devices.oauth.test.ts'];

export const OAUTH_GUARDS = [
  ...makeGuards('src/modules/oauth/store.ts', TOKEN_TESTS, [
    { in: 'insertClient', text: '< ${MAX_CLIENTS_PER_COMPANY}', without: '< 100000', tests: AUTHORIZATION_TESTS },
    {
      in: 'extendClientRetention',
      text: "sql`${oauthPublicClients.clientId} like 'od_%'`,",
      without: '',
      tests: AUTHORIZATION_TESTS,
      title: 'under its host',
    },
    {
      in: 'extendClientRetention',
      text: 'gt(oauthPublicClients.expiresAt, now),',
      without: '',
      title: 'a refresh does not recreate a client that has been deleted',
    },
    { in: 'insertGrant', text: 'isActiveUser(record.companyId, record.userId),', without: '', title: 'deactivated' },
    {
      in: 'insertGrant',
      text: 'isClientStillRegistered(record),',
      without: '',
      tests: AUTHORIZATION_TESTS,
      title: 'deleted',
    },
    {
      in: 'insertGrant',
      text: 'existsSql(oauthDevices, isOpenDevice(deviceDigest, now))',
      without: 'undefined',
      tests: DEVICE_TESTS,
    },
    { in: 'markCodeUsed', text: 'isNull(oauthGrants.codeUsedAt),', without: '', title: 'is used twice' },
    { in: 'markCodeUsed', text: 'gt(oauthGrants.codeExpiresAt, now),', without: '', title: 'sixty seconds' },
    { in: 'markCodeUsed', text: 'isCompanyActive(oauthGrants.companyId),', without: '', title: 'keeps codes' },
    {
      in: 'activateGrant',
      text: 'isNotNull(oauthGrants.begunAt),',
      without: '',
      title: 'ends no other code of the client that is not exchanged yet',
    },
    {
      in: 'activateGrant',
      text: 'isNull(oauthGrants.endedAt),\n    isNull(oauthGrants.begunAt),',
      without: 'isNull(oauthGrants.begunAt),',
      title: 'at the same time issues no tokens',
    },
    { in: 'activateGrant', text: 'existsSql(oauthGrants, isStillValid),', without: '', title: 'at the same time' },
    {
      in: 'activateGrant',
      text: '.where(isStillValid)',
      without: '.where(matchesId(oauthGrants, companyId, id))',
      title: 'is used twice',
    },
    {
      in: 'rotateGrant',
      text: 'eq(oauthGrants.refreshDigest, digests.presentedDigest),',
      without: '',
      title: 'at the same time',
    },
    {
      in: 'rotateGrant',
      text: 'isCompanyActive(oauthGrants.companyId),',
      without: '',
      title: 'that is suspended during a refresh does not lose the grant',
    },
    { in: 'endUserGrant', text: ', isActiveGrant(now)', without: '', title: 'by its person' },
    {
      in: 'denyDevice',
      text: 'isOpenDevice(digest, now)',
      without: 'eq(oauthDevices.digest, digest)',
      tests: DEVICE_TESTS,
      title: 'when the user denies',
    },
    { in: 'denyDevice', text: ', sql`not ${isDeviceAnswered}`', without: '', tests: DEVICE_TESTS },
  ]),
  ...makeGuards('src/modules/sessions/queries.ts', TOKEN_TESTS, [
    {
      in: 'endUserGrants',
      text: 'existsSql(users, matchesId(users, companyId, userId), eq(users.passwordHash, passwordHash)),',
      without: '',
      title: 'that fails because a concurrent change came first ends no grant that began after it',
    },
  ]),
  ...makeGuards('drizzle/0041_oauth.sql', AUTHORIZATION_TESTS, [
    {
      text: 'CREATE UNIQUE INDEX `oauth_grants_request_id_unique`',
      without: 'CREATE INDEX `oauth_grants_request_id_unique`',
      title: 'given once',
    },
  ]),
  ...makeGuards('drizzle/0042_end-grants-of-inactive.sql', TOKEN_TESTS, [
    { text: 'WHEN NEW.is_active = 0 OR', without: 'WHEN NEW.is_active = 2 OR', title: 'its person loses' },
  ]),
];
