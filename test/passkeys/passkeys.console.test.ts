import { describe, expect, it } from 'vitest';
import { callApi, createCaller } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, logIn, PASSWORD } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { waitForAuditRecord } from '../support/log.ts';
import { listMailsTo, readLink, readNewestMail } from '../support/mail.ts';
import {
  type AuthenticatorFaults,
  addPasskey,
  createAuthenticator,
  type KeyKind,
  requestRegistrationOptions,
  requestSignInOptions,
  signInWithPasskey,
  verifyPasskey,
} from '../support/passkeys.ts';
import { countRows, selectRow } from '../support/race.ts';
import { enrolAuthenticator, makeWrongCode } from '../support/second-factor.ts';
import { expectSuccess } from '../support/signed.ts';

const INVALID_PASSKEY_ERROR = [400, 'INVALID_PASSKEY'];
const PASSKEYS_PATH = '/v1/auth/passkeys';

const company = await createOwnedCompany();

async function createPasskeyUser(
  inCompany = company,
  kind: KeyKind = 'ES256',
  authenticatorFaults: AuthenticatorFaults = {},
) {
  const user = await createAllowedUser(inCompany);
  const authenticator = await createAuthenticator(kind, authenticatorFaults);
  const passkey = await expectSuccess(addPasskey(user.as, authenticator));
  return { ...user, authenticator, passkey };
}
const isTokenLive = async (token: string) => (await createCaller(token).get('/v1/auth/me')).status === 200;
const readLastSubject = (email: string) => listMailsTo(email)[0]?.subject;

describe('options for a new passkey', () => {
  it('follow WebAuthn, require user verification, and exclude the passkeys that the user has', async () => {
    const { id, email, as, authenticator } = await createPasskeyUser();
    const { status, body } = await requestRegistrationOptions(as);
    expect(status).toBe(200);
    expect(body).toEqual({
      challenge: expect.stringMatching(/^[\w-]{43,}$/),
      rp: { id: 'console.test', name: 'Data Console' },
      user: { id: btoa(id).replaceAll('=', ''), name: email, displayName: expect.stringContaining('(') },
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
      timeout: 300_000,
      attestation: 'none',
      excludeCredentials: [{ id: authenticator.credentialId, type: 'public-key', transports: ['internal'] }],
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      extensions: { credProps: true },
      hints: [],
    });
    expect((await requestRegistrationOptions(as)).body.challenge).not.toBe(body.challenge);
  });

  it('require the password, or a code of the second factor', async () => {
    const { as } = await createAllowedUser(company);
    for (const proof of [{}, { password: 'wrong-password' }]) {
      expect(readStatusAndCode(await requestRegistrationOptions(as, proof))).toEqual([400, 'INVALID_CREDENTIALS']);
    }
    expect(readStatusAndCode(await requestRegistrationOptions(as, { totp_token: '123456' }))).toEqual([
      400,
      'INVALID_2FA_CODE',
    ]);
    const { secret, makeCode } = await enrolAuthenticator(as);
    expect(readStatusAndCode(await requestRegistrationOptions(as, { totp_token: makeWrongCode(secret) }))).toEqual([
      400,
      'INVALID_2FA_CODE',
    ]);
    const usedCode = { totp_token: makeCode() };
    expect((await requestRegistrationOptions(as, usedCode)).status).toBe(200);
    expect(readStatusAndCode(await requestRegistrationOptions(as, usedCode))).toEqual([400, 'INVALID_2FA_CODE']);
    expect((await requestRegistrationOptions(as, { ...usedCode, password: PASSWORD })).status).toBe(422);
  });

  it('require a session begun in the last ten minutes if the user has neither a password nor a second factor', async () => {
    const { id, as } = await createAllowedUser(company);
    await selectRow('update users set password_hash = null where id = ?', id);
    expect((await requestRegistrationOptions(as, {})).status).toBe(200);
    await selectRow('update sessions set created_at = created_at - 660000 where user_id = ?', id);
    expect(readStatusAndCode(await requestRegistrationOptions(as, {}))).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
  });
});

