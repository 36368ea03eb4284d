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
import { AUTHORIZATION_SCENARIOS, MISSING_FEATURES } from './mcp-scenarios.ts';

const PROJECT = join(import.meta.dirname, '../..');
const SUITE_SCRIPT = join(PROJECT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** The options of the suite's runs: all tests, of which its default tests are some, and the requirements of each protocol version. */
const RUN_OPTIONS = [
  ['--suite', 'all'],
  ['--suite', 'all', '--spec-version', '2025-06-18'],
  ['--requirements', '2025-11-25'],
  ['--requirements', '2026-07-28'],
];

interface SuiteCheck {
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
  const { access_key, secret_key } = system.serviceAccountKey;
  authorization = `Bearer ${access_key}:${secret_key}`;
  proxyServer = openProxy().listen(port);
  await once(proxyServer, 'listening');
}, 180_000);
afterAll(async () => {
  proxyServer?.close();
  await system?.stop();
}, 180_000);

/** Starts a proxy that adds a credential to the suite's requests, as the suite cannot send one, and changes nothing else. */
const openProxy = () =>
  createServer((incomingRequest, outgoingAnswer) => {
    const options = { method: incomingRequest.method, headers: { ...incomingRequest.headers, authorization } };
    const forwardedRequest = request(`${system.baseUrl}${incomingRequest.url}`, options, (serverAnswer) => {
      outgoingAnswer.writeHead(serverAnswer.statusCode as number, serverAnswer.headers);
      serverAnswer.pipe(outgoingAnswer);
    });
    forwardedRequest.on('error', (error) => outgoingAnswer.destroy(error));
    incomingRequest.pipe(forwardedRequest);
  });

/**
 * Runs a command of the suite. @param onLine called with each line that the command prints @returns the checks of each scenario
 */
