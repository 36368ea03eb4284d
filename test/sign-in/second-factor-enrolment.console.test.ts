import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, logIn, PASSWORD } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { selectRow } from '../support/race.ts';
import { computeCode, makeWrongCode } from '../support/second-factor.ts';
import { createEnrolledUser, finishSignIn, readPendingToken } from './support.ts';

const company = await createOwnedCompany();

const logInByPassword = (email: string) => logIn(company.slug, email, company.owner.password);
const WRONG_CODE_ERROR = [400, 'INVALID_2FA_CODE'];
/** The request body by which a user proves their identity again. */
const PASSWORD_PROOF = { json: { password: PASSWORD } };

describe('the enrolment of a second factor', () => {
  it('returns a secret, and ten backup codes once a code confirms it', async () => {
    const { as, email, id } = await createAllowedUser(company);
    const { status, body } = await as.post('/v1/auth/2fa/setup', PASSWORD_PROOF);
    expect(status).toBe(200);
    const url = new URL(body.otpauth_url);
    expect([url.protocol, url.host, url.searchParams.get('secret')]).toEqual(['otpauth:', 'totp', body.secret]);
    expect(decodeURIComponent(url.pathname)).toContain(email);
    expect(body.secret).toMatch(/^[A-Z2-7]{32}$/);
    expect((await logInByPassword(email)).body).toHaveProperty('token');

    const enablingAnswer = await as.post('/v1/auth/2fa/enable', {
      json: { totp_token: computeCode(body.secret), password: PASSWORD },
    });
    expect(enablingAnswer.status).toBe(200);
    expect(new Set(enablingAnswer.body.backup_codes).size).toBe(10);
    const user = await selectRow('SELECT mfa_enabled FROM users WHERE id = ?', id);
    expect(user).toEqual({ mfa_enabled: 1 });
  });

  it('is begun without a change of the user', async () => {
    const { as, id } = await createAllowedUser(company);
    const readUser = () => selectRow('SELECT * FROM users WHERE id = ?', id);
    const user = await readUser();
    expect((await as.post('/v1/auth/2fa/setup', PASSWORD_PROOF)).status).toBe(200);
    expect(await readUser()).toEqual(user);
  });

  it('replaces a secret that was not confirmed, but not a confirmed secret', async () => {
    const { as } = await createAllowedUser(company);
    const first = (await as.post('/v1/auth/2fa/setup', PASSWORD_PROOF)).body.secret;
    const secondSecret = (await as.post('/v1/auth/2fa/setup', PASSWORD_PROOF)).body.secret;
    const enableFactor = (secret: string) =>
      as.post('/v1/auth/2fa/enable', { json: { totp_token: computeCode(secret), password: PASSWORD } });
    expect(readStatusAndCode(await enableFactor(first))).toEqual(WRONG_CODE_ERROR);
    expect((await enableFactor(secondSecret)).status).toBe(200);
    expect(readStatusAndCode(await enableFactor(secondSecret))).toEqual([409, '2FA_ALREADY_ENABLED']);
    expect(readStatusAndCode(await as.post('/v1/auth/2fa/setup', PASSWORD_PROOF))).toEqual([
      409,
      '2FA_ALREADY_ENABLED',
    ]);
  });

  it.each(['enable', 'disable', 'backup-codes'])('refuses %s when nothing was set up', async (action) => {
    const { as } = await createAllowedUser(company);
    const json = { enable: { totp_token: '123456' }, disable: { password: 'x' }, 'backup-codes': undefined }[action];
    const { status, body } = await as.post(`/v1/auth/2fa/${action}`, { json });
    expect([status, body.error]).toEqual([409, action === 'enable' ? '2FA_NOT_SET_UP' : '2FA_NOT_ENABLED']);
  });

  it('stores the secret encrypted and the backup codes hashed', async () => {
    const { secret, backupCodes } = await createEnrolledUser(company);
    const tables = ['second_factors', 'backup_codes', 'used_totp_steps', 'pending_second_factors', 'users'];
    const tableDumps = await env.CONTROL_DB.batch(
      tables.map((table) => env.CONTROL_DB.prepare(`SELECT * FROM ${table}`)),
    );
    const dumpedText = JSON.stringify(tableDumps.map(({ results }) => results));
    for (const secretText of [secret, ...backupCodes, ...backupCodes.map((code) => code.replace('-', ''))]) {
      expect(dumpedText).not.toContain(secretText);
    }
  });
});

describe('the disabling of a second factor', () => {
  const disableFactor = (as: Caller, json: unknown) => as.post('/v1/auth/2fa/disable', { json });
  const isFactorRequired = async (email: string) => 'requires_2fa' in (await logInByPassword(email)).body;

  it.each(['totp_token', 'backup_code'])('accepts an unused code: %s', async (kind) => {
    const { as, email, secret, makeCode, backupCodes } = await createEnrolledUser(company);
    const wrongProof = { totp_token: makeWrongCode(secret), backup_code: 'abcde-fghjk' }[kind];
    await finishSignIn(await readPendingToken(company, email), { backup_code: backupCodes[0] });
    const spentCode = { totp_token: makeCode(-1), backup_code: backupCodes[0] }[kind];
    expect(readStatusAndCode(await disableFactor(as, { [kind]: wrongProof }))).toEqual(WRONG_CODE_ERROR);
    expect(readStatusAndCode(await disableFactor(as, { [kind]: spentCode }))).toEqual(WRONG_CODE_ERROR);
    expect(await isFactorRequired(email)).toBe(true);
    const right = { totp_token: makeCode(), backup_code: backupCodes[3] }[kind];
    expect((await disableFactor(as, { [kind]: right })).status).toBe(200);
    expect(await isFactorRequired(email)).toBe(false);
  });

  it('refuses a password and a code together', async () => {
    const { as } = await createAllowedUser(company);
    const json = { password: 'x', totp_token: '123456' };
    expect(readStatusAndCode(await disableFactor(as, json))).toEqual([422, 'VALIDATION_ERROR']);
  });
});
