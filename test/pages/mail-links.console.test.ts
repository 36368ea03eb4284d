import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { BASE_URL, callApi } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { inviteUser } from '../support/invite.ts';
import { readLink, readNewestMail } from '../support/mail.ts';

const PAGES = ['/accept-invitation', '/reset-password'];
const OWN_CONSOLE_URL = { CONSOLE_URL: BASE_URL };

/** Parses the JSON data of a page about the recipient of its link. */
const readPageData = (html: unknown) => JSON.parse(/id="told">(.*?)<\/script>/.exec(String(html))?.[1] ?? '"nothing"');

describe.each(PAGES)('%s', (path) => {
  it.each([
    ['CONSOLE_URL is another site', {}],
    ['CONSOLE_URL is a path below the API', { CONSOLE_URL: `${BASE_URL}/console` }],
    ['PUBLIC_URL is another site than CONSOLE_URL', { CONSOLE_URL: BASE_URL, PUBLIC_URL: 'https://data.test' }],
  ])('answers 404 where %s', async (_where, variables: Record<string, string>) => {
    const { status, body } = await callApi('GET', `${path}?token=x`, { env: variables });
    const { body: unknownBody } = await callApi('GET', '/v1/nowhere', { env: variables });
    expect([status, body]).toEqual([404, unknownBody]);
  });

  it.each([
    ['CONSOLE_URL is the API', OWN_CONSOLE_URL],
    [
      'CONSOLE_URL is the PUBLIC_URL of the API',
      { CONSOLE_URL: 'https://data.test/', PUBLIC_URL: 'https://data.test' },
    ],
    ['CONSOLE_URL is empty', { CONSOLE_URL: '', PUBLIC_URL: 'https://data.test' }],
  ])('is served where %s, never cached and shown in no frame', async (_where, variables: Record<string, string>) => {
    const { status, headers, body } = await callApi('GET', `${path}?token=unknown`, { env: variables });
    expect([status, readPageData(body)]).toEqual([200, null]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    });
    const policy = (headers.get('content-security-policy') ?? '').split('; ');
    for (const directive of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "connect-src 'self'",
      "form-action 'none'",
    ]) {
      expect(policy).toContain(directive);
    }
  });

  it('counts towards the rate limit per IP address', async () => {
    const headers = { 'cf-connecting-ip': `198.51.100.${path.length}` };
    const statuses = [];
    for (let tryCount = 0; tryCount < 4; tryCount += 1) {
      statuses.push(
        (await callApi('GET', path, { headers, env: { ...OWN_CONSOLE_URL, RATE_LIMIT_IP_PER_SECOND: '1' } })).status,
      );
    }
    expect(statuses).toContain(429);
  });
});

describe('the pages of mailed links', () => {
  it('show the recipient of a valid link, and opening them does not consume the link', async () => {
    const company = await createOwnedCompany();
    const email = `linked@${company.slug}.test`;
    await inviteUser(company, email);
    const { pathname, search } = readLink(readNewestMail(email));
    const openLink = async (address = pathname + search) =>
      readPageData((await callApi('GET', address, { env: OWN_CONSOLE_URL })).body);
    const expected = {
      email,
      name: email.split('@')[0],
      company: { name: expect.any(String), slug: company.slug },
      sso_only: false,
      require_2fa: false,
      expires_at: expect.stringMatching(/Z$/),
    };
    expect(await openLink()).toEqual(expected);
    expect(await openLink()).toEqual(expected);
    // A link is good for one thing.
    expect(await openLink(`/reset-password${search}`)).toBeNull();
    advanceClock(8 * 24 * 60 * 60_000);
    expect(await openLink()).toBeNull();
    resetClock();

    const user = await createAllowedUser(company);
    await callApi('POST', '/v1/users/reset-password/request', { json: { email: user.email } });
    const resetLink = readLink(readNewestMail(user.email));
    await company.as.put('/v1/company/settings', { json: { require_2fa: true, sso_only: true } });
    const pageData = await openLink(resetLink.pathname + resetLink.search);
    expect(pageData).toMatchObject({ email: user.email, sso_only: true, require_2fa: true, expires_at: null });
    advanceClock(61 * 60_000);
    expect(await openLink(resetLink.pathname + resetLink.search)).toBeNull();
  });

  it('leave no token in the audit records of the company', async () => {
    const company = await createOwnedCompany();
    await inviteUser(company, `seen@${company.slug}.test`);
    const { pathname, search, searchParams } = readLink(readNewestMail(`seen@${company.slug}.test`));
    await callApi('GET', pathname + search, { env: OWN_CONSOLE_URL });
    const readRecords = async () => (await company.as.get('/v1/audit-events')).body.records as { route: string }[];
    await expect.poll(async () => (await readRecords()).some(({ route }) => route === pathname)).toBe(true);
    expect(JSON.stringify(await readRecords())).not.toContain(searchParams.get('token'));
  });
});

it('CONSOLE_URL defaults to PUBLIC_URL, and is required where that is not set', () => {
  const { CONSOLE_URL: _named, ...rest } = env as unknown as Record<string, string>;
  expect(readConfig({ ...rest, PUBLIC_URL: 'https://data.test' }).CONSOLE_URL).toBe('https://data.test');
  expect(() => readConfig(rest)).toThrow('CONSOLE_URL: is needed');
  expect(() => readConfig({ ...rest, CONSOLE_URL: 'console' })).toThrow('CONSOLE_URL');
});
