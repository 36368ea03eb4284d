import { DurableObject } from 'cloudflare:workers';
import type { AuditRecord } from '../kernel/audit-record.ts';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';
import { newId } from '../kernel/ids.ts';
import { networkOf } from '../kernel/networks.ts';

const WINDOW_MS = 1000;
const MINUTE_MS = 60_000;

/** Where the record of this minute's strangers is kept. */
const STRANGERS = 'strangers';

/** The name of the limiter of an address. */
export const limiterOf = (ip: string | null): string => (ip === null ? 'unknown' : networkOf(ip));

/** One per caller's address (an IPv6 one stands for its /64): counts its requests in windows of a second. */
export class IpLimiter extends DurableObject<{ AUDIT: Queue }> {
  readonly #windows = new FixedWindows(WINDOW_MS);

  /** Counts one request. `limit` is requests per second. */
  take(limit: number): LimitState {
    return this.#windows.take('ip', limit, Date.now());
  }

  /** Counts a request that belongs to no company. The first of a minute stands for all of them in the audit trail. */
  async countStranger(record: AuditRecord): Promise<void> {
    const { storage } = this.ctx;
    const first = await storage.get<AuditRecord>(STRANGERS);
    if (first) return storage.put(STRANGERS, { ...first, count: first.count + 1 });
    await storage.put(STRANGERS, { ...record, ip: record.ip && networkOf(record.ip) });
    await storage.setAlarm(Date.now() + MINUTE_MS);
  }

  /** The minute is over: its record goes where all go. */
  override async alarm(): Promise<void> {
    const { storage } = this.ctx;
    const told = await storage.get<AuditRecord>(STRANGERS);
    if (!told) return;
    await this.env.AUDIT.send(told);
    const { count, ...record } = (await storage.get<AuditRecord>(STRANGERS)) ?? told;
    if (count === told.count) return storage.deleteAll();
    // Others came while it was sent: they are the first of the next minute.
    const now = Date.now();
    await storage.put(STRANGERS, { ...record, id: newId(now), occurredAt: now, count: count - told.count });
    await storage.setAlarm(now + MINUTE_MS);
  }
}
