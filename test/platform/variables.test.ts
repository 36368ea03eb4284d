import { createExecutionContext, createMessageBatch, env, getQueueResult } from 'cloudflare:test';
import { expect, it, vi } from 'vitest';
import background from '../../src/background.ts';
import { newId } from '../../src/kernel/ids.ts';
import { withVariables } from '../../src/platform/variables.ts';

/** The entrypoint of the API's Worker, which answers these variables. */
const apiWith = (all: () => Promise<Record<string, string>>) => ({ ...env, API_VARIABLES: { all } }) as never;

it('the background Worker takes variables from the API, and new ones at once', async () => {
  const variables: Record<string, string> = { EMBED_SECRETS_1: 'a' };
  const api = apiWith(async () => ({ ...variables }));
  const first = await withVariables(api);
  expect(first).toMatchObject({ EMBED_SECRETS_1: 'a', JOBS: env.JOBS });
  // What is kept by environment, such as the parsed configuration, is made once.
  expect(await withVariables(api)).toBe(first);
  variables.EMBED_SECRETS_NEXT_2 = 'b';
  expect(await withVariables(api)).toMatchObject({ EMBED_SECRETS_1: 'a', EMBED_SECRETS_NEXT_2: 'b' });
  delete variables.EMBED_SECRETS_1;
  expect(await withVariables(api)).not.toHaveProperty('EMBED_SECRETS_1');
});

it('queue messages that come while the API cannot be asked for variables are retried', async () => {
  const failed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const body = { type: 'upload.load', companyId: newId(0), jobId: newId(0) };
  const batch = createMessageBatch('data-console-jobs', [{ id: '1', timestamp: new Date(), attempts: 1, body }]);
  const execution = createExecutionContext();
  const away = apiWith(() => Promise.reject(new Error('The API is away.')));
  await background.queue(batch, away, execution);
  const { retryBatch, explicitAcks, ackAll } = await getQueueResult(batch, execution);
  expect([retryBatch, explicitAcks, ackAll]).toMatchObject([{ retry: true }, [], false]);
  expect(failed.mock.calls.map(([line]) => JSON.parse(line as string).event)).toEqual(['variables_unknown']);
  failed.mockRestore();
});
