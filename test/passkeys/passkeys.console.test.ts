import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { readStatusAndCode } from '../support/console.ts';
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
import { countRows, selectRow } from '../support/rival.ts';
import { enrolAuthenticator, wrongCode } from '../support/second-factor.ts';
import { must } from '../support/signed.ts';
import { aCompany, aUser, type Company, logIn, PASSWORD } from '../support/worlds.ts';

const INVALID = [400, 'INVALID_PASSKEY'];
const PATH = '/v1/auth/passkeys';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

/** A person with a passkey. */
async function aKeyHolder(of = company, kind: KeyKind = 'ES256', always: AuthenticatorFaults = {}) {
  const user = await aUser(of);
  const authenticator = await createAuthenticator(kind, always);
  const passkey = await must(addPasskey(user.as, authenticator));
  return { ...user, authenticator, passkey };
}
const isLive = async (token: string) => (await createCaller(token).get('/v1/auth/me')).status === 200;
const lastSubject = (email: string) => listMailsTo(email)[0]?.subject;

describe('options for a new passkey', () => {
  it('follow WebAuthn, require user verification, and exclude the passkeys that the user has', async () => {
    const { id, email, as, authenticator } = await aKeyHolder();
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

  it('need the password, or a code of the second factor', async () => {
    const { as } = await aUser(company);
    for (const proof of [{}, { password: 'wrong-password' }]) {
      expect(readStatusAndCode(await requestRegistrationOptions(as, proof))).toEqual([400, 'INVALID_CREDENTIALS']);
    }
    expect(readStatusAndCode(await requestRegistrationOptions(as, { totp_token: '123456' }))).toEqual([
      400,
      'INVALID_2FA_CODE',
    ]);
    const { secret, code } = await enrolAuthenticator(as);
    expect(readStatusAndCode(await requestRegistrationOptions(as, { totp_token: wrongCode(secret) }))).toEqual([
      400,
      'INVALID_2FA_CODE',
    ]);
    const used = { totp_token: code() };
    expect((await requestRegistrationOptions(as, used)).status).toBe(200);
    expect(readStatusAndCode(await requestRegistrationOptions(as, used))).toEqual([400, 'INVALID_2FA_CODE']);
    expect((await requestRegistrationOptions(as, { ...used, password: PASSWORD })).status).toBe(422);
  });

  it('need a session of the last ten minutes if the user has neither', async () => {
    const { id, as } = await aUser(company);
    await selectRow('update users set password_hash = null where id = ?', id);
    expect((await requestRegistrationOptions(as, {})).status).toBe(200);
    await selectRow('update sessions set created_at = created_at - 660000 where user_id = ?', id);
    expect(readStatusAndCode(await requestRegistrationOptions(as, {}))).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
  });
});

describe('a new passkey', () => {
  it.each(['ES256', 'EdDSA', 'RS256'] as const)('with a key of the algorithm %s signs in', async (kind) => {
    const { email, authenticator } = await aKeyHolder(company, kind);
    expect((await signInWithPasskey(company.slug, authenticator)).body).toMatchObject({ user: { email } });
  });

  it('is listed and reported by mail, and ends the other sessions and pending sign-ins', async () => {
    const user = await aUser(company);
    const other = (await must(logIn(company.slug, user.email, PASSWORD))).token;
    const { status, body } = await addPasskey(user.as, await createAuthenticator(), { name: ' Laptop ' });
    expect(status).toBe(201);
    expect(body).toEqual({
      _id: expect.any(String),
      name: 'Laptop',
      is_backed_up: false,
      last_used_at: null,
      created_at: expect.any(String),
    });
    expect([await isLive(user.token), await isLive(other)]).toEqual([true, false]);
    expect(lastSubject(user.email)).toContain('You have a new passkey');
    expect((await user.as.get(PATH)).body).toEqual({ records: [body] });
    expect((await user.as.get(`${PATH}/${body._id}`)).body).toEqual(body);
    expect(await selectRow('select session_epoch from users where id = ?', user.id)).toEqual({ session_epoch: 1 });
  });

  it('needs the password besides the WebAuthn response', async () => {
    const { as, email } = await aUser(company);
    const authenticator = await createAuthenticator();
    const response = await authenticator.create(await must(requestRegistrationOptions(as)));
    for (const proof of [{}, { password: 'wrong-password' }]) {
      const answer = await as.post(PATH, { json: { name: 'Laptop', response, ...proof } });
      expect(readStatusAndCode(answer)).toEqual([400, 'INVALID_CREDENTIALS']);
    }
    expect([(await as.get(PATH)).body.records, listMailsTo(email)]).toEqual([[], []]);
    expect((await as.post(PATH, { json: { name: 'Laptop', response, password: PASSWORD } })).status).toBe(201);
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
  ])('is refused for %s', async (_, odd) => {
    const { as } = await aUser(company);
    const answer = await addPasskey(as, await createAuthenticator(), { odd });
    expect(readStatusAndCode(answer)).toEqual(INVALID);
    expect((await as.get(PATH)).body.records).toEqual([]);
  });

  it('is refused with a key of an algorithm that was not offered', async () => {
    const { as } = await aUser(company);
    expect(readStatusAndCode(await addPasskey(as, await createAuthenticator('ES384')))).toEqual(INVALID);
  });

  it('is refused for a challenge that is another user’s, of a sign-in, used or too old', async () => {
    const [{ as }, other] = [await aUser(company), await aUser(company)];
    const add = (response: unknown) => as.post(PATH, { json: { name: 'Laptop', response, password: PASSWORD } });
    const authenticator = await createAuthenticator();
    const foreign = await must(requestRegistrationOptions(other.as));
    expect(readStatusAndCode(await add(await authenticator.create(foreign)))).toEqual(INVALID);
    const options = await must(requestRegistrationOptions(as));
    const { challenge } = await requestSignInOptions(company.slug);
    expect(readStatusAndCode(await add(await authenticator.create({ ...options, challenge })))).toEqual(INVALID);
    const response = await authenticator.create(options);
    expect((await add(response)).status).toBe(201);
    expect(readStatusAndCode(await add(response))).toEqual(INVALID);
    const again = await createAuthenticator();
    expect(readStatusAndCode(await add(await again.create(options)))).toEqual(INVALID);
    const old = await must(requestRegistrationOptions(as));
    advanceClock(300_000);
    expect(readStatusAndCode(await add(await again.create(old)))).toEqual(INVALID);
  });

  it('is refused for a credential that is registered already', async () => {
    const { authenticator } = await aKeyHolder();
    const { as } = await aUser(company);
    expect(readStatusAndCode(await addPasskey(as, authenticator))).toEqual(INVALID);
  });

  it('is refused as the twenty-first of a user, before and after the ceremony', async () => {
    const { id, as } = await aUser(company);
    const response = await (await createAuthenticator()).create(await must(requestRegistrationOptions(as)));
    await selectRow(
      `insert into passkeys select printf('%024x', value), ?, ?, 'x', value, 'k', 0, '[]', 0, 0, null, 0
       from (with recursive n(value) as (select 1 union all select value + 1 from n where value < 20) select value from n)`,
      company.id,
      id,
    );
    const answer = await as.post(PATH, { json: { name: 'Laptop', response, password: PASSWORD } });
    expect(readStatusAndCode(answer)).toEqual([409, 'PASSKEY_LIMIT']);
    expect(readStatusAndCode(await requestRegistrationOptions(as))).toEqual([409, 'PASSKEY_LIMIT']);
    await selectRow("delete from passkeys where user_id = ? and credential_id = '1'", id);
    expect((await addPasskey(as, await createAuthenticator())).status).toBe(201);
  });
});

describe('options for a sign-in with a passkey', () => {
  it('are the same whether or not a company has passkeys, and name no user', async () => {
    const empty = await aCompany();
    await aKeyHolder();
    const [some, none] = [await requestSignInOptions(company.slug), await requestSignInOptions(empty.slug)];
    const expected = {
      challenge: expect.stringMatching(/^[\w-]+$/),
      rpId: 'console.test',
      allowCredentials: [],
      timeout: 300_000,
      userVerification: 'required',
    };
    expect([some, none]).toEqual([expected, expected]);
    expect(some.challenge).toHaveLength(none.challenge.length);
    const options = `${PATH}/authentication-options`;
    const missing = await call('POST', options, { json: { company_slug: 'no-such-company' } });
    expect(readStatusAndCode(missing)).toEqual([404, 'COMPANY_NOT_FOUND']);
    expect((await call('POST', options, { json: { company_slug: company.slug, email: 'a@b.test' } })).status).toBe(422);
  });

  it('are not stored', async () => {
    const before = await countRows('spent_passkey_challenges');
    await requestSignInOptions(company.slug);
    expect(await countRows('spent_passkey_challenges')).toBe(before);
  });
});

describe('a sign-in with a passkey', () => {
  it('begins a session, records the use, and needs no other factor', async () => {
    const { id, email, as, authenticator, passkey } = await aKeyHolder();
    await enrolAuthenticator(as);
    const { status, body } = await signInWithPasskey(company.slug, authenticator);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      token: expect.any(String),
      expires_in: 600,
      refresh_token: expect.any(String),
      user: { _id: id, email },
    });
    expect(await isLive(body.token)).toBe(true);
    expect((await as.get(`${PATH}/${passkey._id}`)).body.last_used_at).not.toBeNull();
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
  ])('is refused for %s', async (_, odd) => {
    const { authenticator } = await aKeyHolder();
    const refused = await signInWithPasskey(company.slug, authenticator, odd);
    const unknown = await signInWithPasskey(company.slug, await createAuthenticator(), { userHandle: 'x' });
    expect(readStatusAndCode(refused)).toEqual(INVALID);
    expect(refused.body).toEqual({
      ...unknown.body,
      ...('request_id' in unknown.body && { request_id: refused.body.request_id }),
    });
    expect((await signInWithPasskey(company.slug, authenticator)).status).toBe(200);
  });

  it('is refused for a challenge that was used, is too old, of a registration or of another company', async () => {
    const { as, authenticator } = await aKeyHolder();
    const response = await authenticator.get(await requestSignInOptions(company.slug));
    expect((await verifyPasskey(company.slug, response)).status).toBe(200);
    expect(readStatusAndCode(await verifyPasskey(company.slug, response))).toEqual(INVALID);
    const { challenge } = await must(requestRegistrationOptions(as));
    const own = { challenge, rpId: 'console.test' };
    expect(readStatusAndCode(await verifyPasskey(company.slug, await authenticator.get(own)))).toEqual(INVALID);
    const foreign = await requestSignInOptions((await aCompany()).slug);
    expect(readStatusAndCode(await verifyPasskey(company.slug, await authenticator.get(foreign)))).toEqual(INVALID);
    const old = await requestSignInOptions(company.slug);
    advanceClock(299_000);
    expect((await verifyPasskey(company.slug, await authenticator.get(old))).status).toBe(200);
    const older = await requestSignInOptions(company.slug);
    advanceClock(599_000);
    expect(readStatusAndCode(await verifyPasskey(company.slug, await authenticator.get(older)))).toEqual(INVALID);
  });

  it('is refused to a credential of another company', async () => {
    const { authenticator } = await aKeyHolder();
    const other = await aCompany();
    expect(readStatusAndCode(await signInWithPasskey(other.slug, authenticator))).toEqual(INVALID);
  });

  it('is refused if the counter does not grow, unless the authenticator never counts', async () => {
    const { authenticator } = await aKeyHolder();
    expect((await signInWithPasskey(company.slug, authenticator, { counter: 7 })).status).toBe(200);
    for (const counter of [7, 6, 0]) {
      expect(readStatusAndCode(await signInWithPasskey(company.slug, authenticator, { counter }))).toEqual(INVALID);
    }
    expect((await signInWithPasskey(company.slug, authenticator, { counter: 8 })).status).toBe(200);
    const still = await aKeyHolder(company, 'ES256', { counter: 0, isSyncable: true });
    for (const _ of [1, 2]) expect((await signInWithPasskey(company.slug, still.authenticator)).status).toBe(200);
  });

  it('is refused for inactive and deleted users', async () => {
    const { id, authenticator } = await aKeyHolder();
    await must(company.as.post(`/v1/users/${id}/deactivate`));
    expect(readStatusAndCode(await signInWithPasskey(company.slug, authenticator))).toEqual([403, 'FORBIDDEN']);
    await must(company.as.delete(`/v1/users/${id}`));
    expect(readStatusAndCode(await signInWithPasskey(company.slug, authenticator))).toEqual(INVALID);
  });

  it('is refused to all but the owner if single sign-on is required', async () => {
    const own = await aCompany();
    const { authenticator } = await aKeyHolder(own);
    const ofOwner = await createAuthenticator();
    await must(addPasskey(own.as, ofOwner));
    await must(own.as.put('/v1/company/settings', { json: { sso_only: true } }));
    expect(readStatusAndCode(await signInWithPasskey(own.slug, authenticator))).toEqual([403, 'SSO_REQUIRED']);
    expect((await signInWithPasskey(own.slug, ofOwner)).status).toBe(200);
    expect(readStatusAndCode(await signInWithPasskey(own.slug, ofOwner, { isForged: true }))).toEqual(INVALID);
  });

  it('counts as the second factor that a company requires', async () => {
    const own = await aCompany();
    const { email, authenticator } = await aKeyHolder(own);
    await must(own.as.put('/v1/company/settings', { json: { require_2fa: true } }));
    expect((await signInWithPasskey(own.slug, authenticator)).body).toHaveProperty('token');
    // The password alone lets nobody in, nor set up a factor in the place of the passkey.
    const { status, body } = await logIn(own.slug, email, PASSWORD);
    expect([status, body]).toEqual([200, { requires_2fa: true, methods: ['passkey'] }]);
  });

  it('still works after a password reset', async () => {
    const { email, authenticator } = await aKeyHolder();
    const request = { company_slug: company.slug, email };
    await must(call('POST', '/v1/users/reset-password/request', { json: request }));
    const token = readLink(readNewestMail(email)).searchParams.get('token');
    const json = { token, password: 'a-brand-new-passphrase' };
    await must(call('POST', '/v1/users/reset-password/confirm', { json }));
    expect((await signInWithPasskey(company.slug, authenticator)).status).toBe(200);
  });

  it('ends with an administrator’s reset of the factor', async () => {
    for (const alsoEnrolled of [false, true]) {
      const { id, email, as, token, authenticator } = await aKeyHolder();
      if (alsoEnrolled) await enrolAuthenticator(as);
      expect((await company.as.delete(`/v1/users/${id}/2fa`)).status).toBe(204);
      expect(await isLive(token)).toBe(false);
      expect(lastSubject(email)).toContain('second factor was reset');
      expect(readStatusAndCode(await signInWithPasskey(company.slug, authenticator))).toEqual(INVALID);
      expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('token');
      expect(await countRows('second_factors where user_id = ?', id)).toBe(0);
      expect((await company.as.delete(`/v1/users/${id}/2fa`)).status).toBe(404);
    }
  });
});

