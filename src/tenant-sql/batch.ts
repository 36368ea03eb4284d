import type { Client, Connection } from '@neondatabase/serverless';
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
  const { promise, resolve, reject } = Promise.withResolvers<StatementResult[]>();
  const results: StatementResult[] = [];
  let resultFields: { name: string; parse: (text: string) => unknown }[] = [];
  let rows: unknown[] = [];
  // `submit` and the handlers are node-postgres's interface.
  client.query({
    submit: (connection: Connection) => sendStatements(connection, statements),
    handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }) {
      resultFields = fields.map(({ name, dataTypeID }) => ({ name, parse: getParser(dataTypeID) }));
    },
    handleDataRow({ fields }: { fields: (string | null)[] }) {
      const row: Record<string, unknown> = {};
      for (const [index, { name, parse }] of resultFields.entries()) {
        const text = fields[index] ?? null;
        row[name] = text === null ? null : parse(text);
      }
      rows.push(row);
    },
    handleCommandComplete({ text }: { text: string }) {
      const [command = ''] = text.split(' ');
      const affectedRowCount = /\d+$/.exec(text)?.[0];
      results.push({ command, rows, rowCount: affectedRowCount === undefined ? null : Number(affectedRowCount) });
      resultFields = [];
      rows = [];
    },
    handleReadyForQuery: () => resolve(results),
    handleError: (error: unknown) => reject(error),
    handleEmptyQuery: () => {},
  });
  return promise;
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
  if (Array.isArray(value) && value.every((element) => typeof element === 'string')) return formatArrayLiteral(value);
  if (typeof value === 'object' || typeof value === 'function') throw new TypeError('cannot be bound as it is');
  return String(value);
}
