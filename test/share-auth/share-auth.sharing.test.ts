import { env } from 'cloudflare:test';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aContext, anOutsider, CONTEXTS_PATH, portalCodeOf, requestCode, verifyCode } from '../share-portal/support.ts';
import { call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { listMailsTo, whileMailIsDown } from '../support/mail.ts';
import { sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { pasted } from '../support/typed-codes.ts';
import { aCompany, type Company } from '../support/worlds.ts';

let company: Company;
let context: { id: string; members: { id: string }[] };
let email: string;
let createdCount = 0;
beforeAll(async () => {
  company = await aCompany();
});
beforeEach(async () => {
  createdCount += 1;
  email = `ana-${createdCount}@partner.test`;
  context = await aContext(company, [], [email]);
});
afterEach(resetClock);

const refresh = (token: string) => call('POST', '/api/v1/share-auth/refresh', { json: { refresh_token: token } });
const contextsWith = (token: string) => createCaller(token).get('/api/v1/share-portal/contexts');
/** The statement that counts a try and uses a code up. */
const CHECKING = /^update "passwordless_codes"/;
const wrongCode = (code: string) => (code === '0000-0000' ? '0000-0001' : '0000-0000');

describe('a sign-in to the portal', () => {
  it('answers tokens for a mailed code', async () => {
    expect((await requestCode(company, email)).status).toBe(200);
    const { status, body } = await verifyCode(company, email.toUpperCase(), portalCodeOf(email));
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
    expect((await contextsWith(body.access_token)).body.total).toBe(1);
    const again = await anOutsider(company, email);
    expect(again.tokens.user.id).toBe(body.user.id);
  });

  it('stores codes only as an HMAC', async () => {
    await requestCode(company, email);
    const { results } = await env.CONTROL_DB.prepare('SELECT * FROM passwordless_codes').all();
    expect(JSON.stringify(results)).not.toContain(portalCodeOf(email));
    expect(JSON.stringify(results)).not.toContain(portalCodeOf(email).replace('-', ''));
  });

  it('accepts a code once, also without its hyphen', async () => {
    await requestCode(company, email);
    const code = portalCodeOf(email);
    expect((await verifyCode(company, email, code.replace('-', ''))).status).toBe(200);
    const again = await verifyCode(company, email, code);
    expect([again.status, again.body.error_code]).toEqual([400, 'INVALID_CODE']);
  });

  it('accepts a code with spaces, hyphens and line ends around and within', async () => {
    for (const [index] of pasted('12345678').entries()) {
      advanceClock(index * 61 * 60_000);
      await requestCode(company, email);
      const code = pasted(portalCodeOf(email))[index] as string;
      expect([code, (await verifyCode(company, email, code)).status]).toEqual([code, 200]);
    }
  });

  it('accepts a code once, also when it is used meanwhile', async () => {
    await requestCode(company, email);
    const code = portalCodeOf(email);
    const late = await sendOvertaken(
      CHECKING,
      () => must(verifyCode(company, email, code)),
      (env) => verifyCode(company, email, code, env),
    );
    expect([late.status, late.body.error_code]).toEqual([400, 'INVALID_CODE']);
  });

  it('refuses a code after five wrong attempts, also if they come during the request', async () => {
    await requestCode(company, email);
    const code = portalCodeOf(email);
    const guess = async () => {
      for (let tries = 0; tries < 5; tries += 1) {
        const { status, body } = await verifyCode(company, email, wrongCode(code));
        expect([status, body.error_code]).toEqual([400, 'INVALID_CODE']);
      }
    };
    const late = await sendOvertaken(CHECKING, guess, (env) => verifyCode(company, email, code, env));
    expect([late.status, late.body.error_code]).toEqual([400, 'INVALID_CODE']);
  });

  it('accepts a code after four wrong attempts, but not after ten minutes, nor after a newer one', async () => {
    await requestCode(company, email);
    const code = portalCodeOf(email);
    for (let tries = 0; tries < 4; tries++)
      expect((await verifyCode(company, email, wrongCode(code))).status).toBe(400);
    expect((await verifyCode(company, email, code)).status).toBe(200);

    await requestCode(company, email);
    const old = portalCodeOf(email);
    await requestCode(company, email);
    expect((await verifyCode(company, email, old)).status).toBe(400);
    advanceClock(10 * 60_000 + 1000);
    expect((await verifyCode(company, email, portalCodeOf(email))).status).toBe(400);
  });

  it('accepts a code only for its address, its company and the portal', async () => {
    const other = await aCompany();
    await aContext(other, [], [email]);
    const somebody = `bob-${createdCount}@partner.test`;
    await aContext(company, [], [somebody]);
    await requestCode(company, email);
    const code = portalCodeOf(email);
    expect((await verifyCode(other, email, code)).status).toBe(400);
    expect((await verifyCode(company, somebody, code)).status).toBe(400);
    expect((await verifyCode({ slug: 'no-such-company' }, email, code)).status).toBe(400);
    expect((await verifyCode(company, email, code)).status).toBe(200);
  });

  it('refuses a member who was removed since the code was sent', async () => {
    await requestCode(company, email);
    await company.as.delete(`${CONTEXTS_PATH}/${context.id}/members/${context.members[0]?.id}`);
    expect((await verifyCode(company, email, portalCodeOf(email))).status).toBe(400);
  });

  it.each(['12345678', '1234-567', '1234-56789', 'abcd-efgh', '', 12345678])('refuses %j as a code', async (code) => {
    const { status } = await verifyCode(company, email, code as string);
    expect(status).toBe(code === '12345678' ? 400 : 422);
  });
});

describe('a request for a portal code', () => {
  it('has the same answer for any address, and mails members only', async () => {
    const stranger = `stranger-${createdCount}@x.test`;
    const answers = [
      await requestCode(company, email),
      await requestCode(company, stranger),
      await requestCode({ slug: 'no-such-company' }, email),
      await requestCode(company, company.owner.email),
    ];
    for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]?.body]);
    expect(listMailsTo(stranger)).toEqual([]);
    expect(listMailsTo(company.owner.email).filter(({ subject }) => subject.includes('dashboards'))).toEqual([]);
    expect(listMailsTo(email)).toHaveLength(1);
  });

  it('sends at most five mails an hour, and the sixth has the same answer and changes nothing', async () => {
    for (let asked = 0; asked < 5; asked++) await requestCode(company, email);
    const code = portalCodeOf(email);
    expect((await requestCode(company, email)).status).toBe(200);
    expect(listMailsTo(email)).toHaveLength(5);
    expect((await verifyCode(company, email, code)).status).toBe(200);
    advanceClock(60 * 60_000 + 1000);
    await requestCode(company, email);
    expect(listMailsTo(email)).toHaveLength(6);
  });

  it('is sent a minute later if the mail service is down', async () => {
    await whileMailIsDown(() => requestCode(company, email));
    expect(listMailsTo(email)).toEqual([]);
    advanceClock(61_000);
    await runScheduled();
    expect((await verifyCode(company, email, portalCodeOf(email))).status).toBe(200);
  });
});

