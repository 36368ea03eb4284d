import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  env,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { deleteObjects } from '../../src/platform/stored-files.ts';
import { advanceClock } from '../support/clock.ts';
import { makeAuditRecord, readRecords } from '../support/log.ts';
import worker from '../support/worker.ts';

const record = (id: string) => makeAuditRecord({ id, correlationId: `correlation-${id}` });

/** Has the Worker consume a batch. @returns the numbers of acknowledged and retried messages */
async function deliverBatch(
  queue: string,
  messages: { id: string; body: unknown; attempts?: number }[],
  variables: object = {},
) {
  const batch = createMessageBatch(
    queue,
    messages.map(({ attempts = 1, ...message }) => ({ ...message, timestamp: new Date(1769860800000), attempts })),
  );
  const outcome = { acked: 0, retried: 0 };
  for (const message of batch.messages) {
    vi.spyOn(message, 'ack').mockImplementation(() => {
      outcome.acked += 1;
    });
    vi.spyOn(message, 'retry').mockImplementation(() => {
      outcome.retried += 1;
    });
  }
  const executionContext = createExecutionContext();
  await worker.queue(batch, { ...env, ...variables }, executionContext);
  await waitOnExecutionContext(executionContext);
  return outcome;
}

async function runScheduled(variables: object = {}): Promise<void> {
  const executionContext = createExecutionContext();
  const controller = createScheduledController({ scheduledTime: new Date(), cron: '* * * * *' });
  await worker.scheduled(controller, { ...env, ...variables }, executionContext);
  await waitOnExecutionContext(executionContext);
}

const listKeys = async (prefix: string): Promise<string[]> =>
  (await env.FILES.list({ prefix })).objects.map(({ key }) => key);

/** Lists the dead letters in a folder, ordered by the ids of their messages. */
async function listLetters(folder = 'dead-letters/'): Promise<Record<string, unknown>[]> {
  const pendingLetters = (await listKeys(folder)).map(async (key) =>
    (await env.FILES.get(key))?.json<Record<string, unknown>>(),
  );
  return (await Promise.all(pendingLetters))
    .map((letter) => letter ?? {})
    .sort((a, b) => String(a.id).localeCompare(String(b.id)));
}
const listReplayed = () => listLetters('dead-letters-sent/');
const listAuditRecords = async (id: string) => (await readRecords('audit')).filter((record) => record.id === id);

/** Marks dead letters for another delivery, as `npm run dead-letters -- replay` does. */
async function requestReplay(id = ''): Promise<void> {
  for (const key of await listKeys('dead-letters/')) {
    const text = await (await env.FILES.get(key))?.text();
    if (key.includes(id)) await env.FILES.put(key.replace('dead-letters/', 'dead-letters-wanted/'), text ?? '');
  }
}

beforeEach(async () => {
  await deleteObjects(env.FILES, await listKeys('dead-letters'));
});

describe('a dead letter (a queue message that no consumer could handle)', () => {
  it('is stored unchanged and once, even if it is delivered twice', async () => {
    const message = { id: 'message-1', body: { type: 'upload.load', companyId: 'a', jobId: 'b' }, attempts: 6 };
    await deliverBatch('data-console-jobs-dead', [message]);
    await deliverBatch('data-console-jobs-dead', [message, { ...message, id: 'message-2', body: 'anything' }]);
    expect(await listLetters()).toEqual([
      {
        id: 'message-1',
        queue: 'data-console-jobs',
        body: message.body,
        attempts: 6,
        sentAt: 1769860800000,
        diedAt: expect.any(Number),
      },
      expect.objectContaining({ id: 'message-2', body: 'anything' }),
    ]);
    expect(await listKeys('dead-letters/')).toContain('dead-letters/data-console-jobs/1769860800000-message-1.json');
  });

  it('is sent again once when an operator requests it', async () => {
    const auditRecord = record('0'.repeat(24));
    await deliverBatch('data-console-audit-dead', [{ id: 'message-3', body: auditRecord, attempts: 11 }]);
    await runScheduled();
    expect(await listAuditRecords(auditRecord.id)).toEqual([]);

    await requestReplay();
    await runScheduled();
    await vi.waitFor(async () => expect(await listAuditRecords(auditRecord.id)).toHaveLength(1), {
      timeout: 15_000,
      interval: 100,
    });
    expect(await listLetters()).toEqual([]);
    expect(await listReplayed()).toEqual([
      expect.objectContaining({ id: 'message-3', replayedAt: expect.any(Number) }),
    ]);

    const sendSpy = vi.spyOn(env.AUDIT, 'send');
    await runScheduled();
    expect(sendSpy).not.toHaveBeenCalled();
  });

  it('is sent again alone when an operator names it', async () => {
    const [first, second] = [record('1'.repeat(24)), record('2'.repeat(24))];
    await deliverBatch('data-console-audit-dead', [
      { id: 'message-4', body: first },
      { id: 'message-5', body: second },
    ]);
    await requestReplay('message-5');
    await runScheduled();
    await vi.waitFor(async () => expect(await listAuditRecords(second.id)).toHaveLength(1), {
      timeout: 15_000,
      interval: 100,
    });
    expect(await listAuditRecords(first.id)).toEqual([]);
    expect((await listLetters()).map(({ id }) => id)).toEqual(['message-4']);
    expect((await listReplayed()).map(({ id }) => id)).toEqual(['message-5']);
  });
});

