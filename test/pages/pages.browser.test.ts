import { describe, expect, it } from 'vitest';
import { isBrowserInstalled } from './browser.ts';
import { url } from './demo-company.ts';

describe.skipIf(!isBrowserInstalled)('the pages', () => {
  it.each(['/p/t', '/embed/d/t', '/embed/v/t', '/portal/acme', '/docs'])(
    'are served with a strict content security policy: %s',
    async (path) => {
      const response = await fetch(url + path);
      expect(response.status).toBe(200);
      const policy = response.headers.get('content-security-policy') ?? '';
      for (const directive of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
      ]) {
        expect(policy.split('; ')).toContain(directive);
      }
      expect(policy).not.toMatch(/unsafe|https?:/);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'private',
      });
      const html = await response.text();
      expect(html).not.toMatch(/<script>|<style|style=|https?:\/\//);
      for (const [, asset] of html.matchAll(/(?:href|src)="([^"]+)"/g)) {
        const assetResponse = await fetch(url + asset);
        expect(assetResponse.status, asset).toBe(200);
        expect(assetResponse.headers.get('x-content-type-options')).toBe('nosniff');
      }
    },
  );

  it('are not served under the paths of their files', async () => {
    expect((await fetch(`${url}/pages/view.en.html`)).status).toBe(404);
    expect((await fetch(`${url}/assets/none.js`)).status).toBe(404);
  });
});
