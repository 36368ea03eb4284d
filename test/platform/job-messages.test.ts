import { createExecutionContext, createMessageBatch, env, getQueueResult } from 'cloudflare:test';
import { expect, it, vi } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import { createOwnedCompany } from '../support/companies.ts';
import worker from '../support/worker.ts';

/** Delivers a queue message once. */
async function deliver(queue: string, body: unknown) {
  const messages = [{ id: crypto.randomUUID(), timestamp: new Date(), attempts: 1, body }];
  const batch = createMessageBatch(queue, messages);
  const execution = createExecutionContext();
  await worker.queue(batch, env, execution);
  return await getQueueResult(batch, execution);
}

/** Messages and queues of the previous release: some are still undelivered while the Workers are replaced. */
const LAST_RELEASE_MESSAGES = [
  ['data-console-jobs', { type: 'upload.analyse', jobId: newId(0) }],
  ['data-console-jobs', { type: 'upload.load', jobId: newId(0) }],
  ['data-console-jobs', { type: 'knowledge.recheck', tables: ['orders'], after: '' }],
  ['data-console-jobs', { type: 'knowledge.recheck', tables: [], after: newId(0), tries: 2 }],
  ['data-console-model-jobs', { type: 'knowledge.generate', jobId: newId(0) }],
] as const;

it.each(LAST_RELEASE_MESSAGES)('a message of the last release in %s is handled: %j', async (queue, body) => {
  const { id: companyId } = await createOwnedCompany();
  for (const moreFields of [{}, { correlationId: 'of-the-request' }]) {
    const { explicitAcks, retryMessages } = await deliver(queue, { ...body, companyId, ...moreFields });
    expect([explicitAcks.length, retryMessages]).toEqual([1, []]);
  }
});

it.each([
  ['data-console-jobs', { type: 'upload.new', companyId: newId(0) }, 'job_message_unknown'],
  ['data-console-audit', { id: newId(0), principalType: 'new' }, 'log_record_unknown'],
  ['data-console-share-events', { id: newId(0), type: 'share.new' }, 'log_record_unknown'],
])('a message in %s that only a newer release knows is retried, and not lost', async (queue, body, event) => {
  const errorSpy = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const { explicitAcks, retryMessages } = await deliver(queue, body);
  expect([explicitAcks, retryMessages]).toMatchObject([[], [{ msgId: expect.any(String) }]]);
  expect(errorSpy.mock.calls.map(([line]) => JSON.parse(line as string).event)).toEqual([event]);
  errorSpy.mockRestore();
});
