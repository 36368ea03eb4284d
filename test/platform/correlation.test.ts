import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  env,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { jobQueue } from '../../src/platform/job-messages.ts';
import { log, withCorrelationId } from '../../src/platform/log.ts';
import worker from '../support/worker.ts';
import { aCompany } from '../support/worlds.ts';

afterEach(() => vi.restoreAllMocks());

describe('the correlation id', () => {
  it('is on every log line of the work it was set for, and of what that started', async () => {
    const written = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    const later = await withCorrelationId('one', async () => {
      log('at_once');
      return { after: scheduler.wait(10).then(() => log('afterwards')) };
    });
    await withCorrelationId('two', async () => log('meanwhile'));
    await later.after;
    log('outside');
    const lines = written.mock.calls.map(([line]) => JSON.parse(line as string));
    expect(lines.map(({ event, correlation_id }) => [event, correlation_id])).toEqual([
      ['at_once', 'one'],
      ['meanwhile', 'two'],
      ['afterwards', 'one'],
      ['outside', undefined],
    ]);
  });
});

describe('the correlation id of a request', () => {
  it('is on what the consumer of its queue message logs and sends', async () => {
    const { id: companyId } = await aCompany();
    const sent: unknown[] = [];
    const JOBS = { send: async (body: unknown) => sent.push(body) };
    const job = { type: 'upload.analyse' as const, companyId, jobId: '0'.repeat(24) };
    await jobQueue({ ...env, JOBS: JOBS as unknown as Queue }, 'of-the-request').send(job);

    const written = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    const failed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const execution = createExecutionContext();
    const messages = [{ id: 'message-1', timestamp: new Date(), attempts: 1, body: sent[0] }];
    await worker.queue(createMessageBatch('data-console-staging-jobs', messages), env, execution);
    await waitOnExecutionContext(execution);
    const lines = [...written.mock.calls, ...failed.mock.calls].map(([line]) => JSON.parse(line as string));
    expect(lines.map(({ event }) => event)).toContain('job_ran');
    expect(new Set(lines.map(({ correlation_id }) => correlation_id))).toEqual(new Set(['of-the-request']));
  });
});

describe('the scheduled run', () => {
  it('logs a line when it is done', async () => {
    const written = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    const execution = createExecutionContext();
    const scheduledTime = new Date(Date.UTC(2026, 0, 31, 12));
    await worker.scheduled(createScheduledController({ scheduledTime, cron: '* * * * *' }), env, execution);
    await waitOnExecutionContext(execution);
    const lines = written.mock.calls.map(([line]) => JSON.parse(line as string));
    expect(lines.filter(({ event }) => event === 'scheduled_ran')).toMatchObject([
      { correlation_id: `scheduled-${scheduledTime.getTime()}`, scheduled_at: '2026-01-31T12:00:00.000Z' },
    ]);
  });
});
