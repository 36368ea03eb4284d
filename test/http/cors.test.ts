import { env } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { call, type RequestOptions } from '../support/api.ts';
import { resetClock, stopClockAt } from '../support/clock.ts';
import { aCompany } from '../support/worlds.ts';

afterEach(resetClock);

const CONSOLE_ORIGIN = 'https://console.example.com';
const PRODUCTION = { ALLOWED_ORIGINS: `${CONSOLE_ORIGIN}, https://admin.example.com` };
const DEVELOPMENT = { ALLOWED_ORIGINS: '*', DEVELOPMENT: 'true' };

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

const sendFrom = (
  origin: string,
  variables: Record<string, string> = PRODUCTION,
  sending: RequestOptions = {},
): RequestOptions => ({
  ...sending,
  headers: { origin, ...sending.headers },
  env: { ...variables, ...sending.env },
});

const sendPreflight = (path: string, origin: string, variables?: Record<string, string>) =>
  call(
    'OPTIONS',
    path,
    sendFrom(origin, variables, {
      headers: {
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization, content-type, x-date, x-nonce, x-content-sha256',
      },
    }),
  );

describe('a preflight', () => {
  it.each(['/accounts', '/users/x', '/v1/auth/login', '/v1/managed-tables', '/api/v1/share-contexts', '/health'])(
    'is answered for %s from an allowed origin',
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
  ])('does not allow the origin %s', async (origin) => {
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
  ])('can be read with status %i from an allowed origin, with its headers', async (expected, method, path, sending) => {
    const first = await call(method, path, sendFrom(CONSOLE_ORIGIN, PRODUCTION, sending));
    const { status, headers } =
      expected === 429 ? await call(method, path, sendFrom(CONSOLE_ORIGIN, PRODUCTION, sending)) : first;
    expect(status).toBe(expected);
    expect(headers.get('access-control-allow-origin')).toBe(CONSOLE_ORIGIN);
    expect(headers.get('access-control-expose-headers')?.split(',')).toEqual(EXPOSED_HEADERS);
    expect(headers.get('vary')).toMatch(/origin/i);
    // Tokens and signatures travel in headers: no cookie is ever needed.
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  });

  it.each([
    ['by an allowed origin of the configuration', '/accounts', CONSOLE_ORIGIN],
    ['by any origin, where a token opens the route', `/api/v1/public/shares/${'A'.repeat(43)}/execute`, '*'],
  ])('to a preflight over the rate limit can be read %s', async (_what, path, reader) => {
    const headers = { 'cf-connecting-ip': reader === '*' ? '203.0.113.81' : '203.0.113.82' };
    const sending = sendFrom(CONSOLE_ORIGIN, PRODUCTION, { headers, env: { RATE_LIMIT_IP_PER_SECOND: '1' } });
    stopClockAt(Date.now());
    for (let left = 10; left > 0; left--) expect((await call('OPTIONS', path, sending)).status).toBe(204);
    const answer = await call('OPTIONS', path, sending);
    expect(answer.status).toBe(429);
    expect(answer.headers.get('access-control-allow-origin')).toBe(reader);
    expect(answer.headers.get('access-control-expose-headers')?.split(',')).toContain('Retry-After');
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  it('can be read with status 500 from an allowed origin', async () => {
    const broken = { CONTROL_DB: undefined as unknown as string };
    const company = await aCompany();
    const { status, headers } = await call(
      'GET',
      '/v1/auth/me',
      sendFrom(CONSOLE_ORIGIN, PRODUCTION, { headers: { authorization: `Bearer ${company.token}` }, env: broken }),
    );
    expect(status).toBe(500);
    expect(headers.get('access-control-allow-origin')).toBe(CONSOLE_ORIGIN);
  });

  it('cannot be read from an origin that is not allowed', async () => {
    const { status, headers } = await call('GET', '/health', sendFrom('https://evil.example.com'));
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  it('can be read from any origin in development', async () => {
    const { headers } = await call('GET', '/health', sendFrom('http://localhost:3000', DEVELOPMENT));
    expect(headers.get('access-control-allow-origin')).toBe('*');
    const asked = await sendPreflight('/accounts', 'http://localhost:3000', DEVELOPMENT);
    expect(asked.headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('the configuration of allowed origins', () => {
  it.each([
    ['any origin outside development', '*'],
    ['any origin beside another', `${CONSOLE_ORIGIN},*`],
    ['an origin with a path', `${CONSOLE_ORIGIN}/`],
    ['a host alone', 'console.example.com'],
  ])('is refused with %s', (_what, ALLOWED_ORIGINS) => {
    expect(() => readConfig({ ...env, ALLOWED_ORIGINS })).toThrow(/ALLOWED_ORIGINS/);
  });
});
