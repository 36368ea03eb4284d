import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  CONTEXTS_PATH,
  createShareContext,
  readPortalCode,
  requestCode,
  signInOutsider,
  verifyCode,
} from '../share-portal/support.ts';
import { callApi, createCaller } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { listMailsTo, runWhileMailIsDown } from '../support/mail.ts';
import { sendDuringRace, sendTwice } from '../support/race.ts';
import { makePastedCodes } from '../support/typed-codes.ts';

let context: { id: string; members: { id: string }[] };
let email: string;
let createdCount = 0;
const company = await createOwnedCompany();
beforeEach(async () => {
  email = `ana-${++createdCount}@partner.test`;
  context = await createShareContext(company, [], [email]);
});

const refreshTokens = (token: string) =>
  callApi('POST', '/api/v1/share-auth/refresh', { json: { refresh_token: token } });
const listContexts = (token: string) => createCaller(token).get('/api/v1/share-portal/contexts');
/** Matches the statement that counts an attempt and marks the code as used. */
const CODE_UPDATE_PATTERN = /^update "passwordless_codes"/;
const makeWrongCode = (code: string) => (code === '0000-0000' ? '0000-0001' : '0000-0000');

describe('a sign-in to the portal', () => {
  it('returns tokens for a mailed code', async () => {
    expect((await requestCode(company, email)).status).toBe(200);
    const { status, body } = await verifyCode(company, email.toUpperCase(), readPortalCode(email));
    expect([status, body]).toEqual([
      200,
      {
        access_token: expect.any(String),
        refresh_token: expect.any(String),
        access_token_expires_in: 900,
        refresh_token_expires_in: 604_800,
        user: { id: expect.stringMatching(/^[0-9a-f]{24}$/), email, status: 'active' },
        company: { name: expect.stringMatching(/^Company/) },
      },
    ]);
    expect((await listContexts(body.access_token)).body.total).toBe(1);
    const secondTokens = await signInOutsider(company, email);
    expect(secondTokens.tokens.user.id).toBe(body.user.id);
  });

  it('stores codes only as an HMAC', async () => {
    await requestCode(company, email);
    const { results } = await env.CONTROL_DB.prepare('SELECT * FROM passwordless_codes').all();
    expect(JSON.stringify(results)).not.toContain(readPortalCode(email));
    expect(JSON.stringify(results)).not.toContain(readPortalCode(email).replace('-', ''));
  });

  it('accepts a code once, also without its hyphen', async () => {
    await requestCode(company, email);
    const code = readPortalCode(email);
    expect((await verifyCode(company, email, code.replace('-', ''))).status).toBe(200);
    const secondSignIn = await verifyCode(company, email, code);
    expect([secondSignIn.status, secondSignIn.body.error_code]).toEqual([400, 'INVALID_CODE']);
  });

  it('accepts a code with spaces, hyphens and line ends around and within the code', async () => {
    for (const [index] of makePastedCodes('12345678').entries()) {
      advanceClock(index * 61 * 60_000);
      await requestCode(company, email);
      const code = makePastedCodes(readPortalCode(email))[index] as string;
      expect([code, (await verifyCode(company, email, code)).status]).toEqual([code, 200]);
    }
  });

  it('accepts a code once, also when a concurrent request uses it', async () => {
    await requestCode(company, email);
    const code = readPortalCode(email);
    const lateSignIn = await sendTwice(CODE_UPDATE_PATTERN, (env) => verifyCode(company, email, code, env));
    expect([lateSignIn.status, lateSignIn.body.error_code]).toEqual([400, 'INVALID_CODE']);
  });

  it('refuses a code after five wrong attempts, also if the attempts come during the request', async () => {
    await requestCode(company, email);
    const code = readPortalCode(email);
    const guessCodes = async () => {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const { status, body } = await verifyCode(company, email, makeWrongCode(code));
        expect([status, body.error_code]).toEqual([400, 'INVALID_CODE']);
      }
    };
    const lateSignIn = await sendDuringRace(CODE_UPDATE_PATTERN, guessCodes, (env) =>
      verifyCode(company, email, code, env),
    );
    expect([lateSignIn.status, lateSignIn.body.error_code]).toEqual([400, 'INVALID_CODE']);
  });

  it('accepts a code after four wrong attempts, but not after ten minutes, nor after a newer code was sent', async () => {
    await requestCode(company, email);
    const code = readPortalCode(email);
    for (let attempt = 0; attempt < 4; attempt++)
      expect((await verifyCode(company, email, makeWrongCode(code))).status).toBe(400);
    expect((await verifyCode(company, email, code)).status).toBe(200);

    await requestCode(company, email);
    const oldCode = readPortalCode(email);
    await requestCode(company, email);
    expect((await verifyCode(company, email, oldCode)).status).toBe(400);
    advanceClock(10 * 60_000 + 1000);
    expect((await verifyCode(company, email, readPortalCode(email))).status).toBe(400);
  });

  it('accepts a code only for its address, its company and the portal', async () => {
    const other = await createOwnedCompany();
    await createShareContext(other, [], [email]);
    const otherEmail = `bob-${createdCount}@partner.test`;
    await createShareContext(company, [], [otherEmail]);
    await requestCode(company, email);
    const code = readPortalCode(email);
    expect((await verifyCode(other, email, code)).status).toBe(400);
    expect((await verifyCode(company, otherEmail, code)).status).toBe(400);
    expect((await verifyCode({ slug: 'no-such-company' }, email, code)).status).toBe(400);
    expect((await verifyCode(company, email, code)).status).toBe(200);
  });

  it('refuses a member who was removed after the code was sent', async () => {
    await requestCode(company, email);
    await company.as.delete(`${CONTEXTS_PATH}/${context.id}/members/${context.members[0]?.id}`);
    expect((await verifyCode(company, email, readPortalCode(email))).status).toBe(400);
  });

  it.each(['12345678', '1234-567', '1234-56789', 'abcd-efgh', '', 12345678])('refuses %j as a code', async (code) => {
    const { status } = await verifyCode(company, email, code as string);
    expect(status).toBe(code === '12345678' ? 400 : 422);
  });
});

