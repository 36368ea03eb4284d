import type { Client, Connection } from '@neondatabase/serverless';
import { sendStatements } from './batch.ts';
import type { TenantTx } from './client.ts';
import { divertRows } from './copy-frames.ts';
import { getSocket } from './driver.ts';
import { databaseUnavailable } from './failures.ts';
import type { LineBuffers, LineBytes } from './line-buffers.ts';
import { isConnectionProblem } from './postgres-error.ts';
import type { BindValue } from './row-filters.ts';
import type { Statement } from './rows.ts';

/**
 * Binds a statement's values for COPY, which takes no bound values: as settings that the statement reads. The statements that
 * `makeStatements` returns set them, and must run before.
 */
export function bindAsSettings(): { bindValue: BindValue; makeStatements(): Statement[] } {
  const values: unknown[] = [];
  const formatName = (number: number) => `'console_value.v${number}'`;
  return {
    bindValue: (value) => `current_setting(${formatName(values.push(value))})`,
    makeStatements: () =>
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
  /** The number of rows that were taken, from the first row on; the others were left out. */
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
  return tx.runBounded((client) => runCopyOut(client, [...precedingStatements, copy], buffers), milliseconds);
}

const CR = 13;
const LF = 10;

/** Runs statements, the last of which is a COPY to the buffers. */
function runCopyOut(client: Client, statements: Statement[], buffers: LineBuffers): Promise<CopyOutResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CopyOutResult>();
  const result: CopyOutResult = { rowCount: 0, byteCount: 0, lastLine: new Uint8Array(), isCut: false };
  let buffer = buffers.takeFreeBuffer() as LineBytes;
  let length = 0;
  /** The start of the incomplete line in the buffer. */
  let lineStart = 0;
  /** The start of the last complete line in the buffer. */
  let lastLineStart = 0;

  function takeBytes(bytes: Uint8Array, start: number, end: number): void {
    if (result.isCut) return;
    // A line grows by its CR.
    if (length + end - start + 1 > buffer.length && !makeRoom(end - start + 1)) return;
    buffer.set(bytes.subarray(start, end), length);
    length += end - start;
  }

  /**
   * Makes room for `neededBytes` more: hands on the complete lines, and continues the started one in another buffer. Only the
   * first line may be longer than a buffer. @returns false if the line is too long, or no buffer is free
   */
  function makeRoom(neededBytes: number): boolean {
    const startedLine = buffer.subarray(lineStart, length);
    const minBytes = startedLine.length + neededBytes;
    const nextBuffer =
      result.rowCount === 0 ? new Uint8Array(Math.max(minBytes, 2 * buffer.length)) : buffers.takeFreeBuffer(minBytes);
    result.isCut = nextBuffer === undefined;
    if (!nextBuffer) return false;
    nextBuffer.set(startedLine);
    if (lineStart > 0) handOn();
    buffer = nextBuffer;
    length = startedLine.length;
    lineStart = 0;
    return true;
  }

  function handOn(): void {
    const lines = buffer.subarray(0, lineStart);
    if (lineStart > 0) result.lastLine = lines.subarray(lastLineStart);
    result.byteCount += lines.length;
    buffers.pushLines(lines);
  }

  /** Ends a row, which Postgres sends as one message that ends with LF. */
  function endRow(): void {
    if (result.isCut) return;
    buffer[length - 1] = CR;
    buffer[length] = LF;
    length += 1;
    lastLineStart = lineStart;
    lineStart = length;
    result.rowCount += 1;
  }

  // `submit` and the handlers are node-postgres's interface.
  client.query({
    submit(connection: Connection) {
      divertRows(getSocket(client), { takeBytes, endRow });
      sendStatements(connection, statements);
    },
    handleReadyForQuery() {
      handOn();
      resolve(result);
    },
    handleError: (error: unknown) => reject(isConnectionProblem(error) ? databaseUnavailable().addCause(error) : error),
    // The rows come by the other way; results of statements before the COPY are ignored.
    handleCommandComplete: () => {},
    handleRowDescription: () => {},
    handleDataRow: () => {},
    handleEmptyQuery: () => {},
  });
  return promise;
}
