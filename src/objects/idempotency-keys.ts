import { DAY_MS, MINUTE_MS } from '../kernel/clock.ts';
import { selectRows } from '../platform/objects.ts';
/** A request that is to be done once, under a key that its sender chose. */
export interface KeyedRequest {
  key: string;
  /**
   * Digests of the request's method, path, query and body under the versions of the keys. The first is stored; a request is
   * equal to the one whose digest is stored if any of these is that digest.
   */
  digests: readonly string[];
}

/** The use of an idempotency key by a principal or outsider, and by the one request that holds the key. */
export interface KeyUse extends KeyedRequest {
  senderId: string;
  requestId: string;
}

/**
 * The state of an idempotency key: - `begun` by this request, which is to be done - `in_use` by another request, until `until` at
 * the latest (ms) · `reused` for a different request - `kept` with the answer that was given, encrypted · `not_kept` because the
 * answer was too large
 */
export type KeyState =
  | { state: 'begun' | 'reused' | 'not_kept' }
  | { state: 'in_use'; until: number }
  | { state: 'kept'; answer: string };

/** The end of a request that began to use a key. */
export type KeyEnd = { state: 'undone' | 'not_kept' } | { state: 'kept'; answer: string };

/** The time for which an answer is stored. */
const KEY_RETENTION_MS = DAY_MS;

/** The time for which a request holds its key unless it extends the lease. */
export const LEASE_MS = MINUTE_MS;

/**
 * The size of the object's storage beyond which answers are no longer stored, but only the fact that a request was
 * done. An object may hold 10 GB.
 */
const MAX_STORAGE_BYTES = 4 * 1024 ** 3;

interface KeyRow extends Record<string, SqlStorageValue> {
  digest: string;
  request_id: string;
  /** The time until which the key is in use; null once its request is done. */
  in_use_until: number | null;
  answer: string | null;
}

const getDay = (now: number): number => Math.floor(now / DAY_MS);

/**
 * The idempotency keys of requests of the last day, with the answers. The keys of a day are in a table of their own, which is
 * dropped as a whole: that writes no row. No method awaits, so that no other request comes in between.
 */
export class IdempotencyKeys {
  readonly #sql: SqlStorage;
  readonly #roomBytes: number;
  readonly #days: Set<number>;

  constructor(sql: SqlStorage, maxStorageBytes = MAX_STORAGE_BYTES) {
    this.#sql = sql;
    this.#roomBytes = maxStorageBytes;
    const tables = sql.exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'idempotency_keys_*' ORDER BY name",
    );
    this.#days = new Set(tables.toArray().map(({ name }) => Number(name.slice('idempotency_keys_'.length))));
  }

  /** Begins to use a key, unless it is in use or has an answer. A request that asks again gets the same state again. */
  begin({ senderId, key, digests, requestId }: KeyUse, now: number): KeyState {
    const keyRow = this.#findRow(senderId, key, now);
    if (keyRow) {
      const { in_use_until: inUseUntil, answer } = keyRow;
      if (!digests.includes(keyRow.digest)) return { state: 'reused' };
      if (inUseUntil === null) return answer === null ? { state: 'not_kept' } : { state: 'kept', answer };
      if (inUseUntil > now && keyRow.request_id !== requestId) return { state: 'in_use', until: inUseUntil };
    }
    this.#sql.exec(
      `INSERT OR REPLACE INTO ${this.#openTable(getDay(now))} VALUES (?, ?, ?, ?, ?, ?, NULL)`,
      senderId,
      key,
      digests[0] as string,
      requestId,
      now + LEASE_MS,
      now + KEY_RETENTION_MS,
    );
    return { state: 'begun' };
  }

  /** Extends the lease of a request that is still in progress. */
  extendLease(use: KeyUse, now: number): void {
    this.#change(use, (table) => `UPDATE ${table} SET in_use_until = ?`, now + LEASE_MS);
  }

  /** Ends a request, with an answer to be given again, or undone: then another request may use the key. */
  end(use: KeyUse, end: KeyEnd): void {
    if (end.state === 'undone') {
      this.#change(use, (table) => `DELETE FROM ${table}`);
      return;
    }
    const storedAnswer = end.state === 'kept' && this.#sql.databaseSize < this.#roomBytes ? end.answer : null;
    this.#change(use, (table) => `UPDATE ${table} SET in_use_until = NULL, answer = ?`, storedAnswer);
  }

  /** Deletes all keys of these senders. */
  deleteKeysOfSenders(senders: readonly string[]): void {
    for (const day of this.#days) {
      const isOfSendersSql = 'sender_id IN (SELECT value FROM json_each(?))';
      this.#sql.exec(`DELETE FROM ${formatTableName(day)} WHERE ${isOfSendersSql}`, JSON.stringify(senders));
    }
  }

  /** Drops the days before yesterday. */
  dropOldDays(now: number): void {
    for (const day of this.#days) {
      if (day >= getDay(now) - 1) continue;
      this.#sql.exec(`DROP TABLE ${formatTableName(day)}`);
      this.#days.delete(day);
    }
  }

  /** Returns the time at which the next day can be dropped (ms); null if there is none. */
  get nextEnd(): number | null {
    return this.#days.size === 0 ? null : (Math.min(...this.#days) + 2) * DAY_MS;
  }

  #openTable(day: number): string {
    if (!this.#days.has(day)) {
      this.#sql.exec(
        `CREATE TABLE ${formatTableName(day)} (
           sender_id TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, request_id TEXT NOT NULL,
           in_use_until INTEGER, kept_until INTEGER NOT NULL, answer TEXT, PRIMARY KEY (sender_id, key)
         ) WITHOUT ROWID`,
      );
      this.#days.add(day);
    }
    return formatTableName(day);
  }

  #findRow(senderId: string, key: string, now: number): KeyRow | undefined {
    const keyRows = [...this.#days].flatMap((day) =>
      selectRows<KeyRow>(
        this.#sql,
        `SELECT digest, request_id, in_use_until, answer FROM ${formatTableName(day)}
           WHERE sender_id = ? AND key = ? AND kept_until > ?`,
        senderId,
        key,
        now,
      ),
    );
    // One that was begun anew the day after it was lost stands in both.
    return keyRows.at(-1);
  }

  /** Changes a key that this request still uses: a key whose lease has ended may be another request's by now. */
  #change({ senderId, key, requestId }: KeyUse, change: (table: string) => string, ...values: SqlStorageValue[]): void {
    for (const day of this.#days) {
      this.#sql.exec(
        `${change(formatTableName(day))} WHERE sender_id = ? AND key = ? AND request_id = ? AND in_use_until IS NOT NULL`,
        ...values,
        senderId,
        key,
        requestId,
      );
    }
  }
}

const formatTableName = (day: number): string => `idempotency_keys_${day}`;
