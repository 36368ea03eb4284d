import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { BASE_URL, call } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { inviteUser } from '../support/invite.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { aCompany, aUser } from '../support/worlds.ts';

const PAGES = ['/accept-invitation', '/reset-password'];
const OWN = { CONSOLE_URL: BASE_URL };

/** What a page is told of whoever its link is for. */
const readPageData = (html: unknown) => JSON.parse(/id="told">(.*?)<\/script>/.exec(String(html))?.[1] ?? '"nothing"');

describe.each(PAGES)('%s', (path) => {
  it.each([
    ['CONSOLE_URL is another site', {}],
    ['CONSOLE_URL is a path below the API', { CONSOLE_URL: `${BASE_URL}/console` }],
    ['PUBLIC_URL is another site than CONSOLE_URL', { CONSOLE_URL: BASE_URL, PUBLIC_URL: 'https://data.test' }],
  ])('answers 404 where %s', async (_where, variables: Record<string, string>) => {
    const { status, body } = await call('GET', `${path}?token=x`, { env: variables });
    const { body: unknown } = await call('GET', '/v1/nowhere', { env: variables });
    expect([status, body]).toEqual([404, unknown]);
  });

  it.each([
    ['CONSOLE_URL is the API', OWN],
    [
      'CONSOLE_URL is the PUBLIC_URL of the API',
      { CONSOLE_URL: 'https://data.test/', PUBLIC_URL: 'https://data.test' },
    ],
    ['CONSOLE_URL is empty', { CONSOLE_URL: '', PUBLIC_URL: 'https://data.test' }],
  ])('is served where %s, never cached and shown in no frame', async (_where, variables: Record<string, string>) => {
    const { status, headers, body } = await call('GET', `${path}?token=unknown`, { env: variables });
    expect([status, readPageData(body)]).toEqual([200, null]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    });
    const policy = (headers.get('content-security-policy') ?? '').split('; ');
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "connect-src 'self'", "form-action 'none'"]) {
      expect(policy).toContain(part);
    }
  });

  it('counts towards the rate limit per IP address', async () => {
    const headers = { 'cf-connecting-ip': `198.51.100.${path.length}` };
    const answers = [];
    for (let tries = 0; tries < 4; tries += 1) {
      answers.push((await call('GET', path, { headers, env: { ...OWN, RATE_LIMIT_IP_PER_SECOND: '1' } })).status);
    }
    expect(answers).toContain(429);
  });
});

describe('the pages of mailed links', () => {
  it('show the recipient of a valid link, and opening them does not consume the link', async () => {
    const company = await aCompany();
    const email = `linked@${company.slug}.test`;
    await inviteUser(company, email);
    const { pathname, search } = readLink(readNewestMail(email));
    const open = async (address = pathname + search) => readPageData((await call('GET', address, { env: OWN })).body);
    const expected = {
      email,
      name: email.split('@')[0],
      company: { name: expect.any(String), slug: company.slug },
      sso_only: false,
      require_2fa: false,
      expires_at: expect.stringMatching(/Z$/),
    };
    expect(await open()).toEqual(expected);
    expect(await open()).toEqual(expected);
    // A link is good for one thing.
    expect(await open(`/reset-password${search}`)).toBeNull();
    advanceClock(8 * 24 * 60 * 60_000);
    expect(await open()).toBeNull();
    resetClock();

    const user = await aUser(company);
    await call('POST', '/v1/users/reset-password/request', { json: { email: user.email } });
    const reset = readLink(readNewestMail(user.email));
    await company.as.put('/v1/company/settings', { json: { require_2fa: true, sso_only: true } });
    const found = await open(reset.pathname + reset.search);
    expect(found).toMatchObject({ email: user.email, sso_only: true, require_2fa: true, expires_at: null });
    advanceClock(61 * 60_000);
    expect(await open(reset.pathname + reset.search)).toBeNull();
    resetClock();
  });

  it('leave no token in the audit records of the company', async () => {
    const company = await aCompany();
    await inviteUser(company, `seen@${company.slug}.test`);
    const { pathname, search, searchParams } = readLink(readNewestMail(`seen@${company.slug}.test`));
    await call('GET', pathname + search, { env: OWN });
    const records = async () => (await company.as.get('/v1/audit-events')).body.records as { route: string }[];
    await expect.poll(async () => (await records()).some(({ route }) => route === pathname)).toBe(true);
    expect(JSON.stringify(await records())).not.toContain(searchParams.get('token'));
  });
});

describe('CONSOLE_URL', () => {
  it('defaults to PUBLIC_URL, and is required where that is not set', () => {
    const { CONSOLE_URL: _named, ...rest } = env as unknown as Record<string, string>;
    expect(readConfig({ ...rest, PUBLIC_URL: 'https://data.test' }).CONSOLE_URL).toBe('https://data.test');
    expect(() => readConfig(rest)).toThrow('CONSOLE_URL: is needed');
    expect(() => readConfig({ ...rest, CONSOLE_URL: 'console' })).toThrow('CONSOLE_URL');
  });
});
