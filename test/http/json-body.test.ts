import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { type RouteAccess, takesNoBody } from '../../src/http/endpoint.ts';
import type { Credential } from '../../src/http/surface.ts';
import { createDirectory } from '../directory/support.ts';
import { type ApiResponse, type Caller, callApi, createCaller } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { createConsoleGroup } from '../support/console.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';

const company = await createProvisionedCompany();

const JSON_TYPE = { 'content-type': 'application/json' };
const nestArrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const nestObjects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

describe('a JSON body', () => {
  const postAccount = (body: string) =>
    createSignedCaller(company.apiKey).post('/accounts', { headers: JSON_TYPE, body });

  it('may be nested a hundred levels deep', async () => {
    const { status, body } = await postAccount(`{"name":"Deep","metadata":{"deep":${nestArrays(98)}}}`);
    expect([status, JSON.stringify(body.metadata.deep)]).toEqual([201, nestArrays(98)]);
  });

  it.each([
    ['lists', nestArrays(99)],
    ['thousands of lists', nestArrays(5_000)],
    ['hundreds of thousands of lists', nestArrays(200_000)],
    ['thousands of objects', nestObjects(20_000)],
    ['lists that are never closed', '['.repeat(500_000)],
  ])('is refused when it is nested more than 100 levels deep: %s', async (_what, deepJson) => {
    const { status, body } = await postAccount(`{"name":"Too deep","metadata":{"deep":${deepJson}}}`);
    expect([status, body.error, body.message]).toEqual([
      400,
      'BadRequest',
      'The body is nested more than 100 levels deep.',
    ]);
  });

  it.each<[string, () => Promise<ApiResponse>]>([
    [
      'a policy',
      () => company.as.post('/v1/policies', { headers: JSON_TYPE, body: `{"document":${nestArrays(5_000)}}` }),
    ],
    ['a sign-in', () => callApi('POST', '/v1/auth/login', { headers: JSON_TYPE, body: nestArrays(5_000) })],
    ['a table', () => company.as.post('/v1/managed-tables', { headers: JSON_TYPE, body: nestObjects(5_000) })],
    [
      'rows with numbers of many digits',
      () =>
        company.as.post(ROWS_PATH, {
          headers: JSON_TYPE,
          body: `{"rows":[12345678901234567890,${nestArrays(5_000)}]}`,
        }),
    ],
    [
      'a parameter',
      () => company.as.post(EXECUTE_PATH, { headers: JSON_TYPE, body: `{"parameters":${nestArrays(5_000)}}` }),
    ],
  ])('is refused when it is nested too deeply, on every API: %s', async (_what, sendDeepBody) => {
    expect((await sendDeepBody()).status).toBe(400);
  });
});

it.each<
  [string, (requestOptions: { headers: Record<string, string>; body: Uint8Array }) => Promise<ApiResponse>, string]
>([
  [
    'the organization API',
    (requestOptions) => createCaller('operator-token-of-the-tests').post('/admin/organizations', requestOptions),
    '{"name":"Jos\xe9"}',
  ],
  ['a sign-in', (requestOptions) => callApi('POST', '/v1/auth/login', requestOptions), '{"password":"\xe9\xe8"}'],
  ['rows', (requestOptions) => company.as.post(ROWS_PATH, requestOptions), '{"rows":[{"a":"\xe9"}]}'],
  [
    'a directory',
    async (requestOptions) => (await createDirectory(company)).post('/scim/v2/Users', requestOptions),
    '{"a":"\xff"}',
  ],
  [
    'a tool',
    (requestOptions) => company.as.post('/mcp', requestOptions),
    '{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
  ],
])('a JSON body that is no UTF-8 is refused as malformed: %s', async (_what, sendBody, text) => {
  const { status, body } = await sendBody({ headers: JSON_TYPE, body: Buffer.from(text, 'latin1') });
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('JSON')]);
});

describe('a JSON body of many values', () => {
  const postMetadata = async (metadata: string) => {
    const body = `{"name":"x","metadata":${metadata}}`;
    const answer = await createSignedCaller(company.apiKey).post('/accounts', { headers: JSON_TYPE, body });
    return [answer.status, answer.body.message];
  };
  const makeMembers = (count: number) => `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join(',')}}`;
  const TOO_MANY_SIGNS = [400, 'The body has more than 131072 commas and opening brackets.'];

  it.each([
    ['small numbers', `[${'0,'.repeat(131_080)}0]`],
    ['empty lists', `[${'[],'.repeat(65_540)}[]]`],
    ['empty objects', `[${'{},'.repeat(65_540)}{}]`],
  ])('is refused over the limit of commas and brackets: %s', async (_what, values) => {
    expect(await postMetadata(values)).toEqual(TOO_MANY_SIGNS);
  });

  it('is refused with more than 10,000 different member names, but not with many repeated names', async () => {
    expect(await postMetadata(makeMembers(10_001))).toEqual([
      400,
      'The members of the body have more than 10000 different names.',
    ]);
    expect(await postMetadata(makeMembers(9_990))).toEqual([422, expect.anything()]);
    expect(await postMetadata(`[${'{"a":0},'.repeat(12_000)}0]`)).toEqual([422, expect.anything()]);
  });

  it('is answered with at most a hundred of its problems', async () => {
    const columns = Array.from({ length: 1_000 }, () => ({}));
    const { status, body } = await company.as.post('/v1/managed-tables', { json: { display_name: 'x', columns } });
    expect([status, body.details.length]).toEqual([422, 100]);
  });
});

