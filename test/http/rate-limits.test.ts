import { beforeEach, describe, expect, it } from 'vitest';
import { formatTryAgain } from '../../src/texts/errors/translate.ts';
import { type ApiResponse, callApi } from '../support/api.ts';
import { advanceClock, stopClockAt } from '../support/clock.ts';
import { type Company, createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { createSignedCaller } from '../support/signed.ts';

let company: Company;
beforeEach(async () => {
  company = await createOwnedCompany();
});

let addressCount = 0;
const makeAddress = (): string => {
  return `203.0.113.${++addressCount}`;
};

interface RateLimits {
  organization?: number;
  principal?: number;
  ip?: number;
}

/**
 * Makes request options with the documented limits, unless other limits are given; requests of one test come from one address.
 */
const makeRequest = ({ organization = 1000, principal = 100, ip = 1000 }: RateLimits, address = '203.0.113.254') => ({
  headers: { 'cf-connecting-ip': address },
  env: {
    RATE_LIMIT_ORGANIZATION_PER_MINUTE: String(organization),
    RATE_LIMIT_PRINCIPAL_PER_MINUTE: String(principal),
    RATE_LIMIT_IP_PER_SECOND: String(ip),
  },
});

/** Reads the three rate limit headers. */
const readLimitHeaders = ({ headers }: ApiResponse) => ({
  limit: Number(headers.get('x-ratelimit-limit')),
  remaining: Number(headers.get('x-ratelimit-remaining')),
  reset: Number(headers.get('x-ratelimit-reset')),
});

/** Formats the message of a refused request in English, and in Portuguese for managed tables. */
const formatMessages = (seconds: number): string[] => [
  `Too many requests. ${formatTryAgain(seconds, 'en')}`,
  `Requisições demais. ${formatTryAgain(seconds, 'pt-BR')}`,
];

function expectTooMany({ status, headers, body }: ApiResponse, maxSeconds: number): void {
  expect(status).toBe(429);
  const seconds = Number(headers.get('retry-after'));
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(maxSeconds);
  expect(body.error).toBe('RateLimitExceeded');
  expect(formatMessages(seconds)).toContain(body.message);
  expect(headers.get('x-ratelimit-remaining')).toBe('0');
  expect(headers.get('x-correlation-id')).not.toBeNull();
}

/** For each API, sends a request of an authenticated caller. */
const API_REQUESTS: [surface: string, get: (limits: RateLimits, address?: string) => Promise<ApiResponse>][] = [
  [
    'organization API',
    (limits, address) => createSignedCaller(company.apiKey).get('/accounts', makeRequest(limits, address)),
  ],
  ['console', (limits, address) => company.as.get('/v1/auth/me', makeRequest(limits, address))],
  ['managed tables', (limits, address) => company.as.get('/v1/managed-tables/status', makeRequest(limits, address))],
];

describe.each(API_REQUESTS)('the %s', (_surface, sendGet) => {
  it('answers with headers of the nearest rate limit and the end of its window', async () => {
    const startSeconds = Date.now() / 1000;
    const first = await sendGet({});
    expect(first.status).toBe(200);
    const { limit, remaining, reset } = readLimitHeaders(first);
    expect([limit, remaining]).toEqual([100, 99]);
    expect(Number.isInteger(reset)).toBe(true);
    expect(reset).toBeGreaterThanOrEqual(Math.floor(startSeconds + 60));
    expect(reset).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000 + 60));
    expect(readLimitHeaders(await sendGet({}))).toEqual({ limit, remaining: 98, reset });
  });

  it('refuses a principal over its rate limit', async () => {
    const answers = [];
    for (let requestNumber = 0; requestNumber < 4; requestNumber += 1) answers.push(await sendGet({ principal: 3 }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.slice(0, 3).map((answer) => readLimitHeaders(answer).remaining)).toEqual([2, 1, 0]);
    expectTooMany(answers[3] as ApiResponse, 60);
    expect(readLimitHeaders(answers[3] as ApiResponse).limit).toBe(3);
  });

  it('refuses an organization over its rate limit', async () => {
    expect((await sendGet({ organization: 1 })).status).toBe(200);
    const refusedAnswer = await sendGet({ organization: 1 });
    expectTooMany(refusedAnswer, 60);
    expect(readLimitHeaders(refusedAnswer).limit).toBe(1);
  });

  it('refuses an IP address over its rate limit, until its second is over', async () => {
    stopClockAt(Date.now());
    const address = makeAddress();
    const answers = await Promise.all(Array.from({ length: 5 }, () => sendGet({ ip: 3 }, address)));
    const refusedAnswers = answers.filter(({ status }) => status === 429);
    expect(refusedAnswers).toHaveLength(2);
    for (const answer of refusedAnswers) expectTooMany(answer, 1);
    expect((await sendGet({ ip: 3 }, makeAddress())).status).toBe(200);
    advanceClock(1_001);
    expect((await sendGet({ ip: 3 }, address)).status).toBe(200);
  });
});

