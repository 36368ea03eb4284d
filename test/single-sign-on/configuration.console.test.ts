import { env } from 'cloudflare:test';
import { describe, expect, inject, it } from 'vitest';
import { BASE_URL } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { listMailsTo, runWhileMailIsDown } from '../support/mail.ts';
import { runSql, selectRow } from '../support/race.ts';
import { createSigner } from '../support/saml-idp.ts';
import worker from '../support/worker.ts';
import { CONSOLE_RETURN_URL, configureSso, makeCallbackUrl, requestSignInStart, startSignIn } from './support.ts';

const SSO_CONFIG_PATH = '/v1/auth/sso/config';
const oidcConfiguration = {
  type: 'oidc',
  issuer: 'https://idp.example.org',
  client_id: 'console',
  client_secret: 'the client’s secret',
  redirect_uris: [CONSOLE_RETURN_URL],
  jit_provisioning: true,
};

const company = await createOwnedCompany();

describe('the configuration of single sign-on', () => {
  it('is answered 404 before it is set', async () => {
    for (const { status, body } of [await company.as.get(SSO_CONFIG_PATH), await company.as.delete(SSO_CONFIG_PATH)]) {
      expect([status, body.error]).toEqual([404, 'SSO_NOT_CONFIGURED']);
    }
  });

  it('is returned without the secret, which is stored encrypted', async () => {
    const answerToPut = await company.as.put(SSO_CONFIG_PATH, { json: oidcConfiguration });
    expect(answerToPut.status).toBe(200);
    const { client_secret: _secret, ...open } = oidcConfiguration;
    const timestamps = { created_at: expect.any(String), updated_at: expect.any(String) };
    expect(answerToPut.body).toEqual({
      ...open,
      trust_email: false,
      callback_url: makeCallbackUrl(company),
      ...timestamps,
    });
    expect((await company.as.get(SSO_CONFIG_PATH)).body).toEqual(answerToPut.body);
    const row = await selectRow('SELECT * FROM sso_configurations WHERE company_id = ?', company.id);
    expect(row?.client_secret).toMatch(/^v1:/);
    expect(JSON.stringify(row)).not.toContain(oidcConfiguration.client_secret);
  });

  it('keeps its secret only while issuer and client stay the same', async () => {
    const { client_secret: _secret, ...without } = oidcConfiguration;
    expect((await company.as.put(SSO_CONFIG_PATH, { json: { ...without, redirect_uris: [] } })).status).toBe(200);
    for (const change of [{ issuer: 'https://evil.example.org' }, { client_id: 'another' }]) {
      const { status, body } = await company.as.put(SSO_CONFIG_PATH, { json: { ...without, ...change } });
      expect([status, body.details[0].field]).toEqual([422, 'client_secret']);
    }
    expect((await (await createOwnedCompany()).as.put(SSO_CONFIG_PATH, { json: without })).status).toBe(422);
  });

  it('may have an issuer whose path encodes bytes that are no UTF-8', async () => {
    const other = await createOwnedCompany();
    const json = { ...oidcConfiguration, issuer: 'https://idp.example.org/%ff' };
    const { status, body } = await other.as.put(SSO_CONFIG_PATH, { json });
    expect([status, body.issuer]).toEqual([200, json.issuer]);
  });

  it('may name a SAML provider instead', async () => {
    const { certificate } = await createSigner();
    const samlConfiguration = {
      type: 'saml',
      idp_entity_id: 'https://idp.example.org/saml',
      idp_sso_url: 'https://idp.example.org/sso',
      idp_certificates: [certificate],
      redirect_uris: [CONSOLE_RETURN_URL],
    };
    const { status, body } = await company.as.put(SSO_CONFIG_PATH, { json: samlConfiguration });
    expect(status).toBe(200);
    const entityId = `${BASE_URL}/v1/auth/sso/${company.slug}/metadata`;
    expect(body).toMatchObject({
      ...samlConfiguration,
      jit_provisioning: false,
      sp_entity_id: entityId,
      metadata_url: entityId,
    });
    expect(body).not.toHaveProperty('issuer');
  });

  it('is answered 404 once it is deleted', async () => {
    const other = await createOwnedCompany();
    await configureSso(other, oidcConfiguration);
    expect((await other.as.delete(SSO_CONFIG_PATH)).status).toBe(204);
    expect((await other.as.get(SSO_CONFIG_PATH)).status).toBe(404);
    expect((await requestSignInStart(other.slug, CONSOLE_RETURN_URL)).body.error).toBe('SSO_NOT_CONFIGURED');
  });

  it('is mailed to the owner and the administrators when it changes', async () => {
    const notifiedCompany = await createOwnedCompany();
    const administrator = await createAllowedUser(notifiedCompany, { can: ['*'] });
    const uninformedUsers = [
      await createAllowedUser(notifiedCompany, { can: ['company:update_sso'] }),
      await createAllowedUser(notifiedCompany, { can: ['*'], on: ['arn:svc:users::*'] }),
      await createAllowedUser(notifiedCompany, { can: ['*'], denied: ['users:list'] }),
      await createAllowedUser(await createOwnedCompany(), { can: ['*'] }),
    ];
    const inactiveUser = await createAllowedUser(notifiedCompany, { can: ['*'] });
    await runSql('UPDATE users SET is_active = 0 WHERE id = ?', inactiveUser.id);
    expect((await administrator.as.put(SSO_CONFIG_PATH, { json: oidcConfiguration })).status).toBe(200);
    expect((await administrator.as.delete(SSO_CONFIG_PATH)).status).toBe(204);
    for (const address of [notifiedCompany.owner.email, administrator.email]) {
      const [removed, changed, ...others] = listMailsTo(address);
      expect(others).toEqual([]);
      expect(changed?.text).toContain(`${administrator.email} has set the identity provider`);
      expect(removed?.text).toContain(`${administrator.email} has taken away the identity provider`);
    }
    for (const { email } of [...uninformedUsers, inactiveUser]) expect(listMailsTo(email)).toEqual([]);
  });

  it('is mailed later if the mail service is down', async () => {
    const notifiedCompany = await createOwnedCompany();
    await runWhileMailIsDown(() => notifiedCompany.as.put(SSO_CONFIG_PATH, { json: oidcConfiguration }));
    expect(listMailsTo(notifiedCompany.owner.email)).toEqual([]);
    advanceClock(61_000);
    await runScheduled();
    resetClock();
    expect(listMailsTo(notifiedCompany.owner.email)).toHaveLength(1);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['an issuer that is no URL', { issuer: 'idp' }, 'issuer'],
    ['an empty secret', { client_secret: '' }, 'client_secret'],
    ['a relative redirect_uri', { redirect_uris: ['/signed-in'] }, 'redirect_uris.0'],
    [
      'a redirect_uri of another scheme',
      { redirect_uris: [CONSOLE_RETURN_URL, 'javascript:alert(1)'] },
      'redirect_uris.1',
    ],
    ['a redirect_uri with a fragment', { redirect_uris: [`${CONSOLE_RETURN_URL}#a`] }, 'redirect_uris.0'],
    ['a redirect_uri with a user name', { redirect_uris: ['https://a@console.test/'] }, 'redirect_uris.0'],
    [
      'too many redirect_uris',
      { redirect_uris: Array.from({ length: 21 }, () => CONSOLE_RETURN_URL) },
      'redirect_uris',
    ],
    ...[
      'https://login.microsoftonline.com/common/v2.0',
      'https://login.microsoftonline.com/Organizations/v2.0',
      'https://login.microsoftonline.com/{tenantid}/v2.0',
      'https://login.microsoftonline.com/%63ommon/%zz',
      'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
      'https://accounts.google.com',
    ].map((issuer): [string, Record<string, unknown>, string] => [
      `trust in the addresses of ${issuer}`,
      { issuer, trust_email: true },
      'trust_email',
    ]),
  ])('must not have %s', async (_what, change, field) => {
    const { status, body } = await company.as.put(SSO_CONFIG_PATH, { json: { ...oidcConfiguration, ...change } });
    expect([status, body.error]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.details.map((problem: { field: string }) => problem.field)).toEqual([field]);
  });

  it('must have valid, single and strong certificates', async () => {
    const [{ certificate }, weak] = [await createSigner(), await createSigner(1024)];
    const samlConfiguration = {
      type: 'saml',
      idp_entity_id: 'idp',
      idp_sso_url: 'https://idp.example.org',
      redirect_uris: [],
    };
    const readFields = async (idp_certificates: unknown) => {
      const { status, body } = await company.as.put(SSO_CONFIG_PATH, {
        json: { ...samlConfiguration, idp_certificates },
      });
      return status === 422 ? body.details.map(({ field }: { field: string }) => field) : status;
    };
    expect(await readFields([`\n${certificate}\r\n`, 'not a certificate'])).toEqual(['idp_certificates.1']);
    expect(await readFields([`${certificate}\n${certificate}`, weak.certificate])).toEqual([
      'idp_certificates.0',
      'idp_certificates.1',
    ]);
    expect(await readFields([])).toEqual(['idp_certificates']);
    expect(await readFields([certificate])).toBe(200);
  });
});

