import { describe, expect, it } from 'vitest';
import { callApi, type RequestOptions } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createSignedCaller } from '../support/signed.ts';

/** An unknown path of each API, with the error that the API responds with. */
const UNKNOWN_PATHS = [
  ['/nothing', { error: 'NotFound', message: expect.any(String), details: { field: null, reason: 'unknown_route' } }],
  ['/v1/nothing', { error: 'NOT_FOUND', message: expect.any(String) }],
  [
    '/v1/managed-tables/a/b/c/d',
    { error: 'Rota não encontrada.', error_code: 'NOT_FOUND', message: 'Rota não encontrada.' },
  ],
  ['/api/v1/nothing', { error_code: 'NOT_FOUND', message: expect.any(String) }],
  ['/api/v1/domain-knowledge/nothing', { error: 'NOT_FOUND', message: expect.any(String) }],
  ['/v1/managed-tablesx', { error: 'NOT_FOUND', message: expect.any(String) }],
] as const;

describe('a request for an unknown path or method', () => {
  it.each(UNKNOWN_PATHS)('%s is answered 404 with the error format of its API', async (path, body) => {
    const answer = await callApi('GET', path);
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual(body);
    expect(answer.headers.get('x-correlation-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('is answered 405 with the methods that the path has', async () => {
    const { status, headers, body } = await callApi('DELETE', '/v1/auth/login');
    expect([status, body.error, body.details]).toEqual([405, 'METHOD_NOT_ALLOWED', { allowed: ['POST'] }]);
    expect(headers.get('allow')).toBe('POST');
    expect((await callApi('PUT', '/accounts')).headers.get('allow')).toBe('GET, POST');
  });

  it.each([
    ['DELETE', '/accounts', 'MethodNotAllowed'],
    ['PATCH', '/v1/users', 'METHOD_NOT_ALLOWED'],
    ['PATCH', '/v1/managed-tables', 'METHOD_NOT_ALLOWED'],
    ['PATCH', '/api/v1/share-contexts', 'METHOD_NOT_ALLOWED'],
    ['PATCH', '/api/v1/domain-knowledge/concepts', 'METHOD_NOT_ALLOWED'],
    ['PATCH', '/mcp', 'METHOD_NOT_ALLOWED'],
  ])('%s %s is answered 405 with the error code %s of its API', async (method, path, code) => {
    const { status, body } = await callApi(method, path);
    expect([status, body.error_code ?? body.error]).toEqual([405, code]);
  });

  it.each([
    ['GET', '/oauth/token', 'POST'],
    ['POST', '/oauth/authorize', 'GET'],
    ['PUT', '/oauth/register', 'POST'],
    ['POST', '/oauth/device', 'GET'],
    ['DELETE', '/.well-known/oauth-authorization-server', 'GET'],
    ['POST', '/.well-known/oauth-protected-resource', 'GET'],
  ])('%s %s is answered 405, because OAuth has only %s there', async (method, path, allowedMethods) => {
    const { status, headers, body } = await callApi(method, path);
    expect([status, body.error, headers.get('allow')]).toEqual([405, 'method_not_allowed', allowedMethods]);
  });
});

describe('a request body', () => {
  const postLogin = (requestOptions: RequestOptions) => callApi('POST', '/v1/auth/login', requestOptions);
  const json = { 'content-type': 'application/json' };

  it.each(['{', '', ' ', '{"a":1}}', 'null x', '\u0000'])('is refused when it is not JSON: %j', async (body) => {
    const answer = await postLogin({ headers: json, body });
    expect([answer.status, answer.body.error]).toEqual([400, 'INVALID_JSON']);
  });

  it.each(['null', '[]', '7', '"text"'])('is invalid when it is JSON but not an object: %s', async (body) => {
    const answer = await postLogin({ headers: json, body });
    expect([answer.status, answer.body.error]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('is refused with a content type other than JSON', async () => {
    const answer = await postLogin({ headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=b' });
    expect([answer.status, answer.body.error]).toEqual([400, 'BAD_REQUEST']);
  });

  it('is refused over a mebibyte, with and without a Content-Length', async () => {
    const text = JSON.stringify({ company_slug: 'a'.repeat(1024 * 1024) });
    const answerWithLength = await postLogin({ headers: json, body: text });
    expect([answerWithLength.status, answerWithLength.body.error]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const answerWithoutLength = await postLogin({ headers: json, body: new Blob([text]).stream() });
    expect([answerWithoutLength.status, answerWithoutLength.body.error]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  it('over a mebibyte counts against the limit of its address on the organization API', async () => {
    const sendLargeBody = () =>
      callApi('POST', '/accounts', {
        headers: { ...json, 'cf-connecting-ip': '203.0.113.81' },
        body: 'x'.repeat(1024 * 1024 + 1),
        env: { RATE_LIMIT_IP_PER_SECOND: '2' },
      });
    const answers = [await sendLargeBody(), await sendLargeBody(), await sendLargeBody()];
    expect(answers.map(({ status, headers }) => [status, headers.get('x-ratelimit-remaining')])).toEqual([
      [413, '1'],
      [413, '0'],
      [429, '0'],
    ]);
  });

  it('that is not JSON is refused with the code BadRequest on the organization API', async () => {
    const answer = await callApi('POST', '/admin/organizations', {
      headers: { ...json, authorization: 'Bearer operator-token-of-the-tests' },
      body: '{',
    });
    expect([answer.status, answer.body]).toEqual([
      400,
      { error: 'BadRequest', message: expect.any(String), details: { field: null, reason: 'malformed_json' } },
    ]);
  });

  it('that is not JSON is refused in Portuguese on managed tables', async () => {
    const { token } = await createOwnedCompany();
    const answer = await callApi('POST', '/v1/managed-tables', {
      headers: { ...json, authorization: `Bearer ${token}` },
      body: '{',
    });
    const error = 'O corpo da requisição não é um JSON válido.';
    expect([answer.status, answer.body]).toEqual([400, { error, error_code: 'INVALID_JSON', message: error }]);
  });
});

it.each(['a\u0000b', 'a\r\nBcc: b@c.test', '\u001b[31mred'])(
  'the name of a group is refused with control characters: %j',
  async (name) => {
    const { apiKey } = await createOwnedCompany();
    const { status, body } = await createSignedCaller(apiKey).post('/groups', { json: { name } });
    expect([status, body.details]).toEqual([
      422,
      [{ field: 'name', reason: 'format', message: 'must hold no control characters' }],
    ]);
    expect((await createSignedCaller(apiKey).post('/groups', { json: { name: 'Ação e reação 🙂' } })).status).toBe(201);
  },
);

it('the correlation id is made by the API, whatever the caller sends', async () => {
  const { headers } = await callApi('GET', '/health', { headers: { 'x-correlation-id': 'mine' } });
  expect(headers.get('x-correlation-id')).toMatch(/^[0-9a-f-]{36}$/);
});
