import type { IncomingMessage, ServerResponse } from 'node:http';
import { Client, DatabaseError, type QueryArrayResult } from 'pg';
import { sendJson } from '../servers.ts';
import type { Computes } from './computes.ts';
import type { ResolveEndpoint } from './tunnel.ts';

/** Neon's limit of a request body. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

interface Statement {
  query: string;
  params?: unknown[];
}

/** Type parsers that keep PostgreSQL's text: the driver parses values by their type. */
const TEXT_TYPES = { getTypeParser: () => (value: string) => value };

/** Answers `POST /sql` of a Neon endpoint: runs one statement, or several as one transaction. */
export async function runSql(
  request: IncomingMessage,
  response: ServerResponse,
  resolve: ResolveEndpoint,
  computes: Computes,
) {
  const connectionString = request.headers['neon-connection-string'];
  const url = typeof connectionString === 'string' ? URL.parse(connectionString) : null;
  const target = url && resolve(url.hostname);
  if (!url || !target) return sendJson(response, 400, { message: 'no such endpoint' });
  const { wakingPromise, endConnection } = computes.beginConnection(target.projectName);
  const client = new Client({
    host: target.host,
    port: target.port,
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: url.pathname.slice(1),
  });
  try {
    const sentBody = JSON.parse(await readBody(request)) as Statement | { queries: Statement[] };
    await wakingPromise;
    await client.connect();
    const body =
      'queries' in sentBody
        ? { results: await runTransaction(client, sentBody.queries, request) }
        : await runStatement(client, sentBody);
    sendJson(response, 200, body);
  } catch (error) {
    const { message, code, severity, detail, hint, position, constraint, column, table } = error as DatabaseError;
    const status = error instanceof DatabaseError || error instanceof SyntaxError ? 400 : 500;
    sendJson(response, status, { message, code, severity, detail, hint, position, constraint, column, table });
  } finally {
    await client.end().catch(() => undefined);
    endConnection();
  }
}

async function runStatement(client: Client, { query, params = [] }: Statement) {
  const { command, rowCount, rows, fields }: QueryArrayResult = await client.query({
    text: query,
    values: params,
    rowMode: 'array',
    types: TEXT_TYPES,
  });
  return { command, rowCount, rows, fields, rowAsArray: true };
}

async function runTransaction(client: Client, statements: Statement[], { headers }: IncomingMessage) {
  const isolationLevel = ISOLATION_LEVELS[String(headers['neon-batch-isolation-level'])];
  const readOnly = headers['neon-batch-read-only'] === 'true' ? ' READ ONLY' : '';
  await client.query(`BEGIN${isolationLevel ? ` ISOLATION LEVEL ${isolationLevel}` : ''}${readOnly}`);
  const results = [];
  for (const statement of statements) results.push(await runStatement(client, statement));
  await client.query('COMMIT');
  return results;
}

const ISOLATION_LEVELS: Record<string, string> = {
  ReadUncommitted: 'READ UNCOMMITTED',
  ReadCommitted: 'READ COMMITTED',
  RepeatableRead: 'REPEATABLE READ',
  Serializable: 'SERIALIZABLE',
};

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new SyntaxError('the request is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
