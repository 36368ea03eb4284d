import type { PresentedCredential } from '../access/known-principals.ts';
import { HOUR_MS, MINUTE_MS } from '../kernel/clock.ts';
import { selectRows } from '../platform/objects.ts';

export type Nonce = NonNullable<PresentedCredential['nonce']>;

/** The time for which a nonce is stored after its request is no longer acceptable: clocks differ, and answers get lost. */
const RETENTION_MARGIN_MS = 15 * MINUTE_MS;

/** Returns the hour in which a nonce expires: the nonces of one hour are in a table of their own. */
const toHourNumber = (time: number): number => Math.floor(time / HOUR_MS);

/**
 * The request that used each nonce, on disk. A table is dropped as a whole when the last of its nonces has expired: dropping a
 * table writes no row, while each row that is deleted, and each entry of an index, costs as much as one that is written.
 */
export class Nonces {
  readonly #sql: SqlStorage;
  readonly #hours: Set<number>;

  constructor(sql: SqlStorage, now: number) {
    this.#sql = sql;
    const tables = sql.exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'nonces*'",
    );
    const names = tables.toArray().map(({ name }) => name);
    this.#hours = new Set(names.flatMap((name) => (name === 'nonces' ? [] : Number(name.slice('nonces_'.length)))));
    if (names.includes('nonces')) this.#takeOver(now);
  }

  /** Finds the id of the request that used a nonce; undefined if the nonce is new. */
  findUsingRequest({ accessKey, value }: Nonce): string | null | undefined {
    for (const hour of this.#hours) {
      const [found] = selectRows<{ request_id: string | null }>(
        this.#sql,
        `SELECT request_id FROM nonces_${hour} WHERE access_key = ? AND nonce = ?`,
        accessKey,
        value,
      );
      if (found) return found.request_id;
    }
    return undefined;
  }

  /** Stores a new nonce. */
  storeNonce({ accessKey, value, goodUntil }: Nonce, requestId: string): void {
    const hour = toHourNumber(goodUntil + RETENTION_MARGIN_MS);
    this.#add(hour);
    this.#sql.exec(`INSERT INTO nonces_${hour} VALUES (?, ?, ?)`, accessKey, value, requestId);
  }

  deleteNonce({ accessKey, value }: Nonce): void {
    for (const hour of this.#hours) {
      this.#sql.exec(`DELETE FROM nonces_${hour} WHERE access_key = ? AND nonce = ?`, accessKey, value);
    }
  }

  /** Drops expired nonces. */
  dropExpired(now: number): void {
    for (const hour of this.#hours) {
      if (hour >= toHourNumber(now)) continue;
      this.#sql.exec(`DROP TABLE nonces_${hour}`);
      this.#hours.delete(hour);
    }
  }

  /** Returns the time at which the next nonces expire (ms); null if there are none. */
  get nextEnd(): number | null {
    return this.#hours.size === 0 ? null : (Math.min(...this.#hours) + 1) * HOUR_MS;
  }

  #add(hour: number): void {
    if (this.#hours.has(hour)) return;
    this.#sql.exec(
      `CREATE TABLE nonces_${hour} (
         access_key TEXT NOT NULL, nonce TEXT NOT NULL, request_id TEXT, PRIMARY KEY (access_key, nonce)) WITHOUT ROWID`,
    );
    this.#hours.add(hour);
  }

  /** Moves the nonces of the previous version's single table, which expire within an hour. */
  #takeOver(now: number): void {
    const hour = toHourNumber(now + HOUR_MS);
    this.#add(hour);
    const columns = this.#sql.exec("SELECT 1 FROM pragma_table_info('nonces') WHERE name = 'request_id'");
    const request = columns.next().done ? 'NULL' : 'request_id';
    this.#sql.exec(`INSERT INTO nonces_${hour} SELECT access_key, nonce, ${request} FROM nonces`);
    this.#sql.exec('DROP TABLE nonces');
  }
}
