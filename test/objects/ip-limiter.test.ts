import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/logs/audit-record.ts';
import type { IpLimiter } from '../../src/objects/ip-limiter.ts';
import { makeAuditRecord } from '../support/log.ts';

const createRecord = (id: string): AuditRecord => makeAuditRecord({ id, occurredAt: 1, ip: '203.0.113.9' });

let limiterCount = 0;
/**
 * Runs `work` with a new limiter whose queue keeps the records sent. @param runDuringSending runs while a record is being sent to the
 * queue
 */
function runInLimiter(
  work: (limiter: IpLimiter, sentRecords: AuditRecord[], storage: DurableObjectStorage) => Promise<void>,
  runDuringSending: (limiter: IpLimiter) => Promise<void> = async () => {},
): Promise<void> {
  const stub = env.IP_LIMITER.getByName(`strangers-${++limiterCount}`) as DurableObjectStub<IpLimiter>;
  return runInDurableObject(stub, async (limiter: IpLimiter, { storage }) => {
    const sentRecords: AuditRecord[] = [];
    const send = async (record: AuditRecord) => {
      sentRecords.push(record);
      await runDuringSending(limiter);
    };
    Object.assign(limiter, { env: { AUDIT: { send } } });
    await work(limiter, sentRecords, storage);
  });
}

describe('the audit record of unauthenticated requests from an IP address', () => {
  it('counts all requests of its minute, and is sent once', () =>
    runInLimiter(async (limiter, sentRecords, storage) => {
      for (const id of ['first', 'second', 'third']) await limiter.countStranger(createRecord(id));
      const endsAt = await storage.getAlarm();
      expect(endsAt).toBeGreaterThan(Date.now() + 50_000);
      await limiter.alarm();
      expect(sentRecords).toMatchObject([{ id: 'first', count: 3 }]);
      await limiter.alarm();
      expect(sentRecords).toHaveLength(1);
      expect((await storage.list()).size).toBe(0);
    }));

  it('leaves requests that come while it is being sent to the record of the next minute', () =>
    runInLimiter(
      async (limiter, sentRecords, storage) => {
        await limiter.countStranger(createRecord('first'));
        await limiter.alarm();
        expect(sentRecords).toMatchObject([{ id: 'first', count: 1 }]);
        expect(await storage.getAlarm()).toBeGreaterThan(Date.now() + 50_000);
        await limiter.alarm();
        expect(sentRecords).toMatchObject([{ count: 1 }, { count: 2 }]);
        expect(sentRecords[1]?.id).not.toBe('first');
      },
      async (limiter) => {
        await limiter.countStranger(createRecord('second'));
        await limiter.countStranger(createRecord('third'));
      },
    ));
});
