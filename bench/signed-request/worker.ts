/** The Worker with four more routes, one for each measured line. */
import { Hono } from 'hono';
import { z } from 'zod';
import { createApp, SURFACES } from '../../src/app.ts';
import type { Bindings } from '../../src/config.ts';
import { ok } from '../../src/http/endpoint.ts';
import { addConcepts } from '../../src/http/openapi.ts';
import { endpoint, surface } from '../../src/http/surfaces/organization.ts';
import { consume } from '../../src/jobs/queues.ts';
import { withoutPlatform } from './without-platform.ts';

export * from '../../src/api.ts';

/** Does nothing after a signed request has passed every check. */
const nothing = (path: string) =>
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
SURFACES.push(addConcepts(surface, { Bench: [nothing('/bench/signed'), nothing('/bench/platform')] }));
const app = createApp();

const bare = new Hono<{ Bindings: Bindings }>().get('/bench/bare', (c) => c.json({ done: true }));

/** The least code that computes HMAC and digest. */
bare.get('/bench/crypto', async (c) => {
  const digest = hex(await crypto.subtle.digest('SHA-256', await c.req.arrayBuffer()));
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey(
    'raw',
    utf8('secret of about the usual length: 43 chars'),
    algorithm,
    false,
    ['sign'],
  );
  const { pathname, search } = new URL(c.req.url);
  const text = [c.req.method, pathname, search, c.req.header('x-date'), c.req.header('x-nonce'), digest].join('\n');
  return c.json({ done: hex(await crypto.subtle.sign('HMAC', key, utf8(text))).length === 64 });
});

const utf8 = (text: string) => new TextEncoder().encode(text);
const hex = (bytes: ArrayBuffer) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');

export default {
  queue: consume,
  fetch(request: Request, env: Bindings, execution: ExecutionContext) {
    const { pathname } = new URL(request.url);
    if (pathname === '/bench/bare' || pathname === '/bench/crypto') return bare.fetch(request, env, execution);
    return app.fetch(request, pathname === '/bench/signed' ? withoutPlatform(env) : env, execution);
  },
};
