import type { Client, Connection, Submittable } from '@neondatabase/serverless';
import { sendAll } from './batch.ts';
import type { TenantTx } from './client.ts';
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
  rows: number;
  /** The lines of RFC 4180, each with its CRLF. */
  lines: Uint8Array<ArrayBuffer>;
  /** Where the last line begins. */
  lastLine: number;
}

/**
 * Runs `COPY (select) TO STDOUT` as CSV. Postgres sends as fast as it can, and all of it stays in memory: select a few
 * megabytes a call.
 * @param before statements to run in the same round trip
 * @param milliseconds the statement's own time limit
 */
export function copyOut(tx: TenantTx, before: Statement[], select: string, milliseconds: number): Promise<CopiedOut> {
  const copy = { text: `COPY (${select}) TO STDOUT (FORMAT csv)`, values: [] };
  return tx.bounded((client) => run(client, [...before, copy]), milliseconds);
}

function run(client: Client, statements: Statement[]): Promise<CopiedOut> {
  const copy = new CopyOut(statements);
  client.query(copy);
  return copy.copied;
}

const FIRST_BYTES = 256 * 1024;
const CR = 13;
const LF = 10;

/** The callbacks of the driver while it runs the statements; `submit` and the handlers are node-postgres's interface. */
class CopyOut implements Submittable {
  readonly copied: Promise<CopiedOut>;
  readonly #statements: Statement[];
  #bytes = new Uint8Array(FIRST_BYTES);
  #length = 0;
  #lastLine = 0;
  #rows = 0;
  #succeed!: (copied: CopiedOut) => void;
  #fail!: (error: unknown) => void;

  constructor(statements: Statement[]) {
    this.#statements = statements;
    this.copied = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
  }

  submit(connection: Connection): void {
    sendAll(connection, this.#statements);
  }

  /** Postgres sends each row as a message, which ends with LF. The driver uses its bytes again. */
  handleCopyData({ chunk }: { chunk: Uint8Array }): void {
    const end = this.#length + chunk.length - 1;
    if (end + 2 > this.#bytes.length) this.#grow(end + 2);
    this.#bytes.set(chunk, this.#length);
    this.#bytes[end] = CR;
    this.#bytes[end + 1] = LF;
    this.#lastLine = this.#length;
    this.#length = end + 2;
  }

  #grow(least: number): void {
    const grown = new Uint8Array(Math.max(least, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }

  handleCommandComplete({ text }: { text: string }): void {
    const tag = /^COPY (\d+)$/.exec(text);
    if (tag) this.#rows = Number(tag[1]);
  }

  handleReadyForQuery(): void {
    this.#succeed({ rows: this.#rows, lines: this.#bytes.subarray(0, this.#length), lastLine: this.#lastLine });
  }

  handleError(error: unknown): void {
    this.#fail(isConnectionProblem(error) ? databaseUnavailable().because(error) : error);
  }

  // Results of statements before the COPY are ignored.
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
}
