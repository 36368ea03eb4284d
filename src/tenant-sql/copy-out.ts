import type { Client, Connection, Submittable } from '@neondatabase/serverless';
import { sendAll } from './batch.ts';
import type { TenantTx } from './client.ts';
import { divertRows, type RowBytes } from './copy-frames.ts';
import { socketOf } from './driver.ts';
import { databaseUnavailable } from './failures.ts';
import { isConnectionProblem } from './postgres-error.ts';
import type { Bind } from './row-filters.ts';
import type { Statement } from './rows.ts';

/**
 * The values of a statement that takes none, as COPY: they are settings of the transaction, which the statement reads.
 * `statement` sets them, and goes before it.
 */
export function settings(): { bind: Bind; statement(): Statement[] } {
  const values: unknown[] = [];
  const name = (number: number) => `'console_value.v${number}'`;
  return {
    bind: (value) => `current_setting(${name(values.push(value))})`,
    statement: () =>
      values.length === 0
        ? []
        : [
            {
              text: `SELECT ${values.map((_, at) => `set_config(${name(at + 1)}, $${at + 1}, true)`).join(', ')}`,
              values,
            },
          ],
  };
}

/** What a COPY sent. */
export interface CopiedOut {
  /** The rows that were taken: the first ones. */
  rows: number;
  /** The rows that were sent. */
  sent: number;
  /** The lines of RFC 4180 of the rows that were taken, each with its CRLF. */
  lines: Uint8Array<ArrayBuffer>;
  /** Where the last line begins. */
  lastLine: number;
}

/**
 * Runs `COPY (select) TO STDOUT` as CSV. Postgres sends as fast as it can, and nothing can hold it back: what does not fit into
 * memory is dropped, so select no more rows than are likely to.
 * @param before statements to run in the same round trip
 * @param milliseconds the statement's own time limit
 * @param into takes as many whole lines as it has room for; a first one that is longer has its own memory
 */
export function copyOut(
  tx: TenantTx,
  before: Statement[],
  select: string,
  milliseconds: number,
  into: Uint8Array<ArrayBuffer>,
): Promise<CopiedOut> {
  const copy = { text: `COPY (${select}) TO STDOUT (FORMAT csv)`, values: [] };
  return tx.bounded((client) => {
    const run = new CopyOut(client, [...before, copy], into);
    client.query(run);
    return run.copied;
  }, milliseconds);
}

const CR = 13;
const LF = 10;

/** The callbacks of the driver while it runs the statements; `submit` and the handlers are node-postgres's interface. */
class CopyOut implements Submittable, RowBytes {
  readonly copied: Promise<CopiedOut>;
  readonly #client: Client;
  readonly #statements: Statement[];
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;
  /** Where the line begins that is being sent, and the last one that is whole. */
  #line = 0;
  #lastLine = 0;
  #rows = 0;
  #sent = 0;
  #isFull = false;
  #succeed!: (copied: CopiedOut) => void;
  #fail!: (error: unknown) => void;

  constructor(client: Client, statements: Statement[], into: Uint8Array<ArrayBuffer>) {
    this.#client = client;
    this.#statements = statements;
    this.#bytes = into;
    this.copied = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
  }

  submit(connection: Connection): void {
    divertRows(socketOf(this.#client), this);
    sendAll(connection, this.#statements);
  }

  take(bytes: Uint8Array, start: number, end: number): void {
    if (this.#isFull) return;
    const length = this.#length + end - start;
    // A line grows by its CR.
    if (length + 1 > this.#bytes.length && !this.#makeRoom(length + 1)) return;
    this.#bytes.set(bytes.subarray(start, end), this.#length);
    this.#length = length;
  }

  /** Only the first line is given more. */
  #makeRoom(least: number): boolean {
    this.#isFull = this.#rows > 0;
    if (this.#isFull) this.#length = this.#line;
    else {
      const grown = new Uint8Array(Math.max(least, 2 * this.#bytes.length));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    return !this.#isFull;
  }

  /** Postgres sends each row as a message, which ends with LF. */
  endRow(): void {
    this.#sent += 1;
    if (this.#isFull) return;
    this.#bytes[this.#length - 1] = CR;
    this.#bytes[this.#length] = LF;
    this.#length += 1;
    this.#lastLine = this.#line;
    this.#line = this.#length;
    this.#rows += 1;
  }

  handleReadyForQuery(): void {
    const lines = this.#bytes.subarray(0, this.#length);
    this.#succeed({ rows: this.#rows, sent: this.#sent, lines, lastLine: this.#lastLine });
  }

  handleError(error: unknown): void {
    this.#fail(isConnectionProblem(error) ? databaseUnavailable().because(error) : error);
  }

  // The rows come by the other way; results of statements before the COPY are ignored.
  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
}