it.each([
  ['/v1/managed-tables/status', { error: 'RateLimitExceeded', error_code: 'RateLimitExceeded' }],
  ['/api/v1/share-contexts', { error: 'RateLimitExceeded', error_code: 'RateLimitExceeded' }],
  ['/v1/auth/me', { error: 'RateLimitExceeded' }],
])(
  'the refusal of %s over a rate limit has the code in every field where its API puts error codes',
  async (path, expectedCodes) => {
    const limits = makeRequest({ organization: 1 });
    await company.as.get('/v1/auth/me', limits);
    const { status, body } = await company.as.get(path, limits);
    const otherFields = { message: expect.any(String), details: expect.anything() };
    expect([status, body]).toEqual([429, { ...expectedCodes, ...otherFields }]);
  },
);

describe.each([
  '/health',
  '/openapi.json',
  '/.well-known/jwks.json',
  '/nothing',
  '/v1/nothing',
  '/v1/managed-tables/a/b/c/d',
  '/api/v1/nothing',
  '/accounts',
  '/v1/auth/me',
])('%s without a credential', (path) => {
  it('is limited by IP address', async () => {
    stopClockAt(Date.now());
    const request = makeRequest({ ip: 2 }, makeAddress());
    const answers = await Promise.all(Array.from({ length: 3 }, () => callApi('GET', path, request)));
    const refusedAnswers = answers.filter(({ status }) => status === 429);
    expect(refusedAnswers).toHaveLength(1);
    expectTooMany(refusedAnswers[0] as ApiResponse, 1);
    for (const answer of answers) expect(readLimitHeaders(answer).limit).toBe(2);
  });
});

describe('preflights', () => {
  const preflightHeaders = { origin: 'https://console.test', 'access-control-request-method': 'POST' };
  const PATHS = ['/accounts', '/v1/auth/login', '/nothing', '/api/v1/public/shares/no-such-token/resolve'];

  it.each(PATHS)('at %s are limited by IP address, to ten times the limit of other requests', async (path) => {
    stopClockAt(Date.now());
    const request = makeRequest({ ip: 1 }, makeAddress());
    const headers = { ...request.headers, ...preflightHeaders };
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => callApi('OPTIONS', path, { ...request, headers })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 204), 429, 429]);
    for (const answer of answers) expect(readLimitHeaders(answer).limit).toBe(10);
    for (const answer of answers.filter(({ status }) => status === 429)) expectTooMany(answer, 1);
    advanceClock(1_001);
    expect((await callApi('OPTIONS', path, { ...request, headers })).status).toBe(204);
  });

  it('neither use up the limit of other requests nor are refused by that limit', async () => {
    stopClockAt(Date.now());
    const request = makeRequest({ ip: 2 }, makeAddress());
    const sendPreflight = () =>
      callApi('OPTIONS', '/health', { ...request, headers: { ...request.headers, ...preflightHeaders } });
    const getHealth = () => callApi('GET', '/health', request);
    for (let remainingCount = 19; remainingCount > 0; remainingCount--)
      expect((await sendPreflight()).status).toBe(204);
    const statuses = [];
    for (let remainingCount = 3; remainingCount > 0; remainingCount--) statuses.push((await getHealth()).status);
    expect([statuses, (await sendPreflight()).status, (await sendPreflight()).status]).toEqual([
      [200, 200, 429],
      204,
      429,
    ]);
  });
});

describe('IPv6 addresses', () => {
  const getHealth = (address: string) => callApi('GET', '/health', makeRequest({ ip: 2 }, address));

  it('share a rate limit within a /64 network, but not across networks', async () => {
    stopClockAt(Date.now());
    const answers = await Promise.all(['::1', '::2', ':ffff:1:2:3'].map((last) => getHealth(`2001:db8:77:88${last}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    expect((await getHealth('2001:db8:77:89::1')).status).toBe(200);
  });
});

describe('the rate limits', () => {
  it('are shared by all principals of an organization and all APIs', async () => {
    const limits = { organization: 3 };
    const otherUser = await createAllowedUser(company);
    expect((await createSignedCaller(company.apiKey).get('/accounts', makeRequest(limits))).status).toBe(200);
    expect((await company.as.get('/v1/auth/me', makeRequest(limits))).status).toBe(200);
    expect((await otherUser.as.get('/v1/auth/me', { env: makeRequest(limits).env })).status).toBe(200);
    expectTooMany(await createSignedCaller(company.apiKey).get('/accounts', makeRequest(limits)), 60);

    const other = await createOwnedCompany();
    expect((await createSignedCaller(other.apiKey).get('/accounts', makeRequest(limits))).status).toBe(200);
  });

  it('are not used up by requests with an invalid credential', async () => {
    const limits = { organization: 1 };
    const forgedKey = { ...company.apiKey, secret_key: 'guessed' };
    for (let requestNumber = 0; requestNumber < 3; requestNumber += 1) {
      expect((await createSignedCaller(forgedKey).get('/accounts', makeRequest(limits))).status).toBe(401);
    }
    expect((await createSignedCaller(company.apiKey).get('/accounts', makeRequest(limits))).status).toBe(200);
  });

  it('are checked before permissions and validation', async () => {
    const { as } = await createAllowedUser(company);
    const { env } = makeRequest({ principal: 1 });
    expect((await as.get('/v1/managed-tables', { env })).status).toBe(403);
    expect((await as.get('/v1/managed-tables', { env })).status).toBe(429);
  });
});
