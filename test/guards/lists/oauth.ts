import { guardsOf } from '../guard.ts';

const TOKENS = ['test/oauth/tokens.oauth.test.ts'];
const ASKED = ['test/oauth/authorization.oauth.test.ts'];
const DEVICES = ['test/oauth/devices.oauth.test.ts'];

export const OAUTH = [
  ...guardsOf('src/modules/oauth/store.ts', TOKENS, [
    { in: 'insertClient', text: '< ${MOST_CLIENTS}', without: '< 100000', tests: ASKED },
    {
      in: 'rememberClient',
      text: "sql`${oauthPublicClients.clientId} like 'od_%'`,",
      without: '',
      tests: ASKED,
      title: 'under its host',
    },
    { in: 'rememberClient', text: 'gt(oauthPublicClients.expiresAt, now),', without: '', title: 'is forgotten' },
    { in: 'insertGrant', text: 'isActiveUser(record.companyId, record.userId),', without: '', title: 'deactivated' },
    { in: 'insertGrant', text: 'isClientKept(record),', without: '', tests: ASKED, title: 'deleted' },
    {
      in: 'insertGrant',
      text: 'exists(oauthDevices, isOpenDevice(deviceDigest, now))',
      without: 'undefined',
      tests: DEVICES,
    },
    { in: 'takeCode', text: 'isNull(oauthGrants.codeUsedAt),', without: '', title: 'comes twice' },
    { in: 'takeCode', text: ', gt(oauthGrants.codeExpiresAt, now)', without: '', title: 'sixty seconds' },
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
      title: 'at the same time gives nobody',
    },
    { in: 'beginGrant', text: 'exists(oauthGrants, stillGood),', without: '', title: 'at the same time' },
    {
      in: 'beginGrant',
      text: '.where(stillGood)',
      without: '.where(byId(oauthGrants, companyId, id))',
      title: 'comes twice',
    },
    {
      in: 'rotateGrant',
      text: 'eq(oauthGrants.refreshDigest, digests.presented),',
      without: '',
      title: 'at the same time',
    },
    { in: 'rotateGrant', text: 'ofActiveCompany(oauthGrants.companyId),', without: '', title: 'loses nothing' },
    { in: 'endUserGrant', text: ', isInForce(now)', without: '', title: 'by its person' },
    { in: 'denyDevice', text: ', sql`not ${isAnswered}`', without: '', tests: DEVICES },
  ]),
  ...guardsOf('src/modules/sessions/queries.ts', TOKENS, [
    {
      in: 'endUserGrants',
      text: 'exists(users, byId(users, companyId, userId), eq(users.passwordHash, passwordHash)),',
      without: '',
      title: 'began since',
    },
  ]),
  ...guardsOf('drizzle/0041_oauth.sql', ASKED, [
    {
      text: 'CREATE UNIQUE INDEX `oauth_grants_request_id_unique`',
      without: 'CREATE INDEX `oauth_grants_request_id_unique`',
      title: 'given once',
    },
  ]),
  ...guardsOf('drizzle/0042_end-grants-of-inactive.sql', TOKENS, [
    { text: 'WHEN NEW.is_active = 0 OR', without: 'WHEN NEW.is_active = 2 OR', title: 'its person loses' },
  ]),
];
