import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/logs/audit-record.ts';
import type { IpLimiter } from '../../src/objects/ip-limiter.ts';
import { makeAuditRecord } from '../support/log.ts';

const recordOf = (id: string): AuditRecord => makeAuditRecord({ id, occurredAt: 1, ip: '203.0.113.9' });

let limiters = 0;
/**
 * Works within a limiter of nobody's whose queue keeps what it is sent.
 * @param whileSent runs while a record is on its way to the queue
 */
function inLimiter(
  work: (limiter: IpLimiter, sent: AuditRecord[], storage: DurableObjectStorage) => Promise<void>,
  whileSent: (limiter: IpLimiter) => Promise<void> = async () => {},
): Promise<void> {
  limiters += 1;
  const stub = env.IP_LIMITER.getByName(`strangers-${limiters}`) as DurableObjectStub<IpLimiter>;
  return runInDurableObject(stub, async (limiter: IpLimiter, { storage }) => {
    const sent: AuditRecord[] = [];
    const send = async (record: AuditRecord) => {
      sent.push(record);
      await whileSent(limiter);
    };
    Object.assign(limiter, { env: { AUDIT: { send } } });
    await work(limiter, sent, storage);
  });
}

describe('the audit record of unauthenticated requests from an IP address', () => {
  it('counts all of its minute, and is sent once', () =>
    inLimiter(async (limiter, sent, storage) => {
      for (const id of ['first', 'second', 'third']) await limiter.countStranger(recordOf(id));
      const endsAt = await storage.getAlarm();
      expect(endsAt).toBeGreaterThan(Date.now() + 50_000);
      await limiter.alarm();
      expect(sent).toMatchObject([{ id: 'first', count: 3 }]);
      await limiter.alarm();
      expect(sent).toHaveLength(1);
      expect((await storage.list()).size).toBe(0);
    }));

  it('leaves requests that come while it is sent to the record of the next minute', () =>
    inLimiter(
      async (limiter, sent, storage) => {
        await limiter.countStranger(recordOf('first'));
        await limiter.alarm();
        expect(sent).toMatchObject([{ id: 'first', count: 1 }]);
        expect(await storage.getAlarm()).toBeGreaterThan(Date.now() + 50_000);
        await limiter.alarm();
        expect(sent).toMatchObject([{ count: 1 }, { count: 2 }]);
        expect(sent[1]?.id).not.toBe('first');
      },
      async (limiter) => {
        await limiter.countStranger(recordOf('second'));
        await limiter.countStranger(recordOf('third'));
      },
    ));
});
