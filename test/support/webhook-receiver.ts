import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { createSigner } from './saml-idp.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Base URL of a receiver of webhooks that behaves as its paths say: see `createReceiverListener`. */
    webhookReceiverUrl: string;
    /** Base URL of the receiver by https, with an untrusted certificate. */
    untrustedReceiverUrl: string;
  }
}

/** A request as the receiver received it. */
export interface ReceivedRequest {
  /** When the request arrived, in milliseconds since the epoch. */
  at: number;
  headers: Record<string, string>;
  body: string;
}

/** Starts the receiver on a socket of this machine, for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const handleRequest = createReceiverListener();
  const httpServer = createServer(handleRequest);
  const { privateKey: key, certificate: cert } = await createSigner();
  const httpsServer = createTlsServer({ key, cert }, handleRequest);
  for (const server of [httpServer, httpsServer]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }
  const getPort = (server: typeof httpServer) => (server.address() as AddressInfo).port;
  project.provide('webhookReceiverUrl', `http://127.0.0.1:${getPort(httpServer)}`);
  project.provide('untrustedReceiverUrl', `https://127.0.0.1:${getPort(httpsServer)}`);
  return async () => {
    for (const server of [httpServer, httpsServer]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  };
}

/**
 * Creates the receiver: `/{behaviour}/{key}` takes requests, which GET of `/received/{key}` lists. Behaviours: `ok`; `status.N`
 * answers that; `once.N` answers it the first time; `after.N.S` answers N with `Retry-After: S` the first time; `mute` sends
 * nothing; `drip` a byte of its head a second; `huge` sends without an end; `redirect` answers 301; `hangup` closes the
 * connection; `late.N` answers that after two seconds; `interim.N` sends the answer N (100, 102 or 103) before its own. PUT of
 * `/as/{key}` with a behaviour changes the behaviour of the key.
 */
function createReceiverListener(): RequestListener {
  const requestsByKey = new Map<string, ReceivedRequest[]>();
  const changedBehaviours = new Map<string, string>();
  return (request, response) => {
    const [, behaviour = '', key = ''] = (request.url ?? '').split('/');
    if (behaviour === 'received') return void response.end(JSON.stringify(requestsByKey.get(key) ?? []));
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      if (behaviour === 'as') {
        changedBehaviours.set(key, body);
        return void response.end();
      }
      const earlierRequests = requestsByKey.get(key) ?? [];
      const headers = request.headers as Record<string, string>;
      requestsByKey.set(key, [...earlierRequests, { at: Date.now(), headers, body }]);
      answerByBehaviour(response, changedBehaviours.get(key) ?? behaviour, earlierRequests.length);
    });
  };
}

/** Sends one byte of the response's head a second. */
function sendHeadSlowly({ socket }: ServerResponse): void {
  const pendingCharacters = [...'HTTP/1.1 204 No Content\r\n\r\n'];
  const timer = setInterval(() => {
    const byte = pendingCharacters.shift();
    if (byte === undefined || !socket?.writable) clearInterval(timer);
    else socket.write(byte);
  }, 1000);
}

function answerByBehaviour(response: ServerResponse, behaviour: string, earlierCount: number): void {
  const [kind, status = '204', seconds = '0'] = behaviour.split('.');
  const isFirst = earlierCount === 0;
  if (kind === 'mute') return;
  if (kind === 'interim') {
    if (status === '100') response.writeContinue();
    else if (status === '102') response.writeProcessing();
    else response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
    return void response.writeHead(204).end();
  }
  if (kind === 'hangup') return void response.destroy();
  if (kind === 'drip') return void sendHeadSlowly(response);
  if (kind === 'huge') {
    response.writeHead(200);
    const chunk = Buffer.alloc(65_536);
    const sendNextChunks = () => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', sendNextChunks);
    };
    sendNextChunks();
    return;
  }
  if (kind === 'late') return void setTimeout(() => response.writeHead(Number(status)).end(), 2000);
  if (kind === 'redirect') return void response.writeHead(301, { location: 'http://127.0.0.1:1/inside' }).end();
  if (kind === 'status' || (kind === 'once' && isFirst)) return void response.writeHead(Number(status)).end();
  if (kind === 'after' && isFirst) return void response.writeHead(Number(status), { 'retry-after': seconds }).end();
  response.writeHead(204).end();
}
