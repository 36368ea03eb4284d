import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { sign, signedRequest } from '../../examples/signing/sign.ts';
import vectors from '../../examples/signing/vectors.json' with { type: 'json' };

const SCRIPT = resolve(import.meta.dirname, '../../examples/signing/sign.sh');
const { key, valid } = vectors;

const run = promisify(execFile);
const available = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;
const missing = ['bash', 'openssl', 'curl'].filter((program) => !available(program));

/** Runs the script; answers what it printed. */
async function shell(method: string, url: string, body: string, variables: Record<string, string>): Promise<string> {
  const env = { ...process.env, ACCESS_KEY: key.access_key, SECRET_KEY: key.secret_key, ...variables };
  const { stdout } = await run('bash', [SCRIPT, method, url, ...(body === '' ? [] : [body])], { env });
  return stdout;
}

/** What arrived at the other end. */
interface Arrived {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Answers each request with what arrived. */
async function withEcho<T>(use: (origin: string) => Promise<T>): Promise<T> {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method, url, headers } = request;
    response.end(JSON.stringify({ method, url, headers, body }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}

describe('sign.ts in Node', () => {
  it.each(valid)('signs like the published test vector: $name', async ({ method, url, body, headers }) => {
    const stamp = { date: headers['x-date'], nonce: headers['x-nonce'] };
    expect(await sign(key, method, url, body, stamp)).toEqual(headers);
  });

  it('signs what fetch then sends', async () => {
    const sent: Arrived = await withEcho(async (origin) =>
      (await fetch(await signedRequest(key, 'POST', `${origin}/groups?dry=1`, { name: 'São Paulo' }))).json(),
    );
    const { 'x-date': date = '', 'x-nonce': nonce, authorization } = sent.headers;
    const again = await sign(key, sent.method, `http://any${sent.url}`, sent.body, { date, nonce });
    expect(again.authorization).toBe(authorization);
    expect(sent).toMatchObject({ method: 'POST', url: '/groups?dry=1', body: '{"name":"São Paulo"}' });
    expect(sent.headers['content-type']).toBe('application/json');
  });

  it('never uses a nonce twice', async () => {
    const nonces = await Promise.all(
      Array.from({ length: 100 }, async () => (await sign(key, 'GET', 'http://any/'))['x-nonce']),
    );
    expect(new Set(nonces).size).toBe(100);
  });
});

const title = missing.length === 0 ? 'sign.sh' : `sign.sh (skipped: ${missing.join(', ')} not installed)`;

describe.skipIf(missing.length > 0)(title, () => {
  it.each(valid)('signs like the published test vector: $name', async ({ method, path, query, body, headers }) => {
    const url = `https://iam.example.com${path}${query && `?${query}`}`;
    const stamp = { DATE: headers['x-date'], NONCE: headers['x-nonce'], PRINT: '1' };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
    expect(await shell(method, url, body, stamp)).toBe(lines.join(''));
  });

  it.each([
    ['POST', '/groups?dry=1', '{"name":"São Paulo"}'],
    ['get', '/users?order_by=a+b%20c&account_id=[x]', ''],
    ['DELETE', '/users/a%2Fb', ''],
  ])('sends what it signed: %s %s', async (method, path, body) => {
    const sent: Arrived = await withEcho(async (origin) => JSON.parse(await shell(method, origin + path, body, {})));
    const { 'x-date': date = '', 'x-nonce': nonce, authorization } = sent.headers;
    const again = await sign(key, sent.method, `http://any${sent.url}`, sent.body, { date, nonce });
    expect(again.authorization).toBe(authorization);
    expect(sent).toMatchObject({ method: method.toUpperCase(), url: path, body });
    expect(Math.abs(Date.now() - Date.parse(date))).toBeLessThan(60_000);
  });
});
