import type { Client, Connection, Submittable } from '@neondatabase/serverless';
import { arrayLiteral } from '../sql-templates/compiled.ts';
import { type ExtendedProtocol, getParser } from './driver.ts';
import type { Statement } from './rows.ts';

/** The result of a statement. */
export interface StatementResult {
  command?: string;
  rows: unknown[];
  rowCount?: number | null;
}

/**
 * Runs statements with bound values, all sent in one message: one round trip. PostgreSQL skips what follows the first
 * that fails, so that none runs outside of a transaction that an earlier one was to begin.
 * @returns the result of each
 */
export function runBatch(client: Client, statements: readonly Statement[]): Promise<StatementResult[]> {
  const batch = new Batch(statements);
  client.query(batch);
  return batch.results;
}

interface Field {
  name: string;
  parse: (text: string) => unknown;
}

/** The callbacks of the driver while it runs the statements; `submit` and the handlers are node-postgres's interface. */
class Batch implements Submittable {
  readonly results: Promise<StatementResult[]>;
  readonly #statements: readonly Statement[];
  readonly #done: StatementResult[] = [];
  #fields: Field[] = [];
  #rows: unknown[] = [];
  #succeed!: (results: StatementResult[]) => void;
  #fail!: (error: unknown) => void;

  constructor(statements: readonly Statement[]) {
    this.#statements = statements;
    this.results = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
  }

  submit(connection: Connection): void {
    sendAll(connection, this.#statements);
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    this.#fields = fields.map(({ name, dataTypeID }) => ({ name, parse: getParser(dataTypeID) }));
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const row: Record<string, unknown> = {};
    for (const [index, { name, parse }] of this.#fields.entries()) {
      const text = fields[index] ?? null;
      row[name] = text === null ? null : parse(text);
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const [command = ''] = text.split(' ');
    const affected = /\d+$/.exec(text)?.[0];
    this.#done.push({ command, rows: this.#rows, rowCount: affected === undefined ? null : Number(affected) });
    this.#fields = [];
    this.#rows = [];
  }

  handleReadyForQuery(): void {
    this.#succeed(this.#done);
  }

  handleError(error: unknown): void {
    this.#fail(error);
  }

  handleEmptyQuery(): void {}
}

/** Sends statements in one message. */
export function sendAll(connection: Connection, statements: readonly Statement[]): void {
  const out = connection as unknown as ExtendedProtocol;
  for (const { text, values } of statements) {
    out.parse({ text });
    out.bind({ values: values.map(toText) });
    out.describe({ type: 'P', name: '' });
    out.execute({});
  }
  out.sync();
}

/** A value as PostgreSQL reads it for whatever type the statement gives it. */
function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (isTexts(value)) return arrayLiteral(value);
  if (typeof value === 'object' || typeof value === 'function') throw new TypeError('cannot be bound as it is');
  return String(value);
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
