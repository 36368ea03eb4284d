import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { type ApiResponse, BASE_URL, callApi, createCaller } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { waitForAuditRecord } from '../support/log.ts';
import { listMailsTo, readCode, readNewestMail, runWhileMailIsDown } from '../support/mail.ts';
import { runSql, selectRow, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { makePastedCodes } from '../support/typed-codes.ts';
import worker from '../support/worker.ts';

const MINUTE_MS = 60_000;

const company = await createOwnedCompany();

const requestCode = (email: string, slug = company.slug, env?: Record<string, string>) =>
  callApi('POST', '/v1/auth/passwordless/request', { json: { company_slug: slug, email }, env });
const verifyCode = (email: string, code: string, slug = company.slug, env?: Record<string, string>) =>
  callApi('POST', '/v1/auth/passwordless/verify', { json: { company_slug: slug, email, code }, env });
const makeWrongCode = (code: string) => (code === '000000' ? '000001' : '000000');
const requestMailedCode = async (email: string) => {
  await requestCode(email);
  return readCode(readNewestMail(email));
};
const readCodeRow = (email: string) =>
  selectRow('SELECT * FROM passwordless_codes WHERE company_id = ? AND email = ?', company.id, email);

describe('a mailed code', () => {
  it('signs in and marks the address as verified', async () => {
    const { id, email } = await createAllowedUser(company);
    const requestAnswer = await requestCode(email.toUpperCase());
    expect([requestAnswer.status, requestAnswer.body]).toEqual([200, { message: expect.any(String) }]);
    const { status, body } = await verifyCode(email, readCode(readNewestMail(email)));
    expect(status).toBe(200);
    expect(body).toMatchObject({ expires_in: 600, user: { _id: id, email, company_id: company.id } });
    expect((await createCaller(body.token).get('/v1/auth/me')).status).toBe(200);
    const user = await selectRow('SELECT * FROM users WHERE id = ?', id);
    expect(user).toMatchObject({ is_verified: 1, last_login_at: expect.any(Number) });
  });

  it('is mailed in plain text and HTML, with advice for whoever did not request it', async () => {
    const { email } = await createAllowedUser(company);
    const code = await requestMailedCode(email);
    const { subject, text, html } = readNewestMail(email);
    expect(subject).not.toContain(code);
    for (const body of [text, html]) {
      expect(body).toContain(code);
      expect(body).toContain('10 minutes');
      expect(body).toContain('Did you not ask');
    }
  });

  it('works with spaces, hyphens and line ends around and within the code', async () => {
    const { email } = await createAllowedUser(company);
    for (const [index] of makePastedCodes('123456').entries()) {
      // Five codes are sent to an address within an hour.
      advanceClock(index * 61 * MINUTE_MS);
      const code = makePastedCodes(await requestMailedCode(email))[index] as string;
      expect([code, (await verifyCode(email, code)).status]).toEqual([code, 200]);
    }
  });

  it('stops working after five wrong tries, also for a concurrent request', async () => {
    const { email } = await createAllowedUser(company);
    const code = await requestMailedCode(email);
    const guessCodes = async () => {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const { status, body } = await verifyCode(email, makeWrongCode(code));
        expect([status, body.error]).toEqual([400, 'INVALID_CODE']);
      }
    };
    const lateSignIn = await sendDuringRace(/^update "passwordless_codes"/, guessCodes, (env) =>
      verifyCode(email, code, company.slug, env),
    );
    expect([lateSignIn.status, lateSignIn.body.error]).toEqual([400, 'INVALID_CODE']);
    expect((await readCodeRow(email))?.tries).toBe(5);
  });

  it('works after four wrong tries', async () => {
    const { email } = await createAllowedUser(company);
    const code = await requestMailedCode(email);
    for (let attempt = 0; attempt < 4; attempt += 1) await verifyCode(email, makeWrongCode(code));
    expect((await verifyCode(email, code)).status).toBe(200);
  });

  it('stops working when a newer code is sent', async () => {
    const { email } = await createAllowedUser(company);
    const first = await requestMailedCode(email);
    const secondCode = await requestMailedCode(email);
    if (first !== secondCode) expect((await verifyCode(email, first)).status).toBe(400);
    expect((await verifyCode(email, secondCode)).status).toBe(200);
  });

  it('works for its address and company only', async () => {
    const [one, other] = [await createAllowedUser(company), await createAllowedUser(company)];
    const code = await requestMailedCode(one.email);
    await requestCode(other.email);
    if (readCode(readNewestMail(other.email)) !== code) expect((await verifyCode(other.email, code)).status).toBe(400);
    const otherCompany = await createOwnedCompany();
    expect((await verifyCode(one.email, code, otherCompany.slug)).status).toBe(400);
    expect((await verifyCode(one.email, code)).status).toBe(200);
  });

  it('does not sign in a user who was deactivated after the code was sent', async () => {
    const { id, email } = await createAllowedUser(company);
    const code = await requestMailedCode(email);
    await runSql('UPDATE users SET is_active = 0 WHERE id = ?', id);
    const refusedAnswer = await verifyCode(email, code);
    expect(refusedAnswer.body.error).toBe('INVALID_CODE');
    expect(await waitForAuditRecord(company, refusedAnswer)).toMatchObject({ principalType: 'user', principalId: id });
  });

  it('does not sign in a user whose sessions were all ended after the code was sent', async () => {
    const { id, email } = await createAllowedUser(company);
    const code = await requestMailedCode(email);
    await expectSuccess(company.as.delete(`/v1/users/${id}/sessions`));
    expect((await verifyCode(email, code)).status).toBe(401);
    expect((await verifyCode(email, await requestMailedCode(email))).status).toBe(200);
  });

  it('signs in although it was mailed before codes kept the sessions they belong to', async () => {
    const { email } = await createAllowedUser(company);
    const code = await requestMailedCode(email);
    await env.CONTROL_DB.prepare('UPDATE passwordless_codes SET session_epoch = NULL WHERE email = ?')
      .bind(email)
      .run();
    expect((await verifyCode(email, code)).status).toBe(200);
  });

  it('is stored only as an HMAC', async () => {
    const { email } = await createAllowedUser(company);
    const code = await requestMailedCode(email);
    const { digest } = (await readCodeRow(email)) as { digest: string };
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    const { results } = await env.CONTROL_DB.prepare('SELECT * FROM mail_requests WHERE email = ?').bind(email).all();
    expect(JSON.stringify(results)).not.toContain(code);
  });

  it.each(['12345', '1234567', 'abcdef', '１２３４５６', 123456])('must be six digits, not %j', async (code) => {
    const { status, body } = await verifyCode('someone@example.com', code as string);
    expect([status, body.details[0].field]).toEqual([422, 'code']);
  });
});

