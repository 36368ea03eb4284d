import { Buffer } from 'node:buffer';
import type { Connection } from '@neondatabase/serverless';
import type { TenantTx } from './client.ts';
import { databaseUnavailable } from './failures.ts';
import { isConnectionProblem } from './postgres-error.ts';

/** The number of bytes of one CopyData message: driver and proxies forward whole messages, so smaller ones arrive sooner. */
const MESSAGE_BYTES = 256 * 1024;

/**
 * Runs one `COPY … FROM STDIN` with `data` as its whole input, in the format that the statement names. The driver sends without
 * backpressure, so `data` stays in memory until Postgres has received it: pass a few megabytes a call. @param text the statement;
 * further statements may surround it, since it uses the simple protocol @param milliseconds the statement's own time limit @param
 * onSent called when all data has been sent: from then on only Postgres works @returns the number of copied rows @throws
 * PostgresError with `where` naming Postgres's line and column; `tenant_sql.unavailable` for a lost connection
 */
export async function copyIn(
  tx: TenantTx,
  text: string,
  data: Uint8Array,
  milliseconds: number,
  onSent: () => void = () => {},
): Promise<number> {
  return tx.runBounded((client) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    let copiedRowCount = 0;
    // `submit` and the handlers are node-postgres's interface.
    client.query({
      submit: (connection: Connection) => connection.query(text),
      handleCopyInResponse(connection: CopyConnection) {
        const socket = client.neonConfig;
        // Merging writes would copy all previous data with each write.
        socket.coalesceWrites = false;
        for (let at = 0; at < data.length; at += MESSAGE_BYTES) {
          const piece = data.subarray(at, at + MESSAGE_BYTES);
          connection.sendCopyFromChunk(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
        }
        connection.endCopyFrom();
        socket.coalesceWrites = true;
        onSent();
      },
      handleCommandComplete(message: { text: string }) {
        const commandTag = /^COPY (\d+)$/.exec(message.text);
        if (commandTag) copiedRowCount = Number(commandTag[1]);
      },
      handleReadyForQuery: () => resolve(copiedRowCount),
      handleError: (error: unknown) =>
        reject(isConnectionProblem(error) ? databaseUnavailable().addCause(error) : error),
      // Results of statements before the COPY are ignored.
      handleRowDescription: () => {},
      handleDataRow: () => {},
      handleEmptyQuery: () => {},
    });
    return promise;
  }, milliseconds);
}

/** The methods of the driver's connection for COPY. */
interface CopyConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}
