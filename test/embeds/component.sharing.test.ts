import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';

const COMPONENT_PATH = '/embed.js';

describe('the web component for embeds', () => {
  it('is found through a redirect that is cached for five minutes, and cached forever under its versioned name', async () => {
    const redirectAnswer = await callApi('GET', COMPONENT_PATH);
    const path = redirectAnswer.headers.get('location') as string;
    expect([redirectAnswer.status, path]).toEqual([302, expect.stringMatching(/^\/embed\/component-[A-Z0-9]{8}\.js$/)]);
    expect(redirectAnswer.headers.get('cache-control')).toBe('public, max-age=300');
    expect(redirectAnswer.headers.get('access-control-allow-origin')).toBe('*');
    const { status, headers, body } = await callApi('GET', path, { headers: { origin: 'https://www.host.test' } });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(String(body)).toContain('data-console-embed');
  });

  it('has at most 10 KB gzipped, and needs no other file', async () => {
    const path = (await callApi('GET', COMPONENT_PATH)).headers.get('location') as string;
    const script = String((await callApi('GET', path)).body);
    expect(gzipSync(script).length).toBeLessThan(10_000);
    expect(script).not.toMatch(/\bimport\b/);
  });

  it('is the current component under the name of an old version, and not found under other names', async () => {
    const oldNameAnswer = await callApi('GET', '/embed/component-AAAAAAAA.js');
    expect([oldNameAnswer.status, oldNameAnswer.headers.get('cache-control')]).toEqual([200, 'public, max-age=300']);
    for (const name of ['current', 'component-.js', 'component-AAAAAAAA.js.map', '..%2Fpages%2Fview.en.html']) {
      const { status, body } = await callApi('GET', `/embed/${name}`);
      expect([status, body.error_code]).toEqual([404, 'NOT_FOUND']);
    }
  });
});