describe('the address of a provider in production', () => {
  const productionEnv = { env: { ALLOW_PRIVATE_ISSUERS: 'false' } };

  it.each([
    'http://idp.example.org',
    'https://localhost',
    'https://127.0.0.1',
    'https://2130706433',
    'https://0x7f.1',
    'https://169.254.169.254',
    'https://[::1]',
    'https://[::ffff:10.0.0.1]',
    'https://idp.internal',
    'https://idp.example.org:22',
  ])('must not be %s', async (address) => {
    const issuerAnswer = await company.as.put(SSO_CONFIG_PATH, {
      ...productionEnv,
      json: { ...oidcConfiguration, issuer: address },
    });
    expect([issuerAnswer.status, issuerAnswer.body.details[0].field]).toEqual([422, 'issuer']);
    const { certificate } = await createSigner();
    const samlConfiguration = { type: 'saml', idp_entity_id: 'i', idp_certificates: [certificate], redirect_uris: [] };
    const ssoAnswer = await company.as.put(SSO_CONFIG_PATH, {
      ...productionEnv,
      json: { ...samlConfiguration, idp_sso_url: address },
    });
    expect([ssoAnswer.status, ssoAnswer.body.details[0].field]).toEqual([422, 'idp_sso_url']);
  });

  it('may be public while the redirect_uri is on the user’s own machine', async () => {
    const json = { ...oidcConfiguration, redirect_uris: ['http://localhost:5173/signed-in', CONSOLE_RETURN_URL] };
    expect((await company.as.put(SSO_CONFIG_PATH, { ...productionEnv, json })).status).toBe(200);
    const httpConfiguration = { ...oidcConfiguration, redirect_uris: ['http://console.test/'] };
    expect(
      (await company.as.put(SSO_CONFIG_PATH, { ...productionEnv, json: httpConfiguration })).body.details[0].field,
    ).toBe('redirect_uris.0');
  });

  it('is validated again when it is used', async () => {
    const other = await createOwnedCompany();
    await configureSso(other, { ...oidcConfiguration, issuer: `${inject('forgerUrl')}/plain` });
    expect((await requestSignInStart(other.slug, CONSOLE_RETURN_URL)).status).toBe(200);
    const { status, body } = await requestSignInStart(other.slug, CONSOLE_RETURN_URL, productionEnv.env);
    expect([status, body.error]).toEqual([503, 'SSO_PROVIDER_UNAVAILABLE']);
  });
});

it('the scheduled run deletes sign-ins that were not finished', async () => {
  const other = await createOwnedCompany();
  await configureSso(other, { ...oidcConfiguration, issuer: `${inject('forgerUrl')}/plain` });
  await startSignIn(other);
  const count = () =>
    env.CONTROL_DB.prepare('SELECT count(*) AS n FROM sso_logins WHERE company_id = ?').bind(other.id).first('n');
  const runScheduledHandler = () =>
    worker.scheduled({ scheduledTime: 0, cron: '* * * * *', noRetry() {} }, env, {
      waitUntil() {},
    } as unknown as ExecutionContext);
  await runScheduledHandler();
  expect(await count()).toBe(1);
  advanceClock(10 * 60_000 + 1);
  await runScheduledHandler();
  resetClock();
  expect(await count()).toBe(0);
});
