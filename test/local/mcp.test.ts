import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type System, startSystem } from '../../bench/system.ts';
import { findFreePort } from '../../local/processes.ts';
import { OFFICIAL_CLIENTS } from './agents.ts';
import { AUTHORIZATION_SCENARIOS, NOT_OFFERED } from './mcp-scenarios.ts';

const PROJECT = join(import.meta.dirname, '../..');
const SUITE = join(PROJECT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** How the suite is run: what it runs by itself, all that it has, and what each version of the protocol requires. */
const RUNS = [
  [],
  ['--suite', 'all'],
  ['--suite', 'all', '--spec-version', '2025-06-18'],
  ['--requirements', '2025-11-25'],
  ['--requirements', '2026-07-28'],
];

interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

let system: System;
let authorization: string;
let proxyServer: Server;
let url: string;
beforeAll(async () => {
  const port = await findFreePort();
  url = `http://localhost:${port}/mcp`;
  // The metadata document of a client is on this machine.
  system = await startSystem(undefined, { ALLOWED_ORIGINS: new URL(url).origin, ALLOW_PRIVATE_ISSUERS: 'true' });
  const { access_key, secret_key } = system.serviceAccount;
  authorization = `Bearer ${access_key}:${secret_key}`;
  proxyServer = openProxy().listen(port);
  await once(proxyServer, 'listening');
}, 180_000);
afterAll(async () => {
  proxyServer?.close();
  await system?.stop();
}, 180_000);

/** The suite cannot send a credential: this adds one to what it sends, and changes nothing else. */
const openProxy = () =>
  createServer((asked, answer) => {
    const options = { method: asked.method, headers: { ...asked.headers, authorization } };
    const sent = request(`${system.baseUrl}${asked.url}`, options, (got) => {
      answer.writeHead(got.statusCode as number, got.headers);
      got.pipe(answer);
    });
    sent.on('error', (error) => answer.destroy(error));
    asked.pipe(sent);
  });

/**
 * Runs a command of the suite.
 * @param hear told each line that it prints
 * @returns what it found, by scenario
 */
async function runSuite(
  of: 'server' | 'authorization',
  options: readonly string[],
  hear: (line: string) => Promise<unknown> = async () => {},
): Promise<Map<string, Check[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-suite-'));
  try {
    const command = [SUITE, of, ...options, '-o', folder];
    const running = promisify(execFile)(process.execPath, command, { maxBuffer: 2 ** 26 });
    const heard = Promise.withResolvers<never>();
    createInterface({ input: running.child.stdout as Readable }).on('line', (line) =>
      hear(line).catch((error) => {
        running.child.kill();
        heard.reject(error);
      }),
    );
    const ended = running.catch((error) => {
      // It ends with 1 where any check fails: which do is written there.
      if (error.code !== 1) throw error;
    });
    await Promise.race([ended, heard.promise]);
    const found = (await readdir(folder)).map(async (name) => {
      const [, scenario = ''] = FOLDERS[of].exec(name) ?? [];
      const checks = JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')) as Check[];
      return [scenario, checks] as const;
    });
    return new Map(await Promise.all(found));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Where each command writes what a scenario found: by the scenario's name and the time. */
const FOLDERS = {
  server: /^server-(.+)-\d{4}-\d\d-\d\dT/,
  authorization: /^authorization-server-(.+)-\d{4}-\d\d-\d\dT/,
};

describe('the official conformance suite for MCP servers', () => {
  const excused = NOT_OFFERED.flatMap(({ asked }) => asked);
  const entryOf = (scenario: string, check: string) =>
    // Whatever a scenario is about, what is sent must be the protocol's.
    check === 'wire-schema-valid'
      ? undefined
      : excused.find((each) => [scenario, `${scenario}: ${check}`].includes(each));

  const failed = new Set<string>();
  it.each(RUNS.map((options) => [options.join(' '), options] as const))(
    'passes, but for the checks that are listed as not offered, with the options %s',
    async (_name, options) => {
      const found = await runSuite('server', ['--url', url, ...options]);
      const failures = [...found].flatMap(([scenario, checks]) =>
        checks.filter(({ status }) => status === 'FAILURE').map((check) => ({ scenario, ...check })),
      );
      for (const { scenario, id } of failures) failed.add(entryOf(scenario, id) ?? '');
      expect(failures.filter(({ scenario, id }) => entryOf(scenario, id) === undefined)).toEqual([]);
      // It has reached the server, and has found the tools.
      const passed = found.get('tools-list')?.filter(({ status }) => status === 'SUCCESS') ?? [];
      expect([found.size > 25, passed.length > 0]).toEqual([true, true]);
    },
  );

  it('fails in every check that is listed as not offered', () => {
    expect(excused.filter((each) => !failed.has(each))).toEqual([]);
  });

  it('has the checks that are not offered listed in docs/mcp.md', async () => {
    const rows = NOT_OFFERED.map(
      ({ what, reason, asked }) => `| ${what}: ${reason} | ${asked.map((each) => `\`${each}\``).join(', ')} |`,
    );
    const document = await readFile(join(PROJECT, 'docs/mcp.md'), 'utf8');
    const [, listed = ''] =
      /\n\| not offered \| scenarios, or checks of them \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(document) ?? [];
    expect(listed.trimEnd().split('\n')).toEqual(rows);
  });
});

/** The owner lets in what the suite prints, as the page does, and goes where that leads. */
async function authorizeSuite(line: string): Promise<void> {
  if (!line.startsWith(`${system.baseUrl}/oauth/authorize?`)) return;
  const page = await (await fetch(line)).text();
  const [, told = ''] = /<script type="application\/json" id="told">(.*?)<\/script>/s.exec(page) ?? [];
  const { request } = JSON.parse(told).asked;
  const { redirect_to } = await system.call('POST', '/v1/oauth-grants', { request, allow: true });
  await fetch(redirect_to);
}

/** The programs by which the suite comes, by how they became known. Of the own machine any port is good. */
const CLIENTS: Record<string, () => Promise<string>> = {
  'registered itself': async () =>
    (await system.call('POST', '/oauth/register', { redirect_uris: REDIRECTS })).client_id,
  'administrators registered': async () =>
    (await system.call('POST', '/v1/oauth-clients', { name: 'The suite', redirect_uris: REDIRECTS })).client_id,
  'has a metadata document': async () => {
    const documents = createServer((asked, answer) => {
      const id = `http://${asked.headers.host}${asked.url}`;
      answer.setHeader('content-type', 'application/json');
      answer.end(JSON.stringify({ client_id: id, client_name: 'The suite', redirect_uris: REDIRECTS }));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void documents.close());
    await once(documents, 'listening');
    return `http://127.0.0.1:${(documents.address() as AddressInfo).port}/client.json`;
  },
};
const REDIRECTS = ['http://127.0.0.1/callback'];

describe('the official conformance suite for MCP authorization servers', () => {
  beforeAll(() => system.renewToken());

  it.each(Object.keys(CLIENTS))('passes with a client that %s', async (known) => {
    const client = await (CLIENTS[known] as () => Promise<string>)();
    const by = ['--client-id', client, '--resource', `${system.baseUrl}/mcp`, '--port', String(await findFreePort())];
    const found = await runSuite('authorization', ['--url', system.baseUrl, ...by], authorizeSuite);
    expect([...found.keys()].toSorted()).toEqual(AUTHORIZATION_SCENARIOS.toSorted());
    // What it skips or only warns of has not passed.
    expect([...found.values()].flat().filter(({ status }) => status !== 'SUCCESS')).toEqual([]);
  });

  it('has its list of passed scenarios in docs/mcp.md', async () => {
    const document = await readFile(join(PROJECT, 'docs/mcp.md'), 'utf8');
    const [, said = ''] = /\nAs `authorization` [^\n]+ passes:\s([^:]+):/.exec(document) ?? [];
    expect(said).toBe(AUTHORIZATION_SCENARIOS.map((each) => `\`${each}\``).join(', '));
  });
});

it.each([
  ['1.x', '2025-11-25'],
  ['2.x', '2026-07-28'],
] as const)('the MCP server serves the official client %s with the protocol version %s', async (of, version) => {
  const client = await OFFICIAL_CLIENTS[of](`${system.baseUrl}/mcp`, authorization);
  try {
    expect(client.version).toBe(version);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('list_tables');
    const { structuredContent } = await client.callTool({ name: 'list_tables', arguments: { per_page: 1 } });
    expect(structuredContent).toMatchObject({ cut: false, data: { total: 0, records: [] } });
  } finally {
    await client.close();
  }
});
