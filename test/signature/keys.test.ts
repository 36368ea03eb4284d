import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { aServiceAccount, must, type ServiceAccount, signed } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { alterRows, sendSigned } from './support.ts';

let company: Company;
let robot: ServiceAccount;
beforeEach(async () => {
  company = await aCompany();
  const { body } = await signed(company.apiKey).post('/accounts', { json: { name: 'Branch' } });
  const administrators = await env.CONTROL_DB.prepare('SELECT id FROM groups WHERE company_id = ? AND slug = ?')
    .bind(company.id, 'administrators')
    .first<{ id: string }>();
  robot = await aServiceAccount(company, [administrators?.id as string], body.id);
});

/** What the robot's next request answers: 200, or the reason why it is refused. */
async function sendNext(): Promise<unknown> {
  const { status, body } = await sendSigned(robot.key, { path: '/accounts' });
  return status === 200 ? 200 : body.details.reason;
}

const admin = () => signed(company.apiKey);

describe('a key', () => {
  it.each<[what: string, end: () => Promise<unknown>]>([
    ['is revoked', () => must(admin().delete(`/service-accounts/${robot.id}/keys/${robot.keyId}`))],
    ['has expired', () => alterRows('UPDATE api_keys SET expires_at = ? WHERE id = ?', Date.now(), robot.keyId)],
    [
      'belongs to a service account made inactive',
      () => must(admin().patch(`/service-accounts/${robot.id}`, { json: { is_active: false } })),
    ],
    ['belongs to a deleted service account', () => must(admin().delete(`/service-accounts/${robot.id}`))],
    [
      'belongs to an account made inactive',
      () => must(admin().patch(`/accounts/${robot.accountId}`, { json: { is_active: false } })),
    ],
    [
      'has a secret that was not the one issued',
      () => alterRows('UPDATE api_keys SET secret_digest = ? WHERE id = ?', '0'.repeat(64), robot.keyId),
    ],
    ['has another salt', () => alterRows('UPDATE api_keys SET salt = ? WHERE id = ?', 'another-salt', robot.keyId)],
    [
      'was derived under a master secret that is gone',
      () => alterRows('UPDATE api_keys SET derivation_version = 99 WHERE id = ?', robot.keyId),
    ],
  ])('that %s is refused on the next request', async (_what, end) => {
    expect(await sendNext()).toBe(200);
    await end();
    expect(await sendNext()).toBe('unknown_key');
  });

  it('works again as soon as its service account is active again', async () => {
    await must(admin().patch(`/service-accounts/${robot.id}`, { json: { is_active: false } }));
    expect(await sendNext()).toBe('unknown_key');
    await must(admin().patch(`/service-accounts/${robot.id}`, { json: { is_active: true } }));
    expect(await sendNext()).toBe(200);
  });

  it('loses its access on the next request when its service account leaves its group', async () => {
    expect(await sendNext()).toBe(200);
    await alterRows('DELETE FROM group_bindings WHERE principal_id = ?', robot.id);
    const { status } = await sendSigned(robot.key, { path: '/accounts' });
    expect(status).toBe(403);
  });

  it('keeps working after a new master secret, from which new keys are derived', async () => {
    const { 1: first } = JSON.parse((env as unknown as { KEY_DERIVATION_SECRETS: string }).KEY_DERIVATION_SECRETS);
    const rotated = {
      KEY_DERIVATION_SECRETS: JSON.stringify({ 1: first, 2: 'another master secret, just as long as it has to be' }),
    };
    expect((await sendSigned(robot.key, { path: '/accounts' }, rotated)).status).toBe(200);
    const issued = await admin().post(`/service-accounts/${robot.id}/keys`, { json: {}, env: rotated });
    expect(issued.status).toBe(201);
    expect((await sendSigned(issued.body, { path: '/accounts' }, rotated)).status).toBe(200);
    // Where only the first is known, the new key is not.
    expect((await sendSigned(issued.body, { path: '/accounts' })).body.details.reason).toBe('unknown_key');
  });

  it('is refused with the secret of another organization, and reads only its own', async () => {
    const other = await aCompany();
    const mixed = { access_key: company.apiKey.access_key, secret_key: other.apiKey.secret_key };
    expect((await sendSigned(mixed)).body.details.reason).toBe('bad_signature');
    const { body } = await sendSigned(other.apiKey, { path: '/accounts' });
    for (const account of body.results) expect(account.organization_id).toBe(other.id);
  });

  it('is stored without its secret', async () => {
    const row = await env.CONTROL_DB.prepare('SELECT * FROM api_keys WHERE id = ?').bind(robot.keyId).first();
    expect(JSON.stringify(row)).not.toContain(robot.key.secret_key);
  });
});
