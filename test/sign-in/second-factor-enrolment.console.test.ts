import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { resetClock } from '../support/clock.ts';
import { readStatusAndCode } from '../support/console.ts';
import { computeCode, wrongCode } from '../support/second-factor.ts';
import { aCompany, aUser, type Company, logIn, PASSWORD } from '../support/worlds.ts';
import { createEnrolledUser, finishSignIn, readPendingToken } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const logInByPassword = (email: string) => logIn(company.slug, email, company.owner.password);
const WRONG = [400, 'INVALID_2FA_CODE'];
/** What proves again who they are. */
const AGAIN = { json: { password: PASSWORD } };

describe('the enrolment of a second factor', () => {
  it('answers a secret, and ten backup codes once a code confirms it', async () => {
    const { as, email, id } = await aUser(company);
    const { status, body } = await as.post('/v1/auth/2fa/setup', AGAIN);
    expect(status).toBe(200);
    const url = new URL(body.otpauth_url);
    expect([url.protocol, url.host, url.searchParams.get('secret')]).toEqual(['otpauth:', 'totp', body.secret]);
    expect(decodeURIComponent(url.pathname)).toContain(email);
    expect(body.secret).toMatch(/^[A-Z2-7]{32}$/);
    expect((await logInByPassword(email)).body).toHaveProperty('token');

    const enabled = await as.post('/v1/auth/2fa/enable', {
      json: { totp_token: computeCode(body.secret), password: PASSWORD },
    });
    expect(enabled.status).toBe(200);
    expect(new Set(enabled.body.backup_codes).size).toBe(10);
    const user = await env.CONTROL_DB.prepare('SELECT mfa_enabled FROM users WHERE id = ?').bind(id).first();
    expect(user).toEqual({ mfa_enabled: 1 });
  });

  it('replaces a secret that was not confirmed, but not a confirmed one', async () => {
    const { as } = await aUser(company);
    const first = (await as.post('/v1/auth/2fa/setup', AGAIN)).body.secret;
    const second = (await as.post('/v1/auth/2fa/setup', AGAIN)).body.secret;
    const enable = (secret: string) =>
      as.post('/v1/auth/2fa/enable', { json: { totp_token: computeCode(secret), password: PASSWORD } });
    expect(readStatusAndCode(await enable(first))).toEqual(WRONG);
    expect((await enable(second)).status).toBe(200);
    expect(readStatusAndCode(await enable(second))).toEqual([409, '2FA_ALREADY_ENABLED']);
    expect(readStatusAndCode(await as.post('/v1/auth/2fa/setup', AGAIN))).toEqual([409, '2FA_ALREADY_ENABLED']);
  });

  it.each(['enable', 'disable', 'backup-codes'])('refuses %s when nothing was set up', async (what) => {
    const { as } = await aUser(company);
    const json = { enable: { totp_token: '123456' }, disable: { password: 'x' }, 'backup-codes': undefined }[what];
    const { status, body } = await as.post(`/v1/auth/2fa/${what}`, { json });
    expect([status, body.error]).toEqual([409, what === 'enable' ? '2FA_NOT_SET_UP' : '2FA_NOT_ENABLED']);
  });

  it('stores the secret encrypted and the backup codes hashed', async () => {
    const { secret, backupCodes } = await createEnrolledUser(company);
    const tables = ['second_factors', 'backup_codes', 'used_totp_steps', 'pending_second_factors', 'users'];
    const dumps = await env.CONTROL_DB.batch(tables.map((table) => env.CONTROL_DB.prepare(`SELECT * FROM ${table}`)));
    const dump = JSON.stringify(dumps.map(({ results }) => results));
    for (const hidden of [secret, ...backupCodes, ...backupCodes.map((code) => code.replace('-', ''))]) {
      expect(dump).not.toContain(hidden);
    }
  });
});

describe('the disabling of a second factor', () => {
  const disable = (as: Caller, json: unknown) => as.post('/v1/auth/2fa/disable', { json });
  const isAskedFor = async (email: string) => 'requires_2fa' in (await logInByPassword(email)).body;

  it.each(['totp_token', 'backup_code'])('accepts an unused code: %s', async (kind) => {
    const { as, email, secret, code, backupCodes } = await createEnrolledUser(company);
    const wrong = { totp_token: wrongCode(secret), backup_code: 'abcde-fghjk' }[kind];
    await finishSignIn(await readPendingToken(company, email), { backup_code: backupCodes[0] });
    const spent = { totp_token: code(-1), backup_code: backupCodes[0] }[kind];
    expect(readStatusAndCode(await disable(as, { [kind]: wrong }))).toEqual(WRONG);
    expect(readStatusAndCode(await disable(as, { [kind]: spent }))).toEqual(WRONG);
    expect(await isAskedFor(email)).toBe(true);
    const right = { totp_token: code(), backup_code: backupCodes[3] }[kind];
    expect((await disable(as, { [kind]: right })).status).toBe(200);
    expect(await isAskedFor(email)).toBe(false);
  });

  it('refuses a password and a code together', async () => {
    const { as } = await aUser(company);
    const json = { password: 'x', totp_token: '123456' };
    expect(readStatusAndCode(await disable(as, json))).toEqual([422, 'VALIDATION_ERROR']);
  });
});
