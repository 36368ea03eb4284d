import { DurableObject } from 'cloudflare:workers';
import { type ControlDb, openControlDb } from '../db/client.ts';
import type { DISABLED_REASONS } from '../db/schema/webhooks.ts';
import { disableEndpoint, selectSendingEndpoint } from '../db/webhook-endpoints.ts';
import { clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../kernel/clock.ts';
import { newId } from '../kernel/ids.ts';
import { isPersonNamedIn, type Person, redactValue } from '../logs/redaction.ts';
import { isDatabaseFull } from '../logs/rows.ts';
import { decrypt } from '../platform/cipher.ts';
import { gatherVersions } from '../platform/key-versions.ts';
import { log, logError } from '../platform/log.ts';
import { selectRows } from '../platform/objects.ts';
import {
  type AttemptError,
  type AttemptResult,
  DEFAULT_DISABLE_AFTER_SECONDS,
  DEFAULT_RETRY_SECONDS,
  makeWebhookHeaders,
  postWebhook,
} from '../platform/webhooks.ts';

/** The time for which deliveries are stored. */
const DELIVERY_RETENTION_MS = 30 * DAY_MS;
/** The number of deliveries that are deleted at a time where the storage is almost full. */
const DELETED_PER_STEP = 50;
/** The number of bodies that one call searches: those of the audit stream are large. */
const BODIES_PER_BATCH = 50;
/** The maximum number of attempts shown of one delivery: the latest ones. */
const MAX_SHOWN_ATTEMPTS = 50;
/** The maximum number of concurrent deliveries: a Worker has six connections open at most; one is for the control database. */
const MAX_CONCURRENT_DELIVERIES = 5;
/** The maximum duration of a run that sends deliveries. */
const MAX_RUN_MS = MINUTE_MS;
/** The maximum number of attempts of a run that sends deliveries. */
const MAX_RUN_ATTEMPTS = 900;
/** The time for which the endpoint's settings are cached, unless a change is announced. Milliseconds. */
const ENDPOINT_CACHE_MS = 1_000;
/** The time after which the object checks again whether it may send, while its company is suspended. */
const SUSPENDED_RECHECK_MS = MINUTE_MS;
/**
 * The time after which the object checks again whether it may send, while its endpoint is paused or disabled; the
 * object is also notified when the endpoint is resumed.
 */
const PAUSED_RECHECK_MS = HOUR_MS;

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** An attempt to deliver. `at` in milliseconds. */
export interface DeliveryAttempt {
  at: number;
  status: number | null;
  duration_ms: number;
  error: AttemptError | null;
}

/** An event that is sent to the endpoint, with its status and attempts. */
export interface Delivery {
  id: string;
  eventId: string;
  eventType: string;
  status: DeliveryStatus;
  attempts: DeliveryAttempt[];
  /** The time of the next attempt in milliseconds; null where there will be none. */
  nextAttemptAt: number | null;
  createdAt: number;
}

/** An event to be sent to an endpoint. */
export interface DeliveryInput {
  /** The id of the event, sent as `webhook-id`; an event whose id is known already is not sent again. */
  id: string;
  type: string;
  body: string;
  /** Whether all other deliveries go before this one. */
  later?: boolean;
}

/** The data of an endpoint that sending needs, and whether it may send now. */
interface SendingEndpoint {
  url: string;
  status: 'active' | 'paused' | 'disabled' | 'suspended';
  secrets: string[];
}

interface DueDelivery extends Record<string, SqlStorageValue> {
  id: string;
  eventId: string;
  eventType: string;
  body: string;
  attempts: string;
  tries: number;
}

interface SenderBindings {
  CONTROL_DB: D1Database;
  WEBHOOK_RETRY_SECONDS?: string;
  WEBHOOK_DISABLE_AFTER_SECONDS?: string;
  ALLOW_PRIVATE_ISSUERS?: string;
}

/** The endpoint that the object sends to, and its company. */
interface SenderOwner {
  companyId: string;
  endpointId: string;
}

const OWNER_KEY = 'owner';
const FAILING_SINCE_KEY = 'failing_since';

const DELIVERY_COLUMNS = 'id, eventId, eventType, status, attempts, nextAttemptAt, createdAt';

/** Makes the context to which the encryption of an endpoint's secret is bound. */
export const makeSecretContext = (endpointId: string): string => `webhook-endpoint:${endpointId}`;

/**
 * Sends the deliveries of one endpoint, with retries; one object per endpoint id, so that a slow or dead receiver delays no other
 * endpoint. It is driven by alarms, which are repeated until a run has ended, so that an attempt may be made twice, but none is
 * lost.
 */
export class WebhookSender extends DurableObject<SenderBindings> {
  readonly #sql = this.ctx.storage.sql;
  readonly #underWay = new Map<string, Promise<void>>();
  /** Deliveries that were requested again during an attempt: another attempt follows. */
  readonly #requestedAgainIds = new Set<string>();
  /** The number of attempts that the current run may still make. */
  #remainingAttempts = 0;
  #poke = Promise.withResolvers<void>();
  #endpoint: { promise: Promise<SendingEndpoint | null>; at: number } | null = null;

  constructor(state: DurableObjectState, env: SenderBindings) {
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

  /**
   * Stores events, each once by its id; the body of a known event is replaced, as a person may have been redacted from it.
   * @returns the ids of new deliveries
   */
  async take(owner: SenderOwner, deliveries: readonly DeliveryInput[]): Promise<string[]> {
    this.#makeRoom();
    this.ctx.storage.kv.put(OWNER_KEY, owner);
    const now = clock.now();
    for (const { id, body } of deliveries)
      this.#sql.exec('UPDATE deliveries SET body = ?1 WHERE eventId = ?2 AND body <> ?1', body, id);
    const newDeliveryIds = deliveries.flatMap(({ id, type, body, later = false }) =>
      selectRows<{ id: string }>(
        this.#sql,
        `INSERT OR IGNORE INTO deliveries (id, eventId, eventType, body, status, attempts, tries, nextAttemptAt, later, createdAt)
           VALUES (?, ?, ?, ?, 'pending', '[]', 0, ?, ?, ?) RETURNING id`,
        ...[newId(now), id, type, body, now, later ? 1 : 0, now],
      ).map((row) => row.id),
    );
    if (newDeliveryIds.length > 0) await this.#wake(now);
    return newDeliveryIds;
  }

  /** Counts the deliveries that wait behind all others. */
  countLater(): number {
    return Number(this.#readNumber("SELECT count(*) AS at FROM deliveries WHERE status = 'pending' AND later = 1"));
  }

  /**
   * Called when the endpoint was changed. If `resumed`, also restarts the count of failures, and sends due deliveries.
   */
  async changed({ resumed }: { resumed: boolean }): Promise<void> {
    this.#endpoint = null;
    if (resumed) this.ctx.storage.kv.delete(FAILING_SINCE_KEY);
    await this.#wake(clock.now());
  }

  /** Called when the endpoint was deleted: deletes all data of the object. */
  async end(): Promise<void> {
    this.#endpoint = null;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#createTables();
  }

  /**
   * Returns bodies of sent and waiting deliveries that name a person. @param afterId the id with which the previous page ended; ''
   * at first
   */
  naming(person: Person, afterId: string): { bodies: string[]; next: string | null } {
    const { rows, next } = this.#readBodiesAfter(afterId);
    return { bodies: rows.flatMap(({ body }) => (isPersonNamedIn(body, person) ? body : [])), next };
  }

  /** Replaces a person by a pseudonym in the bodies of a page of deliveries. */
  redact(person: Person, afterId: string): { changed: number; next: string | null } {
    const { rows, next } = this.#readBodiesAfter(afterId);
    const namingRows = rows.filter(({ body }) => isPersonNamedIn(body, person));
    for (const { id, body } of namingRows)
      this.#sql.exec(
        'UPDATE deliveries SET body = ? WHERE id = ?',
        JSON.stringify(redactValue(JSON.parse(body), person)),
        id,
      );
    return { changed: namingRows.length, next };
  }

  #readBodiesAfter(afterId: string): { rows: { id: string; body: string }[]; next: string | null } {
    const rows = selectRows<{ id: string; body: string }>(
      this.#sql,
      'SELECT id, body FROM deliveries WHERE id > ? ORDER BY id LIMIT ?',
      ...[afterId, BODIES_PER_BATCH],
    );
    return { rows, next: rows.length < BODIES_PER_BATCH ? null : (rows.at(-1)?.id ?? null) };
  }

  /** Lists a page of the deliveries, the newest first, with the exact number of all. */
  list(
    { status, eventType }: { status?: DeliveryStatus | undefined; eventType?: string | undefined },
    { page, perPage }: { page: number; perPage: number },
  ): { total: number; records: Delivery[] } {
    const conditionSql = 'createdAt > ? AND (? IS NULL OR status = ?) AND (? IS NULL OR eventType = ?)';
    const [by, type] = [status ?? null, eventType ?? null];
    const parameters = [clock.now() - DELIVERY_RETENTION_MS, by, by, type, type];
    const { total } = this.#sql
      .exec<{ total: number }>(`SELECT count(*) AS total FROM deliveries WHERE ${conditionSql}`, ...parameters)
      .one();
    const rows = this.#sql.exec(
      `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE ${conditionSql} ORDER BY rowid DESC LIMIT ? OFFSET ?`,
      ...[...parameters, perPage, (page - 1) * perPage],
    );
    return { total, records: rows.toArray().map(toDelivery) };
  }

  /** Returns a delivery with its body; null where there is none. */
  get(id: string): (Delivery & { body: string }) | null {
    const query = `SELECT ${DELIVERY_COLUMNS}, body FROM deliveries WHERE id = ? AND createdAt > ?`;
    const [row] = this.#sql.exec(query, id, clock.now() - DELIVERY_RETENTION_MS).toArray();
    return row ? { ...toDelivery(row), body: String(row.body) } : null;
  }

  /** Sends a delivery again, beginning with its first attempt. @returns whether the delivery exists */
  async resend(id: string): Promise<boolean> {
    const now = clock.now();
    const updatedRows = this.#sql.exec(
      `UPDATE deliveries SET status = 'pending', tries = 0, nextAttemptAt = ?1, later = 0 WHERE id = ?2 AND createdAt > ?3
       RETURNING id`,
      ...[now, id, now - DELIVERY_RETENTION_MS],
    );
    if (updatedRows.toArray().length === 0) return false;
    this.#markAskedAgain(id);
    await this.#wake(now);
    return true;
  }

  /** Sends the failed deliveries again that were created since a time (ms). @returns how many */
  async resendFailed(since: number): Promise<number> {
    const now = clock.now();
    const resentRows = selectRows<{ id: string }>(
      this.#sql,
      `UPDATE deliveries SET status = 'pending', tries = 0, nextAttemptAt = ? WHERE status = 'failed' AND createdAt >= ?
         RETURNING id`,
      ...[now, Math.max(since, now - DELIVERY_RETENTION_MS)],
    );
    for (const { id } of resentRows) this.#markAskedAgain(id);
    if (resentRows.length > 0) await this.#wake(now);
    return resentRows.length;
  }

  #markAskedAgain(id: string): void {
    if (this.#underWay.has(id)) this.#requestedAgainIds.add(id);
  }

  /** Sends due deliveries until the limits of a run, and sets the alarm for the next due one. */
  override async alarm(): Promise<void> {
    const deadline = clock.now() + MAX_RUN_MS;
    this.#remainingAttempts = MAX_RUN_ATTEMPTS;
    try {
      this.#purge();
      const sendingDelay = await this.#getSendingDelay();
      if (sendingDelay === 'ended') return await this.end();
      if (sendingDelay === null)
        await Promise.all(Array.from({ length: MAX_CONCURRENT_DELIVERIES }, () => this.#send(deadline)));
      await this.#setNextAlarm(sendingDelay ?? (await this.#getSendingDelay()));
    } catch (error) {
      logError('webhook_sender_failed', error, { endpoint_id: this.#owner.endpointId });
      await this.ctx.storage.setAlarm(clock.now() + MINUTE_MS);
    }
  }

  /**
   * Deletes the oldest deliveries that need no further attempt while the storage is almost full. @throws if others fill it: what
   * is left of it is for their attempts
   */
  #makeRoom(): void {
    const deleteOldest = () =>
      this.#sql
        .exec(
          `DELETE FROM deliveries WHERE rowid IN
             (SELECT rowid FROM deliveries WHERE status <> 'pending' ORDER BY rowid LIMIT ?) RETURNING 1`,
          DELETED_PER_STEP,
        )
        .toArray();
    while (isDatabaseFull(this.#sql) && deleteOldest().length > 0);
    if (!isDatabaseFull(this.#sql)) return;
    const pendingRow = this.#readNumber("SELECT max(rowid) AS at FROM deliveries WHERE status = 'pending'");
    if (pendingRow !== null) throw new Error('The storage is full of deliveries that wait to be sent.');
  }

  /** Deletes old deliveries. Rows are in the order of their times, which saves an index. */
  #purge(): void {
    this.#sql.exec(
      `DELETE FROM deliveries WHERE rowid <
         coalesce((SELECT rowid FROM deliveries WHERE createdAt > ? ORDER BY rowid LIMIT 1), ${Number.MAX_SAFE_INTEGER})`,
      clock.now() - DELIVERY_RETENTION_MS,
    );
  }

  get #owner(): SenderOwner {
    return this.ctx.storage.kv.get<SenderOwner>(OWNER_KEY) ?? { companyId: '', endpointId: '' };
  }

  /** Lets a run that waits for an answer go on with due deliveries, and ensures that a run is scheduled. */
  async #wake(at: number): Promise<void> {
    this.#poke.resolve();
    this.#poke = Promise.withResolvers();
    const alarm = await this.ctx.storage.getAlarm();
    if (alarm === null || alarm > at) await this.ctx.storage.setAlarm(at);
  }

  /** Returns the milliseconds until sending should be checked again; null where the object may send now. */
  async #getSendingDelay(): Promise<number | 'ended' | null> {
    const endpoint = await this.#readEndpoint();
    if (endpoint === null) return 'ended';
    if (endpoint.status === 'disabled') {
      this.#sql.exec("UPDATE deliveries SET status = 'failed', nextAttemptAt = NULL WHERE status = 'pending'");
    }
    // Nothing is tried during a suspension: while deliveries wait, its time does not count towards disabling the endpoint.
    if (endpoint.status === 'suspended') this.ctx.storage.kv.delete(FAILING_SINCE_KEY);
    if (endpoint.status === 'active') return null;
    return endpoint.status === 'suspended' ? SUSPENDED_RECHECK_MS : PAUSED_RECHECK_MS;
  }

  async #setNextAlarm(sendingDelay: number | 'ended' | null): Promise<void> {
    const now = clock.now();
    const nextAttemptAt = this.#readNumber("SELECT min(nextAttemptAt) AS at FROM deliveries WHERE status = 'pending'");
    const oldestCreatedAt = this.#readNumber('SELECT (SELECT createdAt FROM deliveries ORDER BY rowid LIMIT 1) AS at');
    if (nextAttemptAt === null && oldestCreatedAt === null) return;
    const purgeAt = (oldestCreatedAt ?? now) + DELIVERY_RETENTION_MS + 1;
    const alarmAt =
      nextAttemptAt === null
        ? purgeAt
        : Math.min(purgeAt, Math.max(nextAttemptAt, now + (typeof sendingDelay === 'number' ? sendingDelay : 0)));
    const alarm = await this.ctx.storage.getAlarm();
    if (alarm === null || alarm > alarmAt) await this.ctx.storage.setAlarm(Math.max(alarmAt, now + 1));
  }

  #readNumber(query: string): number | null {
    return this.#sql.exec<{ at: number | null }>(query).one().at;
  }

  /**
   * Sends due deliveries, concurrently with other calls of this method, until none is due, and none is in flight that may become
   * due again.
   */
  async #send(deadline: number): Promise<void> {
    while (clock.now() < deadline && this.#remainingAttempts > 0) {
      const dueDelivery = this.#findNextDue();
      if (dueDelivery) {
        this.#remainingAttempts -= 1;
        const deliveryPromise = this.#deliver(dueDelivery).finally(() => this.#underWay.delete(dueDelivery.id));
        this.#underWay.set(dueDelivery.id, deliveryPromise);
        await deliveryPromise;
      } else if (this.#underWay.size > 0) {
        const timeout = new Promise((resolve) => setTimeout(resolve, Math.max(0, deadline - clock.now())));
        await Promise.race([this.#poke.promise, timeout, ...this.#underWay.values()]);
      } else return;
      if ((await this.#getSendingDelay()) !== null) return;
    }
  }

  #findNextDue(): DueDelivery | undefined {
    return selectRows<DueDelivery>(
      this.#sql,
      `SELECT id, eventId, eventType, body, attempts, tries FROM deliveries
         WHERE status = 'pending' AND nextAttemptAt <= ? AND id NOT IN (SELECT value FROM json_each(?))
         ORDER BY later, nextAttemptAt, rowid LIMIT 1`,
      ...[clock.now(), JSON.stringify([...this.#underWay.keys()])],
    )[0];
  }

  async #deliver(dueDelivery: DueDelivery): Promise<void> {
    this.#requestedAgainIds.delete(dueDelivery.id);
    const endpoint = await this.#readEndpoint();
    if (endpoint === null) return;
    if (endpoint.status !== 'active') return;
    const at = clock.now();
    const headers = await makeWebhookHeaders({ id: dueDelivery.eventId, body: dueDelivery.body }, endpoint.secrets, at);
    const allowPrivateHosts = this.env.ALLOW_PRIVATE_ISSUERS === 'true';
    const result = await postWebhook(endpoint.url, headers, dueDelivery.body, { allowPrivateHosts, now: at });
    const { status, error } = result;
    const attempt: DeliveryAttempt = { at, status, duration_ms: clock.now() - at, error };
    const attempts = [...(JSON.parse(dueDelivery.attempts) as DeliveryAttempt[]), attempt].slice(-MAX_SHOWN_ATTEMPTS);
    const isDelivered = status !== null && status >= 200 && status < 300;
    const waitSeconds = isDelivered || status === 410 ? undefined : this.#waitAfter(dueDelivery.tries, result);
    this.#sql.exec('UPDATE deliveries SET attempts = ? WHERE id = ?', JSON.stringify(attempts), dueDelivery.id);
    // A delivery that was requested again during the attempt stays due.
    if (!this.#requestedAgainIds.has(dueDelivery.id)) {
      this.#sql.exec(
        'UPDATE deliveries SET tries = tries + 1, status = ?, nextAttemptAt = ? WHERE id = ?',
        isDelivered ? 'delivered' : waitSeconds === undefined ? 'failed' : 'pending',
        waitSeconds === undefined ? null : clock.now() + waitSeconds * 1000,
        dueDelivery.id,
      );
    }
    log('webhook_sent', {
      endpoint_id: this.#owner.endpointId,
      type: dueDelivery.eventType,
      status,
      error,
      duration_ms: attempt.duration_ms,
    });
    if (isDelivered) this.ctx.storage.kv.delete(FAILING_SINCE_KEY);
    else await this.#countFailure(at, endpoint, status);
  }

  /** Returns the seconds to wait before the next attempt; undefined if no attempt is left. */
  #waitAfter(attemptCount: number, { retryAfter }: AttemptResult): number | undefined {
    const retryDelaysSeconds = (this.env.WEBHOOK_RETRY_SECONDS || DEFAULT_RETRY_SECONDS).split(',').map(Number);
    const waitSeconds = retryDelaysSeconds[attemptCount];
    return waitSeconds === undefined ? undefined : Math.max(waitSeconds, retryAfter);
  }

  async #countFailure(at: number, endpoint: SendingEndpoint, status: number | null): Promise<void> {
    const { kv } = this.ctx.storage;
    // An earlier version stored the time alone, without the address.
    const storedValue = kv.get<{ since: number; url: string } | number>(FAILING_SINCE_KEY);
    const storedFailure = typeof storedValue === 'number' ? { since: storedValue, url: endpoint.url } : storedValue;
    // The failures of a former address do not count against a new one.
    const failingSince = storedFailure?.url === endpoint.url ? storedFailure.since : at;
    kv.put(FAILING_SINCE_KEY, { since: failingSince, url: endpoint.url });
    const maxFailingMs = Number(this.env.WEBHOOK_DISABLE_AFTER_SECONDS || DEFAULT_DISABLE_AFTER_SECONDS) * 1000;
    if (status === 410) await this.#disable(endpoint, 'gone');
    else if (clock.now() - failingSince >= maxFailingMs) await this.#disable(endpoint, 'failing');
  }

  /**
   * Disables the endpoint, unless its URL was changed meanwhile, or it does not send. A database trigger causes the mail to the
   * administrators.
   */
  async #disable({ url }: SendingEndpoint, reason: (typeof DISABLED_REASONS)[number]): Promise<void> {
    await disableEndpoint(this.#db(), { ...this.#owner, url }, reason, clock.now());
    this.#endpoint = null;
  }

  #db(): ControlDb {
    return openControlDb(this.env.CONTROL_DB);
  }

  #readEndpoint(): Promise<SendingEndpoint | null> {
    const [knownEndpoint, now] = [this.#endpoint, Date.now()];
    if (knownEndpoint && knownEndpoint.at >= now - ENDPOINT_CACHE_MS) return knownEndpoint.promise;
    const endpointPromise = this.#readFreshEndpoint();
    this.#endpoint = { promise: endpointPromise, at: now };
    endpointPromise.catch(() => {
      this.#endpoint = null;
    });
    return endpointPromise;
  }

  /** Reads the endpoint from the control database; null where it does not exist any more. */
  async #readFreshEndpoint(): Promise<SendingEndpoint | null> {
    const { companyId, endpointId } = this.#owner;
    const [found] = await selectSendingEndpoint(this.#db(), companyId, endpointId);
    if (!found) return null;
    const keys = JSON.parse(String(gatherVersions(this.env).ENCRYPTION_KEYS)) as Record<string, string>;
    const now = clock.now();
    const liveSecrets = found.secrets.filter(({ until }) => until === null || until > now);
    const secrets = await Promise.all(
      liveSecrets.map(({ secret }) => decrypt(keys, secret, makeSecretContext(endpointId))),
    );
    return { url: found.url, status: found.suspendedAt === null ? found.status : 'suspended', secrets };
  }
}

const toDelivery = (row: Record<string, SqlStorageValue>): Delivery =>
  ({ ...row, attempts: JSON.parse(String(row.attempts)) }) as unknown as Delivery;
