import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { describe, expect, it, vi } from 'vitest';
import { PROTOCOL_VERSIONS } from '../../../src/http/mcp/protocol.ts';
import { createTable, createTableClient, makeColumn } from '../../managed-tables/support.ts';
import { BASE_URL, callApi } from '../../support/api.ts';
import { createProvisionedCompany } from '../../support/companies.ts';
import { readRecords, waitForAuditRecord } from '../../support/log.ts';
import {
  createAllowedAccount,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  type ServiceAccount,
} from '../../support/signed.ts';
import { createAgent, readFailure } from './support.ts';

const company = await createProvisionedCompany();
const owner = createAgent(`Bearer ${company.token}`);

const makeInitialize = (protocolVersion: unknown) => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
});

describe('POST /mcp', () => {
  it('serves the client of the MCP SDK', async () => {
    const client = new Client({ name: 'test', version: '1' });
    const methods: string[] = [];
    const transport = new StreamableHTTPClientTransport(new URL(`${BASE_URL}/mcp`), {
      requestInit: { headers: { Authorization: `Bearer ${company.token}` } },
      async fetch(url, { method = 'GET', headers, body } = {}) {
        methods.push(method);
        const sentHeaders = Object.fromEntries(new Headers(headers as HeadersInit));
        const answer = await callApi(method, new URL(url).pathname, { headers: sentHeaders, body: body as BodyInit });
        const { status } = answer;
        const bytes = status === 202 ? null : JSON.stringify(answer.body);
        return new Response(bytes, { status, headers: answer.headers });
      },
    });
    await client.connect(transport as never);
    expect(client.getServerVersion()).toMatchObject({ name: 'data-console' });
    expect(client.getInstructions()).toMatch(/nothing can be changed/);
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
    const result = await client.callTool({ name: 'list_tables', arguments: {} });
    expect(result.structuredContent).toMatchObject({ cut: false, data: { total: 0 } });
    await client.ping();
    await client.close();
    // It asks for a stream once, is told that there is none (405), and goes on without.
    expect(methods.filter((method) => method === 'GET')).toHaveLength(1);
  });

  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2024-11-05', '2025-11-25'],
    ['one of tomorrow', '2025-11-25'],
  ])('agrees on a protocol version that it supports: %s → %s', async (requestedVersion, agreedVersion) => {
    const { status, body } = await owner.ask('initialize', makeInitialize(requestedVersion));
    expect([status, body.result.protocolVersion]).toEqual([200, agreedVersion]);
    expect(body.result.capabilities).toEqual({ tools: {} });
  });

  /** Sends a message of protocol version 2026-07-28 without a handshake; headers repeat version and method. */
  const sendModernRequest = (method: string, params: object = {}, { version = '2026-07-28', headers = {} } = {}) =>
    owner.ask(
      method,
      {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': version,
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
      { 'mcp-protocol-version': version, 'mcp-method': method, ...headers },
    );

  it('serves protocol version 2026-07-28 without a handshake, with the same tools', async () => {
    const discovery = (await sendModernRequest('server/discover')).body.result;
    expect(discovery.supportedVersions).toContain('2026-07-28');
    const { tools } = (await sendModernRequest('tools/list')).body.result;
    expect(tools).toEqual((await owner.ask('tools/list')).body.result.tools);
    const params = { name: 'list_tables', arguments: {} };
    const { status, body } = await sendModernRequest('tools/call', params, { headers: { 'mcp-name': 'list_tables' } });
    expect([status, body.result.structuredContent.cut]).toEqual([200, false]);
  });

  it('answers an unknown method of version 2026-07-28 with 404, and a subscription with events', async () => {
    const { status, body } = await sendModernRequest('resources/list');
    expect([status, body.error.code]).toEqual([404, -32601]);
    const { headers } = await sendModernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } });
    expect(headers.get('content-type')).toBe('text/event-stream');
  });

  it('refuses an unknown protocol version, and lists the versions that it supports', async () => {
    const { status, body } = await sendModernRequest('tools/list', {}, { version: '2099-01-01' });
    expect([status, body.error.data.supported]).toEqual([400, expect.arrayContaining(['2026-07-28'])]);
  });

  it('supports each protocol version of the SDK, from its own oldest version on', async () => {
    // Of those without a handshake the SDK tells what it knows where it refuses one.
    const { body } = await sendModernRequest('tools/list', {}, { version: '2099-01-01' });
    const knownVersions: string[] = [...body.error.data.supported, ...SUPPORTED_PROTOCOL_VERSIONS];
    const oldestVersion = PROTOCOL_VERSIONS.at(-1) as string;
    expect(
      knownVersions
        .filter((version) => version >= oldestVersion)
        .toSorted()
        .toReversed(),
    ).toEqual(PROTOCOL_VERSIONS);
  });

  it.each([
    ['version', { 'mcp-protocol-version': '2025-11-25' }],
    ['method', { 'mcp-method': 'tools/call' }],
  ])('refuses a message whose header and body name a different %s', async (_, headers) => {
    const { status, body } = await sendModernRequest('tools/list', {}, { headers });
    expect([status, body.result]).toEqual([400, undefined]);
  });

  it('refuses a call whose header and body name a different tool', async () => {
    const params = { name: 'list_tables', arguments: {} };
    const { status, body } = await sendModernRequest('tools/call', params, {
      headers: { 'mcp-name': 'list_dashboards' },
    });
    expect([status, body.result]).toEqual([400, undefined]);
  });

  it('answers a client of protocol version 2024-11-05 with version 2025-11-25', async () => {
    const clientInfo = { name: 'old', version: '1' };
    const initializeParams = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo };
    expect((await owner.ask('initialize', initializeParams)).body.result.protocolVersion).toBe('2025-11-25');
  });

  it('refuses pages of origins that are not allowed, including the request’s own host', async () => {
    const env = { ALLOWED_ORIGINS: 'https://console.test', PUBLIC_URL: 'https://api.example.com' };
    const callFrom = (origin: string, variables: Record<string, string> = env) =>
      callApi('POST', '/mcp', {
        headers: { authorization: `Bearer ${company.token}`, accept: 'application/json, text/event-stream', origin },
        json: { jsonrpc: '2.0', id: 1, method: 'ping' },
        env: variables,
      });
    for (const origin of ['https://console.test', 'https://api.example.com']) {
      expect((await callFrom(origin)).status).toBe(200);
    }
    for (const origin of ['https://evil.test', 'null', 'https://api.test', 'https://console.test.evil.test']) {
      const { status, body } = await callFrom(origin);
      expect([origin, status, body.error]).toEqual([origin, 403, 'FORBIDDEN']);
    }
    expect((await callFrom('https://evil.test', { ALLOWED_ORIGINS: '*', DEVELOPMENT: 'true' })).status).toBe(200);
  });

  it('refuses a page of a foreign origin before it asks who sends what', async () => {
    const env = { ALLOWED_ORIGINS: 'https://console.test' };
    const callFrom = (origin: string, token: string) =>
      callApi('POST', '/mcp', {
        headers: { origin, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{',
        env,
      });
    const statuses = [];
    for (const origin of ['https://console.test', 'https://evil.test'])
      for (const token of [company.token, 'none']) statuses.push((await callFrom(origin, token)).status);
    expect(statuses).toEqual([400, 401, 403, 403]);
  });

  it.each(['2025-03-26', '1999-01-01', ''])('refuses an unsupported version in the header: %j', async (version) => {
    const { status, body } = await owner.ask('tools/list', {}, { 'mcp-protocol-version': version });
    const problem = 'Mcp-Protocol-Version must be one of 2026-07-28, 2025-11-25, 2025-06-18.';
    expect([status, body.error.message]).toEqual([400, problem]);
  });

  it('answers a notification with 202 and no body', async () => {
    const { status, body } = await owner.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([status, body]).toEqual([202, '']);
  });

  it.each([
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ping' }], -32600],
    ['an object that is no message', { hello: 'there' }, -32600],
    ['a message without a version', { id: 1, method: 'ping' }, -32600],
    ['an initialization without a version', { id: 1, method: 'initialize', params: {} }, -32600],
    [
      'a list of tools whose id is an object',
      { jsonrpc: '2.0', id: {}, method: 'tools/list', params: { cursor: 5 } },
      -32600,
    ],
    ['a string', 'ping', -32600],
  ])('refuses %s, in every protocol version', async (_what, message, code) => {
    for (const version of PROTOCOL_VERSIONS) {
      const { status, body } = await owner.send(message, { 'mcp-protocol-version': version });
      expect([version, status, body.error.code]).toEqual([version, 400, code]);
    }
  });

  it.each([{}, [], null])('refuses an empty body as invalid (422): %j', async (message) => {
    const { status, body } = await owner.send(message);
    expect([status, body.error]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('answers unknown methods, unknown tools and invalid parameters with the codes of JSON-RPC', async () => {
    expect((await owner.ask('resources/list')).body.error.code).toBe(-32601);
    expect((await owner.tool('drop_table')).body.error).toMatchObject({ code: -32602 });
    expect((await owner.tool('x'.repeat(10_000))).body.error.message.length).toBeLessThan(200);
    expect((await owner.tool({ name: 1 })).body.error.code).toBe(-32602);
    expect((await owner.tool('list_tables', 'x')).body.error.code).toBe(-32602);
    expect((await owner.ask('initialize', {})).body.error.code).toBe(-32602);
    for (const cursor of ['x', '', 5, null])
      expect((await owner.ask('tools/list', { cursor })).body.error).toEqual({
        code: -32602,
        message: 'There is no such cursor.',
      });
    for (const name of ['constructor', '__proto__', 'toString'])
      expect((await owner.tool(name)).body.error.code).toBe(-32602);
  });

  it.each([
    ['invalid JSON', 'application/json', '{', -32700],
    ['no body', 'application/json', undefined, -32700],
    ['another media type', 'text/plain', '{"jsonrpc":"2.0","id":1,"method":"ping"}', -32600],
  ])('refuses %s in the terms of JSON-RPC', async (_what, type, body, code) => {
    const headers = { authorization: `Bearer ${company.token}`, 'content-type': type };
    const refusedAnswer = await callApi('POST', '/mcp', { headers, ...(body !== undefined && { body }) });
    expect([refusedAnswer.status, refusedAnswer.body]).toEqual([
      400,
      { jsonrpc: '2.0', id: null, error: { code, message: expect.any(String) } },
    ]);
  });

  it('refuses a body that is too large and other methods, like every route', async () => {
    const headers = { authorization: `Bearer ${company.token}`, 'content-type': 'application/json' };
    expect((await callApi('POST', '/mcp', { headers, body: 'x'.repeat(1_100_000) })).status).toBe(413);
    expect((await callApi('POST', '/mcp?session=1', { headers, body: '{}' })).status).toBe(422);
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const refusedAnswer = await callApi(method, '/mcp', { headers });
      expect([refusedAnswer.status, refusedAnswer.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  it('answers arguments of almost a megabyte with a short error', async () => {
    const text = 'a'.repeat(1_000_000);
    const answer = await owner.tool('list_tables', { search: text, [text.slice(0, 20_000)]: 1 });
    expect(readFailure(answer).error).toBe('VALIDATION_ERROR');
    expect(answer.text.length).toBeLessThan(1000);
    const manyArguments = Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`a${index}`, 1]));
    expect(readFailure(await owner.tool('list_tables', manyArguments)).details.length).toBeLessThanOrEqual(20);
    expect((await owner.tool('query_rows', { table_id: text })).isError).toBe(true);
    const filter = { a: { in: Array.from({ length: 100_000 }, () => 'x') } };
    expect((await owner.tool('query_rows', { table_id: 'f'.repeat(24), filter })).isError).toBe(true);
  });

  it('words the failure of a tool in the language that Accept-Language asks for', async () => {
    const call = { name: 'query_rows', arguments: { table_id: 'f'.repeat(24) } };
    const { body } = await owner.ask('tools/call', call, { 'accept-language': 'es' });
    expect(JSON.parse(body.result.content[0].text).message).toBe('No se encontró: tabla.');
  });

  it('ignores session ids: the session id of another company opens nothing', async () => {
    const other = await createProvisionedCompany();
    const otherAgent = createAgent(`Bearer ${other.token}`);
    const first = await owner.ask('initialize', makeInitialize('2025-11-25'));
    expect(first.headers.get('mcp-session-id')).toBeNull();
    await createTable(company.as, 'of_the_owner', [makeColumn('name')]);
    const { body } = await otherAgent.ask(
      'tools/call',
      { name: 'list_tables', arguments: {} },
      { 'mcp-session-id': 'a-session-of-the-owner' },
    );
    expect(body.result.structuredContent.data).toMatchObject({ total: 0, records: [] });
  });
});

describe('the result of a tool', () => {
  const encodeValue = (value: unknown) =>
    new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value)).length;

  it('has at most 102,400 bytes of text and of structured content, and says where it was cut', async () => {
    const id = await createTable(company.as, 'long', [makeColumn('name'), makeColumn('more')]);
    const rows = Array.from({ length: 900 }, (_, index) => ({ name: `é${index}`.padEnd(100, 'é'), more: 'x' }));
    await expectSuccess(createTableClient(company.as, id).insert(rows));
    const { body, text, data } = await owner.tool('query_rows', { table_id: id, per_page: 900 });
    const { structuredContent } = body.result;
    expect([structuredContent.cut, structuredContent.note]).toEqual([true, expect.stringMatching(/^CUT: .*each list/)]);
    expect(text).toContain(structuredContent.note);
    for (const size of [encodeValue(text), encodeValue(structuredContent)]) {
      expect(size).toBeLessThanOrEqual(102_400);
      expect(size).toBeGreaterThan(95_000);
    }
    expect(data.total).toBe(900);
    expect(data.records.length).toBeLessThan(900);
    expect(data.records[0].name).toBe(rows[0]?.name);
  });

  it('keeps all rows if cutting long texts is enough', async () => {
    const id = await createTable(company.as, 'texts', [makeColumn('name')]);
    await expectSuccess(createTableClient(company.as, id).insert([{ name: '😀'.repeat(100_000) }, { name: 'short' }]));
    const { data, body } = await owner.tool('query_rows', { table_id: id });
    expect(data.records.map(({ name }: { name: string }) => name)).toEqual([`${'😀'.repeat(1000)}…`, 'short']);
    expect(body.result.structuredContent.cut).toBe(true);
  });

  it('is not marked as cut when it is complete', async () => {
    const { text, body } = await owner.tool('list_dashboards');
    expect([text.includes('CUT'), body.result.structuredContent.cut]).toEqual([false, false]);
  });
});

const serviceAccount = await createAllowedAccount(company, makeAllow('managed-tables:list'));

describe('a caller of /mcp', () => {
  const createKeyAgent = ({ key }: ServiceAccount, secret = key.secret_key) =>
    createAgent(`Bearer ${key.access_key}:${secret}`);

  it('may be a service account with its key and secret, until the key is revoked', async () => {
    const ownAccount = await createAllowedAccount(company, makeAllow('managed-tables:list'));
    for (let callCount = 0; callCount < 3; callCount += 1)
      expect((await createKeyAgent(ownAccount).tool('list_tables')).isError).toBe(false);
    expect(readFailure(await createKeyAgent(ownAccount).tool('list_dashboards')).error).toBe('FORBIDDEN');
    await expectSuccess(
      createSignedCaller(company.apiKey).delete(`/service-accounts/${ownAccount.id}/keys/${ownAccount.keyId}`),
    );
    expect((await createKeyAgent(ownAccount).tool('list_tables')).status).toBe(401);
  });

  it('gets the same 401 for a wrong secret, an unknown key and no credential, with the OAuth metadata’s URL', async () => {
    const knownKeyAnswer = await createKeyAgent(serviceAccount).tool('list_tables');
    expect(knownKeyAnswer.status).toBe(200);
    const { access_key, secret_key } = serviceAccount.key;
    for (const credential of [
      `Bearer ${access_key}:${secret_key.slice(0, -1)}`,
      `Bearer ${access_key}:${secret_key}x`,
      `Bearer ${access_key}:`,
      `Bearer ${access_key}`,
      `Bearer sa_acme_nobody_${'a'.repeat(20)}:${secret_key}`,
      `Basic ${access_key}:${secret_key}`,
      'Bearer x',
      '',
    ]) {
      const { status, headers, body } = await createAgent(credential).tool('list_tables');
      expect([credential, status, body]).toEqual([
        credential,
        401,
        { error: 'UNAUTHORIZED', message: 'The token is missing, invalid or expired.' },
      ]);
      expect(headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource/mcp"${
          credential.startsWith('Bearer') ? ', error="invalid_token"' : ''
        }`,
      );
    }
  });

  it('cannot use its key and secret on any other route', async () => {
    const headers = { authorization: `Bearer ${serviceAccount.key.access_key}:${serviceAccount.key.secret_key}` };
    for (const path of ['/v1/managed-tables', '/v1/auth/me', '/users', '/api/v1/domain-knowledge/concepts'])
      expect((await callApi('GET', path, { headers })).status).toBe(401);
  });

  it('is counted and audited once per call, with the action and the resource of the tool', async () => {
    const id = await createTable(company.as, 'recorded', [makeColumn('name')]);
    const answer = await owner.tool('describe_table', { table_id: id });
    const record = await waitForAuditRecord(company, answer);
    expect(record).toMatchObject({
      principalType: 'user',
      principalId: company.owner.id,
      method: 'POST',
      route: '/mcp',
      action: 'managed-tables:list',
      resourceId: id,
      status: 200,
    });
    const refusedAnswer = await createKeyAgent(serviceAccount).tool('query_rows', { table_id: id });
    expect(await waitForAuditRecord(company, refusedAnswer)).toMatchObject({
      principalType: 'service_account',
      principalId: serviceAccount.id,
      credential: serviceAccount.keyId,
      action: 'managed-tables:data-read',
      resourceId: id,
      status: 403,
    });
    const invalidCall = await owner.tool('query_rows', { tabel: 1 });
    expect(invalidCall.text).toMatch(/table_id.*is required/s);
    expect(await waitForAuditRecord(company, invalidCall)).toMatchObject({
      action: 'managed-tables:data-read',
      status: 422,
    });
    const readRemainingRequests = async () =>
      Number((await owner.tool('list_tables')).headers.get('x-ratelimit-remaining'));
    const first = await readRemainingRequests();
    expect(await readRemainingRequests()).toBe(first - 1);
  });

  it('is refused with 429 over a rate limit', async () => {
    const answer = await callApi('POST', '/mcp', {
      headers: { authorization: `Bearer ${company.token}` },
      json: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      env: { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1' },
    });
    expect(answer.status).toBe(429);
  });
});

describe('/mcp/', () => {
  const sendMessage = (method: string, path: string, headers: Record<string, string> = {}) =>
    callApi(method, path, {
      headers,
      ...(method === 'POST' && { json: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }),
    });

  it.each([
    ['POST', 200],
    ['POST', 401],
    ['GET', 405],
    ['DELETE', 405],
    ['OPTIONS', 204],
  ])('is answered like /mcp: %s %i', async (method, expected) => {
    const headers: Record<string, string> = expected === 401 ? {} : { authorization: `Bearer ${company.token}` };
    const [plain, slashed] = [await sendMessage(method, '/mcp', headers), await sendMessage(method, '/mcp/', headers)];
    const readAnswer = ({ status, body, headers: of }: typeof plain) => [
      status,
      body,
      ...['allow', 'www-authenticate', 'access-control-allow-methods'].map((name) => of.get(name)),
    ];
    expect(slashed.status).toBe(expected);
    expect(readAnswer(slashed)).toEqual(readAnswer(plain));
  });

  it('is audited as /mcp, and no path below it exists', async () => {
    const { headers } = await sendMessage('POST', '/mcp/', { authorization: `Bearer ${company.token}` });
    await vi.waitFor(
      async () => {
        const values = { correlationId: headers.get('x-correlation-id') as string };
        expect(await readRecords('audit', company.id, { values })).toMatchObject([{ route: '/mcp', status: 200 }]);
      },
      { timeout: 15_000, interval: 50 },
    );
    for (const path of ['/mcp//', '/mcp/x', '/health/']) expect((await sendMessage('GET', path)).status).toBe(404);
  });
});

describe('GET /.well-known/oauth-protected-resource', () => {
  it.each(['', '/mcp', '/mcp/'])('names the resource and its authorization server: %j', async (pathSuffix) => {
    const { status, headers, body } = await callApi('GET', `/.well-known/oauth-protected-resource${pathSuffix}?any=1`);
    const resourcePath = pathSuffix.replace(/\/$/, '');
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringMatching(/^application\/json/)]);
    expect(body).toEqual({
      resource: `${BASE_URL}${resourcePath}`,
      resource_name: 'Data Console',
      resource_documentation: `${BASE_URL}/docs`,
      authorization_servers: [BASE_URL],
      scopes_supported: ['*:list', '*:get', '*:read', '*:data-read', 'semantic:list', 'dashboards:get'],
      bearer_methods_supported: ['header'],
    });
  });
});
