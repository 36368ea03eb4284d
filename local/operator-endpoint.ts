import { randomBytes, timingSafeEqual } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { ENDPOINT_FILE, type OperatorQuery } from '../operations/local-endpoint.ts';
import { writeSecretFile } from '../operations/secret-file.ts';
import { listen, sendJson } from './servers.ts';

/**
 * Runs the statements of operators' commands in the databases of a running start: two processes must not write to one
 * SQLite file. A file that only this user may read holds the address and the token.
 */
export async function openOperatorEndpoint(
  stateDir: string,
  runQuery: (query: OperatorQuery) => Promise<unknown[]>,
): Promise<{ close(): Promise<void> }> {
  const token = randomBytes(32).toString('base64url');
  const server = createServer((request, response) => {
    handleRequest(request, token, runQuery).then(
      ([status, body]) => sendJson(response, status, body),
      (error: Error) => sendJson(response, 400, { error: error.message }),
    );
  });
  const port = await listen(server);
  const file = join(stateDir, ENDPOINT_FILE);
  await writeSecretFile(file, `${JSON.stringify({ url: `http://127.0.0.1:${port}/`, token })}\n`);
  return {
    async close() {
      await rm(file, { force: true });
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function handleRequest(
  request: IncomingMessage,
  token: string,
  runQuery: (query: OperatorQuery) => Promise<unknown[]>,
): Promise<[number, object]> {
  const sentHeader = Buffer.from(request.headers.authorization ?? '');
  const expectedHeader = Buffer.from(`Bearer ${token}`);
  if (sentHeader.length !== expectedHeader.length || !timingSafeEqual(sentHeader, expectedHeader))
    return [401, { error: 'not for you' }];
  return [200, { rows: await runQuery((await json(request)) as OperatorQuery) }];
}
