import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { BASE_URL } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { listMailsTo, whileMailIsDown } from '../support/mail.ts';
import { createSigner } from '../support/saml-idp.ts';
import worker from '../support/worker.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { CONSOLE, callbackUrl, configureSso, startSignIn, tryStart } from './support.ts';

const PATH = '/v1/auth/sso/config';
const oidc = {
  type: 'oidc',
  issuer: 'https://idp.example.org',
  client_id: 'console',
  client_secret: 'the client’s secret',
  redirect_uris: [CONSOLE],
  jit_provisioning: true,
};

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

describe('the configuration of single sign-on', () => {
  it('is answered 404 at first', async () => {
    for (const { status, body } of [await company.as.get(PATH), await company.as.delete(PATH)]) {
      expect([status, body.error]).toEqual([404, 'SSO_NOT_CONFIGURED']);
    }
  });

  it('is returned without the secret, which is stored encrypted', async () => {
    const put = await company.as.put(PATH, { json: oidc });
    expect(put.status).toBe(200);
    const { client_secret: _secret, ...open } = oidc;
    const moments = { created_at: expect.any(String), updated_at: expect.any(String) };
    expect(put.body).toEqual({ ...open, trust_email: false, callback_url: callbackUrl(company), ...moments });
    expect((await company.as.get(PATH)).body).toEqual(put.body);
    const row = await env.CONTROL_DB.prepare('SELECT * FROM sso_configurations WHERE company_id = ?')
      .bind(company.id)
      .first();
    expect(row?.client_secret).toMatch(/^v1:/);
    expect(JSON.stringify(row)).not.toContain(oidc.client_secret);
  });

  it('keeps its secret for the same issuer and client only', async () => {
    const { client_secret: _secret, ...without } = oidc;
    expect((await company.as.put(PATH, { json: { ...without, redirect_uris: [] } })).status).toBe(200);
    for (const change of [{ issuer: 'https://evil.example.org' }, { client_id: 'another' }]) {
      const { status, body } = await company.as.put(PATH, { json: { ...without, ...change } });
      expect([status, body.details[0].field]).toEqual([422, 'client_secret']);
    }
    expect((await (await aCompany()).as.put(PATH, { json: without })).status).toBe(422);
  });

  it('may name a SAML provider instead', async () => {
    const { certificate } = await createSigner();
    const saml = {
      type: 'saml',
      idp_entity_id: 'https://idp.example.org/saml',
      idp_sso_url: 'https://idp.example.org/sso',
      idp_certificates: [certificate],
      redirect_uris: [CONSOLE],
    };
    const { status, body } = await company.as.put(PATH, { json: saml });
    expect(status).toBe(200);
    const entityId = `${BASE_URL}/v1/auth/sso/${company.slug}/metadata`;
    expect(body).toMatchObject({ ...saml, jit_provisioning: false, sp_entity_id: entityId, metadata_url: entityId });
    expect(body).not.toHaveProperty('issuer');
  });

  it('is answered 404 once it is deleted', async () => {
    const other = await aCompany();
    await configureSso(other, oidc);
    expect((await other.as.delete(PATH)).status).toBe(204);
    expect((await other.as.get(PATH)).status).toBe(404);
    expect((await tryStart(other.slug, CONSOLE)).body.error).toBe('SSO_NOT_CONFIGURED');
  });

  it('is mailed to the owner and the administrators when it changes', async () => {
    const told = await aCompany();
    const administrator = await aUser(told, { can: ['*'] });
    const strangers = [
      await aUser(told, { can: ['company:update_sso'] }),
      await aUser(told, { can: ['*'], on: ['arn:svc:users::*'] }),
      await aUser(told, { can: ['*'], denied: ['users:list'] }),
      await aUser(await aCompany(), { can: ['*'] }),
    ];
    const inactive = await aUser(told, { can: ['*'] });
    await env.CONTROL_DB.prepare('UPDATE users SET is_active = 0 WHERE id = ?').bind(inactive.id).run();
    expect((await administrator.as.put(PATH, { json: oidc })).status).toBe(200);
    expect((await administrator.as.delete(PATH)).status).toBe(204);
    for (const address of [told.owner.email, administrator.email]) {
      const [removed, changed, ...others] = listMailsTo(address);
      expect(others).toEqual([]);
      expect(changed?.text).toContain(`${administrator.email} has set the identity provider`);
      expect(removed?.text).toContain(`${administrator.email} has taken away the identity provider`);
    }
    for (const { email } of [...strangers, inactive]) expect(listMailsTo(email)).toEqual([]);
  });

  it('is mailed later if the mail service is down', async () => {
    const told = await aCompany();
    await whileMailIsDown(() => told.as.put(PATH, { json: oidc }));
    expect(listMailsTo(told.owner.email)).toEqual([]);
    advanceClock(61_000);
    await runScheduled();
    resetClock();
    expect(listMailsTo(told.owner.email)).toHaveLength(1);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['an unknown type', { type: 'ldap' }, 'type'],
    ['no issuer', { issuer: undefined }, 'issuer'],
    ['an issuer that is no URL', { issuer: 'idp' }, 'issuer'],
    ['an empty secret', { client_secret: '' }, 'client_secret'],
    ['a relative redirect_uri', { redirect_uris: ['/signed-in'] }, 'redirect_uris.0'],
    ['a redirect_uri of another scheme', { redirect_uris: [CONSOLE, 'javascript:alert(1)'] }, 'redirect_uris.1'],
    ['a redirect_uri with a fragment', { redirect_uris: [`${CONSOLE}#a`] }, 'redirect_uris.0'],
    ['a redirect_uri with a user name', { redirect_uris: ['https://a@console.test/'] }, 'redirect_uris.0'],
    ['too many redirect_uris', { redirect_uris: Array.from({ length: 21 }, () => CONSOLE) }, 'redirect_uris'],
    ...[
      'https://login.microsoftonline.com/common/v2.0',
      'https://login.microsoftonline.com/Organizations/v2.0',
      'https://login.microsoftonline.com/{tenantid}/v2.0',
      'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
      'https://accounts.google.com',
    ].map((issuer): [string, Record<string, unknown>, string] => [
      `trust in the addresses of ${issuer}`,
      { issuer, trust_email: true },
      'trust_email',
    ]),
    ['jit_provisioning that is no boolean', { jit_provisioning: 'yes' }, 'jit_provisioning'],
  ])('must not have %s', async (_what, change, field) => {
    const { status, body } = await company.as.put(PATH, { json: { ...oidc, ...change } });
    expect([status, body.error]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.details.map((problem: { field: string }) => problem.field)).toEqual([field]);
  });

  it('must have valid, single and strong certificates', async () => {
    const [{ certificate }, weak] = [await createSigner(), await createSigner(1024)];
    const saml = { type: 'saml', idp_entity_id: 'idp', idp_sso_url: 'https://idp.example.org', redirect_uris: [] };
    const fields = async (idp_certificates: unknown) => {
      const { status, body } = await company.as.put(PATH, { json: { ...saml, idp_certificates } });
      return status === 422 ? body.details.map(({ field }: { field: string }) => field) : status;
    };
    expect(await fields([`\n${certificate}\r\n`, 'not a certificate'])).toEqual(['idp_certificates.1']);
    expect(await fields([`${certificate}\n${certificate}`, weak.certificate])).toEqual([
      'idp_certificates.0',
      'idp_certificates.1',
    ]);
    expect(await fields([])).toEqual(['idp_certificates']);
    expect(await fields([certificate])).toBe(200);
  });
});

