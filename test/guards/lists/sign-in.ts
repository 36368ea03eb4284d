import { makeGuards } from '../guard.ts';

const RACE_TESTS = ['test/sign-in/races.test.ts'];
const OVERTAKEN_SIGN_IN_TESTS = ['test/sign-in/races-with-changes.test.ts'];
const TAKEOVER_TESTS = ['test/sign-in/stolen-token.console.test.ts'];
const PASSKEY_RACE_TESTS = ['test/passkeys/races.test.ts'];
const PASSKEY_ROUTE_TESTS = ['test/passkeys/passkeys.console.test.ts'];
const SECOND_FACTOR_RACE_TESTS = ['test/sign-in/second-factor-races.test.ts'];
const REFRESH_CASE = { tests: ['test/sign-in/sign-in.console.test.ts'], title: 'refresh' };
const USER_RACE_TESTS = ['test/users/races.test.ts'];
const INVITATION_RACE_TESTS = ['test/invitations/races.test.ts'];
const SOCIAL_SIGN_IN_TESTS = ['test/social-sign-in/social-sign-in.console.test.ts'];
const ASSERTION_TESTS = ['test/single-sign-on/saml.console.test.ts'];
const RENEWAL_TESTS = ['test/single-sign-on/secret-races.test.ts'];

