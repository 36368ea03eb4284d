import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { sign, signedRequest } from '../../examples/signing/sign.ts';
import vectors from '../../examples/signing/vectors.json' with { type: 'json' };

const SIGN_SCRIPT = resolve(import.meta.dirname, '../../examples/signing/sign.sh');
const { key, valid } = vectors;

const runFile = promisify(execFile);
const isAvailable = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;
const missingPrograms = ['bash', 'openssl', 'curl'].filter((program) => !isAvailable(program));

/** Runs the signing script, and returns its output. */
async function runScript(
  method: string,
  url: string,
  body: string,
  variables: Record<string, string>,
): Promise<string> {
  const env = { ...process.env, ACCESS_KEY: key.access_key, SECRET_KEY: key.secret_key, ...variables };
  const { stdout } = await runFile('bash', [SIGN_SCRIPT, method, url, ...(body === '' ? [] : [body])], { env });
  return stdout;
}

/** A request as it arrived at the echo server. */
interface ReceivedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Runs `sendRequests` with the address of a server that answers each request with the request as it arrived. */
async function runWithEchoServer<T>(sendRequests: (origin: string) => Promise<T>): Promise<T> {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method, url, headers } = request;
    response.end(JSON.stringify({ method, url, headers, body }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await sendRequests(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}

describe('sign.ts in Node', () => {
  it.each(valid)('signs like the published test vector: $name', async ({ method, url, body, headers }) => {
    const dateAndNonce = { date: headers['x-date'], nonce: headers['x-nonce'] };
    expect(await sign(key, method, url, body, dateAndNonce)).toEqual(headers);
  });

  it('signs exactly the request that fetch then sends', async () => {
    const receivedRequest: ReceivedRequest = await runWithEchoServer(async (origin) =>
      (await fetch(await signedRequest(key, 'POST', `${origin}/groups?dry=1`, { name: 'São Paulo' }))).json(),
    );
    const { 'x-date': date = '', 'x-nonce': nonce, authorization } = receivedRequest.headers;
    const repeatedSignature = await sign(
      key,
      receivedRequest.method,
      `http://any${receivedRequest.url}`,
      receivedRequest.body,
      { date, nonce },
    );
    expect(repeatedSignature.authorization).toBe(authorization);
    expect(receivedRequest).toMatchObject({ method: 'POST', url: '/groups?dry=1', body: '{"name":"São Paulo"}' });
    expect(receivedRequest.headers['content-type']).toBe('application/json');
  });

  it('never uses a nonce twice', async () => {
    const nonces = await Promise.all(
      Array.from({ length: 100 }, async () => (await sign(key, 'GET', 'http://any/'))['x-nonce']),
    );
    expect(new Set(nonces).size).toBe(100);
  });
});

const title =
  missingPrograms.length === 0 ? 'sign.sh' : `sign.sh (skipped: ${missingPrograms.join(', ')} not installed)`;

describe.skipIf(missingPrograms.length > 0)(title, () => {
  it.each(valid)(
    'sign.sh signs like the published test vector: $name',
    async ({ method, path, query, body, headers }) => {
      const url = `https://iam.example.com${path}${query && `?${query}`}`;
      const signingVariables = { DATE: headers['x-date'], NONCE: headers['x-nonce'], PRINT: '1' };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
      expect(await runScript(method, url, body, signingVariables)).toBe(lines.join(''));
    },
  );

  it.each([
    ['POST', '/groups?dry=1', '{"name":"São Paulo"}'],
    ['get', '/users?order_by=a+b%20c&account_id=[x]', ''],
    ['DELETE', '/users/a%2Fb', ''],
  ])('sign.sh sends the request that it signed: %s %s', async (method, path, body) => {
    const receivedRequest: ReceivedRequest = await runWithEchoServer(async (origin) =>
      JSON.parse(await runScript(method, origin + path, body, {})),
    );
    const { 'x-date': date = '', 'x-nonce': nonce, authorization } = receivedRequest.headers;
    const repeatedSignature = await sign(
      key,
      receivedRequest.method,
      `http://any${receivedRequest.url}`,
      receivedRequest.body,
      { date, nonce },
    );
    expect(repeatedSignature.authorization).toBe(authorization);
    expect(receivedRequest).toMatchObject({ method: method.toUpperCase(), url: path, body });
    expect(Math.abs(Date.now() - Date.parse(date))).toBeLessThan(60_000);
  });
});
