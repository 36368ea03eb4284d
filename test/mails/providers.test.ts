import { env } from 'cloudflare:test';
import { describe, expect, inject, it, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { type Mail, type Mailer, MailRefusedError, parseSender } from '../../src/platform/mail.ts';
import { createCloudflareMailer } from '../../src/platform/mail-cloudflare.ts';
import { createResendMailer } from '../../src/platform/mail-resend.ts';
import { decodePicture, PICTURES } from '../formats/image/pictures.ts';
import { callApi } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { inviteUser } from '../support/invite.ts';
import { EMAIL, listMailsTo, readCode, runWhileMailIsDown, runWhileMailIsRefused } from '../support/mail.ts';
import type { AcceptedMail } from '../support/mail-provider.ts';
import { createFailingEnv } from '../support/outage.ts';

const FROM_ADDRESS = 'Data Console <no-reply@console.test>';
const API_KEY = 're_key_of_the_tests';
const makeMail = (to: string): Mail => ({ to, subject: 'Subject', text: 'Text', html: '<p>Text</p>' });
const createMailer = ({ baseUrl = inject('mailServiceUrl'), apiKey = API_KEY, from = FROM_ADDRESS } = {}) =>
  createResendMailer({ baseUrl, apiKey, sender: parseSender(from) });

async function listReceivedMails(to: string): Promise<AcceptedMail[]> {
  const response = await fetch(`${inject('mailServiceUrl')}/taken`);
  return ((await response.json()) as AcceptedMail[]).filter((receivedMail) => receivedMail.to.includes(to));
}

/** Sends a mail that the mailer refuses, and returns the refusal's code and whether it is permanent. */
async function readRefusal(mailer: Mailer, to: string): Promise<{ code: string; permanent: boolean }> {
  const error = await mailer.send(makeMail(to)).then(
    () => null,
    (caughtError: unknown) => caughtError,
  );
  if (!(error instanceof MailRefusedError)) throw new Error(`The mailer did not refuse: ${error}`);
  return { code: error.code, permanent: error.isPermanent };
}

describe('a mail service with Resend’s API', () => {
  it('receives the mail unchanged', async () => {
    await createMailer().send(makeMail('ina@example.com'));
    expect(await listReceivedMails('ina@example.com')).toEqual([
      { from: FROM_ADDRESS, ...makeMail(''), to: ['ina@example.com'] },
    ]);
  });

  it('receives the pictures that a mail shows', async () => {
    const picture = {
      contentId: 'logo',
      filename: 'logo.png',
      type: 'image/png',
      content: decodePicture(PICTURES.png),
    };
    await createMailer().send({ ...makeMail('picture@example.com'), pictures: [picture] });
    expect((await listReceivedMails('picture@example.com'))[0]).toMatchObject({
      attachments: [{ content_id: 'logo', filename: 'logo.png', content_type: 'image/png', content: PICTURES.png }],
    });
  });

  it.each([0, 1, 2, 3, 48 * 1024, 48 * 1024 + 1, 300_001])(
    'receives a file of %i bytes, and the unsubscribe address',
    async (size) => {
      const content = Uint8Array.from({ length: size }, (_, at) => (at * 7) % 256);
      const files = [
        { filename: 'Ünï "1".csv', type: 'text/csv', content },
        { filename: 'two.csv', type: 'text/csv', content: content.slice(0, 5) },
      ];
      const headers = { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
      await createMailer().send({ ...makeMail(`file-${size}@example.com`), files, headers });
      const encodeBase64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
      expect((await listReceivedMails(`file-${size}@example.com`))[0]).toMatchObject({
        headers,
        attachments: [
          { filename: 'Ünï "1".csv', content_type: 'text/csv', content: encodeBase64(content) },
          { filename: 'two.csv', content_type: 'text/csv', content: encodeBase64(content.slice(0, 5)) },
        ],
      });
    },
  );

  it('receives a bare address as sender', async () => {
    await createMailer({ from: 'bare@console.test' }).send(makeMail('bare@example.com'));
    expect((await listReceivedMails('bare@example.com'))[0]?.from).toBe('bare@console.test');
  });

  it.each([
    ['a wrong key', { apiKey: 'wrong' }, 'a@example.com', '403 invalid_api_key', true],
    ['a domain that is not verified', { from: 'a@elsewhere.test' }, 'a@example.com', '403 validation_error', true],
    ['an invalid address', {}, 'nobody', '422 validation_error', true],
    ['another path', { baseUrl: '/v2' }, 'a@example.com', '404 not_found', true],
    ['too many requests', {}, 'busy@example.com', '429 rate_limit_exceeded', false],
    ['the day’s mails used up', {}, 'quota@example.com', '429 daily_quota_exceeded', false],
    ['an internal error', {}, 'down@example.com', '500 application_error', false],
  ])(
    'has a refusal reported with its code, and as permanent or not: %s',
    async (_what, settings, to, code, isPermanent) => {
      const baseUrl = `${inject('mailServiceUrl')}${'baseUrl' in settings ? settings.baseUrl : ''}`;
      expect(await readRefusal(createMailer({ ...settings, baseUrl }), to)).toEqual({ code, permanent: isPermanent });
    },
  );

  it('that hangs up is not reported as having refused the mail', async () => {
    await expect(createMailer().send(makeMail('silent@example.com'))).rejects.not.toBeInstanceOf(MailRefusedError);
  });

  it('sends the mails of the API when it is configured', async () => {
    const company = await createOwnedCompany();
    const variables = {
      MAIL_PROVIDER: 'resend',
      MAIL_API_URL: inject('mailServiceUrl'),
      MAIL_API_KEY: API_KEY,
      MAIL_FROM: FROM_ADDRESS,
    };
    const json = { company_slug: company.slug, email: company.owner.email };
    expect((await callApi('POST', '/v1/auth/passwordless/request', { json, env: variables })).status).toBe(200);
    const [sent] = await listReceivedMails(company.owner.email);
    expect(readCode(sent as unknown as Mail)).toMatch(/^\d{6}$/);
    expect(listMailsTo(company.owner.email)).toEqual([]);
  });

  it('must be configured with a key', () => {
    expect(() => readConfig({ ...env, MAIL_PROVIDER: 'resend' })).toThrow('MAIL_API_KEY');
    expect(() => readConfig({ ...env, MAIL_PROVIDER: 'pigeon' })).toThrow('MAIL_PROVIDER');
  });
});

describe('Cloudflare Email Sending', () => {
  const createFailingBinding = (error: unknown) =>
    createCloudflareMailer({ send: () => Promise.reject(error) } as unknown as SendEmail, parseSender(FROM_ADDRESS));
  const makeCodedError = (code: string) => Object.assign(new Error('Refused.'), { code });

  it.each([
    ['E_SENDER_NOT_VERIFIED', true],
    ['E_SENDER_DOMAIN_NOT_AVAILABLE', true],
    ['E_RECIPIENT_SUPPRESSED', true],
    ['E_VALIDATION_ERROR', true],
    ['E_CONTENT_TOO_LARGE', true],
    ['E_RATE_LIMIT_EXCEEDED', false],
    ['E_DAILY_LIMIT_EXCEEDED', false],
    ['E_DELIVERY_FAILED', false],
    ['E_INTERNAL_SERVER_ERROR', false],
  ])('has a refusal reported with its code, and as permanent or not: %s', async (code, isPermanent) => {
    expect(await readRefusal(createFailingBinding(makeCodedError(code)), 'a@example.com')).toEqual({
      code,
      permanent: isPermanent,
    });
  });

  it('that fails without a code is not reported as refusing the mail', async () => {
    await expect(
      createFailingBinding(new Error('Network connection lost.')).send(makeMail('a@example.com')),
    ).rejects.not.toBeInstanceOf(MailRefusedError);
  });
});

describe('a mail that was refused', () => {
  /** Invites a user while mails are refused with a code. @returns the logged lines, and the number of attempts within a day */
  async function inviteDuringRefusal(code: string) {
    const company = await createOwnedCompany();
    const { as } = await createAllowedUser(company, { can: ['*'] });
    const email = `invited@${company.slug}.test`;
    const consoleError = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const attempts = await runWhileMailIsRefused(code, async () => {
      expect((await as.post('/v1/users/invite', { json: { email } })).status).toBe(201);
      for (const minutes of [2, 10, 60, 180]) {
        advanceClock(minutes * 60_000);
        await runScheduled();
      }
    });
    const lines = consoleError.mock.calls
      .map(([line]) => JSON.parse(line as string))
      .filter((it) => it.event === 'mail_failed');
    return { lines, tries: attempts };
  }

  it('is logged with its code, and not retried if the refusal is permanent', async () => {
    const { lines, tries } = await inviteDuringRefusal('E_RECIPIENT_SUPPRESSED');
    expect(tries).toBe(1);
    expect(lines).toMatchObject([{ code: 'E_RECIPIENT_SUPPRESSED', permanent: true }]);
  });

  it('is logged with its code, and retried if the refusal is transient', async () => {
    const { lines, tries } = await inviteDuringRefusal('E_RATE_LIMIT_EXCEEDED');
    expect(tries).toBe(5);
    expect(lines).toHaveLength(5);
    expect(lines[4]).toMatchObject({ code: 'E_RATE_LIMIT_EXCEEDED', permanent: false });
  });
});

it('a mail service that answers slowly gets every mail once, also while the next scheduled runs begin', async () => {
  const company = await createOwnedCompany();
  const addresses = ['ana', 'bea', 'caio', 'davi'].map((name) => `${name}@${company.slug}.test`);
  await runWhileMailIsDown(async () => {
    for (const address of addresses) await inviteUser(company, address);
  });
  let elapsedMs = 61_000;
  const slowService = {
    send: async (message: Parameters<SendEmail['send']>[0]) => {
      elapsedMs += 40_000;
      advanceClock(elapsedMs);
      await runScheduled();
      return EMAIL.send(message);
    },
  };
  advanceClock(elapsedMs);
  await runScheduled({ EMAIL: slowService });
  expect(addresses.map((address) => listMailsTo(address).length)).toEqual([1, 1, 1, 1]);
});

it('a mail that the mail service takes for longer than its claim is sent once', async () => {
  const company = await createOwnedCompany();
  const email = `ana@${company.slug}.test`;
  await runWhileMailIsDown(() => inviteUser(company, email));
  const intervals = vi.spyOn(globalThis, 'setInterval');
  const slowService = {
    send: async (message: Parameters<SendEmail['send']>[0]) => {
      const [renewClaim] = intervals.mock.calls.find(([, delay]) => delay === 30_000) ?? [];
      for (const seconds of [30, 60, 90]) {
        advanceClock((61 + seconds) * 1000);
        await renewClaim?.();
      }
      await runScheduled();
      return EMAIL.send(message);
    },
  };
  advanceClock(61_000);
  await runScheduled({ EMAIL: slowService });
  expect(listMailsTo(email)).toHaveLength(1);
});

it('a mail whose claim the database refuses does not hold up the mails after it', async () => {
  const company = await createOwnedCompany();
  const addresses = ['ana', 'bea', 'caio'].map((name) => `${name}@${company.slug}.test`);
  await runWhileMailIsDown(async () => {
    for (const address of addresses) await inviteUser(company, address);
  });
  let claimCount = 0;
  const isFirstClaim = (text: string) => /"mail_requests"\."due_at" = \?/.test(text) && claimCount++ === 0;
  advanceClock(61_000);
  await runScheduled(createFailingEnv({ test: isFirstClaim } as unknown as RegExp));
  expect(claimCount).toBeGreaterThanOrEqual(addresses.length);
  expect(addresses.flatMap((address) => listMailsTo(address))).toHaveLength(2);
});