describe('a new passkey', () => {
  it.each(['ES256', 'EdDSA', 'RS256'] as const)('with a key of the algorithm %s signs in', async (kind) => {
    const { email, authenticator } = await createPasskeyUser(company, kind);
    expect((await signInWithPasskey(company.slug, authenticator)).body).toMatchObject({ user: { email } });
  });

  it('is listed and reported by mail, and ends all other sessions and pending sign-ins', async () => {
    const user = await createAllowedUser(company);
    const otherToken = (await expectSuccess(logIn(company.slug, user.email, PASSWORD))).token;
    const { status, body } = await addPasskey(user.as, await createAuthenticator(), { name: ' Laptop ' });
    expect(status).toBe(201);
    expect(body).toEqual({
      _id: expect.any(String),
      name: 'Laptop',
      is_backed_up: false,
      last_used_at: null,
      created_at: expect.any(String),
    });
    expect([await isTokenLive(user.token), await isTokenLive(otherToken)]).toEqual([true, false]);
    expect(readLastSubject(user.email)).toContain('You have a new passkey');
    expect((await user.as.get(PASSKEYS_PATH)).body).toEqual({ records: [body] });
    expect((await user.as.get(`${PASSKEYS_PATH}/${body._id}`)).body).toEqual(body);
    expect(await selectRow('select session_epoch from users where id = ?', user.id)).toEqual({ session_epoch: 1 });
  });

  it('requires the password in addition to the WebAuthn response', async () => {
    const { as, email } = await createAllowedUser(company);
    const authenticator = await createAuthenticator();
    const response = await authenticator.create(await expectSuccess(requestRegistrationOptions(as)));
    for (const proof of [{}, { password: 'wrong-password' }]) {
      const answer = await as.post(PASSKEYS_PATH, { json: { name: 'Laptop', response, ...proof } });
      expect(readStatusAndCode(answer)).toEqual([400, 'INVALID_CREDENTIALS']);
    }
    expect([(await as.get(PASSKEYS_PATH)).body.records, listMailsTo(email)]).toEqual([[], []]);
    expect((await as.post(PASSKEYS_PATH, { json: { name: 'Laptop', response, password: PASSWORD } })).status).toBe(201);
  });

  it.each<[string, AuthenticatorFaults]>([
    ['another origin', { origin: 'https://evil.test' }],
    ['an origin that only begins like ours', { origin: 'https://console.test.evil.test' }],
    ['another domain', { rpId: 'evil.test' }],
    ['the response of a sign-in', { type: 'webauthn.get' }],
    ['no user verification', { isVerified: false }],
    ['no user present', { isPresent: false }],
    ['a forged challenge', { challenge: btoa('a.1.b') }],
    ['an attestation with certificates', { fmt: 'fido-u2f' }],
    ['an unknown attestation format', { fmt: 'x' }],
  ])('is refused for %s', async (_, responseFault) => {
    const { as } = await createAllowedUser(company);
    const answer = await addPasskey(as, await createAuthenticator(), { faults: responseFault });
    expect(readStatusAndCode(answer)).toEqual(INVALID_PASSKEY_ERROR);
    expect((await as.get(PASSKEYS_PATH)).body.records).toEqual([]);
  });

  it('is refused with a key of an algorithm that was not offered', async () => {
    const { as } = await createAllowedUser(company);
    expect(readStatusAndCode(await addPasskey(as, await createAuthenticator('ES384')))).toEqual(INVALID_PASSKEY_ERROR);
  });

  it('is refused for a challenge that was made for another user or for a sign-in, was used, or is too old', async () => {
    const [{ as }, other] = [await createAllowedUser(company), await createAllowedUser(company)];
    const addResponse = (response: unknown) =>
      as.post(PASSKEYS_PATH, { json: { name: 'Laptop', response, password: PASSWORD } });
    const authenticator = await createAuthenticator();
    const otherUsersOptions = await expectSuccess(requestRegistrationOptions(other.as));
    expect(readStatusAndCode(await addResponse(await authenticator.create(otherUsersOptions)))).toEqual(
      INVALID_PASSKEY_ERROR,
    );
    const options = await expectSuccess(requestRegistrationOptions(as));
    const { challenge } = await requestSignInOptions(company.slug);
    expect(readStatusAndCode(await addResponse(await authenticator.create({ ...options, challenge })))).toEqual(
      INVALID_PASSKEY_ERROR,
    );
    const response = await authenticator.create(options);
    expect((await addResponse(response)).status).toBe(201);
    expect(readStatusAndCode(await addResponse(response))).toEqual(INVALID_PASSKEY_ERROR);
    const secondAuthenticator = await createAuthenticator();
    expect(readStatusAndCode(await addResponse(await secondAuthenticator.create(options)))).toEqual(
      INVALID_PASSKEY_ERROR,
    );
    const oldOptions = await expectSuccess(requestRegistrationOptions(as));
    advanceClock(300_000);
    expect(readStatusAndCode(await addResponse(await secondAuthenticator.create(oldOptions)))).toEqual(
      INVALID_PASSKEY_ERROR,
    );
  });

  it('is refused for a credential that is registered already', async () => {
    const { authenticator } = await createPasskeyUser();
    const { as } = await createAllowedUser(company);
    expect(readStatusAndCode(await addPasskey(as, authenticator))).toEqual(INVALID_PASSKEY_ERROR);
  });

  it('is refused if the user has twenty passkeys already, before and after the ceremony', async () => {
    const { id, as } = await createAllowedUser(company);
    const response = await (await createAuthenticator()).create(await expectSuccess(requestRegistrationOptions(as)));
    await selectRow(
      `insert into passkeys select printf('%024x', value), ?, ?, 'x', value, 'k', 0, '[]', 0, 0, null, 0
       from (with recursive n(value) as (select 1 union all select value + 1 from n where value < 20) select value from n)`,
      company.id,
      id,
    );
    const answer = await as.post(PASSKEYS_PATH, { json: { name: 'Laptop', response, password: PASSWORD } });
    expect(readStatusAndCode(answer)).toEqual([409, 'PASSKEY_LIMIT']);
    expect(readStatusAndCode(await requestRegistrationOptions(as))).toEqual([409, 'PASSKEY_LIMIT']);
    await selectRow("delete from passkeys where user_id = ? and credential_id = '1'", id);
    expect((await addPasskey(as, await createAuthenticator())).status).toBe(201);
  });
});

