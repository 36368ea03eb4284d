import { DurableObject } from 'cloudflare:workers';
import { type ControlDb, openControlDb } from '../db/client.ts';
import type { DISABLED_REASONS } from '../db/schema/webhooks.ts';
import { disableEndpoint, selectEndpointToSendTo } from '../db/webhook-endpoints.ts';
import { clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../kernel/clock.ts';
import { newId } from '../kernel/ids.ts';
import { isPersonNamedIn, type Person, redactValue } from '../logs/redaction.ts';
import { decrypt } from '../platform/cipher.ts';
import { gatherVersions } from '../platform/key-versions.ts';
import { log, logError } from '../platform/log.ts';
import { selectRows } from '../platform/objects.ts';
import {
  DEFAULT_DISABLE_AFTER_SECONDS,
  DEFAULT_RETRY_SECONDS,
  postWebhook,
  type TryError,
  type TryResult,
  webhookHeaders,
} from '../platform/webhooks.ts';

/** The time for which deliveries are kept. */
const RETENTION_MS = 30 * DAY_MS;
/** Bodies that are looked through in one call: of the audit stream they are large. */
const BODIES_PER_BATCH = 50;
/** Tries that are told of one delivery: the latest. */
const MAX_SHOWN_TRIES = 50;
/** A Worker has six connections open at most; one is for the control database. */
const CONCURRENCY = 5;
/** The maximum duration and number of attempts of a run that sends deliveries. */
const RUN_MS = MINUTE_MS;
const RUN_TRIES = 900;
/** The time for which the endpoint's settings are cached, unless a change is announced. Milliseconds. */
const ENDPOINT_CACHE_MS = 1_000;
/** The time after which an object that may not send checks again; a resumed endpoint is notified, too. */
const SUSPENDED_RECHECK_MS = MINUTE_MS;
const PAUSED_RECHECK_MS = HOUR_MS;

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** A try to deliver. `at` in milliseconds. */
export interface Attempt {
  at: number;
  status: number | null;
  duration_ms: number;
  error: TryError | null;
}

/** An event that is sent to the endpoint. */
export interface Delivery {
  id: string;
  eventId: string;
  eventType: string;
  status: DeliveryStatus;
  attempts: Attempt[];
  /** Milliseconds; null where none is to come. */
  nextAttemptAt: number | null;
  createdAt: number;
}

/** An event that is to be sent to an endpoint. */
export interface DeliveryInput {
  /** The `webhook-id`: an event that is known already is not sent again. */
  id: string;
  type: string;
  body: string;
  /** Whether all other deliveries go before it. */
  later?: boolean;
}

/** An endpoint as far as sending needs it, and whether it may send now. */
interface Endpoint {
  url: string;
  status: 'active' | 'paused' | 'disabled' | 'suspended';
  secrets: string[];
}

interface Due extends Record<string, SqlStorageValue> {
  id: string;
  eventId: string;
  eventType: string;
  body: string;
  attempts: string;
  tries: number;
}

interface Environment {
  CONTROL_DB: D1Database;
  WEBHOOK_RETRY_SECONDS?: string;
  WEBHOOK_DISABLE_AFTER_SECONDS?: string;
  ALLOW_PRIVATE_ISSUERS?: string;
}

/** The endpoint that the object sends to, and its company. */
interface Owner {
  companyId: string;
  endpointId: string;
}

const OWNER = 'owner';
const FAILING_SINCE = 'failing_since';

const DELIVERY_COLUMNS = 'id, eventId, eventType, status, attempts, nextAttemptAt, createdAt';

/** The context that an endpoint's secret is encrypted for, and decrypted by. */
export const secretContext = (endpointId: string): string => `webhook-endpoint:${endpointId}`;

/**
 * Sends the deliveries of one endpoint, with the tries, by the endpoint's id. So a slow or dead receiver delays nobody else.
 * Alarms drive it, which come again until a run has ended, so that a try may be made twice, but none is forgotten.
 */
export class WebhookSender extends DurableObject<Environment> {
  readonly #sql = this.ctx.storage.sql;
  readonly #underWay = new Map<string, Promise<void>>();
  /** Deliveries that were asked for again while a try was under way: another try follows it. */
  readonly #askedAgain = new Set<string>();
  /** Tries that the present run may still make. */
  #left = 0;
  #poke = Promise.withResolvers<void>();
  #endpoint: { read: Promise<Endpoint | null>; at: number } | null = null;

  constructor(state: DurableObjectState, env: Environment) {
    super(state, env);
    this.#createTables();
  }

  #createTables(): void {
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS deliveries (
        id TEXT PRIMARY KEY, eventId TEXT NOT NULL UNIQUE, eventType TEXT NOT NULL, body TEXT NOT NULL, status TEXT NOT NULL,
        attempts TEXT NOT NULL, tries INTEGER NOT NULL, nextAttemptAt INTEGER, later INTEGER NOT NULL, createdAt INTEGER NOT NULL
      );
      CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (later, nextAttemptAt) WHERE status = 'pending';
    `);
  }

  /** Takes events, once by id; a body that comes again replaces, since a person may be gone. @returns new deliveries */
  async take(owner: Owner, sendings: readonly DeliveryInput[]): Promise<string[]> {
    this.ctx.storage.kv.put(OWNER, owner);
    const now = clock.now();
    for (const { id, body } of sendings)
      this.#sql.exec('UPDATE deliveries SET body = ?1 WHERE eventId = ?2 AND body <> ?1', body, id);
    const taken = sendings.flatMap(({ id, type, body, later = false }) =>
      selectRows<{ id: string }>(
        this.#sql,
        `INSERT OR IGNORE INTO deliveries (id, eventId, eventType, body, status, attempts, tries, nextAttemptAt, later, createdAt)
           VALUES (?, ?, ?, ?, 'pending', '[]', 0, ?, ?, ?) RETURNING id`,
        ...[newId(now), id, type, body, now, later ? 1 : 0, now],
      ).map((row) => row.id),
    );
    if (taken.length > 0) await this.#wake(now);
    return taken;
  }

  /** Called when the endpoint was changed; `resumed`, it sends again and begins anew to count failures. */
  async changed({ resumed }: { resumed: boolean }): Promise<void> {
    this.#endpoint = null;
    if (resumed) this.ctx.storage.kv.delete(FAILING_SINCE);
    await this.#wake(clock.now());
  }

  /** The endpoint was deleted. */
  async end(): Promise<void> {
    this.#endpoint = null;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#createTables();
  }

  /** Returns bodies of sent and waiting deliveries that name a person. @param after where the page before ended; '' at first */
  naming(person: Person, after: string): { bodies: string[]; next: string | null } {
    const { rows, next } = this.#bodiesAfter(after);
    return { bodies: rows.flatMap(({ body }) => (isPersonNamedIn(body, person) ? body : [])), next };
  }

  /** Puts the pseudonym of a person in their place, wherever they are named. */
  redact(person: Person, after: string): { changed: number; next: string | null } {
    const { rows, next } = this.#bodiesAfter(after);
    const named = rows.filter(({ body }) => isPersonNamedIn(body, person));
    for (const { id, body } of named)
      this.#sql.exec(
        'UPDATE deliveries SET body = ? WHERE id = ?',
        JSON.stringify(redactValue(JSON.parse(body), person)),
        id,
      );
    return { changed: named.length, next };
  }

  #bodiesAfter(after: string): { rows: { id: string; body: string }[]; next: string | null } {
    const rows = selectRows<{ id: string; body: string }>(
      this.#sql,
      'SELECT id, body FROM deliveries WHERE id > ? ORDER BY id LIMIT ?',
      ...[after, BODIES_PER_BATCH],
    );
    return { rows, next: rows.length < BODIES_PER_BATCH ? null : (rows.at(-1)?.id ?? null) };
  }

  /** A page of the deliveries, the newest first, with the exact number of all. */
  list(
    { status, eventType }: { status?: DeliveryStatus | undefined; eventType?: string | undefined },
    { page, perPage }: { page: number; perPage: number },
  ): { total: number; records: Delivery[] } {
    const wanted = 'createdAt > ? AND (? IS NULL OR status = ?) AND (? IS NULL OR eventType = ?)';
    const [by, type] = [status ?? null, eventType ?? null];
    const given = [clock.now() - RETENTION_MS, by, by, type, type];
    const { total } = this.#sql
      .exec<{ total: number }>(`SELECT count(*) AS total FROM deliveries WHERE ${wanted}`, ...given)
      .one();
    const rows = this.#sql.exec(
      `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE ${wanted} ORDER BY rowid DESC LIMIT ? OFFSET ?`,
      ...[...given, perPage, (page - 1) * perPage],
    );
    return { total, records: rows.toArray().map(toDelivery) };
  }

  /** Returns a delivery with its body; null where there is none. */
  get(id: string): (Delivery & { body: string }) | null {
    const query = `SELECT ${DELIVERY_COLUMNS}, body FROM deliveries WHERE id = ? AND createdAt > ?`;
    const [row] = this.#sql.exec(query, id, clock.now() - RETENTION_MS).toArray();
    return row ? { ...toDelivery(row), body: String(row.body) } : null;
  }

  /** Sends a delivery again, from its first try on. @returns whether there is one */
  async resend(id: string): Promise<boolean> {
    const now = clock.now();
    const found = this.#sql.exec(
      `UPDATE deliveries SET status = 'pending', tries = 0, nextAttemptAt = ?1, later = 0 WHERE id = ?2 AND createdAt > ?3
       RETURNING id`,
      ...[now, id, now - RETENTION_MS],
    );
    if (found.toArray().length === 0) return false;
    this.#markAskedAgain(id);
    await this.#wake(now);
    return true;
  }

  /** Sends deliveries again that failed, of all that were made since a time (ms). @returns how many */
  async resendFailed(since: number): Promise<number> {
    const now = clock.now();
    const found = selectRows<{ id: string }>(
      this.#sql,
      `UPDATE deliveries SET status = 'pending', tries = 0, nextAttemptAt = ? WHERE status = 'failed' AND createdAt >= ?
         RETURNING id`,
      ...[now, Math.max(since, now - RETENTION_MS)],
    );
    for (const { id } of found) this.#markAskedAgain(id);
    if (found.length > 0) await this.#wake(now);
    return found.length;
  }

  #markAskedAgain(id: string): void {
    if (this.#underWay.has(id)) this.#askedAgain.add(id);
  }

  /** Sends due deliveries, as far as a run goes, and sleeps until the next is due. */
  override async alarm(): Promise<void> {
    const until = clock.now() + RUN_MS;
    this.#left = RUN_TRIES;
    try {
      this.#purge();
      const waits = await this.#getSendingDelay();
      if (waits === 'ended') return await this.end();
      if (waits === null) await Promise.all(Array.from({ length: CONCURRENCY }, () => this.#send(until)));
      await this.#setNextAlarm(waits ?? (await this.#getSendingDelay()));
    } catch (error) {
      logError('webhook_sender_failed', error, { endpoint_id: this.#owner.endpointId });
      await this.ctx.storage.setAlarm(clock.now() + MINUTE_MS);
    }
  }

  /** Rows stand in the order of their times, so that one index less is written. */
  #purge(): void {
    this.#sql.exec(
      `DELETE FROM deliveries WHERE rowid <
         coalesce((SELECT rowid FROM deliveries WHERE createdAt > ? ORDER BY rowid LIMIT 1), ${Number.MAX_SAFE_INTEGER})`,
      clock.now() - RETENTION_MS,
    );
  }

  get #owner(): Owner {
    return this.ctx.storage.kv.get<Owner>(OWNER) ?? { companyId: '', endpointId: '' };
  }

  /** Lets a run that waits for an answer go on with due deliveries, and makes sure that there is a run. */
  async #wake(at: number): Promise<void> {
    this.#poke.resolve();
    this.#poke = Promise.withResolvers();
    const alarm = await this.ctx.storage.getAlarm();
    if (alarm === null || alarm > at) await this.ctx.storage.setAlarm(at);
  }

  /** Milliseconds until it should be asked again; null where it may. */
  async #getSendingDelay(): Promise<number | 'ended' | null> {
    const endpoint = await this.#readEndpoint();
    if (endpoint === null) return 'ended';
    if (endpoint.status === 'disabled') {
      this.#sql.exec("UPDATE deliveries SET status = 'failed', nextAttemptAt = NULL WHERE status = 'pending'");
    }
    if (endpoint.status === 'active') return null;
    return endpoint.status === 'suspended' ? SUSPENDED_RECHECK_MS : PAUSED_RECHECK_MS;
  }

  async #setNextAlarm(waits: number | 'ended' | null): Promise<void> {
    const now = clock.now();
    const next = this.#readNumber("SELECT min(nextAttemptAt) AS at FROM deliveries WHERE status = 'pending'");
    const oldest = this.#readNumber('SELECT (SELECT createdAt FROM deliveries ORDER BY rowid LIMIT 1) AS at');
    if (next === null && oldest === null) return;
    const purge = (oldest ?? now) + RETENTION_MS + 1;
    const due = next === null ? purge : Math.min(purge, Math.max(next, now + (typeof waits === 'number' ? waits : 0)));
    const alarm = await this.ctx.storage.getAlarm();
    if (alarm === null || alarm > due) await this.ctx.storage.setAlarm(Math.max(due, now + 1));
  }

  #readNumber(query: string): number | null {
    return this.#sql.exec<{ at: number | null }>(query).one().at;
  }

  /** Sends due deliveries, beside others that do the same, until none is due, and none is under way that may become due again. */
  async #send(until: number): Promise<void> {
    while (clock.now() < until && this.#left > 0) {
      const due = this.#nextDue();
      if (due) {
        this.#left -= 1;
        const sent = this.#deliver(due).finally(() => this.#underWay.delete(due.id));
        this.#underWay.set(due.id, sent);
        await sent;
      } else if (this.#underWay.size > 0) {
        const left = new Promise((resolve) => setTimeout(resolve, Math.max(0, until - clock.now())));
        await Promise.race([this.#poke.promise, left, ...this.#underWay.values()]);
      } else return;
      if ((await this.#getSendingDelay()) !== null) return;
    }
  }

  #nextDue(): Due | undefined {
    return selectRows<Due>(
      this.#sql,
      `SELECT id, eventId, eventType, body, attempts, tries FROM deliveries
         WHERE status = 'pending' AND nextAttemptAt <= ? AND id NOT IN (SELECT value FROM json_each(?))
         ORDER BY later, nextAttemptAt, rowid LIMIT 1`,
      ...[clock.now(), JSON.stringify([...this.#underWay.keys()])],
    )[0];
  }

  async #deliver(due: Due): Promise<void> {
    this.#askedAgain.delete(due.id);
    const endpoint = await this.#readEndpoint();
    if (endpoint === null) return;
    if (endpoint.status !== 'active') return;
    const at = clock.now();
    const headers = await webhookHeaders({ id: due.eventId, body: due.body }, endpoint.secrets, at);
    const allowPrivate = this.env.ALLOW_PRIVATE_ISSUERS === 'true';
    const result = await postWebhook(endpoint.url, headers, due.body, { allowPrivate, now: at });
    const { status, error } = result;
    const attempt: Attempt = { at, status, duration_ms: clock.now() - at, error };
    const attempts = [...(JSON.parse(due.attempts) as Attempt[]), attempt].slice(-MAX_SHOWN_TRIES);
    const isDelivered = status !== null && status >= 200 && status < 300;
    const wait = isDelivered || status === 410 ? undefined : this.#waitAfter(due.tries, result);
    this.#sql.exec('UPDATE deliveries SET attempts = ? WHERE id = ?', JSON.stringify(attempts), due.id);
    // One that was asked for again meanwhile stays due.
    if (!this.#askedAgain.has(due.id)) {
      this.#sql.exec(
        'UPDATE deliveries SET tries = tries + 1, status = ?, nextAttemptAt = ? WHERE id = ?',
        isDelivered ? 'delivered' : wait === undefined ? 'failed' : 'pending',
        wait === undefined ? null : clock.now() + wait * 1000,
        due.id,
      );
    }
    log('webhook_sent', {
      endpoint_id: this.#owner.endpointId,
      type: due.eventType,
      status,
      error,
      duration_ms: attempt.duration_ms,
    });
    if (isDelivered) this.ctx.storage.kv.delete(FAILING_SINCE);
    else await this.#countFailure(at, endpoint, status);
  }

  /** Seconds until the next try; undefined where that was the last. */
  #waitAfter(tries: number, { retryAfter }: TryResult): number | undefined {
    const waits = (this.env.WEBHOOK_RETRY_SECONDS || DEFAULT_RETRY_SECONDS).split(',').map(Number);
    const wait = waits[tries];
    return wait === undefined ? undefined : Math.max(wait, retryAfter);
  }

  async #countFailure(at: number, endpoint: Endpoint, status: number | null): Promise<void> {
    const { kv } = this.ctx.storage;
    const failing = kv.get<{ since: number; url: string }>(FAILING_SINCE);
    // The failures of a former address do not count against a new one.
    const since = failing?.url === endpoint.url ? failing.since : at;
    kv.put(FAILING_SINCE, { since, url: endpoint.url });
    const longest = Number(this.env.WEBHOOK_DISABLE_AFTER_SECONDS || DEFAULT_DISABLE_AFTER_SECONDS) * 1000;
    if (status === 410) await this.#disable(endpoint, 'gone');
    else if (clock.now() - since >= longest) await this.#disable(endpoint, 'failing');
  }

  /** Disables the endpoint, unless it has another address by now, or does not send. A trigger has the administrators mailed. */
  async #disable({ url }: Endpoint, reason: (typeof DISABLED_REASONS)[number]): Promise<void> {
    await disableEndpoint(this.#db(), { ...this.#owner, url }, reason, clock.now());
    this.#endpoint = null;
  }

  #db(): ControlDb {
    return openControlDb(this.env.CONTROL_DB);
  }

  #readEndpoint(): Promise<Endpoint | null> {
    const [known, now] = [this.#endpoint, Date.now()];
    if (known && known.at >= now - ENDPOINT_CACHE_MS) return known.read;
    const read = this.#readFresh();
    this.#endpoint = { read, at: now };
    read.catch(() => {
      this.#endpoint = null;
    });
    return read;
  }

  /** Null where there is no such endpoint any more. */
  async #readFresh(): Promise<Endpoint | null> {
    const { companyId, endpointId } = this.#owner;
    const [found] = await selectEndpointToSendTo(this.#db(), companyId, endpointId);
    if (!found) return null;
    const keys = JSON.parse(String(gatherVersions(this.env).ENCRYPTION_KEYS)) as Record<string, string>;
    const now = clock.now();
    const live = found.secrets.filter(({ until }) => until === null || until > now);
    const secrets = await Promise.all(live.map(({ secret }) => decrypt(keys, secret, secretContext(endpointId))));
    return { url: found.url, status: found.suspendedAt === null ? found.status : 'suspended', secrets };
  }
}

const toDelivery = (row: Record<string, SqlStorageValue>): Delivery =>
  ({ ...row, attempts: JSON.parse(String(row.attempts)) }) as unknown as Delivery;
