import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleWorkers } from '../../local/bundle.ts';
import { findFreePort } from '../../local/processes.ts';
import { openState } from '../../local/state.ts';
import { type LocalWorker, startWorker } from '../../local/worker.ts';

const PROJECT = join(import.meta.dirname, '..', '..');

let folder: string;
let baseUrl: string;
let worker: LocalWorker | undefined;

/** Starts the Worker like `npm start`; these tests need no Postgres. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-console-connections-'));
  const { secrets } = await openState(join(folder, 'state'));
  const port = await findFreePort();
  baseUrl = `http://127.0.0.1:${port}`;
  worker = await startWorker({
    projectDir: PROJECT,
    stateDir: join(folder, 'worker'),
    workers: await bundleWorkers(PROJECT, join(folder, 'worker', 'bundle')),
    port,
    variables: {
      ...secrets,
      CONSOLE_URL: baseUrl,
      DEVELOPMENT: 'true',
      ALLOWED_ORIGINS: '*',
      RATE_LIMIT_IP_PER_SECOND: '1000000',
    },
    deliverMail: async () => {},
  });
}, 120_000);
afterAll(async () => {
  await worker?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const UNKNOWN_ID = 'f'.repeat(24);
const JSON_HEADERS = { 'content-type': 'application/json' };
/** Large bodies take half a second each, and one round follows the other on the same connections. */
const countRounds = (body: string | Buffer): number => (body.length > 1_000_000 ? 4 : 20);
const makeJson = (bytes: number) => JSON.stringify({ email: 'a'.repeat(bytes) });

const makeForm = (bytes: number): { headers: Record<string, string>; body: Buffer } => {
  const head = '--b\r\ncontent-disposition: form-data; name="files"; filename="a.csv"\r\n\r\n';
  return {
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
    body: Buffer.concat([Buffer.from(head), randomBytes(bytes), Buffer.from('\r\n--b--\r\n')]),
  };
};

/** Requests that are refused before their body is read, each for another reason. */
const REFUSED_REQUESTS: [
  what: string,
  status: number,
  path: string,
  sending: { headers: Record<string, string>; body: string | Buffer },
][] = [
  ['without a signature', 401, '/accounts', { headers: JSON_HEADERS, body: makeJson(50) }],
  ['without a session', 401, '/v1/groups', { headers: JSON_HEADERS, body: makeJson(50) }],
  ['without a session, of 60 KiB', 401, '/v1/groups', { headers: JSON_HEADERS, body: makeJson(60 * 1024) }],
  ['of a path that no route has', 404, '/v1/nothing', { headers: JSON_HEADERS, body: makeJson(50) }],
  ['without a session, of 11.8 MB', 401, '/v1/groups', { headers: JSON_HEADERS, body: makeJson(11_800_000) }],
  [
    'of a path that no route has, of 11.8 MB',
    404,
    '/v1/nothing',
    { headers: JSON_HEADERS, body: makeJson(11_800_000) },
  ],
  [
    'larger than the route accepts, of 11.8 MB',
    413,
    '/v1/auth/login',
    { headers: JSON_HEADERS, body: makeJson(11_800_000) },
  ],
  ['of a form of 11.8 MB without a session', 401, '/v1/managed-tables/upload', makeForm(11_800_000)],
  ['of a method that the route does not have', 405, '/health', { headers: JSON_HEADERS, body: makeJson(50) }],
  ['of a form without a session', 401, '/v1/managed-tables/upload', makeForm(6 * 1024)],
  [
    'with a body for a route that expects none',
    401,
    `/v1/policies/${UNKNOWN_ID}/clone`,
    { headers: JSON_HEADERS, body: makeJson(50) },
  ],
];

describe('a request that is refused before its body is read', () => {
  it.each(REFUSED_REQUESTS)('leaves its connection usable: %s', async (_what, status, path, requestOptions) => {
    for (let round = countRounds(requestOptions.body); round > 0; round -= 1) {
      const refusedAnswer = await fetch(`${baseUrl}${path}`, { method: 'POST', ...requestOptions });
      expect(refusedAnswer.status).toBe(status);
      await refusedAnswer.arrayBuffer();
      const next = await fetch(`${baseUrl}/health`);
      expect(next.status).toBe(200);
      await next.arrayBuffer();
    }
  });

  it.each(REFUSED_REQUESTS)(
    'lets another request follow on the same connection: %s',
    async (_what, status, path, requestOptions) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const ports = new Set<number | undefined>();
      const sendOnConnection = (
        method: string,
        path: string,
        requestOptions: { headers?: Record<string, string>; body?: string | Buffer } = {},
      ) =>
        new Promise<number | undefined>((resolve, reject) => {
          const clientRequest = request(
            `${baseUrl}${path}`,
            { method, agent, headers: requestOptions.headers },
            (answer) => {
              ports.add(answer.socket.localPort);
              answer.on('end', () => resolve(answer.statusCode)).resume();
            },
          );
          clientRequest.on('error', reject).end(requestOptions.body);
        });
      for (let round = countRounds(requestOptions.body); round > 0; round -= 1) {
        expect(await sendOnConnection('POST', path, requestOptions)).toBe(status);
        expect(await sendOnConnection('GET', '/health')).toBe(200);
      }
      agent.destroy();
      expect(ports.size).toBe(1);
    },
  );

  it('is answered even if its body never comes', async () => {
    const startedAt = Date.now();
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { ...JSON_HEADERS, 'content-length': '1000' };
      const clientRequest = request(`${baseUrl}/v1/groups`, { method: 'POST', headers }, (answer) => {
        resolve(answer.statusCode);
        clientRequest.destroy();
      });
      clientRequest.on('error', reject);
      clientRequest.write('{');
    });
    expect(status).toBe(401);
    expect(Date.now() - startedAt).toBeLessThan(10_000);
  });
});
