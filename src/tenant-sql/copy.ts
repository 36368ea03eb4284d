import { Buffer } from 'node:buffer';
import type { Client, Connection, Submittable } from '@neondatabase/serverless';
import type { TenantTx } from './client.ts';
import { databaseUnavailable } from './failures.ts';
import { isConnectionProblem } from './postgres-error.ts';

/**
 * The number of bytes of one CopyData message. Driver and proxies forward a message as a whole, so smaller ones arrive sooner.
 */
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
    const copy = new CopyInRun(client, text, data, onSent);
    client.query(copy);
    return copy.rowCountPromise;
  }, milliseconds);
}

/** The COPY as the driver runs it; `submit` and the handlers are node-postgres's interface. */
class CopyInRun implements Submittable {
  readonly rowCountPromise: Promise<number>;
  readonly #client: Client;
  readonly #text: string;
  readonly #data: Uint8Array;
  readonly #onSent: () => void;
  #copied = 0;
  #succeed!: (rowCount: number) => void;
  #fail!: (error: unknown) => void;

  constructor(client: Client, text: string, data: Uint8Array, onSent: () => void) {
    this.#client = client;
    this.#text = text;
    this.#data = data;
    this.#onSent = onSent;
    this.rowCountPromise = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
  }

  submit(connection: Connection): void {
    connection.query(this.#text);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    const socket = this.#client.neonConfig;
    // Merging writes would copy all previous data with each write.
    socket.coalesceWrites = false;
    for (let at = 0; at < this.#data.length; at += MESSAGE_BYTES) {
      const piece = this.#data.subarray(at, at + MESSAGE_BYTES);
      connection.sendCopyFromChunk(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    }
    connection.endCopyFrom();
    socket.coalesceWrites = true;
    this.#onSent();
  }

  handleCommandComplete({ text }: { text: string }): void {
    const commandTag = /^COPY (\d+)$/.exec(text);
    if (commandTag) this.#copied = Number(commandTag[1]);
  }

  handleReadyForQuery(): void {
    this.#succeed(this.#copied);
  }

  handleError(error: unknown): void {
    this.#fail(isConnectionProblem(error) ? databaseUnavailable().addCause(error) : error);
  }

  // Results of statements before the COPY are ignored.
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
}

/** The methods of the driver's connection for COPY. */
interface CopyConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}
