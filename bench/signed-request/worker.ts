/** The Worker with four more routes, one for each measured line. */
import { Hono } from 'hono';
import { z } from 'zod';
import { createApp, SURFACES } from '../../src/app.ts';
import type { Bindings } from '../../src/config.ts';
import { ok } from '../../src/http/endpoint.ts';
import { makeSurfaceEndpoints } from '../../src/http/openapi.ts';
import { endpoint, surface } from '../../src/http/surfaces/organization.ts';
import { consumeBatch } from '../../src/jobs/queues.ts';
import { makeInstantEnvironment } from './without-platform.ts';

export * from '../../src/api.ts';

/** Makes a route that does nothing after a signed request has passed every check. */
const makeEmptyRoute = (path: string) =>
  endpoint(
    {
      method: 'get',
      path,
      access: 'users:ListUsers',
      operationId: path.slice(1).replaceAll('/', '_'),
      summary: 'Check a request, and do nothing',
      description: 'Answers at once, for a measurement.',
      returns: ok(z.object({ done: z.boolean() })),
    },
    () => ({ done: true }),
  );
SURFACES.push(
  makeSurfaceEndpoints(surface, { Bench: [makeEmptyRoute('/bench/signed'), makeEmptyRoute('/bench/platform')] }),
);
const app = createApp();

const bareRoutes = new Hono<{ Bindings: Bindings }>().get('/bench/bare', (c) => c.json({ done: true }));

/** Route with the least code that computes HMAC and digest. */
bareRoutes.get('/bench/crypto', async (c) => {
  const digest = encodeHex(await crypto.subtle.digest('SHA-256', await c.req.arrayBuffer()));
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey(
    'raw',
    encodeUtf8('secret of about the usual length: 43 chars'),
    algorithm,
    false,
    ['sign'],
  );
  const { pathname, search } = new URL(c.req.url);
  const text = [c.req.method, pathname, search, c.req.header('x-date'), c.req.header('x-nonce'), digest].join('\n');
  return c.json({ done: encodeHex(await crypto.subtle.sign('HMAC', key, encodeUtf8(text))).length === 64 });
});

const encodeUtf8 = (text: string) => new TextEncoder().encode(text);
const encodeHex = (bytes: ArrayBuffer) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');

export default {
  queue: consumeBatch,
  fetch(request: Request, env: Bindings, execution: ExecutionContext) {
    const { pathname } = new URL(request.url);
    if (pathname === '/bench/bare' || pathname === '/bench/crypto') return bareRoutes.fetch(request, env, execution);
    return app.fetch(request, pathname === '/bench/signed' ? makeInstantEnvironment(env) : env, execution);
  },
};