describe('half of a surrogate pair', () => {
  it.each([
    ['a value', '{"name":"half \\ud83d"}', 'name'],
    ['two halves in the wrong order', '{"name":"\\uDE00\\ud83d"}', 'name'],
    ['a nested value', '{"name":"x","metadata":{"a":[1,"\\ud83d"]}}', 'metadata.a.1'],
    ['a member name', '{"name":"x","metadata":{"\\udc00":1}}', 'metadata.\ufffd'],
  ])('is refused in a string, and its field is named: %s', async (_what, body, field) => {
    const { status, body: answer } = await createSignedCaller(company.apiKey).post('/accounts', {
      headers: JSON_TYPE,
      body,
    });
    expect(status).toBe(422);
    expect(JSON.stringify(answer.details)).toContain(JSON.stringify(field));
  });

  it('is accepted together with its other half, and if its backslash is escaped', async () => {
    const body = '{"name":"Emoji","metadata":{"a":"\\ud83d\\ude00","b":"\\\\ud83d"}}';
    const { status, body: answer } = await createSignedCaller(company.apiKey).post('/accounts', {
      headers: JSON_TYPE,
      body,
    });
    expect([status, answer.metadata]).toEqual([201, { a: '😀', b: '\\ud83d' }]);
  });
});

describe('a token whose parts are nested deep', () => {
  const encodeSegment = (json: string) => Buffer.from(json).toString('base64url');
  const deepJson = `{"deep":${nestArrays(5_000)}}`;

  it.each([
    [
      'header',
      `${encodeSegment(`{"alg":"EdDSA","kid":"test-1","deep":${nestArrays(5_000)}}`)}.${encodeSegment('{}')}.AAAA`,
    ],
    ['payload', `${encodeSegment('{"alg":"EdDSA","kid":"test-1"}')}.${encodeSegment(deepJson)}.AAAA`],
    [
      'header with a symmetric algorithm',
      `${encodeSegment(`{"alg":"HS256","deep":${nestArrays(5_000)}}`)}.${encodeSegment(deepJson)}.AAAA`,
    ],
  ])('is refused, whichever part is nested: the %s', async (_what, token) => {
    const headers = { authorization: `Bearer ${token}` };
    const json = { company_slug: company.slug, social_token: token };
    expect((await callApi('GET', '/v1/auth/me', { headers })).status).toBe(401);
    expect((await callApi('GET', '/api/v1/share-portal/contexts', { headers })).status).toBe(401);
    expect((await callApi('GET', `/api/embed/d/${token}/info`)).status).toBeLessThan(500);
    expect((await callApi('POST', '/v1/auth/social', { json })).status).toBeLessThan(500);
    expect((await callApi('POST', '/v1/auth/refresh', { json: { refresh_token: token } })).status).toBeLessThan(500);
  });
});

const UNKNOWN_ID = 'f'.repeat(24);
const ROWS_PATH = `/v1/managed-tables/${UNKNOWN_ID}/data`;
const EXECUTE_PATH = `/v1/dashboards/${UNKNOWN_ID}/execute`;

/** Every route whose body may be omitted, according to its schema. */
const OPTIONAL_BODY_ROUTES = SURFACES.flatMap(({ surface, endpoints }) =>
  endpoints.flatMap(({ contract }) =>
    contract.body?.safeParse({}).success
      ? [[`${contract.method.toUpperCase()} ${contract.path}`, surface, contract] as const]
      : [],
  ),
);

it('the name of a field is shortened in the answer that refuses its text', async () => {
  const body = `{"${'x'.repeat(5000)}":"\\ud800"}`;
  const answer = await company.as.post('/v1/groups', { headers: JSON_TYPE, body });
  expect(answer.status).toBe(422);
  expect(JSON.stringify(answer.body).length).toBeLessThan(2000);
});

describe('a body all of whose members are optional', () => {
  // The request may be refused for another reason, but not for its body.
  const expectBodyAccepted = ({ status, body }: ApiResponse) => {
    expect(JSON.stringify(body)).not.toMatch(/JSON/);
    expect(status).toBeLessThan(500);
  };

  it('is defined by routes such as the acceptance of a suggestion', () => {
    expect(OPTIONAL_BODY_ROUTES.map(([route]) => route)).toContain(
      'POST /api/v1/domain-knowledge/suggestions/{id}/accept',
    );
  });

  it.each(OPTIONAL_BODY_ROUTES)('may be left out: %s', async (_route, surface, { method, path }) => {
    const caller: Caller = surface.credential === 'signature' ? createSignedCaller(company.apiKey) : company.as;
    expectBodyAccepted(await caller[method](path.replaceAll(/\{\w+\}/g, UNKNOWN_ID)));
  });

  it.each([
    ['as fetch sends it', {}],
    ['with a type', JSON_TYPE],
    ['with a type of text', { 'content-type': 'text/plain' }],
  ])('may be left out by a length of 0: %s', async (_what, headers) => {
    const path = `/api/v1/domain-knowledge/suggestions/${UNKNOWN_ID}/accept`;
    expectBodyAccepted(await company.as.post(path, { headers: { 'content-length': '0', ...headers }, body: '' }));
  });
});