describe('options for a sign-in with a passkey', () => {
  it('are the same whether or not a company has passkeys, and name no user', async () => {
    const emptyCompany = await createOwnedCompany();
    await createPasskeyUser();
    const [some, none] = [await requestSignInOptions(company.slug), await requestSignInOptions(emptyCompany.slug)];
    const expected = {
      challenge: expect.stringMatching(/^[\w-]+$/),
      rpId: 'console.test',
      allowCredentials: [],
      timeout: 300_000,
      userVerification: 'required',
    };
    expect([some, none]).toEqual([expected, expected]);
    expect(some.challenge).toHaveLength(none.challenge.length);
    const options = `${PASSKEYS_PATH}/authentication-options`;
    const missingCompanyAnswer = await callApi('POST', options, { json: { company_slug: 'no-such-company' } });
    expect(readStatusAndCode(missingCompanyAnswer)).toEqual([404, 'COMPANY_NOT_FOUND']);
    expect((await callApi('POST', options, { json: { company_slug: company.slug, email: 'a@b.test' } })).status).toBe(
      422,
    );
  });

  it('are not stored', async () => {
    const challengeCount = await countRows('spent_passkey_challenges');
    await requestSignInOptions(company.slug);
    expect(await countRows('spent_passkey_challenges')).toBe(challengeCount);
  });
});

