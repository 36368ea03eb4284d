import { describe, expect, it } from 'vitest';
import { call } from '../support/api.ts';

describe('the API', () => {
  it('says at the root what this is, and where everything else is', async () => {
    const { status, headers, body } = await call('GET', '/?from=a-mail');
    expect([status, headers.get('vary')]).toEqual([200, expect.stringContaining('Accept')]);
    expect(Object.keys(body)).toEqual(['name', 'version', 'docs', 'openapi', 'health']);
    expect(body.version).toBe((await call('GET', body.health)).body.version);
    for (const place of [body.docs, body.openapi, body.health]) expect((await call('GET', place)).status).toBe(200);
  });

  it('says the same on a page for a browser', async () => {
    const { headers, body } = await call('GET', '/', {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    });
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(body).toContain('Data Console API');
    for (const place of ['/docs', '/openapi.json', '/health']) expect(body).toContain(`href="${place}"`);
  });
});
