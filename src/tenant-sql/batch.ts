import type { Client, Connection, Submittable } from '@neondatabase/serverless';
import { formatArrayLiteral } from '../sql-templates/compiled.ts';
import { type ExtendedProtocol, getParser } from './driver.ts';
import type { Statement } from './rows.ts';

/** The result of a statement in a batch. */
export interface StatementResult {
  command?: string;
  rows: unknown[];
  rowCount?: number | null;
}

/**
 * Runs statements with bound values, all sent in one message: one round trip. PostgreSQL skips all statements after the first
 * that fails, so that none runs outside of a transaction that an earlier one was to begin. @returns the result of each
 */
export function runBatch(client: Client, statements: readonly Statement[]): Promise<StatementResult[]> {
  const batch = new StatementBatch(statements);
  client.query(batch);
  return batch.resultsPromise;
}

interface ResultField {
  name: string;
  parse: (text: string) => unknown;
}

/** A batch as the driver runs it; `submit` and the handlers are node-postgres's interface. */
class StatementBatch implements Submittable {
  readonly resultsPromise: Promise<StatementResult[]>;
  readonly #statements: readonly Statement[];
  readonly #doneResults: StatementResult[] = [];
  #fields: ResultField[] = [];
  #rows: unknown[] = [];
  #succeed!: (results: StatementResult[]) => void;
  #fail!: (error: unknown) => void;

  constructor(statements: readonly Statement[]) {
    this.#statements = statements;
    this.resultsPromise = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
  }

  submit(connection: Connection): void {
    sendStatements(connection, this.#statements);
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
    const affectedRowCount = /\d+$/.exec(text)?.[0];
    this.#doneResults.push({
      command,
      rows: this.#rows,
      rowCount: affectedRowCount === undefined ? null : Number(affectedRowCount),
    });
    this.#fields = [];
    this.#rows = [];
  }

  handleReadyForQuery(): void {
    this.#succeed(this.#doneResults);
  }

  handleError(error: unknown): void {
    this.#fail(error);
  }

  handleEmptyQuery(): void {}
}

/** Sends statements in one message. */
export function sendStatements(connection: Connection, statements: readonly Statement[]): void {
  const extendedConnection = connection as unknown as ExtendedProtocol;
  for (const { text, values } of statements) {
    extendedConnection.parse({ text });
    extendedConnection.bind({ values: values.map(toParameterText) });
    extendedConnection.describe({ type: 'P', name: '' });
    extendedConnection.execute({});
  }
  extendedConnection.sync();
}

/** Converts a value to the text that PostgreSQL reads for whatever type the statement gives it. */
function toParameterText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (isTextArray(value)) return formatArrayLiteral(value);
  if (typeof value === 'object' || typeof value === 'function') throw new TypeError('cannot be bound as it is');
  return String(value);
}

const isTextArray = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((element) => typeof element === 'string');
