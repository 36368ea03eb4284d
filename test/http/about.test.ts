import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';

describe('the API', () => {
  it('lists its name and the addresses of its documentation, OpenAPI and health at the root', async () => {
    const { status, headers, body } = await callApi('GET', '/?from=a-mail');
    expect([status, headers.get('vary')]).toEqual([200, expect.stringContaining('Accept')]);
    expect(Object.keys(body)).toEqual(['name', 'version', 'docs', 'openapi', 'health']);
    expect(body.version).toBe((await callApi('GET', body.health)).body.version);
    for (const link of [body.docs, body.openapi, body.health]) expect((await callApi('GET', link)).status).toBe(200);
  });

  it('answers a browser at the root with an HTML page that has the same links', async () => {
    const { headers, body } = await callApi('GET', '/', {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    });
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(body).toContain('Data Console API');
    for (const link of ['/docs', '/openapi.json', '/health']) expect(body).toContain(`href="${link}"`);
    expect(headers.get('vary')).toBe('Accept, Accept-Language, Origin');
  });

  it.each([
    ['text/html', 'text/html'],
    ['application/json, text/html', 'text/html'],
    ['application/json, text/html;q=0.1', 'application/json'],
    ['text/html;q=0.5, */*', 'application/json'],
    ['text/html;q=0', 'application/json'],
    ['*/*', 'application/json'],
  ])('answers Accept: %s at the root with %s', async (accept, type) => {
    const { headers } = await callApi('GET', '/', { headers: { accept } });
    expect(headers.get('content-type')).toContain(type);
  });
});
