import type { Client, Connection, Submittable } from '@neondatabase/serverless';
import { sendStatements } from './batch.ts';
import type { TenantTx } from './client.ts';
import { divertRows, type RowReceiver } from './copy-frames.ts';
import { getSocket } from './driver.ts';
import { databaseUnavailable } from './failures.ts';
import type { LineBuffers, LineBytes } from './line-buffers.ts';
import { isConnectionProblem } from './postgres-error.ts';
import type { BindValue } from './row-filters.ts';
import type { Statement } from './rows.ts';

/**
 * Binds a statement's values for COPY, which takes no bound values: as settings that the statement reads. The statements that
 * `statement` returns set them, and must run before.
 */
export function bindAsSettings(): { bindValue: BindValue; statement(): Statement[] } {
  const values: unknown[] = [];
  const formatName = (number: number) => `'console_value.v${number}'`;
  return {
    bindValue: (value) => `current_setting(${formatName(values.push(value))})`,
    statement: () =>
      values.length === 0
        ? []
        : [
            {
              text: `SELECT ${values.map((_, at) => `set_config(${formatName(at + 1)}, $${at + 1}, true)`).join(', ')}`,
              values,
            },
          ],
  };
}

/** The result of a COPY to the client. */
export interface CopyOutResult {
  /** The number of rows that were taken: the first ones. */
  rowCount: number;
  /** The number of bytes of the lines of the rows that were taken. */
  byteCount: number;
  /** The last line that was taken, until another COPY uses the same buffers. */
  lastLine: Uint8Array;
  /** Whether there were more rows than fitted into the buffers. */
  isCut: boolean;
}

/**
 * Runs `COPY (selectSql) TO STDOUT` as CSV. Postgres sends as fast as it can, and nothing can slow it down: rows that do not fit
 * into the buffers are dropped. @param precedingStatements statements to run in the same round trip @param milliseconds the statement's own
 * time limit @param buffers take whole lines of RFC 4180, each with its CRLF; a first line longer than a buffer gets its own
 * memory
 */
export function copyOut(
  tx: TenantTx,
  precedingStatements: Statement[],
  selectSql: string,
  milliseconds: number,
  buffers: LineBuffers,
): Promise<CopyOutResult> {
  const copy = { text: `COPY (${selectSql}) TO STDOUT (FORMAT csv)`, values: [] };
  return tx.runBounded((client) => {
    const copyRun = new CopyOutRun(client, [...precedingStatements, copy], buffers);
    client.query(copyRun);
    return copyRun.resultPromise;
  }, milliseconds);
}

const CR = 13;
const LF = 10;

/** The COPY as the driver runs it; `submit` and the handlers are node-postgres's interface. */
class CopyOutRun implements Submittable, RowReceiver {
  readonly resultPromise: Promise<CopyOutResult>;
  readonly #client: Client;
  readonly #statements: Statement[];
  readonly #buffers: LineBuffers;
  readonly #result: CopyOutResult = { rowCount: 0, byteCount: 0, lastLine: new Uint8Array(), isCut: false };
  #buffer: LineBytes;
  #length = 0;
  /** The start of the incomplete line in the buffer. */
  #lineStart = 0;
  /** The start of the last complete line in the buffer. */
  #lastLineStart = 0;
  #succeed!: (result: CopyOutResult) => void;
  #fail!: (error: unknown) => void;

  constructor(client: Client, statements: Statement[], buffers: LineBuffers) {
    this.#client = client;
    this.#statements = statements;
    this.#buffers = buffers;
    this.#buffer = buffers.takeFreeBuffer() as LineBytes;
    this.resultPromise = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
  }

  submit(connection: Connection): void {
    divertRows(getSocket(this.#client), this);
    sendStatements(connection, this.#statements);
  }

  takeBytes(bytes: Uint8Array, start: number, end: number): void {
    if (this.#result.isCut) return;
    // A line grows by its CR.
    if (this.#length + end - start + 1 > this.#buffer.length && !this.#makeRoom(end - start + 1)) return;
    this.#buffer.set(bytes.subarray(start, end), this.#length);
    this.#length += end - start;
  }

  /** Hands on the complete lines, and continues in another buffer. Only the first line gets more memory than one buffer. */
  #makeRoom(neededBytes: number): boolean {
    const startedLine = this.#buffer.subarray(this.#lineStart, this.#length);
    const minBytes = startedLine.length + neededBytes;
    const nextBuffer =
      this.#result.rowCount === 0
        ? new Uint8Array(Math.max(minBytes, 2 * this.#buffer.length))
        : this.#buffers.takeFreeBuffer(minBytes);
    this.#result.isCut = nextBuffer === undefined;
    if (!nextBuffer) return false;
    nextBuffer.set(startedLine);
    if (this.#lineStart > 0) this.#handOn();
    this.#buffer = nextBuffer;
    this.#length = startedLine.length;
    this.#lineStart = 0;
    return true;
  }

  #handOn(): void {
    const lines = this.#buffer.subarray(0, this.#lineStart);
    if (this.#lineStart > 0) this.#result.lastLine = lines.subarray(this.#lastLineStart);
    this.#result.byteCount += lines.length;
    this.#buffers.pushLines(lines);
  }

  /** Ends a row, which Postgres sends as one message that ends with LF. */
  endRow(): void {
    if (this.#result.isCut) return;
    this.#buffer[this.#length - 1] = CR;
    this.#buffer[this.#length] = LF;
    this.#length += 1;
    this.#lastLineStart = this.#lineStart;
    this.#lineStart = this.#length;
    this.#result.rowCount += 1;
  }

  handleReadyForQuery(): void {
    this.#handOn();
    this.#succeed(this.#result);
  }

  handleError(error: unknown): void {
    this.#fail(isConnectionProblem(error) ? databaseUnavailable().addCause(error) : error);
  }

  // The rows come by the other way; results of statements before the COPY are ignored.
  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
}
