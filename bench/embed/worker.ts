/** The Worker with two more routes: one that does nothing, and one that runs SQL through the bare driver. */
import { Client } from '@neondatabase/serverless';
import { Hono } from 'hono';
import { type Bindings, readConfig } from '../../src/config.ts';
import worker from '../../src/index.ts';
import { decrypt } from '../../src/platform/cipher.ts';
import { makeInstantEnvironment } from '../signed-request/without-platform.ts';
import { runWithInstantCache } from './cache.ts';

export * from '../../src/index.ts';

const bareRoutes = new Hono<{ Bindings: Bindings }>();

bareRoutes.post('/bench/bare', async (c) => c.json(await c.req.json()));

bareRoutes.post('/bench/sql', async (c) => {
  const { sql, values } = await c.req.json();
  const { NEON_WS_PROXY = '' } = readConfig(c.env);
  const client = new Client(await readConnectionString(c.env));
  const proxy = new URL(NEON_WS_PROXY);
  client.neonConfig.useSecureWebSocket = false;
  client.neonConfig.wsProxy = `${proxy.host}${proxy.pathname}`;
  await client.connect();
  const { fields, rows } = await client.query({ name: 'bench', text: sql, values, rowMode: 'array' });
  c.executionCtx.waitUntil(client.end());
  return c.json({ columns: fields.map(({ name }) => name), rows });
});

let knownConnectionString: string | undefined;

/** Reads the connection string of the read-only login of the only company. */
async function readConnectionString(env: Bindings): Promise<string> {
  const query = 'SELECT company_id, readonly_connection FROM managed_databases';
  const row = knownConnectionString
    ? null
    : await env.CONTROL_DB.prepare(query).first<{ company_id: string; readonly_connection: string }>();
  if (row) {
    knownConnectionString = await decrypt(
      readConfig(env).ENCRYPTION_KEYS,
      row.readonly_connection,
      `tenant-sql:${row.company_id}`,
    );
  }
  return knownConnectionString as string;
}

/** Path prefix below which the whole API runs with calls of the platform answered at once. */
const OWN_TIME_PREFIX = '/bench/own';

export default {
  ...worker,
  fetch(request: Request, env: Bindings, execution: ExecutionContext) {
    const url = new URL(request.url);
    if (url.pathname.startsWith(OWN_TIME_PREFIX)) {
      url.pathname = url.pathname.slice(OWN_TIME_PREFIX.length);
      const unprefixedRequest = new Request(url, request);
      return runWithInstantCache(() => worker.fetch(unprefixedRequest, makeInstantEnvironment(env), execution));
    }
    return url.pathname.startsWith('/bench/')
      ? bareRoutes.fetch(request, env, execution)
      : worker.fetch(request, env, execution);
  },
};
