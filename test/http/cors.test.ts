import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { callApi, type RequestOptions } from '../support/api.ts';
import { stopClockAt } from '../support/clock.ts';
import { createOwnedCompany } from '../support/companies.ts';

const CONSOLE_ORIGIN = 'https://console.example.com';
const PRODUCTION_ENV = { ALLOWED_ORIGINS: `${CONSOLE_ORIGIN}, https://admin.example.com` };
const DEVELOPMENT_ENV = { ALLOWED_ORIGINS: '*', DEVELOPMENT: 'true' };

const EXPOSED_HEADERS = [
  'x-correlation-id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
  'Location',
  'ETag',
  'Idempotency-Replayed',
  'X-Truncated',
  'Content-Disposition',
  'WWW-Authenticate',
];

const makeCrossOriginRequest = (
  origin: string,
  variables: Record<string, string> = PRODUCTION_ENV,
  requestOptions: RequestOptions = {},
): RequestOptions => ({
  ...requestOptions,
  headers: { origin, ...requestOptions.headers },
  env: { ...variables, ...requestOptions.env },
});

const sendPreflight = (path: string, origin: string, variables?: Record<string, string>) =>
  callApi(
    'OPTIONS',
    path,
    makeCrossOriginRequest(origin, variables, {
      headers: {
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization, content-type, x-date, x-nonce, x-content-sha256',
      },
    }),
  );

describe('a preflight', () => {
  it.each(['/accounts', '/users/x', '/v1/auth/login', '/v1/managed-tables', '/api/v1/share-contexts', '/health'])(
    'from an allowed origin is answered for %s',
    async (path) => {
      const { status, headers, body } = await sendPreflight(path, CONSOLE_ORIGIN);
      expect([status, body]).toEqual([204, '']);
      expect(headers.get('access-control-allow-origin')).toBe(CONSOLE_ORIGIN);
      expect(headers.get('access-control-allow-methods')?.split(',')).toEqual([
        'GET',
        'POST',
        'PUT',
        'PATCH',
        'DELETE',
      ]);
      expect(headers.get('access-control-allow-headers')?.toLowerCase().split(',')).toEqual([
        'authorization',
        'content-type',
        'idempotency-key',
        'x-date',
        'x-nonce',
        'x-content-sha256',
        'if-match',
        'if-none-match',
        'mcp-protocol-version',
        'mcp-method',
        'mcp-name',
      ]);
      expect(headers.get('access-control-max-age')).toBe('7200');
      expect(headers.get('vary')).toMatch(/origin/i);
      expect(headers.get('x-correlation-id')).toMatch(/^[\da-f-]{36}$/);
    },
  );

  it.each([
    'https://evil.example.com',
    'https://console.example.com.evil.com',
    'http://console.example.com',
    'https://console.example.com:8443',
    'null',
  ])('from the origin %s is not allowed', async (origin) => {
    const { headers } = await sendPreflight('/accounts', origin);
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('a cross-origin answer', () => {
  it.each<[number, string, string, RequestOptions]>([
    [200, 'GET', '/health', {}],
    [401, 'GET', '/accounts', {}],
    [404, 'GET', '/nothing', {}],
    [405, 'PUT', '/accounts', {}],
    [413, 'POST', '/accounts', { body: 'x'.repeat(1024 * 1024 + 1) }],
    [
      429,
      'GET',
      '/health',
      { headers: { 'cf-connecting-ip': '203.0.113.80' }, env: { RATE_LIMIT_IP_PER_SECOND: '1' } },
    ],
  ])(
    'can be read with status %i from an allowed origin, with its headers',
    async (expected, method, path, requestOptions) => {
      const first = await callApi(method, path, makeCrossOriginRequest(CONSOLE_ORIGIN, PRODUCTION_ENV, requestOptions));
      const { status, headers } =
        expected === 429
          ? await callApi(method, path, makeCrossOriginRequest(CONSOLE_ORIGIN, PRODUCTION_ENV, requestOptions))
          : first;
      expect(status).toBe(expected);
      expect(headers.get('access-control-allow-origin')).toBe(CONSOLE_ORIGIN);
      expect(headers.get('access-control-expose-headers')?.split(',')).toEqual(EXPOSED_HEADERS);
      expect(headers.get('vary')).toMatch(/origin/i);
      // Tokens and signatures travel in headers: no cookie is ever needed.
      expect(headers.get('access-control-allow-credentials')).toBeNull();
    },
  );

  it.each([
    ['by an allowed origin of the configuration', '/accounts', CONSOLE_ORIGIN],
    ['by any origin, where a token opens the route', `/api/v1/public/shares/${'A'.repeat(43)}/execute`, '*'],
  ])('to a preflight over the rate limit can be read %s', async (_what, path, reader) => {
    const headers = { 'cf-connecting-ip': reader === '*' ? '203.0.113.81' : '203.0.113.82' };
    const requestOptions = makeCrossOriginRequest(CONSOLE_ORIGIN, PRODUCTION_ENV, {
      headers,
      env: { RATE_LIMIT_IP_PER_SECOND: '1' },
    });
    stopClockAt(Date.now());
    for (let remainingCount = 10; remainingCount > 0; remainingCount--)
      expect((await callApi('OPTIONS', path, requestOptions)).status).toBe(204);
    const answer = await callApi('OPTIONS', path, requestOptions);
    expect(answer.status).toBe(429);
    expect(answer.headers.get('access-control-allow-origin')).toBe(reader);
    expect(answer.headers.get('access-control-expose-headers')?.split(',')).toContain('Retry-After');
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  it('can be read with status 500 from an allowed origin', async () => {
    const brokenEnv = { CONTROL_DB: undefined as unknown as string };
    const company = await createOwnedCompany();
    const { status, headers } = await callApi(
      'GET',
      '/v1/auth/me',
      makeCrossOriginRequest(CONSOLE_ORIGIN, PRODUCTION_ENV, {
        headers: { authorization: `Bearer ${company.token}` },
        env: brokenEnv,
      }),
    );
    expect(status).toBe(500);
    expect(headers.get('access-control-allow-origin')).toBe(CONSOLE_ORIGIN);
  });

  it('cannot be read from an origin that is not allowed', async () => {
    const { status, headers } = await callApi('GET', '/health', makeCrossOriginRequest('https://evil.example.com'));
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  it('can be read from any origin in development', async () => {
    const { headers } = await callApi(
      'GET',
      '/health',
      makeCrossOriginRequest('http://localhost:3000', DEVELOPMENT_ENV),
    );
    expect(headers.get('access-control-allow-origin')).toBe('*');
    const preflightAnswer = await sendPreflight('/accounts', 'http://localhost:3000', DEVELOPMENT_ENV);
    expect(preflightAnswer.headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('the configuration of allowed origins', () => {
  it.each([
    ['any origin outside development', '*'],
    ['any origin beside another', `${CONSOLE_ORIGIN},*`],
    ['an origin with a path', `${CONSOLE_ORIGIN}/`],
    ['a host alone', 'console.example.com'],
  ])('is refused with %s', (_what, configuredOrigins) => {
    expect(() => readConfig({ ...env, ALLOWED_ORIGINS: configuredOrigins })).toThrow(/ALLOWED_ORIGINS/);
  });
});