describe('a sign-in with a passkey', () => {
  it('begins a session, records the use, and requires no other factor', async () => {
    const { id, email, as, authenticator, passkey } = await createPasskeyUser();
    await enrolAuthenticator(as);
    const { status, body } = await signInWithPasskey(company.slug, authenticator);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      token: expect.any(String),
      expires_in: 600,
      refresh_token: expect.any(String),
      user: { _id: id, email },
    });
    expect(await isTokenLive(body.token)).toBe(true);
    expect((await as.get(`${PASSKEYS_PATH}/${passkey._id}`)).body.last_used_at).not.toBeNull();
  });

  it.each<[string, AuthenticatorFaults]>([
    ['another origin', { origin: 'https://evil.test' }],
    ['the origin of the company’s own page', { origin: 'http://console.test' }],
    ['a frame of another page', { crossOriginFrom: 'https://evil.test' }],
    ['another domain', { rpId: 'evil.test' }],
    ['the response of a registration', { type: 'webauthn.create' }],
    ['no user verification', { isVerified: false }],
    ['no user present', { isPresent: false }],
    ['a bad signature', { isForged: true }],
    ['a key that became syncable', { isSyncable: true }],
    ['the user handle of another person', { userHandle: btoa('0'.repeat(24)) }],
    ['no user handle', { userHandle: null }],
    ['a forged challenge', { challenge: btoa('a.1.b') }],
    ['no challenge', { challenge: '' }],
  ])('is refused for %s', async (_, responseFault) => {
    const { authenticator } = await createPasskeyUser();
    const refusedSignIn = await signInWithPasskey(company.slug, authenticator, responseFault);
    const unknownPasskeyAnswer = await signInWithPasskey(company.slug, await createAuthenticator(), {
      userHandle: 'x',
    });
    expect(readStatusAndCode(refusedSignIn)).toEqual(INVALID_PASSKEY_ERROR);
    expect(refusedSignIn.body).toEqual({
      ...unknownPasskeyAnswer.body,
      ...('request_id' in unknownPasskeyAnswer.body && { request_id: refusedSignIn.body.request_id }),
    });
    expect((await signInWithPasskey(company.slug, authenticator)).status).toBe(200);
  });

  it('is refused for a challenge that was used, is too old, or was made for a registration or for another company', async () => {
    const { as, authenticator } = await createPasskeyUser();
    const response = await authenticator.get(await requestSignInOptions(company.slug));
    expect((await verifyPasskey(company.slug, response)).status).toBe(200);
    expect(readStatusAndCode(await verifyPasskey(company.slug, response))).toEqual(INVALID_PASSKEY_ERROR);
    const { challenge } = await expectSuccess(requestRegistrationOptions(as));
    const ownOptions = { challenge, rpId: 'console.test' };
    expect(readStatusAndCode(await verifyPasskey(company.slug, await authenticator.get(ownOptions)))).toEqual(
      INVALID_PASSKEY_ERROR,
    );
    const foreignOptions = await requestSignInOptions((await createOwnedCompany()).slug);
    expect(readStatusAndCode(await verifyPasskey(company.slug, await authenticator.get(foreignOptions)))).toEqual(
      INVALID_PASSKEY_ERROR,
    );
    const oldOptions = await requestSignInOptions(company.slug);
    advanceClock(299_000);
    expect((await verifyPasskey(company.slug, await authenticator.get(oldOptions))).status).toBe(200);
    const olderOptions = await requestSignInOptions(company.slug);
    advanceClock(599_000);
    expect(readStatusAndCode(await verifyPasskey(company.slug, await authenticator.get(olderOptions)))).toEqual(
      INVALID_PASSKEY_ERROR,
    );
  });

  it('is refused to a credential of another company', async () => {
    const { authenticator } = await createPasskeyUser();
    const other = await createOwnedCompany();
    expect(readStatusAndCode(await signInWithPasskey(other.slug, authenticator))).toEqual(INVALID_PASSKEY_ERROR);
  });

  it('is refused if the counter does not grow, unless the authenticator never counts', async () => {
    const { authenticator } = await createPasskeyUser();
    expect((await signInWithPasskey(company.slug, authenticator, { counter: 7 })).status).toBe(200);
    for (const counter of [7, 6, 0]) {
      expect(readStatusAndCode(await signInWithPasskey(company.slug, authenticator, { counter }))).toEqual(
        INVALID_PASSKEY_ERROR,
      );
    }
    expect((await signInWithPasskey(company.slug, authenticator, { counter: 8 })).status).toBe(200);
    const uncountedUser = await createPasskeyUser(company, 'ES256', { counter: 0, isSyncable: true });
    for (const _ of [1, 2])
      expect((await signInWithPasskey(company.slug, uncountedUser.authenticator)).status).toBe(200);
  });

  it('is refused for inactive and deleted users', async () => {
    const { id, authenticator } = await createPasskeyUser();
    await expectSuccess(company.as.post(`/v1/users/${id}/deactivate`));
    const refusedAnswer = await signInWithPasskey(company.slug, authenticator);
    expect(readStatusAndCode(refusedAnswer)).toEqual([403, 'FORBIDDEN']);
    expect(await waitForAuditRecord(company, refusedAnswer)).toMatchObject({ principalType: 'user', principalId: id });
    await expectSuccess(company.as.delete(`/v1/users/${id}`));
    expect(readStatusAndCode(await signInWithPasskey(company.slug, authenticator))).toEqual(INVALID_PASSKEY_ERROR);
  });

  it('is refused to everybody but the owner if single sign-on is required', async () => {
    const ownCompany = await createOwnedCompany();
    const { authenticator } = await createPasskeyUser(ownCompany);
    const ownersAuthenticator = await createAuthenticator();
    await expectSuccess(addPasskey(ownCompany.as, ownersAuthenticator));
    await expectSuccess(ownCompany.as.put('/v1/company/settings', { json: { sso_only: true } }));
    expect(readStatusAndCode(await signInWithPasskey(ownCompany.slug, authenticator))).toEqual([403, 'SSO_REQUIRED']);
    expect((await signInWithPasskey(ownCompany.slug, ownersAuthenticator)).status).toBe(200);
    expect(
      readStatusAndCode(await signInWithPasskey(ownCompany.slug, ownersAuthenticator, { isForged: true })),
    ).toEqual(INVALID_PASSKEY_ERROR);
  });

  it('counts as the second factor that a company requires', async () => {
    const ownCompany = await createOwnedCompany();
    const { email, authenticator } = await createPasskeyUser(ownCompany);
    await expectSuccess(ownCompany.as.put('/v1/company/settings', { json: { require_2fa: true } }));
    expect((await signInWithPasskey(ownCompany.slug, authenticator)).body).toHaveProperty('token');
    // The password alone lets nobody in, nor set up a factor in the place of the passkey.
    const { status, body } = await logIn(ownCompany.slug, email, PASSWORD);
    expect([status, body]).toEqual([200, { requires_2fa: true, methods: ['passkey'] }]);
  });

  it('still works after a password reset', async () => {
    const { email, authenticator } = await createPasskeyUser();
    const request = { company_slug: company.slug, email };
    await expectSuccess(callApi('POST', '/v1/users/reset-password/request', { json: request }));
    const token = readLink(readNewestMail(email)).searchParams.get('token');
    const json = { token, password: 'a-brand-new-passphrase' };
    await expectSuccess(callApi('POST', '/v1/users/reset-password/confirm', { json }));
    expect((await signInWithPasskey(company.slug, authenticator)).status).toBe(200);
  });

  it('is removed with an administrator’s reset of the second factor', async () => {
    for (const isTotpEnrolled of [false, true]) {
      const { id, email, as, token, authenticator } = await createPasskeyUser();
      if (isTotpEnrolled) await enrolAuthenticator(as);
      expect((await company.as.delete(`/v1/users/${id}/2fa`)).status).toBe(204);
      expect(await isTokenLive(token)).toBe(false);
      expect(readLastSubject(email)).toContain('second factor was reset');
      expect(readStatusAndCode(await signInWithPasskey(company.slug, authenticator))).toEqual(INVALID_PASSKEY_ERROR);
      expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('token');
      expect(await countRows('second_factors where user_id = ?', id)).toBe(0);
      expect((await company.as.delete(`/v1/users/${id}/2fa`)).status).toBe(404);
    }
  });
});

