/** The Worker with two more routes: one that does nothing, and one that runs SQL through the bare driver. */
import { Client } from '@neondatabase/serverless';
import { Hono } from 'hono';
import { type Bindings, readConfig } from '../../src/config.ts';
import worker from '../../src/index.ts';
import { decrypt } from '../../src/platform/cipher.ts';
import { withoutPlatform } from '../signed-request/without-platform.ts';
import { withoutCache } from './cache.ts';

export * from '../../src/index.ts';

const plain = new Hono<{ Bindings: Bindings }>();

plain.post('/bench/bare', async (c) => c.json(await c.req.json()));

plain.post('/bench/sql', async (c) => {
  const { sql, values } = await c.req.json();
  const { NEON_WS_PROXY = '' } = readConfig(c.env);
  const client = new Client(await connectionString(c.env));
  const proxy = new URL(NEON_WS_PROXY);
  client.neonConfig.useSecureWebSocket = false;
  client.neonConfig.wsProxy = `${proxy.host}${proxy.pathname}`;
  await client.connect();
  const { fields, rows } = await client.query({ name: 'bench', text: sql, values, rowMode: 'array' });
  c.executionCtx.waitUntil(client.end());
  return c.json({ columns: fields.map(({ name }) => name), rows });
});

let known: string | undefined;

/** The read-only login of the only company. */
async function connectionString(env: Bindings): Promise<string> {
  const query = 'SELECT company_id, readonly_connection FROM managed_databases';
  const row = known
    ? null
    : await env.CONTROL_DB.prepare(query).first<{ company_id: string; readonly_connection: string }>();
  if (row) {
    known = await decrypt(readConfig(env).ENCRYPTION_KEYS, row.readonly_connection, `tenant-sql:${row.company_id}`);
  }
  return known as string;
}

/** The whole API below this path, with calls of the platform answered at once. */
const OWN = '/bench/own';

export default {
  ...worker,
  fetch(request: Request, env: Bindings, execution: ExecutionContext) {
    const url = new URL(request.url);
    if (url.pathname.startsWith(OWN)) {
      url.pathname = url.pathname.slice(OWN.length);
      const own = new Request(url, request);
      return withoutCache(() => worker.fetch(own, withoutPlatform(env), execution));
    }
    return url.pathname.startsWith('/bench/')
      ? plain.fetch(request, env, execution)
      : worker.fetch(request, env, execution);
  },
};
