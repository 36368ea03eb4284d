import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  env,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { AuditRecord } from '../../src/kernel/audit-record.ts';
import worker from '../support/worker.ts';

const record = (id: string): AuditRecord => ({
  id,
  correlationId: `correlation-${id}`,
  occurredAt: Date.now(),
  companyId: null,
  principalType: 'anonymous',
  principalId: null,
  credential: null,
  method: 'GET',
  route: '/health',
  action: null,
  resourceId: null,
  status: 200,
  ip: null,
  durationMs: 1,
  count: 1,
});

/** Lets the Worker consume a batch. @returns what became of it */
async function deliver(
  queue: string,
  messages: { id: string; body: unknown; attempts?: number }[],
  variables: object = {},
) {
  const batch = createMessageBatch(
    queue,
    messages.map(({ attempts = 1, ...message }) => ({ ...message, timestamp: new Date(), attempts })),
  );
  const outcome = { acked: false, retried: false };
  vi.spyOn(batch, 'ackAll').mockImplementation(() => {
    outcome.acked = true;
  });
  vi.spyOn(batch, 'retryAll').mockImplementation(() => {
    outcome.retried = true;
  });
  const execution = createExecutionContext();
  await worker.queue(batch, { ...env, ...variables }, execution);
  await waitOnExecutionContext(execution);
  return outcome;
}

async function runScheduled(): Promise<void> {
  const execution = createExecutionContext();
  await worker.scheduled(createScheduledController({ scheduledTime: new Date(), cron: '* * * * *' }), env, execution);
  await waitOnExecutionContext(execution);
}

const letters = async () =>
  (await env.AUDIT_DB.prepare('SELECT * FROM dead_letters ORDER BY id').all<Record<string, unknown>>()).results;
const recorded = async (id: string) =>
  (await env.AUDIT_DB.prepare('SELECT * FROM audit_events WHERE id = ?').bind(id).all()).results;

/** What `npm run dead-letters -- replay` writes. */
const askToReplay = (where = '') =>
  env.AUDIT_DB.prepare(`UPDATE dead_letters SET replay_requested_at = ? WHERE replay_requested_at IS NULL ${where}`)
    .bind(Date.now())
    .run();

beforeEach(async () => {
  await env.AUDIT_DB.batch([
    env.AUDIT_DB.prepare('DELETE FROM dead_letters'),
    env.AUDIT_DB.prepare('DELETE FROM audit_events'),
  ]);
});

describe('a message that no consumer could handle', () => {
  it('is kept as it was, once', async () => {
    const message = { id: 'message-1', body: { type: 'upload.load', companyId: 'a', jobId: 'b' }, attempts: 6 };
    await deliver('data-console-jobs-dead', [message]);
    await deliver('data-console-jobs-dead', [message, { ...message, id: 'message-2', body: 'anything' }]);
    expect(await letters()).toEqual([
      {
        id: 'message-1',
        queue: 'data-console-jobs',
        body: JSON.stringify(message.body),
        attempts: 6,
        died_at: expect.any(Number),
        replay_requested_at: null,
        replayed_at: null,
      },
      expect.objectContaining({ id: 'message-2', body: '"anything"' }),
    ]);
  });

  it('is sent again once when an operator asks for it', async () => {
    const kept = record('0'.repeat(24));
    await deliver('data-console-audit-dead', [{ id: 'message-3', body: kept, attempts: 11 }]);
    await runScheduled();
    expect(await recorded(kept.id)).toEqual([]);

    await askToReplay();
    await runScheduled();
    await vi.waitFor(async () => expect(await recorded(kept.id)).toHaveLength(1), { timeout: 15_000, interval: 100 });
    expect(await letters()).toEqual([expect.objectContaining({ replayed_at: expect.any(Number) })]);

    await env.AUDIT_DB.prepare('DELETE FROM audit_events').run();
    await runScheduled();
    await scheduler.wait(2000);
    expect(await recorded(kept.id)).toEqual([]);
  });

  it('is sent again by itself when it is named', async () => {
    const [first, second] = [record('1'.repeat(24)), record('2'.repeat(24))];
    await deliver('data-console-audit-dead', [
      { id: 'message-4', body: first },
      { id: 'message-5', body: second },
    ]);
    await askToReplay("AND id = 'message-5'");
    await runScheduled();
    await vi.waitFor(async () => expect(await recorded(second.id)).toHaveLength(1), { timeout: 15_000, interval: 100 });
    expect(await recorded(first.id)).toEqual([]);
    expect((await letters()).map(({ replayed_at }) => replayed_at !== null)).toEqual([false, true]);
  });
});

describe('dead letters that cannot be sent again', () => {
  it('do not keep the others from being sent, however many they are', async () => {
    const dead = Array.from({ length: 101 }, (_, at) => ({ id: `dead-${at}`, body: 'anything' }));
    await deliver('data-console-nothing-dead', dead);
    await askToReplay();
    const good = record('d'.repeat(24));
    await scheduler.wait(5);
    await deliver('data-console-audit-dead', [{ id: 'good', body: good }]);
    await askToReplay();
    await runScheduled();
    await runScheduled();
    await vi.waitFor(async () => expect(await recorded(good.id)).toHaveLength(1), { timeout: 15_000, interval: 100 });
    expect((await letters()).filter(({ replayed_at }) => replayed_at !== null).map(({ id }) => id)).toEqual(['good']);
  });
});

describe('a batch of audit records', () => {
  it('is kept once, however often it is delivered', async () => {
    const messages = Array.from({ length: 100 }, (_, at) => {
      const id = at.toString(16).padStart(24, 'a');
      return { id, body: record(id) };
    });
    expect(await deliver('data-console-audit', messages)).toEqual({ acked: true, retried: false });
    expect(await deliver('data-console-audit', messages)).toEqual({ acked: true, retried: false });
    const { results } = await env.AUDIT_DB.prepare('SELECT id FROM audit_events').all();
    expect(results).toHaveLength(100);
  });

  it('keeps the valid ones when one is not a record', async () => {
    const good = record('b'.repeat(24));
    const outcome = await deliver('data-console-audit', [
      { id: 'one', body: { id: 'no record' } },
      { id: 'two', body: good },
    ]);
    expect(outcome).toEqual({ acked: true, retried: false });
    expect(await recorded(good.id)).toHaveLength(1);
  });

  it('is tried again while the database is away', async () => {
    const away = {
      AUDIT_DB: {
        withSession: () => ({
          prepare: () => {
            throw new Error('away');
          },
        }),
      },
    };
    const outcome = await deliver('data-console-audit', [{ id: 'one', body: record('c'.repeat(24)) }], away);
    expect(outcome).toEqual({ acked: false, retried: true });
  });
});