async function runSuite(
  of: 'server' | 'authorization',
  options: readonly string[],
  onLine: (line: string) => Promise<unknown> = async () => {},
): Promise<Map<string, SuiteCheck[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-suite-'));
  try {
    const command = [SUITE_SCRIPT, of, ...options, '-o', folder];
    const runningCommand = promisify(execFile)(process.execPath, command, { maxBuffer: 2 ** 26 });
    const lineFailure = Promise.withResolvers<never>();
    createInterface({ input: runningCommand.child.stdout as Readable }).on('line', (line) =>
      onLine(line).catch((error) => {
        runningCommand.child.kill();
        lineFailure.reject(error);
      }),
    );
    const commandEnd = runningCommand.catch((error) => {
      // It ends with 1 where any check fails: which do is written there.
      if (error.code !== 1) throw error;
    });
    await Promise.race([commandEnd, lineFailure.promise]);
    const pendingResults = (await readdir(folder)).map(async (name) => {
      const [, scenario = ''] = RESULT_FOLDERS[of].exec(name) ?? [];
      const checks = JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')) as SuiteCheck[];
      return [scenario, checks] as const;
    });
    return new Map(await Promise.all(pendingResults));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The folder in which each command writes the result of a scenario: its name has the scenario's name and the time. */
const RESULT_FOLDERS = {
  server: /^server-(.+)-\d{4}-\d\d-\d\dT/,
  authorization: /^authorization-server-(.+)-\d{4}-\d\d-\d\dT/,
};

describe('the official conformance suite for MCP servers', () => {
  const excusedChecks = MISSING_FEATURES.flatMap(({ scenarios }) => scenarios);
  const findExcuse = (scenario: string, check: string) =>
    // Whatever a scenario is about, what is sent must be the protocol's.
    check === 'wire-schema-valid'
      ? undefined
      : excusedChecks.find((excusedName) => [scenario, `${scenario}: ${check}`].includes(excusedName));

  const failedExcuses = new Set<string>();
  it.each(RUN_OPTIONS.map((options) => [options.join(' '), options] as const))(
    'passes, except for the checks that are listed as not offered, with the options %s',
    async (_name, options) => {
      const results = await runSuite('server', ['--url', url, ...options]);
      const failedChecks = [...results].flatMap(([scenario, checks]) =>
        checks.filter(({ status }) => status === 'FAILURE').map((check) => ({ scenario, ...check })),
      );
      for (const { scenario, id } of failedChecks) failedExcuses.add(findExcuse(scenario, id) ?? '');
      expect(failedChecks.filter(({ scenario, id }) => findExcuse(scenario, id) === undefined)).toEqual([]);
      // It has reached the server, and has found the tools.
      const passedChecks = results.get('tools-list')?.filter(({ status }) => status === 'SUCCESS') ?? [];
      expect([results.size > 25, passedChecks.length > 0]).toEqual([true, true]);
    },
  );

  it('fails every check that is listed as not offered', () => {
    expect(excusedChecks.filter((checkId) => !failedExcuses.has(checkId))).toEqual([]);
  });

  it('has the checks that are not offered listed in docs/mcp.md', async () => {
    const rows = MISSING_FEATURES.map(
      ({ title, reason, scenarios }) =>
        `| ${title}: ${reason} | ${scenarios.map((listedScenario) => `\`${listedScenario}\``).join(', ')} |`,
    );
    const document = await readFile(join(PROJECT, 'docs/mcp.md'), 'utf8');
    const [, listed = ''] =
      /\n\| not offered \| scenarios, or checks of them \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(document) ?? [];
    expect(listed.trimEnd().split('\n')).toEqual(rows);
  });
});

/** Authorizes as the owner at each address that the suite prints, like the consent page, and follows its redirect. */
async function authorizeSuite(line: string): Promise<void> {
  if (!line.startsWith(`${system.baseUrl}/oauth/authorize?`)) return;
  const page = await (await fetch(line)).text();
  const [, jsonText = ''] = /<script type="application\/json" id="told">(.*?)<\/script>/s.exec(page) ?? [];
  const { request } = JSON.parse(jsonText).asked;
  const { redirect_to } = await system.call('POST', '/v1/oauth-grants', { request, allow: true });
  await fetch(redirect_to);
}

/** For each kind of client, creates the OAuth client of the suite. Any port of the local machine is allowed. */
const CREATE_CLIENT: Record<string, () => Promise<string>> = {
  'registered itself': async () =>
    (await system.call('POST', '/oauth/register', { redirect_uris: REDIRECT_URIS })).client_id,
  'administrators registered': async () =>
    (await system.call('POST', '/v1/oauth-clients', { name: 'The suite', redirect_uris: REDIRECT_URIS })).client_id,
  'has a metadata document': async () => {
    const documentServer = createServer((incomingRequest, outgoingAnswer) => {
      const id = `http://${incomingRequest.headers.host}${incomingRequest.url}`;
      outgoingAnswer.setHeader('content-type', 'application/json');
      outgoingAnswer.end(JSON.stringify({ client_id: id, client_name: 'The suite', redirect_uris: REDIRECT_URIS }));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void documentServer.close());
    await once(documentServer, 'listening');
    return `http://127.0.0.1:${(documentServer.address() as AddressInfo).port}/client.json`;
  },
};
const REDIRECT_URIS = ['http://127.0.0.1/callback'];

describe('the official conformance suite for MCP authorization servers', () => {
  it.each(Object.keys(CREATE_CLIENT))('passes with a client that %s', async (clientKind) => {
    const client = await (CREATE_CLIENT[clientKind] as () => Promise<string>)();
    const by = ['--client-id', client, '--resource', `${system.baseUrl}/mcp`, '--port', String(await findFreePort())];
    const results = await runSuite('authorization', ['--url', system.baseUrl, ...by], authorizeSuite);
    expect([...results.keys()].toSorted()).toEqual(AUTHORIZATION_SCENARIOS.toSorted());
    // What it skips or only warns of has not passed.
    expect([...results.values()].flat().filter(({ status }) => status !== 'SUCCESS')).toEqual([]);
  });

  it('has its list of passed scenarios in docs/mcp.md', async () => {
    const document = await readFile(join(PROJECT, 'docs/mcp.md'), 'utf8');
    const [, said = ''] = /\nAs `authorization` [^\n]+ passes:\s([^:]+):/.exec(document) ?? [];
    expect(said).toBe(AUTHORIZATION_SCENARIOS.map((scenario) => `\`${scenario}\``).join(', '));
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
