import { Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/**
 * Makes a server listen on 127.0.0.1. It never closes an idle connection: a client that sends its next request just then would
 * lose it. @returns its port, a free one unless given
 */
export async function listen(server: Server, port = 0): Promise<number> {
  if (server instanceof HttpServer) server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

/** Answers a request with JSON. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}