/** Every route that has no body. */
const BODILESS_ROUTES = SURFACES.flatMap(({ surface, endpoints }) =>
  endpoints.flatMap(({ contract }) =>
    takesNoBody(contract) ? [[`${contract.method.toUpperCase()} ${contract.path}`, surface, contract] as const] : [],
  ),
);

const directory = await createDirectory(company);

describe('JSON that is sent to a route without a body', () => {
  const chooseCaller = (credential: Credential, access: RouteAccess): Caller =>
    access === 'operator'
      ? createCaller(env.PLATFORM_ADMIN_TOKEN)
      : credential === 'signature'
        ? createSignedCaller(company.apiKey)
        : credential === 'directory'
          ? directory
          : company.as;

  it('is checked by every such route except sign-outs, pages and protocols that others define', () => {
    const exemptRoutes = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract)).filter(
      (contract) =>
        !(contract.method === 'get' || contract.body || contract.form || contract.raw) && !takesNoBody(contract),
    );
    expect(exemptRoutes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      'delete /v1/managed-tables/uploads/{uploadId}',
      'post /api/v1/share-auth/logout',
      'post /mail-consent/{token}',
      'post /unsubscribe/{token}',
      'post /v1/auth/logout',
      'post /v1/auth/sso/{company_slug}/callback',
    ]);
  });

  it.each(BODILESS_ROUTES)('is refused if it is malformed: %s', async (_route, surface, contract) => {
    const { method, path, access, query } = contract;
    const email = query?.safeParse({}).success === false ? '?email=nobody@x.test' : '';
    const caller = chooseCaller(contract.credential ?? surface.credential, access);
    const malformedRequest = { headers: JSON_TYPE, body: '{"x":' };
    const { status, body } = await caller[method](path.replaceAll(/\{\w+\}/g, UNKNOWN_ID) + email, malformedRequest);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain('JSON');
  });

  it.each([
    'POST /v1/company/exports',
    'POST /v1/managed-tables/provision',
    'POST /api/v1/embed/signing-keys',
    'DELETE /v1/auth/sso/config',
  ])('is refused with the names of its members: %s', async (route) => {
    const [method, path = ''] = route.split(' ');
    const sendRequest = company.as[method?.toLowerCase() as 'post' | 'delete'];
    const { status, body } = await sendRequest(path, { json: { x: 1 } });
    expect([status, JSON.stringify(body.details ?? body)]).toEqual([422, expect.stringContaining('"field":"x"')]);
    expect((await sendRequest(path, { json: [] })).status).toBe(422);
  });

  it('is accepted if it has no member, or is the record that was read', async () => {
    const { _id } = await createConsoleGroup(company);
    const path = `/v1/groups/${_id}`;
    const readRecord = await expectSuccess(company.as.get(path));
    expect((await callApi('DELETE', path, { json: { x: 1 } })).status).toBe(401);
    expect((await company.as.delete(`/v1/groups/${UNKNOWN_ID}`, { json: { x: 1 } })).status).toBe(404);
    expect((await company.as.delete(path, { json: { ...readRecord, x: 1 } })).body.details).toEqual([
      { field: 'x', reason: 'unknown', message: 'is not a field of this request' },
    ]);
    expect((await company.as.delete(path, { json: readRecord })).status).toBe(204);
    for (const requestOptions of [{ json: {} }, { headers: JSON_TYPE, body: '' }, {}]) {
      expect((await company.as.post('/v1/managed-tables/provision', requestOptions)).status).toBeLessThan(300);
    }
  });

  it('is refused if it is too large, or nested too deeply', async () => {
    const postExport = (body: string) => company.as.post('/v1/company/exports', { headers: JSON_TYPE, body });
    expect((await postExport(`{"x":"${'x'.repeat(1024 * 1024)}"}`)).status).toBe(413);
    expect((await postExport(nestArrays(101))).status).toBe(400);
  });
});

describe('a body with a member that is required', () => {
  it.each([
    ['no body', {}],
    ['a length of 0', { headers: { 'content-length': '0' }, body: '' }],
  ])('is refused with the names of its missing members: %s', async (_what, requestOptions) => {
    const { status, body } = await company.as.post('/v1/groups', requestOptions);
    expect([status, body.error]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.details).toContainEqual({ field: 'name', reason: 'required', message: 'is required' });
  });
});
