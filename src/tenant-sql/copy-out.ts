import type { Client, Connection, Submittable } from '@neondatabase/serverless';
import { sendAll } from './batch.ts';
import type { TenantTx } from './client.ts';
import { divertRows, type RowReceiver } from './copy-frames.ts';
import { getSocket } from './driver.ts';
import { databaseUnavailable } from './failures.ts';
import type { LineBuffers, Lines } from './line-buffers.ts';
import { isConnectionProblem } from './postgres-error.ts';
import type { Bind } from './row-filters.ts';
import type { Statement } from './rows.ts';

/** A statement's values for COPY, which takes none: settings that it reads, set by `statement` before it. */
export function bindAsSettings(): { bind: Bind; statement(): Statement[] } {
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

/** The result of a COPY. */
export interface CopiedOut {
  /** The rows that were taken: the first ones. */
  rows: number;
  /** The length of the lines of the rows that were taken. */
  bytes: number;
  /** The last one of them, until another COPY uses the same buffers. */
  lastLine: Uint8Array;
  /** Whether there were more rows than fitted. */
  isCut: boolean;
}

/**
 * Runs `COPY (select) TO STDOUT` as CSV. Postgres sends as fast as it can, and nothing can hold it back: what does not fit into
 * the buffers is dropped.
 * @param before statements to run in the same round trip
 * @param milliseconds the statement's own time limit
 * @param buffers take whole lines of RFC 4180, each with its CRLF; a first one that is longer has its own memory
 */
export function copyOut(
  tx: TenantTx,
  before: Statement[],
  select: string,
  milliseconds: number,
  buffers: LineBuffers,
): Promise<CopiedOut> {
  const copy = { text: `COPY (${select}) TO STDOUT (FORMAT csv)`, values: [] };
  return tx.bounded((client) => {
    const run = new CopyOut(client, [...before, copy], buffers);
    client.query(run);
    return run.copied;
  }, milliseconds);
}

const CR = 13;
const LF = 10;

/** The callbacks of the driver while it runs the statements; `submit` and the handlers are node-postgres's interface. */
class CopyOut implements Submittable, RowReceiver {
  readonly copied: Promise<CopiedOut>;
  readonly #client: Client;
  readonly #statements: Statement[];
  readonly #buffers: LineBuffers;
  readonly #result: CopiedOut = { rows: 0, bytes: 0, lastLine: new Uint8Array(), isCut: false };
  #buffer: Lines;
  #length = 0;
  /** The beginning of the line that is being sent, and of the last one that is whole. */
  #line = 0;
  #lastLine = 0;
  #succeed!: (copied: CopiedOut) => void;
  #fail!: (error: unknown) => void;

  constructor(client: Client, statements: Statement[], buffers: LineBuffers) {
    this.#client = client;
    this.#statements = statements;
    this.#buffers = buffers;
    this.#buffer = buffers.empty() as Lines;
    this.copied = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
  }

  submit(connection: Connection): void {
    divertRows(getSocket(this.#client), this);
    sendAll(connection, this.#statements);
  }

  take(bytes: Uint8Array, start: number, end: number): void {
    if (this.#result.isCut) return;
    // A line grows by its CR.
    if (this.#length + end - start + 1 > this.#buffer.length && !this.#makeRoom(end - start + 1)) return;
    this.#buffer.set(bytes.subarray(start, end), this.#length);
    this.#length += end - start;
  }

  /** Hands the whole lines on, and goes on in another buffer. Only the first line is given more than one has. */
  #makeRoom(more: number): boolean {
    const begun = this.#buffer.subarray(this.#line, this.#length);
    const least = begun.length + more;
    const next =
      this.#result.rows === 0 ? new Uint8Array(Math.max(least, 2 * this.#buffer.length)) : this.#buffers.empty(least);
    this.#result.isCut = next === undefined;
    if (!next) return false;
    next.set(begun);
    if (this.#line > 0) this.#handOn();
    this.#buffer = next;
    this.#length = begun.length;
    this.#line = 0;
    return true;
  }

  #handOn(): void {
    const lines = this.#buffer.subarray(0, this.#line);
    if (this.#line > 0) this.#result.lastLine = lines.subarray(this.#lastLine);
    this.#result.bytes += lines.length;
    this.#buffers.fill(lines);
  }

  /** Postgres sends each row as a message, which ends with LF. */
  endRow(): void {
    if (this.#result.isCut) return;
    this.#buffer[this.#length - 1] = CR;
    this.#buffer[this.#length] = LF;
    this.#length += 1;
    this.#lastLine = this.#line;
    this.#line = this.#length;
    this.#result.rows += 1;
  }

  handleReadyForQuery(): void {
    this.#handOn();
    this.#succeed(this.#result);
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