it('dead letters whose queue is unknown do not prevent other dead letters from being sent again, however many there are', async () => {
  const unknownLetters = Array.from({ length: 101 }, (_, at) => ({ id: `dead-${at}`, body: 'anything' }));
  await deliverBatch('data-console-nothing-dead', unknownLetters);
  await requestReplay();
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const validRecord = record('d'.repeat(24));
  // Behind all of them.
  await deliverBatch('data-console-share-events-dead', [{ id: 'another', body: 'anything' }]);
  await deliverBatch('data-console-audit-dead', [{ id: 'good', body: validRecord }]);
  await requestReplay();
  await runScheduled();
  await runScheduled();
  await vi.waitFor(async () => expect(await listAuditRecords(validRecord.id)).toHaveLength(1), {
    timeout: 15_000,
    interval: 100,
  });
  expect((await listReplayed()).map(({ id }) => id)).toContain('good');
  expect(await listLetters()).toHaveLength(101);
});

describe('dead letters that were sent again', () => {
  it('are looked for each minute, without an error when there are none', async () => {
    const consoleError = vi.spyOn(console, 'error');
    await runScheduled();
    expect(consoleError.mock.calls).toEqual([]);
  });

  it('are deleted after a month, unlike dead letters that were not sent again', async () => {
    await deliverBatch('data-console-nothing-dead', [{ id: 'stays', body: 'anything' }]);
    await env.FILES.put('dead-letters-sent/data-console-jobs/1-x.json', '{}');
    advanceClock(29 * DAY_MS);
    await runScheduled();
    expect(await listReplayed()).toHaveLength(1);
    advanceClock(31 * DAY_MS);
    await runScheduled();
    expect(await listReplayed()).toEqual([]);
    expect(await listLetters()).toHaveLength(1);
  });

  it('are deleted on every page of the object listing', async () => {
    for (const queue of ['a', 'b', 'c']) await env.FILES.put(`dead-letters-sent/${queue}/1-x.json`, '{}');
    advanceClock(31 * DAY_MS);
    const FILES = Object.assign(Object.create(env.FILES), {
      list: (options: R2ListOptions) => env.FILES.list({ ...options, limit: 1 }),
      get: env.FILES.get.bind(env.FILES),
      put: env.FILES.put.bind(env.FILES),
      delete: env.FILES.delete.bind(env.FILES),
    });
    await runScheduled({ FILES });
    expect(await listReplayed()).toEqual([]);
  });
});

describe('a batch of audit records from the queue', () => {
  it('is stored once, however often it is delivered', async () => {
    const messages = Array.from({ length: 100 }, (_, at) => {
      const id = at.toString(16).padStart(24, 'a');
      return { id, body: record(id) };
    });
    expect(await deliverBatch('data-console-audit', messages)).toEqual({ acked: 100, retried: 0 });
    expect(await deliverBatch('data-console-audit', messages.toReversed())).toEqual({ acked: 100, retried: 0 });
    const ids = (await readRecords('audit')).map(({ id }) => id).filter((id) => id.startsWith('aaaa'));
    expect(new Set(ids).size).toBe(100);
    expect(ids).toHaveLength(100);
  });

  it('stores valid records, and retries a record that only a newer version may know', async () => {
    const validRecord = record('b'.repeat(24));
    const outcome = await deliverBatch('data-console-audit', [
      { id: 'one', body: { id: 'no record' } },
      { id: 'two', body: validRecord },
    ]);
    expect(outcome).toEqual({ acked: 1, retried: 1 });
    expect(await listAuditRecords(validRecord.id)).toHaveLength(1);
  });

  it('is stored in the logs that are available, and retried for a log that is down', async () => {
    const isUnavailable = (name: string) => name === 'away';
    const COMPANY_LOG = {
      getByName: (name: string) =>
        isUnavailable(name) ? { appendAll: failAsUnavailable } : env.COMPANY_LOG.getByName(name),
    };
    const outcome = await deliverBatch(
      'data-console-audit',
      [
        { id: 'one', body: { ...record('c'.repeat(24)), companyId: 'away' } },
        { id: 'two', body: { ...record('d'.repeat(24)), companyId: 'there' } },
      ],
      { COMPANY_LOG },
    );
    expect(outcome).toEqual({ acked: 1, retried: 1 });
    expect(await readRecords('audit', 'there')).toHaveLength(1);
  });
});

const failAsUnavailable = () => Promise.reject(new Error('away'));
