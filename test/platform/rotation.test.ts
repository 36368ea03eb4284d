import { env } from 'cloudflare:test';
import { generateKeyPairSync } from 'node:crypto';
import { decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { findUses } from '../../operations/rotation/key-uses.ts';
import { createEmbedClient, createSigningKey, hostToken } from '../embeds/support.ts';
import { createTable } from '../managed-tables/support.ts';
import { createSalesDashboard } from '../shares/support.ts';
import { callApi } from '../support/api.ts';
import { runScheduled } from '../support/clock.ts';
import { type Company, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { enrolAuthenticator, goToNextStep } from '../support/second-factor.ts';
import { createSignedCaller } from '../support/signed.ts';

const NEW_VERSION = 1795309380;
const NEW_SECRET = 'a newer secret, as the command for rotation makes it';

/** Returns the variables for a further version of a key, as `npm run rotate-keys` sets them. */
const makeRotatedVariables = (name: string): Record<string, string> => ({ [`${name}_${NEW_VERSION}`]: NEW_SECRET });
/** Returns the variables after the first version was removed. */
const makeNewOnlyVariables = (name: string): Record<string, string> => ({
  [name]: JSON.stringify({ [NEW_VERSION]: NEW_SECRET }),
});

const logIn = ({ slug, owner }: Company, variables: Record<string, string>) =>
  callApi('POST', '/v1/auth/login', {
    json: { company_slug: slug, email: owner.email, password: owner.password },
    env: variables,
  });

describe('rotating the encryption key', () => {
  it('encrypts everything again, so that the old key can be removed', async () => {
    const company = await createProvisionedCompany();
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
    const { makeCode, backupCodes } = await enrolAuthenticator(company.as);
    const variables = makeRotatedVariables('ENCRYPTION_KEYS');

    await runScheduled();
    expect(await listKeyPrefixes(company.id)).toEqual(['v1:']);
    await runScheduled(variables);
    expect(await listKeyPrefixes(company.id)).toEqual([`v${NEW_VERSION}:`]);

    // Nothing but the new key: the company's database and the authenticator work.
    const newOnlyOptions = { env: makeNewOnlyVariables('ENCRYPTION_KEYS') };
    expect((await company.as.get(`/v1/managed-tables/${tableId}`, newOnlyOptions)).status).toBe(200);
    const { dashboard } = await createSalesDashboard(company);
    const token = await hostToken(signingKey, { dashboard_id: dashboard._id });
    expect((await createEmbedClient('d', token).info(newOnlyOptions)).status).toBe(200);
    const signInWithFactor = async (json: object, settings: { env: Record<string, string> }) => {
      const { pending_2fa_token } = (await logIn(company, settings.env)).body;
      return (await callApi('POST', '/v1/auth/2fa/login', { json: { pending_2fa_token, ...json }, ...settings }))
        .status;
    };
    expect(await signInWithFactor({ totp_token: makeCode() }, newOnlyOptions)).toBe(200);
    // Backup codes are digests: they work for as long as their key is there.
    goToNextStep();
    expect(await signInWithFactor({ backup_code: backupCodes[0] }, { env: variables })).toBe(200);
    expect(await signInWithFactor({ backup_code: backupCodes[1] }, newOnlyOptions)).toBe(400);
  });

  it('ends in a removal that looks at every column which the scheduled run encrypts again', async () => {
    const texts: string[] = [];
    const CONTROL_DB = {
      withSession(constraint: string) {
        const session = env.CONTROL_DB.withSession(constraint);
        return {
          prepare: (text: string) => {
            texts.push(text);
            return session.prepare(text);
          },
          batch: (statements: D1PreparedStatement[]) => session.batch(statements),
          getBookmark: () => session.getBookmark(),
        };
      },
    };
    await runScheduled({ ...makeRotatedVariables('ENCRYPTION_KEYS'), CONTROL_DB });
    const pattern = /"(\w+)"\."(\w+)"(?:\) as each where each\.value ->> 'secret')? not like \?/g;
    const columns = texts.flatMap((text) =>
      [...text.matchAll(pattern)].map(([, table, column]) => ({ table, column })),
    );
    // Columns that the pattern does not find would not be compared below.
    expect(columns).toHaveLength(7);

    const queries: string[] = [];
    const query = async (statement: string) => {
      queries.push(statement);
      return [];
    };
    await findUses('encryption', 1, NEW_VERSION, { query, close: async () => undefined }, 0);
    const readsColumn = ({ table, column }: (typeof columns)[number]) =>
      queries.some((text) => text.includes(` FROM ${table}`) && new RegExp(`\\b${column}\\b`).test(text));
    expect(columns.filter((column) => !readsColumn(column))).toEqual([]);
  });
});

it('rotating the key that API keys are derived from keeps issued keys working until their version is removed, and derives new ones from the new version', async () => {
  const company = await createOwnedCompany();
  const bothVersionsOptions = { env: makeRotatedVariables('KEY_DERIVATION_SECRETS') };
  const newOnlyOptions = { env: makeNewOnlyVariables('KEY_DERIVATION_SECRETS') };
  const oldCaller = createSignedCaller(company.apiKey);
  expect((await oldCaller.get('/accounts', bothVersionsOptions)).status).toBe(200);
  const { results } = (await oldCaller.get('/service-accounts', bothVersionsOptions)).body;
  const issuedKey = await oldCaller.post(`/service-accounts/${results[0].id}/keys`, {
    json: {},
    ...bothVersionsOptions,
  });
  expect((await createSignedCaller(issuedKey.body).get('/accounts', newOnlyOptions)).status).toBe(200);
  expect((await oldCaller.get('/accounts', newOnlyOptions)).body.details.reason).toBe('unknown_key');
});

describe('rotating the key that tokens are signed with', () => {
  it('keeps sessions working until their version is removed, signs with the new key, and publishes both', async () => {
    const company = await createOwnedCompany();
    const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
    const bothVersionsEnv = {
      [`JWT_PRIVATE_KEYS_${NEW_VERSION}`]: JSON.stringify({ ...jwk, kid: String(NEW_VERSION) }),
    };
    expect((await company.as.get('/v1/auth/me', { env: bothVersionsEnv })).status).toBe(200);
    const { token } = (await logIn(company, bothVersionsEnv)).body;
    expect(decodeProtectedHeader(token).kid).toBe(String(NEW_VERSION));
    const { keys } = (await callApi('GET', '/.well-known/jwks.json', { env: bothVersionsEnv })).body;
    expect(keys.map(({ kid }: { kid: string }) => kid)).toEqual([String(NEW_VERSION), 'test-1']);
    const newOnlyOptions = { env: { JWT_PRIVATE_KEYS: `[${bothVersionsEnv[`JWT_PRIVATE_KEYS_${NEW_VERSION}`]}]` } };
    const me = (bearerToken: string) =>
      callApi('GET', '/v1/auth/me', { headers: { authorization: `Bearer ${bearerToken}` }, ...newOnlyOptions });
    expect([(await me(token)).status, (await me(company.token)).status]).toEqual([200, 401]);
  });
});

/** Lists the key versions under which the encrypted values of a company are stored. */
async function listKeyPrefixes(companyId: string): Promise<string[]> {
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
