import { env } from 'cloudflare:test';
import { generateKeyPairSync } from 'node:crypto';
import { decodeProtectedHeader } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import { createSigningKey, hostToken, makeEmbedRoutes } from '../embeds/support.ts';
import { createTable } from '../managed-tables/support.ts';
import { aSalesDashboard } from '../shares/support.ts';
import { call } from '../support/api.ts';
import { resetClock, runScheduled } from '../support/clock.ts';
import { enrolAuthenticator, goToNextStep } from '../support/second-factor.ts';
import { signed } from '../support/signed.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';

afterEach(resetClock);

const VERSION = 1795309380;
const NEWER = 'a newer secret, as the command for rotation makes it';

/** The environment with a further version of a key, as `npm run rotate-keys` sets it. */
const rotated = (name: string): Record<string, string> => ({ [`${name}_${VERSION}`]: NEWER });
/** The environment once the first version was taken away. */
const alone = (name: string): Record<string, string> => ({ [name]: JSON.stringify({ [VERSION]: NEWER }) });

const login = ({ slug, owner }: Company, variables: Record<string, string>) =>
  call('POST', '/v1/auth/login', {
    json: { company_slug: slug, email: owner.email, password: owner.password },
    env: variables,
  });

describe('rotating the encryption key', () => {
  it('encrypts everything again, so that the old key can be removed', async () => {
    const company = await aProvisionedCompany();
    const tableId = await createTable(company.as, 'kept', [
      { name: 'a', display_name: 'a', type: 'text', nullable: true },
    ]);
    await company.as.put('/v1/auth/sso/config', {
      json: {
        type: 'oidc',
        issuer: 'http://127.0.0.1:9/issuer',
        client_id: 'console',
        client_secret: 'secret of the provider',
        redirect_uris: ['https://console.test/sso'],
        jit_provisioning: false,
      },
    });
    const signingKey = await createSigningKey(company);
    const { code, backupCodes } = await enrolAuthenticator(company.as);
    const variables = rotated('ENCRYPTION_KEYS');

    await runScheduled();
    expect(await prefixesOf(company.id)).toEqual(['v1:']);
    await runScheduled(variables);
    expect(await prefixesOf(company.id)).toEqual([`v${VERSION}:`]);

    // Nothing but the new key: the company's database and the authenticator work.
    const newAlone = { env: alone('ENCRYPTION_KEYS') };
    expect((await company.as.get(`/v1/managed-tables/${tableId}`, newAlone)).status).toBe(200);
    const { dashboard } = await aSalesDashboard(company);
    const token = await hostToken(signingKey, { dashboard_id: dashboard._id });
    expect((await makeEmbedRoutes('d', token).info(newAlone)).status).toBe(200);
    const second = async (json: object, settings: { env: Record<string, string> }) => {
      const { pending_2fa_token } = (await login(company, settings.env)).body;
      return (await call('POST', '/v1/auth/2fa/login', { json: { pending_2fa_token, ...json }, ...settings })).status;
    };
    expect(await second({ totp_token: code() }, newAlone)).toBe(200);
    // Backup codes are digests: they work for as long as their key is there.
    goToNextStep();
    expect(await second({ backup_code: backupCodes[0] }, { env: variables })).toBe(200);
    expect(await second({ backup_code: backupCodes[1] }, newAlone)).toBe(400);
  });
});

describe('rotating the key that API keys are derived from', () => {
  it('keeps issued keys working until their version is removed, and derives new ones from the new version', async () => {
    const company = await aCompany();
    const both = { env: rotated('KEY_DERIVATION_SECRETS') };
    const newAlone = { env: alone('KEY_DERIVATION_SECRETS') };
    const old = signed(company.apiKey);
    expect((await old.get('/accounts', both)).status).toBe(200);
    const { results } = (await old.get('/service-accounts', both)).body;
    const issued = await old.post(`/service-accounts/${results[0].id}/keys`, { json: {}, ...both });
    expect((await signed(issued.body).get('/accounts', newAlone)).status).toBe(200);
    expect((await old.get('/accounts', newAlone)).body.details.reason).toBe('unknown_key');
  });
});

describe('rotating the key that tokens are signed with', () => {
  it('keeps sessions working until their version is removed, signs with the new key, and publishes both', async () => {
    const company = await aCompany();
    const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
    const both = { [`JWT_PRIVATE_KEYS_${VERSION}`]: JSON.stringify({ ...jwk, kid: String(VERSION) }) };
    expect((await company.as.get('/v1/auth/me', { env: both })).status).toBe(200);
    const { token } = (await login(company, both)).body;
    expect(decodeProtectedHeader(token).kid).toBe(String(VERSION));
    const { keys } = (await call('GET', '/.well-known/jwks.json', { env: both })).body;
    expect(keys.map(({ kid }: { kid: string }) => kid)).toEqual([String(VERSION), 'test-1']);
    const newAlone = { env: { JWT_PRIVATE_KEYS: `[${both[`JWT_PRIVATE_KEYS_${VERSION}`]}]` } };
    const me = (bearer: string) =>
      call('GET', '/v1/auth/me', { headers: { authorization: `Bearer ${bearer}` }, ...newAlone });
    expect([(await me(token)).status, (await me(company.token)).status]).toEqual([200, 401]);
  });
});

/** Which versions everything of a company that is encrypted is under. */
async function prefixesOf(companyId: string): Promise<string[]> {
  const { results } = await env.CONTROL_DB.prepare(
    `SELECT DISTINCT substr(text, 1, instr(text, ':')) AS prefix FROM (
       SELECT owner_connection AS text FROM managed_databases WHERE company_id = ?1
       UNION ALL SELECT readonly_connection FROM managed_databases WHERE company_id = ?1
       UNION ALL SELECT reader_password FROM managed_databases WHERE company_id = ?1
       UNION ALL SELECT secret FROM second_factors WHERE company_id = ?1
       UNION ALL SELECT client_secret FROM sso_configurations WHERE company_id = ?1)
     UNION SELECT substr(secret, 1, instr(secret, ':')) FROM embed_signing_keys WHERE company_id = ?1`,
  )
    .bind(companyId)
    .all<{ prefix: string }>();
  return results.map(({ prefix }) => prefix);
}
