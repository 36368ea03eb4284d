import { guardsOf } from '../guard.ts';

const RACE_TESTS = ['test/sign-in/races.test.ts'];
const OVERTAKEN_SIGN_IN_TESTS = ['test/sign-in/overtaken.test.ts'];
const TAKEOVER_TESTS = ['test/sign-in/takeover.console.test.ts'];
const PASSKEY_RACE_TESTS = ['test/passkeys/races.test.ts'];
const PASSKEY_ROUTE_TESTS = ['test/passkeys/passkeys.console.test.ts'];
const SECOND_FACTOR_RACE_TESTS = ['test/sign-in/second-factor-races.test.ts'];
const REFRESH_TESTS = { tests: ['test/sign-in/sign-in.console.test.ts'], title: 'refresh' };
const USER_RACE_TESTS = ['test/users/races.test.ts'];
const INVITATION_RACE_TESTS = ['test/invitations/races.test.ts'];
const SOCIAL_SIGN_IN_TESTS = ['test/social-sign-in/social-sign-in.console.test.ts'];
const ASSERTION_TESTS = ['test/single-sign-on/saml.console.test.ts'];
const RENEWAL_TESTS = ['test/single-sign-on/renewals.test.ts'];

export const SIGN_IN_GUARDS = [
  ...guardsOf('src/modules/sessions/queries.ts', RACE_TESTS, [
    { in: 'insertSession', text: 'eq(users.sessionEpoch, sessionEpoch),', without: '' },
    { in: 'insertSession', text: 'eq(users.isActive, true),', without: '', tests: OVERTAKEN_SIGN_IN_TESTS },
    {
      in: 'insertSession',
      text: 'livingById(users, companyId, userId)',
      without: 'byId(users, companyId, userId)',
    },
    { in: 'insertSession', text: '      when,\n', without: '', tests: SECOND_FACTOR_RACE_TESTS },
    { in: 'rotateSession', text: ' eq(sessions.refreshDigest, digests.presented),', without: '', ...REFRESH_TESTS },
    { in: 'endUserSession', text: 'isLiveSession(owner, now), ', without: 'eq(sessions.userId, owner.userId),' },
    { in: 'endUserSessions', text: 'ne(sessions.id, except)', without: 'undefined' },
    { in: 'endUserSessions', text: ', when)', without: ')' },
    { in: 'endSessionsOfInactiveUser', text: ', isInactive', without: '', tests: USER_RACE_TESTS },
  ]),
  ...guardsOf('src/modules/sign-in/network-store.ts', RACE_TESTS, [
    {
      in: 'recordNetwork',
      text: 'insertWhen(db, signInNetworks, record, afterChange)',
      without: 'db.insert(signInNetworks).values(record)',
    },
  ]),
  ...guardsOf('src/modules/sign-in/passwordless-store.ts', RACE_TESTS, [
    { in: 'checkCode', text: 'isNull(passwordlessCodes.usedAt),', without: '' },
    { in: 'checkCode', text: 'gt(passwordlessCodes.expiresAt, now),', without: '' },
    { in: 'checkCode', text: 'lt(passwordlessCodes.tries, MAX_TRIES),', without: '' },
  ]),
  ...guardsOf('src/modules/sign-in/pending-store.ts', SECOND_FACTOR_RACE_TESTS, [
    { in: 'livePending', text: 'isNull(pendingSecondFactors.endedAt),', without: '' },
    { in: 'livePending', text: 'gt(pendingSecondFactors.expiresAt, now),', without: '' },
    { in: 'livePending', text: 'lt(pendingSecondFactors.tries, MAX_PENDING_TRIES),', without: '' },
    { in: 'countTry', text: 'livePending(digest, now, purpose)', without: 'eq(pendingSecondFactors.digest, digest)' },
    {
      in: 'countTry',
      text: 'needsNoSso ? undefined : not(requiresSso),',
      without: '',
      tests: ['test/companies/settings.console.test.ts'],
      title: 'what began with a password',
    },
    { in: 'endPending', text: ', afterChange', without: '' },
  ]),
  ...guardsOf('src/modules/sign-in/proof-store.ts', SECOND_FACTOR_RACE_TESTS, [
    { in: 'useProof', text: '            when,', without: '' },
    { in: 'useProofAfterChange', text: ', afterChange', without: '' },
    { in: 'usePassword', text: 'livingById(users, user.companyId, user.id)', without: 'eq(users.id, user.id)' },
    { in: 'usePassword', text: ', eq(users.passwordHash, user.passwordHash as string)', without: '' },
    { in: 'useFreshSession', text: 'livingById(users, user.companyId, user.id)', without: 'eq(users.id, user.id)' },
    { in: 'useFreshSession', text: 'isNull(users.passwordHash),', without: '' },
    { in: 'useFreshSession', text: 'eq(users.mfaEnabled, false),', without: '' },
    { in: 'useFreshSession', text: 'gte(sessions.createdAt, since),', without: '' },
  ]),
  ...guardsOf('src/modules/sign-in/second-factor-store.ts', SECOND_FACTOR_RACE_TESTS, [
    { in: 'replaceFactor', text: 'afterProof ? afterChange : sql`true`', without: 'sql`true`' },
    { in: 'replaceFactor', text: 'setWhere: isNull(secondFactors.confirmedAt),', without: '' },
    { in: 'confirmFactor', text: 'isNull(secondFactors.confirmedAt), ', without: '' },
    {
      in: 'confirmFactor',
      text: 'isNull(secondFactors.confirmedAt), afterChange',
      without: 'isNull(secondFactors.confirmedAt)',
    },
    {
      in: 'confirmFactor',
      text: 'byId(users, factor.companyId, factor.userId), afterChange',
      without: 'byId(users, factor.companyId, factor.userId)',
    },
    { in: 'confirmFactor', text: 'codes, afterChange', without: 'codes, sql`true`' },
    { in: 'addBackupCodes', text: 'isStored(factor), ', without: '' },
    { in: 'addBackupCodes', text: 'isStored(factor), afterChange', without: 'isStored(factor)' },
    { in: 'addBackupCodes', text: 'codes, afterChange', without: 'codes, sql`true`' },
    { in: 'deleteOtherBackupCodes', text: 'not(isNew), ', without: '' },
    { in: 'deleteOtherBackupCodes', text: ', isSetStored)', without: ')' },
    {
      in: 'removeFactor',
      text: 'byId(secondFactors, factor.companyId, factor.id), ',
      without: 'eq(secondFactors.userId, factor.userId), ',
    },
    { in: 'removeFactor', text: 'isConfirmed, afterChange', without: 'isConfirmed' },
    { in: 'removeFactor', text: 'factor.userId), afterChange)', without: 'factor.userId))' },
    { in: 'takeFactors', text: ', isConfirmed)', without: ')' },
    { in: 'takeFactors', text: 'exists(secondFactors, enabled), ', without: '', tests: TAKEOVER_TESTS },
    { in: 'takeFactors', text: ', exists(passkeys, own)', without: '', tests: PASSKEY_ROUTE_TESTS },
    {
      in: 'deleteRemains',
      text: 'byFactor(factor), isGone',
      without: 'byFactor(factor)',
    },
    {
      in: 'deleteRemains',
      text: 'stepsOfFactor, isGone',
      without: 'stepsOfFactor',
    },
  ]),
  ...guardsOf('src/modules/password-reset/store.ts', RACE_TESTS, [
    { in: 'isOpen', text: 'isNull(passwordResets.usedAt), ', without: '' },
    { in: 'isOpen', text: ', gt(passwordResets.expiresAt, now)', without: '' },
    {
      in: 'prepareReset',
      text: '.where(isOpen(digest, now))',
      without: '.where(eq(passwordResets.digest, digest))',
    },
    { in: 'prepareReset', text: 'eq(users.isActive, true), ', without: '' },
    {
      in: 'prepareReset',
      text: 'livingById(users, companyId, userId)',
      without: 'byId(users, companyId, userId)',
    },
    { in: 'prepareReset', text: ', afterChange', without: '' },
    { in: 'prepareReset', text: ', { when: wasReset }', without: '' },
    {
      in: 'prepareReset',
      text: 'isNull(passwordResets.usedAt),\n          wasReset,',
      without: 'isNull(passwordResets.usedAt),',
    },
  ]),
  ...guardsOf('src/modules/mails/store.ts', RACE_TESTS, [
    { in: 'insertRequestAfterChange', text: ', afterChange', without: ', sql`true`' },
    { in: 'insertLimitedRequest', text: 'eq(mailRequests.countedAs, record.countedAs), ', without: '' },
    { in: 'insertLimitedRequest', text: ', gt(mailRequests.requestedAt, since)', without: '' },
    { in: 'insertLimitedRequest', text: 'sql`${earlier} < ${limit}`', without: 'sql`true`' },
  ]),
  ...guardsOf('src/modules/single-sign-on/store.ts', RENEWAL_TESTS, [
    { in: 'putConfiguration', text: 'setWhere: eq(ssoConfigurations.clientSecret, record.clientSecret)', without: '' },
    {
      in: 'replaceClientSecret',
      text: 'sql`${ssoConfigurations.clientSecret} is ${old.clientSecret}`,',
      without: '',
    },
    {
      in: 'consumeLogin',
      text: ', gt(ssoLogins.expiresAt, now)',
      without: '',
      tests: ['test/single-sign-on/oidc-forged.console.test.ts'],
      title: 'ten minutes old',
    },
    {
      in: 'consumeCode',
      text: 'isLiveCode(digests, now)',
      without: 'eq(ssoCodes.codeDigest, digests.code)',
      tests: ['test/single-sign-on/oidc.console.test.ts'],
      title: 'only from the client that began',
    },
    {
      in: 'isLiveCode',
      text: 'gt(ssoCodes.expiresAt, now),',
      without: '',
      tests: ['test/single-sign-on/oidc.console.test.ts'],
      title: 'accepts a code for a minute',
    },
    {
      in: 'isLiveCode',
      text: 'eq(ssoCodes.exchangeDigest, digests.exchange),',
      without: '',
      tests: ['test/single-sign-on/oidc.console.test.ts'],
      title: 'only from the client that began',
    },
  ]),
  ...guardsOf(
    'src/modules/single-sign-on/service.ts',
    ['test/single-sign-on/oidc.console.test.ts'],
    [
      {
        in: 'issueCode',
        text: 'if (emailTaken.matches(error)) return undefined;',
        without: '',
        title: 'another first sign-in creates meanwhile',
      },
    ],
  ),
  ...guardsOf('src/modules/invitations/invite.ts', INVITATION_RACE_TESTS, [
    { text: 'if (emailTaken.matches(error)) return undefined;', without: '', title: 'is renewed by another one' },
  ]),
  ...guardsOf('src/modules/passkeys/store.ts', PASSKEY_RACE_TESTS, [
    { in: 'insertPasskey', text: '${afterChange} and ', without: '' },
    {
      in: 'insertPasskey',
      text: ' and (select count(*) from ${passkeys} where ${isOfUser(record)}) < ${MAX_PASSKEYS}',
      without: '',
    },
    { in: 'deletePasskey', text: ', afterChange)', without: ')' },
    { in: 'renamePasskey', text: ', ne(passkeys.name, name)', without: '', tests: PASSKEY_ROUTE_TESTS },
    { in: 'usePasskey', text: 'lt(passkeys.counter, use.counter)', without: 'undefined' },
    { in: 'usePasskey', text: 'eq(passkeys.counter, 0)', without: 'undefined' },
  ]),
  ...guardsOf('src/modules/passkeys/service.ts', PASSKEY_RACE_TESTS, [
    { in: 'addPasskey', text: 'challenge, afterChange)', without: 'challenge)' },
    { in: 'addPasskey', text: 'getOwner(ctx), afterChange)', without: 'getOwner(ctx))' },
    { in: 'changePasskey', text: 'getOwner(ctx), afterChange)', without: 'getOwner(ctx))', tests: PASSKEY_ROUTE_TESTS },
    { in: 'removePasskey', text: 'getOwner(ctx), afterChange)', without: 'getOwner(ctx))' },
    { in: 'logInWithPasskey', text: ', { when: afterChange }', without: '' },
  ]),
  ...guardsOf('drizzle/0039_passkeys.sql', PASSKEY_RACE_TESTS, [
    { text: '`digest` text PRIMARY KEY NOT NULL', without: '`digest` text NOT NULL' },
    {
      text: 'CREATE UNIQUE INDEX `passkeys_credential`',
      without: 'CREATE INDEX `passkeys_credential`',
      tests: PASSKEY_ROUTE_TESTS,
      title: 'registered already',
    },
  ]),
  ...guardsOf('drizzle/0004_ways_in.sql', SECOND_FACTOR_RACE_TESTS, [
    { text: ',\n\tPRIMARY KEY(`factor_id`, `step`)', without: '' },
    {
      text: 'CREATE UNIQUE INDEX `second_factors_user_id_unique`',
      without: 'CREATE INDEX `second_factors_user_id_unique`',
    },
    {
      text: '`user_id` text PRIMARY KEY NOT NULL,\n\t`company_id` text NOT NULL,\n\t`digest`',
      without: '`user_id` text NOT NULL,\n\t`company_id` text NOT NULL,\n\t`digest`',
      tests: INVITATION_RACE_TESTS,
    },
  ]),
  ...guardsOf('drizzle/0005_single_sign_on.sql', ASSERTION_TESTS, [
    {
      text: ',\n\tPRIMARY KEY(`company_id`, `id_digest`)',
      without: '',
      title: 'is accepted once, even in answer to another request',
    },
  ]),
  ...guardsOf('drizzle/0013_mail-notices-identities-and-exchange-secrets.sql', SOCIAL_SIGN_IN_TESTS, [
    { text: '`digest` text PRIMARY KEY NOT NULL', without: '`digest` text NOT NULL' },
    { text: '`user_id` text PRIMARY KEY NOT NULL', without: '`user_id` text NOT NULL' },
  ]),
];
