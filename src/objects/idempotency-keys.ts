import { DAY_MS, MINUTE_MS } from '../kernel/clock.ts';
import { selectRows } from '../platform/objects.ts';
/** A request that is to be done once: under a key of its sender's choice. */
export interface KeyedRequest {
  key: string;
  /** Digests of its method, path, query and body: the first is stored, each may stand there of an equal request. */
  digests: readonly string[];
}

/** The use of an idempotency key: by a principal or outsider, and by the id of the one request that holds it. */
export interface KeyUse extends KeyedRequest {
  senderId: string;
  requestId: string;
}

/**
 * The state of an idempotency key:
 * - `begun` by this request, which is to be done
 * - `in_use` by another one, until then at the latest (ms) · `reused` for a request that differs
 * - `kept` with the answer that was given, encrypted · `not_kept` because the answer was too large
 */
export type KeyState =
  | { state: 'begun' | 'reused' | 'not_kept' }
  | { state: 'in_use'; until: number }
  | { state: 'kept'; answer: string };

/** The end of a request that began to use a key. */
export type KeyEnd = { state: 'undone' | 'not_kept' } | { state: 'kept'; answer: string };

/** The time for which an answer is kept. */
const RETENTION_MS = DAY_MS;

/** The time for which a request holds its key unless it extends that. */
export const LEASE_MS = MINUTE_MS;

/** An object may hold 10 GB. Beyond this, answers are not kept any more; that requests were done still is. */
const MAX_STORAGE_BYTES = 4 * 1024 ** 3;

interface Row extends Record<string, SqlStorageValue> {
  digest: string;
  request_id: string;
  /** The time until which the key is in use; null once its request is done. */
  in_use_until: number | null;
  answer: string | null;
}

const getDay = (now: number): number => Math.floor(now / DAY_MS);

/**
 * The keys under which requests were made in the last day, with the answers. Those of a day stand in a table of their own, which
 * is dropped as a whole: that writes no row. Nothing here awaits, so no other request comes in between.
 */
export class IdempotencyKeys {
  readonly #sql: SqlStorage;
  readonly #roomBytes: number;
  readonly #days: Set<number>;

  constructor(sql: SqlStorage, roomBytes = MAX_STORAGE_BYTES) {
    this.#sql = sql;
    this.#roomBytes = roomBytes;
    const tables = sql.exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'idempotency_keys_*' ORDER BY name",
    );
    this.#days = new Set(tables.toArray().map(({ name }) => Number(name.slice('idempotency_keys_'.length))));
  }

  /** Begins to use a key, unless it is known already. A request that asks again is answered as before. */
  begin({ senderId, key, digests, requestId }: KeyUse, now: number): KeyState {
    const known = this.#find(senderId, key, now);
    if (known) {
      const { in_use_until: until, answer } = known;
      if (!digests.includes(known.digest)) return { state: 'reused' };
      if (until === null) return answer === null ? { state: 'not_kept' } : { state: 'kept', answer };
      if (until > now && known.request_id !== requestId) return { state: 'in_use', until };
    }
    this.#sql.exec(
      `INSERT OR REPLACE INTO ${this.#openTable(getDay(now))} VALUES (?, ?, ?, ?, ?, ?, NULL)`,
      senderId,
      key,
      digests[0] as string,
      requestId,
      now + LEASE_MS,
      now + RETENTION_MS,
    );
    return { state: 'begun' };
  }

  /** The request is still at work. */
  extend(use: KeyUse, now: number): void {
    this.#change(use, (table) => `UPDATE ${table} SET in_use_until = ?`, now + LEASE_MS);
  }

  /** The request has ended, with an answer that is to be given again, or undone: then another one may use the key. */
  end(use: KeyUse, end: KeyEnd): void {
    if (end.state === 'undone') {
      this.#change(use, (table) => `DELETE FROM ${table}`);
      return;
    }
    const answer = end.state === 'kept' && this.#sql.databaseSize < this.#roomBytes ? end.answer : null;
    this.#change(use, (table) => `UPDATE ${table} SET in_use_until = NULL, answer = ?`, answer);
  }

  /** Forgets all keys of these senders. */
  forget(senders: readonly string[]): void {
    for (const day of this.#days) {
      const theirs = 'sender_id IN (SELECT value FROM json_each(?))';
      this.#sql.exec(`DELETE FROM ${formatTableName(day)} WHERE ${theirs}`, JSON.stringify(senders));
    }
  }

  /** Drops the days before yesterday. */
  dropOld(now: number): void {
    for (const day of this.#days) {
      if (day >= getDay(now) - 1) continue;
      this.#sql.exec(`DROP TABLE ${formatTableName(day)}`);
      this.#days.delete(day);
    }
  }

  /** The time at which the next day can be dropped (ms); null if there is none. */
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

  #find(senderId: string, key: string, now: number): Row | undefined {
    const found = [...this.#days].flatMap((day) =>
      selectRows<Row>(
        this.#sql,
        `SELECT digest, request_id, in_use_until, answer FROM ${formatTableName(day)}
           WHERE sender_id = ? AND key = ? AND kept_until > ?`,
        senderId,
        key,
        now,
      ),
    );
    // One that was begun anew the day after it was lost stands in both.
    return found.at(-1);
  }

  /** Changes a key that this request still uses: one whose lease has ended may be another's by now. */
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
