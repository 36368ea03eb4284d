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
      tests: AUTHORIZATION_TESTS,
      title: 'under its host',
    },
    {
      in: 'extendClientRetention',
      text: 'gt(oauthPublicClients.expiresAt, now),',
      title: 'a refresh does not recreate a client that has been deleted',
    },
    { in: 'insertGrant', text: 'isActiveUser(record.companyId, record.userId),', title: 'deactivated' },
    { in: 'insertGrant', text: 'isClientStillRegistered(record),', tests: AUTHORIZATION_TESTS, title: 'deleted' },
    {
      in: 'insertGrant',
      text: 'existsSql(oauthDevices, isOpenDevice(deviceDigest, now))',
      without: 'undefined',
      tests: DEVICE_TESTS,
    },
    { in: 'markCodeUsed', text: 'isNull(oauthGrants.codeUsedAt),', title: 'is used twice' },
    { in: 'markCodeUsed', text: 'gt(oauthGrants.codeExpiresAt, now),', title: 'sixty seconds' },
    { in: 'markCodeUsed', text: 'isCompanyActive(oauthGrants.companyId),', title: 'keeps codes' },
    {
      in: 'activateGrant',
      text: 'isNotNull(oauthGrants.begunAt),',
      title: 'ends no other code of the client that is not exchanged yet',
    },
    {
      in: 'activateGrant',
      text: 'isNull(oauthGrants.endedAt),\n    isNull(oauthGrants.begunAt),',
      without: 'isNull(oauthGrants.begunAt),',
      title: 'at the same time issues no tokens',
    },
    { in: 'activateGrant', text: 'existsSql(oauthGrants, isStillValid),', title: 'at the same time' },
    {
      in: 'activateGrant',
      text: '.where(isStillValid)',
      without: '.where(matchesId(oauthGrants, companyId, id))',
      title: 'is used twice',
    },
    { in: 'rotateGrant', text: 'eq(oauthGrants.refreshDigest, digests.presentedDigest),', title: 'at the same time' },
    {
      in: 'rotateGrant',
      text: 'isCompanyActive(oauthGrants.companyId),',
      title: 'that is suspended during a refresh does not lose the grant',
    },
    { in: 'endUserGrant', text: ', isActiveGrant(now)', title: 'by its person' },
    {
      in: 'denyDevice',
      text: 'isOpenDevice(digest, now)',
      without: 'eq(oauthDevices.digest, digest)',
      tests: DEVICE_TESTS,
      title: 'when the user denies',
    },
    { in: 'denyDevice', text: ', sql`not ${isDeviceAnswered}`', tests: DEVICE_TESTS },
  ]),
  ...makeGuards('src/modules/sessions/queries.ts', TOKEN_TESTS, [
    {
      in: 'endUserGrants',
      text: 'existsSql(users, matchesId(users, companyId, userId), eq(users.passwordHash, passwordHash)),',
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
