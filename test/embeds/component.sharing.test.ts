import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { call } from '../support/api.ts';

const COMPONENT_PATH = '/embed.js';

describe('the web component for embeds', () => {
  it('is found by a redirect cached for five minutes, and cached forever under its versioned name', async () => {
    const found = await call('GET', COMPONENT_PATH);
    const path = found.headers.get('location') as string;
    expect([found.status, path]).toEqual([302, expect.stringMatching(/^\/embed\/component-[A-Z0-9]{8}\.js$/)]);
    expect(found.headers.get('cache-control')).toBe('public, max-age=300');
    expect(found.headers.get('access-control-allow-origin')).toBe('*');
    const { status, headers, body } = await call('GET', path, { headers: { origin: 'https://www.host.test' } });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(String(body)).toContain('data-console-embed');
  });

  it('has at most 10 KB gzipped, and needs no other file', async () => {
    const path = (await call('GET', COMPONENT_PATH)).headers.get('location') as string;
    const script = String((await call('GET', path)).body);
    expect(gzipSync(script).length).toBeLessThan(10_000);
    expect(script).not.toMatch(/\bimport\b/);
  });

  it('is the current one under the name of an old version, and not found under other names', async () => {
    const gone = await call('GET', '/embed/component-AAAAAAAA.js');
    expect([gone.status, gone.headers.get('cache-control')]).toEqual([200, 'public, max-age=300']);
    for (const name of ['current', 'component-.js', 'component-AAAAAAAA.js.map', '..%2Fpages%2Fview.en.html']) {
      const { status, body } = await call('GET', `/embed/${name}`);
      expect([status, body.error_code]).toEqual([404, 'NOT_FOUND']);
    }
  });
});