describe('the address of a provider in production', () => {
  const production = { env: { ALLOW_PRIVATE_ISSUERS: 'false' } };

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
    const issuer = await company.as.put(PATH, { ...production, json: { ...oidc, issuer: address } });
    expect([issuer.status, issuer.body.details[0].field]).toEqual([422, 'issuer']);
    const { certificate } = await createSigner();
    const saml = { type: 'saml', idp_entity_id: 'i', idp_certificates: [certificate], redirect_uris: [] };
    const sso = await company.as.put(PATH, { ...production, json: { ...saml, idp_sso_url: address } });
    expect([sso.status, sso.body.details[0].field]).toEqual([422, 'idp_sso_url']);
  });

  it('may be public while the redirect_uri is on the user’s own machine', async () => {
    const json = { ...oidc, redirect_uris: ['http://localhost:5173/signed-in', CONSOLE] };
    expect((await company.as.put(PATH, { ...production, json })).status).toBe(200);
    const plain = { ...oidc, redirect_uris: ['http://console.test/'] };
    expect((await company.as.put(PATH, { ...production, json: plain })).body.details[0].field).toBe('redirect_uris.0');
  });

  it('is validated again when it is used', async () => {
    const other = await aCompany();
    await configureSso(other, { ...oidc, issuer: `${inject('forgerUrl')}/plain` });
    expect((await tryStart(other.slug, CONSOLE)).status).toBe(200);
    const { status, body } = await tryStart(other.slug, CONSOLE, production.env);
    expect([status, body.error]).toEqual([503, 'SSO_PROVIDER_UNAVAILABLE']);
  });
});

describe('the scheduled run', () => {
  it('deletes sign-ins that were not finished', async () => {
    const other = await aCompany();
    await configureSso(other, { ...oidc, issuer: `${inject('forgerUrl')}/plain` });
    await startSignIn(other);
    const count = () =>
      env.CONTROL_DB.prepare('SELECT count(*) AS n FROM sso_logins WHERE company_id = ?').bind(other.id).first('n');
    const run = () =>
      worker.scheduled({ scheduledTime: 0, cron: '* * * * *', noRetry() {} }, env, {
        waitUntil() {},
      } as unknown as ExecutionContext);
    await run();
    expect(await count()).toBe(1);
    advanceClock(10 * 60_000 + 1);
    await run();
    resetClock();
    expect(await count()).toBe(0);
  });
});