describe('a passkey', () => {
  it('is renamed with a mail, and the other sessions end', async () => {
    const { email, as, token, passkey, authenticator } = await aKeyHolder();
    const other = (await must(signInWithPasskey(company.slug, authenticator))).token;
    const renamed = await as.patch(`${PATH}/${passkey._id}`, { json: { name: 'Telephone' } });
    expect([renamed.status, renamed.body.name]).toEqual([200, 'Telephone']);
    expect([await isLive(token), await isLive(other)]).toEqual([true, false]);
    expect(lastSubject(email)).toContain('renamed');
    expect((await signInWithPasskey(company.slug, authenticator)).status).toBe(200);
  });

  it('that is renamed to its present name stays as it is', async () => {
    const { id, email, as, passkey, authenticator } = await aKeyHolder();
    const other = (await must(signInWithPasskey(company.slug, authenticator))).token;
    expect((await as.patch(`${PATH}/${passkey._id}`, { json: { name: 'Laptop' } })).status).toBe(200);
    expect([await isLive(other), listMailsTo(email).length]).toEqual([true, 1]);
    expect(await selectRow('select session_epoch from users where id = ?', id)).toEqual({ session_epoch: 1 });
  });

  it('is deleted with the password: a mail is sent, other sessions end, and it signs nobody in', async () => {
    const { email, as, token, passkey, authenticator } = await aKeyHolder();
    const other = (await must(signInWithPasskey(company.slug, authenticator))).token;
    const path = `${PATH}/${passkey._id}`;
    for (const json of [{}, { password: 'wrong-password' }]) {
      expect(readStatusAndCode(await as.delete(path, { json }))).toEqual([400, 'INVALID_CREDENTIALS']);
    }
    expect(await isLive(other)).toBe(true);
    expect((await as.delete(path, { json: { password: PASSWORD } })).status).toBe(204);
    expect([await isLive(token), await isLive(other)]).toEqual([true, false]);
    expect(lastSubject(email)).toContain('deleted');
    expect(readStatusAndCode(await signInWithPasskey(company.slug, authenticator))).toEqual(INVALID);
    expect((await as.delete(path, { json: { password: PASSWORD } })).status).toBe(404);
  });

  it('of another user is not found', async () => {
    const { passkey } = await aKeyHolder();
    const { as } = await aUser(company, { can: ['*'] });
    const path = `${PATH}/${passkey._id}`;
    const answers = [
      await as.get(path),
      await as.patch(path, { json: { name: 'Mine' } }),
      await as.patch(path, { json: { nam: 'Mine' } }),
      await as.delete(path, { json: { password: PASSWORD } }),
      await as.delete(path, { json: { pasword: PASSWORD } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect((await as.get(PATH)).body.records).toEqual([]);
  });
});

it('used passkey challenges are deleted when they are too old to be used again', async () => {
  advanceClock(0);
  const { authenticator } = await aKeyHolder();
  await must(signInWithPasskey(company.slug, authenticator));
  expect(await countRows('spent_passkey_challenges')).toBeGreaterThan(1);
  // As long after the last of them as after those of the tests before.
  advanceClock(2 * 600_000);
  await runScheduled();
  expect(await countRows('spent_passkey_challenges')).toBe(0);
});