describe('a request for a portal code', () => {
  it('has the same answer for any address, and mails members only', async () => {
    const strangerEmail = `stranger-${createdCount}@x.test`;
    const answers = [
      await requestCode(company, email),
      await requestCode(company, strangerEmail),
      await requestCode({ slug: 'no-such-company' }, email),
      await requestCode(company, company.owner.email),
    ];
    for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]?.body]);
    expect(listMailsTo(strangerEmail)).toEqual([]);
    expect(listMailsTo(company.owner.email).filter(({ subject }) => subject.includes('dashboards'))).toEqual([]);
    expect(listMailsTo(email)).toHaveLength(1);
  });

  it('sends at most five mails an hour; the sixth request has the same answer and changes nothing', async () => {
    for (let requestCount = 0; requestCount < 5; requestCount++) await requestCode(company, email);
    const code = readPortalCode(email);
    expect((await requestCode(company, email)).status).toBe(200);
    expect(listMailsTo(email)).toHaveLength(5);
    expect((await verifyCode(company, email, code)).status).toBe(200);
    advanceClock(60 * 60_000 + 1000);
    await requestCode(company, email);
    expect(listMailsTo(email)).toHaveLength(6);
  });

  it('is sent a minute later if the mail service is down', async () => {
    await runWhileMailIsDown(() => requestCode(company, email));
    expect(listMailsTo(email)).toEqual([]);
    advanceClock(61_000);
    await runScheduled();
    expect((await verifyCode(company, email, readPortalCode(email))).status).toBe(200);
  });
});

describe('portal tokens', () => {
  it('are refreshed once, and a second use of the refresh token ends the session', async () => {
    const { tokens } = await signInOutsider(company, email);
    const first = await refreshTokens(tokens.refresh_token);
    const { company: _, ...refreshed } = tokens;
    expect([first.status, Object.keys(first.body).sort()]).toEqual([200, Object.keys(refreshed).sort()]);
    expect((await refreshTokens(first.body.refresh_token)).status).toBe(200);
    const copiedRefresh = await refreshTokens(tokens.refresh_token);
    expect([copiedRefresh.status, copiedRefresh.body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    expect((await listContexts(first.body.access_token)).status).toBe(401);
  });

  it('are refreshed again when the response was lost', async () => {
    const { tokens } = await signInOutsider(company, email);
    const lostRefresh = await refreshTokens(tokens.refresh_token);
    const retriedRefresh = await refreshTokens(tokens.refresh_token);
    expect([retriedRefresh.status, retriedRefresh.body.refresh_token]).toEqual([200, lostRefresh.body.refresh_token]);
    expect((await refreshTokens(retriedRefresh.body.refresh_token)).status).toBe(200);
  });

  it('stop working after a sign-out and when they expire', async () => {
    const { as, tokens } = await signInOutsider(company, email);
    const { body } = await as.post('/api/v1/share-auth/logout');
    expect(body).toEqual({ success: true });
    expect((await listContexts(tokens.access_token)).status).toBe(401);
    expect((await refreshTokens(tokens.refresh_token)).status).toBe(401);
    const { tokens: otherTokens } = await signInOutsider(company, email);
    advanceClock(15 * 60_000 + 1000);
    expect((await listContexts(otherTokens.access_token)).status).toBe(401);
    expect((await refreshTokens(otherTokens.refresh_token)).status).toBe(200);
    advanceClock(8 * 24 * 60 * 60_000);
    expect((await refreshTokens(otherTokens.refresh_token)).status).toBe(401);
  });

  it('do not have to be valid for a sign-out', async () => {
    for (const as of [createCaller('x'), company.as]) {
      expect((await as.post('/api/v1/share-auth/logout')).body).toEqual({ success: true });
    }
    expect((await callApi('POST', '/api/v1/share-auth/logout', { json: { refresh_token: 'x' } })).status).toBe(200);
    // Logging out of the portal is not logging out of the console.
    expect((await company.as.get('/v1/auth/me')).status).toBe(200);
  });

  it('are refused outside the portal, and console tokens cannot be refreshed on the portal', async () => {
    const { as, tokens } = await signInOutsider(company, email);
    for (const path of ['/v1/auth/me', '/v1/managed-tables', '/api/v1/share-contexts', '/api/v1/share-events']) {
      expect([path, (await as.get(path)).status]).toEqual([path, 401]);
    }
    const consoleRefresh = await callApi('POST', '/v1/auth/refresh', { json: { refresh_token: tokens.refresh_token } });
    expect(consoleRefresh.status).toBe(401);
    expect((await refreshTokens(company.refreshToken)).status).toBe(401);
    expect((await refreshTokens(tokens.access_token)).status).toBe(401);
    expect((await refreshTokens('x'.repeat(5000))).status).toBe(401);
    expect((await listContexts(tokens.refresh_token)).status).toBe(401);
  });
});
