import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { postForm, REDIRECT, registerClient } from './support.ts';

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';

let company: Company;
let owner: Caller;
let client: string;

beforeAll(async () => {
  company = await aCompany();
  owner = createCaller(company.token);
  client = await registerClient();
});

afterEach(resetClock);

const beginDevice = async (more: Record<string, string> = {}, id = client) =>
  must(postForm('/oauth/device_authorization', { client_id: id, ...more }));
const pollDevice = (code: string, id = client) =>
  postForm('/oauth/token', { grant_type: DEVICE, client_id: id, device_code: code });
const findDevice = (as: Caller, user_code: string) => as.post('/v1/oauth-devices', { json: { user_code } });
const answerDevice = (as: Caller, request: string, allow = true) =>
  as.post('/v1/oauth-grants', { json: { request, allow } });

describe('an OAuth device', () => {
  it('gets tokens once a user enters its code and consents', async () => {
    const begun = await beginDevice({ scope: 'groups:list' });
    expect(begun).toEqual({
      device_code: expect.any(String),
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: 'https://api.test/oauth/device',
      verification_uri_complete: `https://api.test/oauth/device?user_code=${begun.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    expect((await pollDevice(begun.device_code)).body.error).toBe('authorization_pending');
    expect((await pollDevice(begun.device_code)).body.error).toBe('slow_down');
    const asked = await must(findDevice(owner, ` ${begun.user_code.toLowerCase().replace('-', ' ')}`));
    expect(asked).toMatchObject({ scopes: ['groups:list'], only_reads: true, client: { host: 'program.example.com' } });
    expect(await must(answerDevice(owner, asked.request))).toEqual({ redirect_to: null });
    advanceClock(11_000);
    const tokens = await must(pollDevice(begun.device_code));
    expect((await createCaller(tokens.access_token).get('/v1/groups')).status).toBe(200);
    // Its code is used up, for the person and for whoever copied it.
    expect((await findDevice(owner, begun.user_code)).body.error).toBe('INVALID_CODE');
    advanceClock(22_000);
    expect((await pollDevice(begun.device_code)).body.error).toBe('invalid_grant');
    expect((await createCaller(tokens.access_token).get('/v1/groups')).status).toBe(401);
  });

  it('gets tokens after a suspension of the company', async () => {
    const other = await aCompany();
    const { user_code, device_code } = await beginDevice();
    await must(answerDevice(other.as, (await must(findDevice(other.as, user_code))).request));
    const setStatus = (status: string) =>
      must(
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
    const denied = await beginDevice();
    const { request } = await must(findDevice(owner, denied.user_code));
    await must(answerDevice(owner, request, false));
    expect((await pollDevice(denied.device_code)).body.error).toBe('access_denied');
    for (const allow of [true, false]) expect((await answerDevice(owner, request, allow)).status).toBe(409);
    const late = await beginDevice();
    advanceClock(601_000);
    expect((await pollDevice(late.device_code)).body.error).toBe('expired_token');
    expect((await pollDevice('unknown')).body.error).toBe('invalid_grant');
  });

  it('gets the answer of one user only', async () => {
    const { user_code, device_code } = await beginDevice();
    const { request } = await must(findDevice(owner, user_code));
    const person = await aUser(company);
    const other = await must(findDevice(person.as, user_code));
    const second = await sendOvertaken(
      /insert into "oauth_grants"/,
      async () => expect((await answerDevice(person.as, other.request)).status).toBe(200),
      (env) => owner.post('/v1/oauth-grants', { env, json: { request, allow: true } }),
    );
    expect(second.status).toBe(409);
    // Denying comes too late.
    expect((await answerDevice(owner, request, false)).status).toBe(409);
    expect((await pollDevice(device_code)).status).toBe(200);
  });

  it('gets nothing with the code of another client, or as an unknown client', async () => {
    const { device_code } = await beginDevice();
    expect((await pollDevice(device_code, await registerClient())).body.error).toBe('invalid_grant');
    const unknown = await postForm('/oauth/device_authorization', { client_id: 'od_unknown' });
    expect([unknown.status, unknown.body.error]).toEqual([401, 'invalid_client']);
    const wrong = await postForm('/oauth/device_authorization', { client_id: client, scope: 'nonsense' });
    expect([wrong.status, wrong.body.error]).toEqual([400, 'invalid_scope']);
  });

  it('of a client of one company is unknown to users of another', async () => {
    const own = await must(owner.post('/v1/oauth-clients', { json: { name: 'Ours', redirect_uris: [REDIRECT] } }));
    const { user_code, device_code } = await beginDevice({}, own.client_id);
    const stranger = await aCompany();
    expect((await findDevice(stranger.as, user_code)).body.error).toBe('INVALID_CODE');
    const { request } = await must(findDevice(owner, user_code));
    // What they were shown is theirs to answer, whoever else comes to have it.
    for (const allow of [true, false]) expect((await answerDevice(stranger.as, request, allow)).status).toBe(403);
    expect((await pollDevice(device_code, own.client_id)).body.error).toBe('authorization_pending');
  });

  it.each(['a person', 'an address'])('has codes that cannot be guessed: ten wrong ones an hour by %s', async (who) => {
    const guess = async (tries: number, ip: string, as: Caller) =>
      as.post('/v1/oauth-devices', {
        json: { user_code: `BCDF-GH${tries}` },
        headers: { 'cf-connecting-ip': ip },
      });
    const people = [await aUser(company), await aUser(company)];
    const address = `192.0.2.${who === 'a person' ? 1 : 2}`;
    const senderOf = (tries: number) => (who === 'a person' ? people[0] : people[tries % 2])?.as as Caller;
    const addressOf = (tries: number) => (who === 'a person' ? `192.0.3.${tries}` : address);
    for (let tries = 0; tries < 10; tries += 1) {
      expect((await guess(tries, addressOf(tries), senderOf(tries))).status).toBe(400);
    }
    const { status, headers } = await guess(10, addressOf(10), senderOf(10));
    expect([status, Number(headers.get('retry-after')) > 900]).toEqual([429, true]);
  });

  it('has a verification page that anybody can open', async () => {
    const { body, status } = await call('GET', '/oauth/device?user_code=BCDF-GHJK');
    expect([status, body.includes('BCDF-GHJK')]).toEqual([200, true]);
  });
});
