import { DurableObject } from 'cloudflare:workers';
import { clock, MINUTE_MS } from '../kernel/clock.ts';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';
import { newId } from '../kernel/ids.ts';
import { toNetwork } from '../kernel/networks.ts';
import type { AuditRecord } from '../logs/audit-record.ts';
import { logError } from '../platform/log.ts';

const WINDOW_MS = 1000;

/** The storage key of the current minute's record of requests without a company. */
const COMPANYLESS_KEY = 'strangers';

export const formatLimiterName = (ip: string | null): string => (ip === null ? 'unknown' : toNetwork(ip));

/** Counts the requests of one IP address (an IPv6 address stands for its /64) in windows of a second. */
export class IpLimiter extends DurableObject<{ AUDIT: Queue }> {
  readonly #windows = new FixedWindows(WINDOW_MS);

  /** Counts one request, or one preflight separately. `limit` is the maximum per second. */
  take(limit: number, requestKind: 'request' | 'preflight' = 'request'): LimitState {
    return this.#windows.countRequest(requestKind, limit, clock.now());
  }

  /**
   * Counts a request that belongs to no company. The first such request of a minute represents all of them in the audit trail.
   */
  async countStranger(record: AuditRecord): Promise<void> {
    const { storage } = this.ctx;
    const storedRecord = await storage.get<AuditRecord>(COMPANYLESS_KEY);
    if (storedRecord) return storage.put(COMPANYLESS_KEY, { ...storedRecord, count: storedRecord.count + 1 });
    await storage.put(COMPANYLESS_KEY, { ...record, ip: record.ip && toNetwork(record.ip) });
    await storage.setAlarm(Date.now() + MINUTE_MS);
  }

  /** Sends the record of the ended minute to the audit queue. */
  override async alarm(): Promise<void> {
    const { storage } = this.ctx;
    const minuteRecord = await storage.get<AuditRecord>(COMPANYLESS_KEY);
    if (!minuteRecord) return;
    try {
      await this.env.AUDIT.send(minuteRecord);
    } catch (error) {
      // The platform repeats a failed alarm only a few times: this one is set until the queue takes the record.
      logError('strangers_not_queued', error);
      return storage.setAlarm(Date.now() + MINUTE_MS);
    }
    const { count, ...record } = (await storage.get<AuditRecord>(COMPANYLESS_KEY)) ?? minuteRecord;
    if (count === minuteRecord.count) return storage.deleteAll();
    // Requests that were counted during the sending belong to the next minute.
    const now = Date.now();
    await storage.put(COMPANYLESS_KEY, {
      ...record,
      id: newId(now),
      occurredAt: now,
      count: count - minuteRecord.count,
    });
    await storage.setAlarm(now + MINUTE_MS);
  }
}
