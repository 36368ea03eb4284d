import { Buffer } from 'node:buffer';
import type { Client, Connection, Submittable } from '@neondatabase/serverless';
import type { TenantTx } from './client.ts';
import { databaseUnavailable } from './failures.ts';
import { isConnectionProblem } from './postgres-error.ts';

/** Bytes of one CopyData message: driver and proxies hand on a message as a whole, so smaller ones are there sooner. */
const MESSAGE_BYTES = 256 * 1024;

/**
 * Runs one `COPY … FROM STDIN` with `data` as its whole input, of whatever format the statement names.
 * The driver sends without backpressure, so `data` sits in memory until Postgres took it: a few megabytes a call.
 *
 * @param text the statement; others may stand around it, since it goes through the simple protocol
 * @param milliseconds what the statement gives itself
 * @param onSent called when all data is on its way: from here on Postgres is busy and we are not
 * @returns rows copied
 * @throws PostgresError with `where` naming Postgres's line and column; `tenant_sql.unavailable` for a lost connection
 */
export async function copyIn(
  tx: TenantTx,
  text: string,
  data: Uint8Array,
  milliseconds: number,
  onSent: () => void = () => {},
): Promise<number> {
  return tx.bounded((client) => {
    const copy = new CopyIn(client, text, data, onSent);
    client.query(copy);
    return copy.rows;
  }, milliseconds);
}

/** What the driver calls while it runs a statement; it knows `submit` and the handlers from node-postgres. */
class CopyIn implements Submittable {
  readonly rows: Promise<number>;
  readonly #client: Client;
  readonly #text: string;
  readonly #data: Uint8Array;
  readonly #onSent: () => void;
  #copied = 0;
  #succeed!: (rows: number) => void;
  #fail!: (error: unknown) => void;

  constructor(client: Client, text: string, data: Uint8Array, onSent: () => void) {
    this.#client = client;
    this.#text = text;
    this.#data = data;
    this.#onSent = onSent;
    this.rows = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
  }

  submit(connection: Connection): void {
    connection.query(this.#text);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    const socket = this.#client.neonConfig;
    // Joining writes, good for many small ones, would copy all that was written before with each of these.
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
    const tag = /^COPY (\d+)$/.exec(text);
    if (tag) this.#copied = Number(tag[1]);
  }

  handleReadyForQuery(): void {
    this.#succeed(this.#copied);
  }

  handleError(error: unknown): void {
    this.#fail(isConnectionProblem(error) ? databaseUnavailable().because(error) : error);
  }

  // Results of statements before the COPY are of no interest.
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
}

/** The part of the driver's connection that speaks COPY. */
interface CopyConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}
