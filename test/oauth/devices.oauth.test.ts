import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { type Caller, callApi, createCaller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { postForm, REDIRECT_URI, registerClient } from './support.ts';

const DEVICE_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';

const company = await createOwnedCompany();
const owner = createCaller(company.token);
const client = await registerClient();

const beginDevice = async (extraFields: Record<string, string> = {}, id = client) =>
  expectSuccess(postForm('/oauth/device_authorization', { client_id: id, ...extraFields }));
const pollDevice = (code: string, id = client) =>
  postForm('/oauth/token', { grant_type: DEVICE_GRANT_TYPE, client_id: id, device_code: code });
const findDevice = (as: Caller, user_code: string) => as.post('/v1/oauth-devices', { json: { user_code } });
const answerDevice = (as: Caller, request: string, isAllowed = true) =>
  as.post('/v1/oauth-grants', { json: { request, allow: isAllowed } });

describe('an OAuth device', () => {
  it('gets tokens once a user enters its code and consents', async () => {
    const startedDevice = await beginDevice({ scope: 'groups:list' });
    expect(startedDevice).toEqual({
      device_code: expect.any(String),
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: 'https://api.test/oauth/device',
      verification_uri_complete: `https://api.test/oauth/device?user_code=${startedDevice.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    expect((await pollDevice(startedDevice.device_code)).body.error).toBe('authorization_pending');
    expect((await pollDevice(startedDevice.device_code)).body.error).toBe('slow_down');
    const deviceRequest = await expectSuccess(
      findDevice(owner, ` ${startedDevice.user_code.toLowerCase().replace('-', ' ')}`),
    );
    expect(deviceRequest).toMatchObject({
      scopes: ['groups:list'],
      only_reads: true,
      client: { host: 'program.example.com' },
    });
    expect(await expectSuccess(answerDevice(owner, deviceRequest.request))).toEqual({ redirect_to: null });
    advanceClock(11_000);
    const tokens = await expectSuccess(pollDevice(startedDevice.device_code));
    expect((await createCaller(tokens.access_token).get('/v1/groups')).status).toBe(200);
    // Its code is used up, for the person and for whoever copied it.
    expect((await findDevice(owner, startedDevice.user_code)).body.error).toBe('INVALID_CODE');
    advanceClock(22_000);
    expect((await pollDevice(startedDevice.device_code)).body.error).toBe('invalid_grant');
    expect((await createCaller(tokens.access_token).get('/v1/groups')).status).toBe(401);
  });

  it('gets tokens after a suspension of the company', async () => {
    const other = await createOwnedCompany();
    const { user_code, device_code } = await beginDevice();
    await expectSuccess(answerDevice(other.as, (await expectSuccess(findDevice(other.as, user_code))).request));
    const setStatus = (status: string) =>
      expectSuccess(
        createCaller(env.PLATFORM_ADMIN_TOKEN as string).patch(`/admin/organizations/${other.id}`, {
          json: { status },
        }),
      );
    await setStatus('suspended');
    expect(await pollDevice(device_code)).toMatchObject({ status: 403, body: { error: 'access_denied' } });
    await setStatus('active');
    advanceClock(6_000);
    expect((await pollDevice(device_code)).status).toBe(200);
  });

  it('gets an error when the user denies, and when its code has expired', async () => {
    const deniedDevice = await beginDevice();
    const { request } = await expectSuccess(findDevice(owner, deniedDevice.user_code));
    await expectSuccess(answerDevice(owner, request, false));
    expect((await pollDevice(deniedDevice.device_code)).body.error).toBe('access_denied');
    for (const isAllowed of [true, false]) expect((await answerDevice(owner, request, isAllowed)).status).toBe(409);
    const expiredDevice = await beginDevice();
    advanceClock(601_000);
    expect((await pollDevice(expiredDevice.device_code)).body.error).toBe('expired_token');
    expect((await pollDevice('unknown')).body.error).toBe('invalid_grant');
  });

  it('gets the answer of one user only', async () => {
    const { user_code, device_code } = await beginDevice();
    const { request } = await expectSuccess(findDevice(owner, user_code));
    const person = await createAllowedUser(company);
    const otherDevice = await expectSuccess(findDevice(person.as, user_code));
    const secondAnswer = await sendDuringRace(
      /insert into "oauth_grants"/,
      async () => expect((await answerDevice(person.as, otherDevice.request)).status).toBe(200),
      (env) => owner.post('/v1/oauth-grants', { env, json: { request, allow: true } }),
    );
    expect(secondAnswer.status).toBe(409);
    // Denying comes too late.
    expect((await answerDevice(owner, request, false)).status).toBe(409);
    expect((await pollDevice(device_code)).status).toBe(200);
  });

  it('gets nothing with the code of another client, or as an unknown client', async () => {
    const { device_code } = await beginDevice();
    expect((await pollDevice(device_code, await registerClient())).body.error).toBe('invalid_grant');
    const unknownClientAnswer = await postForm('/oauth/device_authorization', { client_id: 'od_unknown' });
    expect([unknownClientAnswer.status, unknownClientAnswer.body.error]).toEqual([401, 'invalid_client']);
    const invalidScopeAnswer = await postForm('/oauth/device_authorization', { client_id: client, scope: 'nonsense' });
    expect([invalidScopeAnswer.status, invalidScopeAnswer.body.error]).toEqual([400, 'invalid_scope']);
  });

  it("of one company's client is unknown to users of another company", async () => {
    const ownClient = await expectSuccess(
      owner.post('/v1/oauth-clients', { json: { name: 'Ours', redirect_uris: [REDIRECT_URI] } }),
    );
    const { user_code, device_code } = await beginDevice({}, ownClient.client_id);
    const otherCompany = await createOwnedCompany();
    expect((await findDevice(otherCompany.as, user_code)).body.error).toBe('INVALID_CODE');
    const { request } = await expectSuccess(findDevice(owner, user_code));
    // What they were shown is theirs to answer, whoever else comes to have it.
    for (const isAllowed of [true, false])
      expect((await answerDevice(otherCompany.as, request, isAllowed)).status).toBe(403);
    expect((await pollDevice(device_code, ownClient.client_id)).body.error).toBe('authorization_pending');
  });

  it.each(['a person', 'an address'])(
    'has codes that cannot be guessed: only ten wrong codes an hour are accepted from %s',
    async (guessSource) => {
      const sendGuess = async (attempt: number, ip: string, as: Caller) =>
        as.post('/v1/oauth-devices', {
          json: { user_code: `BCDF-GH${attempt}` },
          headers: { 'cf-connecting-ip': ip },
        });
      const people = [await createAllowedUser(company), await createAllowedUser(company)];
      const address = `192.0.2.${guessSource === 'a person' ? 1 : 2}`;
      const chooseSender = (attempt: number) =>
        (guessSource === 'a person' ? people[0] : people[attempt % 2])?.as as Caller;
      const chooseAddress = (attempt: number) => (guessSource === 'a person' ? `192.0.3.${attempt}` : address);
      for (let attempt = 0; attempt < 10; attempt += 1) {
        expect((await sendGuess(attempt, chooseAddress(attempt), chooseSender(attempt))).status).toBe(400);
      }
      const { status, headers } = await sendGuess(10, chooseAddress(10), chooseSender(10));
      expect([status, Number(headers.get('retry-after')) > 900]).toEqual([429, true]);
    },
  );

  it('has a verification page that anybody can open', async () => {
    const { body, status } = await callApi('GET', '/oauth/device?user_code=BCDF-GHJK');
    expect([status, body.includes('BCDF-GHJK')]).toEqual([200, true]);
  });
});