describe('a passkey', () => {
  it('can be renamed, of which a mail is sent, and the other sessions end', async () => {
    const { email, as, token, passkey, authenticator } = await createPasskeyUser();
    const otherToken = (await expectSuccess(signInWithPasskey(company.slug, authenticator))).token;
    const renamedPasskey = await as.patch(`${PASSKEYS_PATH}/${passkey._id}`, { json: { name: 'Telephone' } });
    expect([renamedPasskey.status, renamedPasskey.body.name]).toEqual([200, 'Telephone']);
    expect([await isTokenLive(token), await isTokenLive(otherToken)]).toEqual([true, false]);
    expect(readLastSubject(email)).toContain('renamed');
    expect((await signInWithPasskey(company.slug, authenticator)).status).toBe(200);
  });

  it('that is renamed to its current name is not changed', async () => {
    const { id, email, as, passkey, authenticator } = await createPasskeyUser();
    const otherToken = (await expectSuccess(signInWithPasskey(company.slug, authenticator))).token;
    expect((await as.patch(`${PASSKEYS_PATH}/${passkey._id}`, { json: { name: 'Laptop' } })).status).toBe(200);
    expect([await isTokenLive(otherToken), listMailsTo(email).length]).toEqual([true, 1]);
    expect(await selectRow('select session_epoch from users where id = ?', id)).toEqual({ session_epoch: 1 });
  });

  it('is deleted with the password: a mail is sent, other sessions end, and the passkey no longer signs in', async () => {
    const { email, as, token, passkey, authenticator } = await createPasskeyUser();
    const otherToken = (await expectSuccess(signInWithPasskey(company.slug, authenticator))).token;
    const path = `${PASSKEYS_PATH}/${passkey._id}`;
    for (const json of [{}, { password: 'wrong-password' }]) {
      expect(readStatusAndCode(await as.delete(path, { json }))).toEqual([400, 'INVALID_CREDENTIALS']);
    }
    expect(await isTokenLive(otherToken)).toBe(true);
    expect((await as.delete(path, { json: { password: PASSWORD } })).status).toBe(204);
    expect([await isTokenLive(token), await isTokenLive(otherToken)]).toEqual([true, false]);
    expect(readLastSubject(email)).toContain('deleted');
    expect(readStatusAndCode(await signInWithPasskey(company.slug, authenticator))).toEqual(INVALID_PASSKEY_ERROR);
    expect((await as.delete(path, { json: { password: PASSWORD } })).status).toBe(404);
  });

  it('of another user is not found', async () => {
    const { passkey } = await createPasskeyUser();
    const { as } = await createAllowedUser(company, { can: ['*'] });
    const path = `${PASSKEYS_PATH}/${passkey._id}`;
    const answers = [
      await as.get(path),
      await as.patch(path, { json: { name: 'Mine' } }),
      await as.patch(path, { json: { nam: 'Mine' } }),
      await as.delete(path, { json: { password: PASSWORD } }),
      await as.delete(path, { json: { pasword: PASSWORD } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect((await as.get(PASSKEYS_PATH)).body.records).toEqual([]);
  });
});

it('used passkey challenges are deleted when they are too old to be used again', async () => {
  advanceClock(0);
  const { authenticator } = await createPasskeyUser();
  await expectSuccess(signInWithPasskey(company.slug, authenticator));
  expect(await countRows('spent_passkey_challenges')).toBeGreaterThan(1);
  // As long after the last of them as after those of the tests before.
  advanceClock(2 * 600_000);
  await runScheduled();
  expect(await countRows('spent_passkey_challenges')).toBe(0);
});
