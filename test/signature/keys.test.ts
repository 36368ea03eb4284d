import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { selectRow } from '../support/race.ts';
import { createKeyedAccount, createSignedCaller, type ServiceAccount } from '../support/signed.ts';
import { alterRows, sendSigned } from './support.ts';

let company: Company;
let serviceAccount: ServiceAccount;
beforeEach(async () => {
  company = await createOwnedCompany();
  const { body } = await createSignedCaller(company.apiKey).post('/accounts', { json: { name: 'Branch' } });
  const administrators = await selectRow<{ id: string }>(
    'SELECT id FROM groups WHERE company_id = ? AND slug = ?',
    company.id,
    'administrators',
  );
  serviceAccount = await createKeyedAccount(company, [administrators?.id as string], body.id);
});

/** Sends the service account's next request. @returns 200, or the reason why it is refused */
async function sendNextRequests(): Promise<unknown> {
  const { status, body } = await sendSigned(serviceAccount.key, { path: '/accounts' });
  return status === 200 ? 200 : body.details.reason;
}

const createAdmin = () => createSignedCaller(company.apiKey);

describe('a key', () => {
  // That others revoke, deactivate or delete, or take out of a group, is tried by test/http/one-hop, cached and read anew.
  it.each<[title: string, end: () => Promise<unknown>]>([
    [
      'has expired',
      () => alterRows('UPDATE api_keys SET expires_at = ? WHERE id = ?', Date.now(), serviceAccount.keyId),
    ],
    [
      'has a secret that was not the one issued',
      () => alterRows('UPDATE api_keys SET secret_digest = ? WHERE id = ?', '0'.repeat(64), serviceAccount.keyId),
    ],
    [
      'has another salt',
      () => alterRows('UPDATE api_keys SET salt = ? WHERE id = ?', 'another-salt', serviceAccount.keyId),
    ],
    [
      'was derived under a master secret that is gone',
      () => alterRows('UPDATE api_keys SET derivation_version = 99 WHERE id = ?', serviceAccount.keyId),
    ],
  ])('that %s is refused on the next request', async (_what, end) => {
    expect(await sendNextRequests()).toBe(200);
    await end();
    expect(await sendNextRequests()).toBe('unknown_key');
  });

  it('keeps working after a new master secret, from which new keys are derived', async () => {
    const { 1: first } = JSON.parse((env as unknown as { KEY_DERIVATION_SECRETS: string }).KEY_DERIVATION_SECRETS);
    const rotatedEnv = {
      KEY_DERIVATION_SECRETS: JSON.stringify({ 1: first, 2: 'another master secret, just as long as it has to be' }),
    };
    expect((await sendSigned(serviceAccount.key, { path: '/accounts' }, rotatedEnv)).status).toBe(200);
    const issuedKey = await createAdmin().post(`/service-accounts/${serviceAccount.id}/keys`, {
      json: {},
      env: rotatedEnv,
    });
    expect(issuedKey.status).toBe(201);
    expect((await sendSigned(issuedKey.body, { path: '/accounts' }, rotatedEnv)).status).toBe(200);
    // Where only the first is known, the new key is not.
    expect((await sendSigned(issuedKey.body, { path: '/accounts' })).body.details.reason).toBe('unknown_key');
  });

  it('is refused with the secret of another organization, and reads only the data of its own organization', async () => {
    const other = await createOwnedCompany();
    const mixedKey = { access_key: company.apiKey.access_key, secret_key: other.apiKey.secret_key };
    expect((await sendSigned(mixedKey)).body.details.reason).toBe('bad_signature');
    const { body } = await sendSigned(other.apiKey, { path: '/accounts' });
    for (const account of body.results) expect(account.organization_id).toBe(other.id);
  });

  it('is stored without its secret', async () => {
    const row = await selectRow('SELECT * FROM api_keys WHERE id = ?', serviceAccount.keyId);
    expect(JSON.stringify(row)).not.toContain(serviceAccount.key.secret_key);
  });
});
