import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  env,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { expect, it, vi } from 'vitest';
import { createJobQueue } from '../../src/platform/job-messages.ts';
import { log, runWithCorrelationId } from '../../src/platform/log.ts';
import { createOwnedCompany } from '../support/companies.ts';
import worker from '../support/worker.ts';

it('the correlation id is on every log line of the work it was set for, and of all work that this work started', async () => {
  const logSpy = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const laterWork = await runWithCorrelationId('one', async () => {
    log('at_once');
    return { after: scheduler.wait(10).then(() => log('afterwards')) };
  });
  await runWithCorrelationId('two', async () => log('meanwhile'));
  await laterWork.after;
  log('outside');
  const lines = logSpy.mock.calls.map(([line]) => JSON.parse(line as string));
  expect(lines.map(({ event, correlation_id }) => [event, correlation_id])).toEqual([
    ['at_once', 'one'],
    ['meanwhile', 'two'],
    ['afterwards', 'one'],
    ['outside', undefined],
  ]);
});

it('the correlation id of a request is in the log lines and messages of the consumer of its queue message', async () => {
  const { id: companyId } = await createOwnedCompany();
  const sentMessages: unknown[] = [];
  const JOBS = { send: async (body: unknown) => sentMessages.push(body) };
  const job = { type: 'upload.analyse' as const, companyId, jobId: '0'.repeat(24) };
  await createJobQueue({ ...env, JOBS: JOBS as unknown as Queue }, 'of-the-request').send(job);

  const logSpy = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const errorSpy = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const execution = createExecutionContext();
  const messages = [{ id: 'message-1', timestamp: new Date(), attempts: 1, body: sentMessages[0] }];
  await worker.queue(createMessageBatch('data-console-staging-jobs', messages), env, execution);
  await waitOnExecutionContext(execution);
  const lines = [...logSpy.mock.calls, ...errorSpy.mock.calls].map(([line]) => JSON.parse(line as string));
  expect(lines.map(({ event }) => event)).toContain('job_ran');
  expect(new Set(lines.map(({ correlation_id }) => correlation_id))).toEqual(new Set(['of-the-request']));
});

it('the scheduled run logs a line when it is done', async () => {
  const logSpy = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const execution = createExecutionContext();
  const scheduledTime = new Date(Date.UTC(2026, 0, 31, 12));
  await worker.scheduled(createScheduledController({ scheduledTime, cron: '* * * * *' }), env, execution);
  await waitOnExecutionContext(execution);
  const lines = logSpy.mock.calls.map(([line]) => JSON.parse(line as string));
  expect(lines.filter(({ event }) => event === 'scheduled_ran')).toMatchObject([
    { correlation_id: `scheduled-${scheduledTime.getTime()}`, scheduled_at: '2026-01-31T12:00:00.000Z' },
  ]);
});
