import { env } from 'cloudflare:test';
import { sql } from 'drizzle-orm';
import { expect, it, vi } from 'vitest';
import { openControlDb } from '../../src/db/client.ts';
import { logError } from '../../src/platform/log.ts';

it('the log of a failed query has its SQL and stack, without bound values', async () => {
  const logSpy = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const secret = 'a secret\nover lines\n    at nowhere';
  const queryError = openControlDb(env.CONTROL_DB).all(sql`select * from no_such_table where a = ${secret}`);
  const error = await queryError.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect((error as Error).message).toContain('a secret');

  logError('something_failed', error, { id: 7 });
  const [line] = logSpy.mock.calls[0] as [string];
  const { event, id, error: loggedError } = JSON.parse(line);
  expect([event, id]).toEqual(['something_failed', 7]);
  expect(loggedError.message).toContain('no_such_table');
  expect(loggedError.stack).toMatch(/\n {4}at /);
  expect(line).not.toMatch(/a secret|over lines|nowhere/);
});

it('the log of an error with attached objects has the names of their fields, without values', () => {
  const logSpy = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  logError('something_failed', new Error('wrong issuer', { cause: { claims: { sub: 'somebody' }, expected: 'x' } }));
  const [line] = logSpy.mock.calls[0] as [string];
  expect(JSON.parse(line).error.cause).toEqual({ name: 'Object', message: 'with claims, expected' });
});