export const SIGN_IN_GUARDS = [
  ...makeGuards('src/modules/sessions/queries.ts', RACE_TESTS, [
    { in: 'insertSession', text: 'eq(users.sessionEpoch, sessionEpoch),' },
    { in: 'insertSession', text: 'eq(users.isActive, true),', tests: OVERTAKEN_SIGN_IN_TESTS },
    {
      in: 'insertSession',
      text: 'matchesUndeletedId(users, companyId, userId)',
      without: 'matchesId(users, companyId, userId)',
    },
    { in: 'insertSession', text: '      condition,\n', tests: SECOND_FACTOR_RACE_TESTS },
    { in: 'rotateSession', text: ' eq(sessions.refreshDigest, digests.presentedDigest),', ...REFRESH_CASE },
    { in: 'endUserSession', text: 'isLiveSession(owner, now), ', without: 'eq(sessions.userId, owner.userId),' },
    { in: 'endUserSessions', text: 'ne(sessions.id, exceptSessionId)', without: 'undefined' },
    { in: 'endUserSessions', text: '        condition,\n' },
    { in: 'endSessionsOfInactiveUser', text: ', isInactive', tests: USER_RACE_TESTS },
  ]),
  ...makeGuards('src/modules/sign-in/store.ts', RACE_TESTS, [
    {
      in: 'recordNetwork',
      text: 'insertWhen(db, signInNetworks, record, HAS_CHANGED_ROWS)',
      without: 'db.insert(signInNetworks).values(record)',
    },
    {
      in: 'replaceCode',
      text: 'not(existsSql(companies, eq(companies.id, record.companyId), isNotNull(companies.suspendedAt)))',
      without: 'sql`true`',
      tests: ['test/companies/suspension.test.ts'],
      title: 'works after a suspension',
    },
    { in: 'checkCode', text: 'isNull(passwordlessCodes.usedAt),' },
    { in: 'checkCode', text: 'gt(passwordlessCodes.expiresAt, now),' },
    { in: 'checkCode', text: 'lt(passwordlessCodes.tries, MAX_CODE_TRIES),' },
  ]),
  ...makeGuards('src/modules/sign-in/store.ts', SECOND_FACTOR_RACE_TESTS, [
    { in: 'isLivePending', text: 'isNull(pendingSecondFactors.endedAt),' },
    { in: 'isLivePending', text: 'gt(pendingSecondFactors.expiresAt, now),' },
    { in: 'isLivePending', text: 'lt(pendingSecondFactors.tries, MAX_PENDING_TRIES),' },
    { in: 'countTry', text: 'isLivePending(digest, now, purpose)', without: 'eq(pendingSecondFactors.digest, digest)' },
    {
      in: 'countTry',
      text: 'needsNoSso ? undefined : not(requiresSso),',
      tests: ['test/companies/settings.console.test.ts'],
      title: 'what began with a password',
    },
    { in: 'endPending', text: ', HAS_CHANGED_ROWS' },
  ]),
  ...makeGuards('src/modules/sign-in/proof-store.ts', SECOND_FACTOR_RACE_TESTS, [
    { in: 'useProof', text: '            condition,' },
    { in: 'useProofAfterChange', text: ', HAS_CHANGED_ROWS' },
    { in: 'usePassword', text: 'matchesUndeletedId(users, user.companyId, user.id)', without: 'eq(users.id, user.id)' },
    { in: 'usePassword', text: ', eq(users.passwordHash, user.passwordHash as string)' },
    {
      in: 'useFreshSession',
      text: 'matchesUndeletedId(users, user.companyId, user.id)',
      without: 'eq(users.id, user.id)',
    },
    { in: 'useFreshSession', text: 'isNull(users.passwordHash),' },
    { in: 'useFreshSession', text: 'eq(users.mfaEnabled, false),' },
    { in: 'useFreshSession', text: 'gte(sessions.createdAt, since),' },
  ]),
  ...makeGuards('src/modules/sign-in/second-factor-store.ts', SECOND_FACTOR_RACE_TESTS, [
    { in: 'replaceFactor', text: 'requiresProof ? HAS_CHANGED_ROWS : sql`true`', without: 'sql`true`' },
    { in: 'replaceFactor', text: 'setWhere: isNull(secondFactors.confirmedAt),' },
    { in: 'confirmFactor', text: 'isNull(secondFactors.confirmedAt), ' },
    {
      in: 'confirmFactor',
      text: 'isNull(secondFactors.confirmedAt), HAS_CHANGED_ROWS',
      without: 'isNull(secondFactors.confirmedAt)',
    },
    {
      in: 'confirmFactor',
      text: 'matchesId(users, factor.companyId, factor.userId), HAS_CHANGED_ROWS',
      without: 'matchesId(users, factor.companyId, factor.userId)',
    },
    { in: 'confirmFactor', text: 'codes, HAS_CHANGED_ROWS', without: 'codes, sql`true`' },
    { in: 'addBackupCodes', text: 'isStoredFactor(factor), ' },
    { in: 'addBackupCodes', text: 'isStoredFactor(factor), HAS_CHANGED_ROWS', without: 'isStoredFactor(factor)' },
    { in: 'addBackupCodes', text: 'codes, HAS_CHANGED_ROWS', without: 'codes, sql`true`' },
    { in: 'deleteOtherBackupCodes', text: 'not(isNew), ' },
    { in: 'deleteOtherBackupCodes', text: ', isSetStored)', without: ')' },
    {
      in: 'removeFactor',
      text: 'matchesId(secondFactors, factor.companyId, factor.id), ',
      without: 'eq(secondFactors.userId, factor.userId), ',
    },
    { in: 'removeFactor', text: 'isConfirmed, HAS_CHANGED_ROWS', without: 'isConfirmed' },
    { in: 'removeFactor', text: 'factor.userId), HAS_CHANGED_ROWS)', without: 'factor.userId))' },
    { in: 'removeAllFactors', text: ', isConfirmed)', without: ')' },
    { in: 'removeAllFactors', text: 'existsSql(secondFactors, isEnabledFactor), ', tests: TAKEOVER_TESTS },
    { in: 'removeAllFactors', text: ', existsSql(passkeys, isOwnPasskey)', tests: PASSKEY_ROUTE_TESTS },
    { in: 'deleteFactorRemains', text: 'isCodeOfFactor(factor), isDeletedFactor', without: 'isCodeOfFactor(factor)' },
    { in: 'deleteFactorRemains', text: 'stepsOfFactor, isDeletedFactor', without: 'stepsOfFactor' },
  ]),
  ...makeGuards('src/modules/password-reset/store.ts', RACE_TESTS, [
    { in: 'isOpenReset', text: 'isNull(passwordResets.usedAt), ' },
    { in: 'isOpenReset', text: ', gt(passwordResets.expiresAt, now)' },
    {
      in: 'prepareResetStatements',
      text: '.where(isOpenReset(digest, now))',
      without: '.where(eq(passwordResets.digest, digest))',
    },
    { in: 'prepareResetStatements', text: 'eq(users.isActive, true), ' },
    {
      in: 'prepareResetStatements',
      text: 'matchesUndeletedId(users, companyId, userId)',
      without: 'matchesId(users, companyId, userId)',
    },
    { in: 'prepareResetStatements', text: ', HAS_CHANGED_ROWS' },
    { in: 'prepareResetStatements', text: ', { condition: wasReset }' },
    {
      in: 'prepareResetStatements',
      text: 'isNull(passwordResets.usedAt),\n          wasReset,',
      without: 'isNull(passwordResets.usedAt),',
    },
  ]),
  ...makeGuards('src/modules/mails/store.ts', RACE_TESTS, [
    { in: 'insertRequestAfterChange', text: ', HAS_CHANGED_ROWS', without: ', sql`true`' },
    { in: 'insertLimitedRequest', text: 'eq(mailRequests.countedAs, record.countedAs), ' },
    { in: 'insertLimitedRequest', text: ', gt(mailRequests.requestedAt, since)' },
    { in: 'insertLimitedRequest', text: '${earlierRequests} < ${limit} and ' },
    {
      in: 'insertLimitedRequest',
      text: ' and ${condition}',
      tests: INVITATION_RACE_TESTS,
      title: 'changes, joins and mails nothing',
    },
  ]),
  ...makeGuards(
    'src/modules/mails/store.ts',
    ['test/mails/providers.test.ts'],
    [{ in: 'extendClaim', text: ', sql`${mailRequests.dueAt} = ${record.dueAt}`', title: 'answers slowly' }],
  ),
  ...makeGuards('src/modules/single-sign-on/store.ts', RENEWAL_TESTS, [
    { in: 'putConfiguration', text: 'setWhere: eq(ssoConfigurations.clientSecret, record.clientSecret)' },
    { in: 'replaceClientSecret', text: 'sql`${ssoConfigurations.clientSecret} is ${oldConfiguration.clientSecret}`,' },
    {
      in: 'consumeLogin',
      text: ', gt(ssoLogins.expiresAt, now)',
      tests: ['test/single-sign-on/oidc-forged.console.test.ts'],
      title: 'ten minutes old',
    },
    {
      in: 'consumeCode',
      text: 'isLiveCode(digests, now)',
      without: 'eq(ssoCodes.codeDigest, digests.codeDigest)',
      tests: ['test/single-sign-on/oidc.console.test.ts'],
      title: 'only from the client that began',
    },
    {
      in: 'isLiveCode',
      text: 'gt(ssoCodes.expiresAt, now),',
      tests: ['test/single-sign-on/oidc.console.test.ts'],
      title: 'accepts a code for one minute',
    },
    {
      in: 'isLiveCode',
      text: 'eq(ssoCodes.exchangeDigest, digests.exchangeDigest),',
      tests: ['test/single-sign-on/oidc.console.test.ts'],
      title: 'only from the client that began',
    },
  ]),
  ...makeGuards(
    'src/modules/single-sign-on/service.ts',
    ['test/single-sign-on/oidc.console.test.ts'],
    [
      {
        in: 'issueCode',
        text: 'if (emailTaken.matches(error)) return undefined;',
        title: 'another first sign-in creates meanwhile',
      },
    ],
  ),
  ...makeGuards('src/modules/invitations/service.ts', INVITATION_RACE_TESTS, [
    { text: 'if (emailTaken.matches(error)) return undefined;', title: 'is renewed by another one' },
  ]),
  ...makeGuards('src/modules/passkeys/store.ts', PASSKEY_RACE_TESTS, [
    { in: 'insertPasskey', text: '${HAS_CHANGED_ROWS} and ' },
    {
      in: 'insertPasskey',
      text: ' and (select count(*) from ${passkeys} where ${isOfUser(record)}) < ${MAX_PASSKEYS}',
    },
    { in: 'deletePasskey', text: ', HAS_CHANGED_ROWS)', without: ')' },
    { in: 'renamePasskey', text: ', ne(passkeys.name, name)', tests: PASSKEY_ROUTE_TESTS },
    { in: 'recordPasskeyUse', text: 'lt(passkeys.counter, use.counter)', without: 'undefined' },
    { in: 'recordPasskeyUse', text: 'eq(passkeys.counter, 0)', without: 'undefined' },
  ]),
  ...makeGuards('src/modules/passkeys/service.ts', PASSKEY_RACE_TESTS, [
    { in: 'addPasskey', text: 'challenge, HAS_CHANGED_ROWS)', without: 'challenge)' },
    { in: 'addPasskey', text: 'getPasskeyOwner(ctx), HAS_CHANGED_ROWS)', without: 'getPasskeyOwner(ctx))' },
    {
      in: 'changePasskey',
      text: 'getPasskeyOwner(ctx), HAS_CHANGED_ROWS)',
      without: 'getPasskeyOwner(ctx))',
      tests: PASSKEY_ROUTE_TESTS,
    },
    { in: 'removePasskey', text: 'getPasskeyOwner(ctx), HAS_CHANGED_ROWS)', without: 'getPasskeyOwner(ctx))' },
    { in: 'logInWithPasskey', text: ', { condition: HAS_CHANGED_ROWS }' },
  ]),
  ...makeGuards('drizzle/0039_passkeys.sql', PASSKEY_RACE_TESTS, [
    { text: '`digest` text PRIMARY KEY NOT NULL', without: '`digest` text NOT NULL' },
    {
      text: 'CREATE UNIQUE INDEX `passkeys_credential`',
      without: 'CREATE INDEX `passkeys_credential`',
      tests: PASSKEY_ROUTE_TESTS,
      title: 'registered already',
    },
  ]),
  ...makeGuards('drizzle/0004_ways_in.sql', SECOND_FACTOR_RACE_TESTS, [
    { text: ',\n\tPRIMARY KEY(`factor_id`, `step`)' },
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
  ...makeGuards('drizzle/0005_single_sign_on.sql', ASSERTION_TESTS, [
    {
      text: ',\n\tPRIMARY KEY(`company_id`, `id_digest`)',
      title: 'is accepted once, even in answer to another request',
    },
  ]),
  ...makeGuards('drizzle/0013_mail-notices-identities-and-exchange-secrets.sql', SOCIAL_SIGN_IN_TESTS, [
    { text: '`digest` text PRIMARY KEY NOT NULL', without: '`digest` text NOT NULL' },
    { text: '`user_id` text PRIMARY KEY NOT NULL', without: '`user_id` text NOT NULL' },
  ]),
];
