import { env } from 'cloudflare:test';
import { describe, expect, it, vi } from 'vitest';
import { callApi } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';

const failAsUnavailable = () => Promise.reject(new Error('away'));

/** Creates a bucket that can be set as down, and that counts the calls of `head`. */
function createBucket() {
  const state = { isDown: false, asked: 0 };
  const FILES = {
    head: async () => {
      state.asked += 1;
      if (state.isDown) throw new Error('away');
      return null;
    },
  };
  return { state, env: { ...env, FILES } as unknown as Record<string, string> };
}

describe('/health', () => {
  it('answers ok and the version', async () => {
    const { status, body } = await callApi('GET', '/health');
    expect([status, body]).toEqual([200, { status: 'ok', version: expect.any(String) }]);
  });

  it.each([
    ['control_database', { CONTROL_DB: { withSession: () => ({}), prepare: () => ({ first: failAsUnavailable }) } }],
    [
      'control_database',
      { CONTROL_DB: { withSession: () => ({}), prepare: () => ({ first: () => new Promise(() => {}) }) } },
    ],
    ['files', { FILES: { head: failAsUnavailable } }],
  ])(
    'answers 503 and names the %s when it is down, also in the log, with the request’s id',
    async (part, brokenBindings) => {
      const consoleError = vi.spyOn(console, 'error').mockImplementation(() => undefined);
      const answer = await callApi('GET', '/health', { env: brokenBindings as unknown as Record<string, string> });
      expect([answer.status, answer.body]).toEqual([
        503,
        { status: 'broken', version: expect.any(String), broken: [part] },
      ]);
      const [line] = consoleError.mock.calls[0] as [string];
      const correlation_id = answer.headers.get('x-correlation-id');
      expect(JSON.parse(line)).toMatchObject({ event: 'part_broken', part, correlation_id });
    },
  );

  it('checks its parts once in ten seconds, however often it is requested', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const { state, env: bindings } = createBucket();
    // One environment, as an isolate has it.
    const { default: worker } = await import('../support/worker.ts');
    const { createExecutionContext, waitOnExecutionContext } = await import('cloudflare:test');
    const requestHealth = async () => {
      const executionContext = createExecutionContext();
      const { status } = await worker.fetch(
        new Request('https://api.test/health'),
        bindings as never,
        executionContext,
      );
      await waitOnExecutionContext(executionContext);
      return status;
    };
    state.isDown = true;
    expect([await requestHealth(), await requestHealth(), await requestHealth()]).toEqual([503, 503, 503]);
    expect(state.asked).toBe(1);
    state.isDown = false;
    advanceClock(10_001);
    expect([await requestHealth(), await requestHealth()]).toEqual([200, 200]);
    expect(state.asked).toBe(2);
  });
});