describe('portal tokens', () => {
  it('are refreshed once, and a second use of the refresh token ends the session', async () => {
    const { tokens } = await anOutsider(company, email);
    const first = await refresh(tokens.refresh_token);
    const { company: _, ...refreshed } = tokens;
    expect([first.status, Object.keys(first.body).sort()]).toEqual([200, Object.keys(refreshed).sort()]);
    expect((await refresh(first.body.refresh_token)).status).toBe(200);
    const copy = await refresh(tokens.refresh_token);
    expect([copy.status, copy.body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    expect((await contextsWith(first.body.access_token)).status).toBe(401);
  });

  it('are refreshed again when the response was lost', async () => {
    const { tokens } = await anOutsider(company, email);
    const lost = await refresh(tokens.refresh_token);
    const retried = await refresh(tokens.refresh_token);
    expect([retried.status, retried.body.refresh_token]).toEqual([200, lost.body.refresh_token]);
    expect((await refresh(retried.body.refresh_token)).status).toBe(200);
  });

  it('stop working after a sign-out and when they expire', async () => {
    const { as, tokens } = await anOutsider(company, email);
    const { body } = await as.post('/api/v1/share-auth/logout');
    expect(body).toEqual({ success: true });
    expect((await contextsWith(tokens.access_token)).status).toBe(401);
    expect((await refresh(tokens.refresh_token)).status).toBe(401);
    const { tokens: others } = await anOutsider(company, email);
    advanceClock(15 * 60_000 + 1000);
    expect((await contextsWith(others.access_token)).status).toBe(401);
    expect((await refresh(others.refresh_token)).status).toBe(200);
    advanceClock(8 * 24 * 60 * 60_000);
    expect((await refresh(others.refresh_token)).status).toBe(401);
  });

  it('need not be valid for a sign-out', async () => {
    for (const as of [createCaller('x'), company.as]) {
      expect((await as.post('/api/v1/share-auth/logout')).body).toEqual({ success: true });
    }
    expect((await call('POST', '/api/v1/share-auth/logout', { json: { refresh_token: 'x' } })).status).toBe(200);
    // Logging out of the portal is not logging out of the console.
    expect((await company.as.get('/v1/auth/me')).status).toBe(200);
  });

  it('are refused outside the portal, and console tokens cannot be refreshed on the portal', async () => {
    const { as, tokens } = await anOutsider(company, email);
    for (const path of ['/v1/auth/me', '/v1/managed-tables', '/api/v1/share-contexts', '/api/v1/share-events']) {
      expect([path, (await as.get(path)).status]).toEqual([path, 401]);
    }
    const console = await call('POST', '/v1/auth/refresh', { json: { refresh_token: tokens.refresh_token } });
    expect(console.status).toBe(401);
    expect((await refresh(company.refreshToken)).status).toBe(401);
    expect((await refresh(tokens.access_token)).status).toBe(401);
    expect((await refresh('x'.repeat(5000))).status).toBe(401);
    expect((await contextsWith(tokens.refresh_token)).status).toBe(401);
  });
});
