import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { type ApiResponse, callApi } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';

const ID = 'f'.repeat(24);
const ENDPOINTS = SURFACES.flatMap(({ endpoints }) => endpoints).map(({ contract }) => contract);
const ROUTES = ENDPOINTS.map(({ method, path }) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, ID)] as const);

/** Requires the headers that all answers have, whatever the request and its outcome. */
function expectSecurityHeaders({ headers }: ApiResponse): void {
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('strict-transport-security')).toMatch(/^max-age=\d{8}; includeSubDomains$/);
  expect(headers.get('cache-control')).toMatch(/no-store|no-cache|private|max-age/);
  expect(headers.get('x-correlation-id')).toMatch(/^[\da-f-]{36}$/);
  // Callers are known by headers only, so no page of another origin can make a browser act for somebody.
  expect(headers.get('set-cookie')).toBeNull();
  expect(headers.get('access-control-allow-credentials')).toBeNull();
  expect(headers.get('x-powered-by')).toBeNull();
}

describe('every answer', () => {
  it.each(ROUTES)('has the security headers: %s %s without a credential', async (method, path) => {
    expectSecurityHeaders(await callApi(method, path, { headers: { origin: 'https://evil.example.com' } }));
  });

  it('has the security headers also without a route, for a preflight, and for an authenticated caller', async () => {
    const { as } = await createOwnedCompany();
    for (const answer of [
      await callApi('GET', '/nowhere'),
      await callApi('TRACE', '/accounts'),
      await callApi('OPTIONS', '/accounts', { headers: { origin: 'https://evil.example.com' } }),
      await as.get('/v1/auth/me'),
    ]) {
      expectSecurityHeaders(answer);
    }
  });

  it('of a sign-in has Cache-Control: no-store', async () => {
    const { slug, owner } = await createOwnedCompany();
    const json = { company_slug: slug, email: owner.email, password: owner.password };
    const { status, headers } = await callApi('POST', '/v1/auth/login', { json });
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  });
});