describe('a request for a code', () => {
  const strangerCases: [string, () => Promise<string>][] = [
    ['an unknown email', async () => 'nobody@nowhere.test'],
    [
      'an inactive user',
      async () => {
        const { id, email } = await createAllowedUser(company);
        await runSql('UPDATE users SET is_active = 0 WHERE id = ?', id);
        return email;
      },
    ],
    ['a user of another company', async () => (await createOwnedCompany()).owner.email],
  ];

  it.each(strangerCases)('runs the same statements for %s as for a user, but sends no mail', async (_who, email) => {
    const { email: knownEmail } = await createAllowedUser(company);
    const strangerEmail = await email();
    const [right, other] = [await recordCodeRequest(knownEmail), await recordCodeRequest(strangerEmail)];
    expect([other.answer.status, other.answer.body]).toEqual([right.answer.status, right.answer.body]);
    expect(other.statements).toEqual(right.statements);
    expect(right.statements.length).toBeGreaterThan(2);
    expect(listMailsTo(knownEmail)).toHaveLength(1);
    expect(listMailsTo(strangerEmail)).toHaveLength(0);
    // A wrong code is answered alike too: both addresses have a code to try.
    const codeAnswers = await Promise.all([verifyCode(knownEmail, '000000'), verifyCode(strangerEmail, '000000')]);
    expect(codeAnswers[0]?.body).toEqual(codeAnswers[1]?.body);
    expect((await readCodeRow(strangerEmail))?.tries).toBe(1);
  });

  it('is answered before the mail is sent', async () => {
    const { email } = await createAllowedUser(company);
    const { promise: mailSending, resolve: release } = Promise.withResolvers<void>();
    let isSent = false;
    const slowMailService = {
      async send() {
        await mailSending;
        isSent = true;
      },
    };
    const execution = createExecutionContext();
    const codeRequest = new Request(`${BASE_URL}/v1/auth/passwordless/request`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ company_slug: company.slug, email }),
    });
    const { status } = await worker.fetch(codeRequest, { ...env, EMAIL: slowMailService as never }, execution);
    expect([status, isSent]).toEqual([200, false]);
    release();
    await waitOnExecutionContext(execution);
    expect(isSent).toBe(true);
  });

  it('has its mail sent later, with a code that works, if the mail service is down', async () => {
    const { email } = await createAllowedUser(company);
    await runWhileMailIsDown(() => requestCode(email));
    await runScheduled();
    expect(listMailsTo(email)).toHaveLength(0);
    advanceClock(MINUTE_MS + 1000);
    await runWhileMailIsDown(runScheduled);
    advanceClock(2 * MINUTE_MS + 2000);
    await runScheduled();
    await runScheduled();
    expect(listMailsTo(email)).toHaveLength(1);
    expect((await verifyCode(email, readCode(readNewestMail(email)))).status).toBe(200);
  });

  it('is dropped when its code has expired before the mail could be sent', async () => {
    const { email } = await createAllowedUser(company);
    await runWhileMailIsDown(() => requestCode(email));
    advanceClock(10 * MINUTE_MS + 1000);
    await runScheduled();
    advanceClock(20 * MINUTE_MS);
    await runScheduled();
    expect(listMailsTo(email)).toHaveLength(0);
  });

  it('sends at most five mails an hour; the sixth request has the same answer and changes nothing', async () => {
    const { email } = await createAllowedUser(company);
    const answers: ApiResponse[] = [];
    const requestAgain = async (env?: Record<string, string>) => {
      answers.push(await requestCode(email, company.slug, env));
    };
    for (let requestIndex = 0; requestIndex < 4; requestIndex += 1) await requestAgain();
    await sendDuringRace(/^insert into "mail_requests"/, () => requestAgain(), requestAgain);
    await requestAgain();
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
    expect(listMailsTo(email)).toHaveLength(5);
    const stateBefore = await readCodeRow(email);
    await requestCode(email);
    expect(await readCodeRow(email)).toEqual(stateBefore);
    advanceClock(60 * MINUTE_MS + 1000);
    await requestCode(email);
    expect(listMailsTo(email)).toHaveLength(6);
  });

  it('answers 404 for an unknown company', async () => {
    const { status, body } = await requestCode('someone@example.com', 'nobody');
    expect([status, body.error]).toEqual([404, 'COMPANY_NOT_FOUND']);
  });
});

it('the scheduled run deletes expired codes and requests', async () => {
  const { email } = await createAllowedUser(company);
  await requestCode(email);
  advanceClock(61 * MINUTE_MS);
  await runScheduled();
  expect(await readCodeRow(email)).toBeNull();
  const remainingRequests = await env.CONTROL_DB.prepare('SELECT * FROM mail_requests WHERE email = ?')
    .bind(email)
    .all();
  expect(remainingRequests.results).toEqual([]);
});

/** Requests a code, and records the text of every statement that the Worker sends to the control database for it. */
async function recordCodeRequest(email: string) {
  const statements: string[] = [];
  const session = new Proxy(env.CONTROL_DB.withSession('first-primary'), {
    get(target, property) {
      const value = Reflect.get(target, property);
      if (property === 'prepare') {
        return (text: string) => {
          statements.push(text);
          return target.prepare(text);
        };
      }
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const answer = await callApi('POST', '/v1/auth/passwordless/request', {
    json: { company_slug: company.slug, email },
    env: { CONTROL_DB: { withSession: () => session } } as never,
  });
  return { answer, statements };
}
