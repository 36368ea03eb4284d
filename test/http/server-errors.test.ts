import { expect, inject, it, vi } from 'vitest';
import { logError } from '../../src/platform/log.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { type ApiResponse, callApi } from '../support/api.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';

const company = await createProvisionedCompany();

const UNREACHABLE_ENV = { NEON_WS_PROXY: 'ws://127.0.0.1:1/v2' };

/** Sends a request, and returns the error lines that it logged. */
async function collectErrorLines(send: () => Promise<ApiResponse>) {
  const consoleError = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  consoleError.mockClear();
  const answer = await send();
  const texts = consoleError.mock.calls.map(([text]) => text as string);
  return { answer, texts, lines: texts.map((text) => JSON.parse(text)) };
}

it('the log reports a company’s unreachable Postgres once, with the cause and the request id', async () => {
  const tableId = await createTable(company.as, 'out_of_reach', [makeColumn('a')]);
  const { answer, lines, texts } = await collectErrorLines(() =>
    company.as.get(`/v1/managed-tables/${tableId}/data`, { env: UNREACHABLE_ENV }),
  );
  expect(answer.status).toBe(503);
  expect(lines).toMatchObject([
    {
      event: 'request_failed',
      correlation_id: answer.headers.get('x-correlation-id'),
      status: 503,
      method: 'GET',
      route: '/v1/managed-tables/{id}/data',
      company_id: company.id,
      error: { name: 'Failure', reason: 'tenant_sql.unavailable', cause: { message: expect.stringMatching(/./) } },
    },
  ]);
  expect(texts[0]).not.toContain('[object');
});

it('the log has the reason why Neon did not create a database', async () => {
  const { as } = await createOwnedCompany();
  const unavailableEnv = { NEON_API_URL: 'http://127.0.0.1:1/api/v2' };
  const { answer, lines, texts } = await collectErrorLines(() =>
    as.post('/v1/managed-tables/provision', { env: unavailableEnv }),
  );
  expect(answer.status).toBe(503);
  expect(lines).toMatchObject([
    {
      event: 'request_failed',
      status: 503,
      error: {
        reason: 'tenant_sql.provisioning_failed',
        cause: { name: 'NeonProblem', message: expect.stringMatching(/^list projects: no answer/) },
      },
    },
  ]);
  expect(texts[0]).not.toContain(inject('neonApiKey'));
});

it('the log has a line for an answer of 500, and for a 503 that the handler itself returns', async () => {
  const failingDb = {
    prepare: () => {
      throw new Error('D1_ERROR: away');
    },
  };
  const headers = { authorization: `Bearer ${company.token}` };
  const CONTROL_DB = { ...failingDb, withSession: () => failingDb } as unknown as string;
  const unknownError = await collectErrorLines(() => callApi('GET', '/v1/auth/me', { headers, env: { CONTROL_DB } }));
  expect(unknownError.answer.status).toBe(500);
  expect(unknownError.lines).toMatchObject([{ event: 'request_failed', status: 500, route: '/v1/auth/me' }]);
  expect(unknownError.texts[0]).toContain('D1_ERROR: away');

  const healthErrors = await collectErrorLines(() => callApi('GET', '/health', { env: { CONTROL_DB } }));
  expect(healthErrors.answer.status).toBe(503);
  const [cause, line] = healthErrors.lines;
  expect(cause).toMatchObject({ event: 'part_broken', part: 'control_database' });
  expect(line).toMatchObject({ event: 'request_failed', status: 503, route: '/health' });
});

it('the log has no line for a caller’s error (404)', async () => {
  const { answer, lines } = await collectErrorLines(() => company.as.get(`/v1/managed-tables/${'f'.repeat(24)}`));
  expect([answer.status, lines]).toEqual([404, []]);
});

it.each([
  [
    'a value in an error of PostgreSQL',
    Object.assign(new Error('invalid input syntax for type integer: "hidden"'), { code: '22P02', severity: 'ERROR' }),
    'SQLSTATE 22P02',
  ],
  ['the answer of another service', Object.assign(new Error('401 bad key hidden'), { status: 401 }), 'status 401'],
  ['text that is not JSON', new SyntaxError('Unexpected token h, "hidden" is not valid JSON'), 'could not be parsed'],
  [
    'the user and the password of a URL',
    new Error('cannot open wss://owner:hidden@host.test/db'),
    'cannot open wss://…@host.test/db',
  ],
])('the log leaves out %s, however deeply the error is nested', (_what, error, expectedText) => {
  const consoleError = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  logError('something_failed', new Error('outside', { cause: new Error('between', { cause: error }) }));
  const [text] = consoleError.mock.calls[0] as [string];
  expect(JSON.parse(text).error.cause.cause.message).toBe(expectedText);
  expect(text).not.toContain('hidden');
});
