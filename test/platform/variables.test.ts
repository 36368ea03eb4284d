import { createExecutionContext, createMessageBatch, env, getQueueResult } from 'cloudflare:test';
import { expect, it, vi } from 'vitest';
import background from '../../src/background.ts';
import { newId } from '../../src/kernel/ids.ts';
import { addApiVariables } from '../../src/platform/variables.ts';

/** Creates an environment in which the entrypoint of the API's Worker answers these variables. */
const createApiEnv = (listVariables: () => Promise<Record<string, string>>) =>
  ({ ...env, API_VARIABLES: { all: listVariables } }) as never;

it('the background Worker takes variables from the API, and sees new ones at once', async () => {
  const variables: Record<string, string> = { EMBED_SECRETS_1: 'a' };
  const api = createApiEnv(async () => ({ ...variables }));
  const first = await addApiVariables(api);
  expect(first).toMatchObject({ EMBED_SECRETS_1: 'a', JOBS: env.JOBS });
  // What is kept by environment, such as the parsed configuration, is made once.
  expect(await addApiVariables(api)).toBe(first);
  variables.EMBED_SECRETS_NEXT_2 = 'b';
  expect(await addApiVariables(api)).toMatchObject({ EMBED_SECRETS_1: 'a', EMBED_SECRETS_NEXT_2: 'b' });
  delete variables.EMBED_SECRETS_1;
  expect(await addApiVariables(api)).not.toHaveProperty('EMBED_SECRETS_1');
});

it('queue messages are retried that come while the API cannot be asked for its variables', async () => {
  const errorSpy = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const body = { type: 'upload.load', companyId: newId(0), jobId: newId(0) };
  const batch = createMessageBatch('data-console-jobs', [{ id: '1', timestamp: new Date(), attempts: 1, body }]);
  const execution = createExecutionContext();
  const unavailableApi = createApiEnv(() => Promise.reject(new Error('The API is away.')));
  await background.queue(batch, unavailableApi, execution);
  const { retryBatch, explicitAcks, ackAll } = await getQueueResult(batch, execution);
  expect([retryBatch, explicitAcks, ackAll]).toMatchObject([{ retry: true }, [], false]);
  expect(errorSpy.mock.calls.map(([line]) => JSON.parse(line as string).event)).toEqual(['variables_unknown']);
  errorSpy.mockRestore();
});
