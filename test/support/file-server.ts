import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Base URL of a file server that behaves as its paths say: see `createFileServer`. */
    fileServerUrl: string;
  }
}

/** Starts the file server on a socket of this machine, for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const httpServer = createServer(createFileServer());
  await new Promise<void>((resolve) => httpServer.listen(0, '127.0.0.1', resolve));
  project.provide('fileServerUrl', `http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`);
  return async () => {
    httpServer.closeAllConnections();
    await new Promise((resolve) => httpServer.close(resolve));
  };
}

const MIB_BYTES = 1024 * 1024;
/** The bytes that the server sends before it hangs up. */
const CUT_AFTER_BYTES = 5 * MIB_BYTES;

/** A request as the file server received it. */
export interface ReceivedRequest {
  range: string | null;
  ifRange: string | null;
  headers: string[];
}

/** Returns a CSV file of the given number of rows, of a hundred bytes each. */
export const makeCsv = (rowCount: number): string =>
  `numero,texto\n${Array.from({ length: rowCount }, (_, row) => `${row},`.padEnd(99, 'x')).join('\n')}\n`;

/**
 * Creates the file server. PUT of `/kept/{key}/0/{name}` stores a body, with its `Content-Type` and `Content-Encoding`,
 * for GET of it. `/{behaviour}/{key}/{rows}/{name}` answers a CSV of that many rows. `/asked/{key}` answers every
 * request of a key. Behaviours: `plain`; `chunked` states no length; `packed` answers gzip; `cut` hangs up after 5 MiB
 * each time; `tiny` after 512 KiB; `changed` hangs up the first time, and has another file then; `rangeless` hangs up
 * the first time, and does not support ranges; `untagged` hangs up the first time, and has no ETag; `never` hangs up
 * each time without an ETag; `weak` the same with a weak ETag; `shifted` answers other ranges than were requested;
 * `longer` sends more than it states; `redirects.N` first redirects so often; `to.…` redirects to an address in
 * base64url; `status.N` answers that status; `busy` answers 503 twice; `mute` sends nothing; `stuck` sends nothing
 * after a mebibyte, nor when it is asked again; `huge` promises 6 GiB; `disposed` has a `Content-Disposition`, `typed`
 * a `Content-Type`.
 */
function createFileServer(): RequestListener {
  const requestsByKey = new Map<string, ReceivedRequest[]>();
  const storedFiles = new Map<string, StoredFile>();
  return (request, response) => {
    const [, behaviour = '', key = '', rows = '0'] = (request.url ?? '').split('?')[0]?.split('/') ?? [];
    if (behaviour === 'asked') return void response.end(JSON.stringify(requestsByKey.get(key) ?? []));
    if (behaviour === 'kept') return void storeFile(request, response, storedFiles, key);
    const earlierRequests = requestsByKey.get(key) ?? [];
    requestsByKey.set(key, [
      ...earlierRequests,
      {
        range: request.headers.range ?? null,
        ifRange: request.headers['if-range']?.toString() ?? null,
        headers: Object.keys(request.headers),
      },
    ]);
    sendFile(request, response, { behaviour, rowCount: Number(rows), earlierCount: earlierRequests.length });
  };
}

interface StoredFile {
  body: Buffer;
  headers: Record<string, string>;
}

async function storeFile(
  request: IncomingMessage,
  response: ServerResponse,
  storedFiles: Map<string, StoredFile>,
  key: string,
): Promise<void> {
  if (request.method !== 'PUT') {
    const { body, headers } = storedFiles.get(key) as StoredFile;
    response.writeHead(200, { ...headers, 'content-length': body.length, etag: '"kept"' }).end(body);
    return;
  }
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  const { 'content-type': type, 'x-encoding': encoding } = request.headers;
  const headers = { ...(type && { 'content-type': type }), ...(encoding && { 'content-encoding': String(encoding) }) };
  storedFiles.set(key, { body: Buffer.concat(pieces), headers });
  response.end();
}

interface FileRequest {
  behaviour: string;
  rowCount: number;
  /** The number of earlier requests for the file. */
  earlierCount: number;
}

function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { behaviour, rowCount, earlierCount }: FileRequest,
): void {
  const [kind, detail = ''] = behaviour.split('.') as [string, string?];
  if (kind === 'mute' || (kind === 'stuck' && earlierCount > 0)) return;
  if (kind === 'status') return void response.writeHead(Number(detail)).end();
  if (kind === 'busy' && earlierCount < 2) return void response.writeHead(503).end();
  if (kind === 'to') {
    return void response.writeHead(302, { location: Buffer.from(detail, 'base64url').toString() }).end();
  }
  if (kind === 'redirects' && earlierCount < Number(detail)) {
    return void response.writeHead(307, { location: request.url ?? '' }).end();
  }
  if (kind === 'huge') return void response.writeHead(200, { 'content-length': 6 * 1024 * MIB_BYTES }).write('a,b\n');
  const wholeFile = Buffer.from(makeCsv(rowCount));
  if (kind === 'packed') {
    const headers = { 'content-encoding': 'gzip', etag: '"packed"' };
    return void response.writeHead(200, headers).end(gzipSync(wholeFile));
  }
  const etag = kind === 'changed' && earlierCount > 0 ? '"two"' : '"one"';
  const headers: Record<string, string | number> = {
    ...(!['untagged', 'never'].includes(kind) && { etag: kind === 'weak' ? `W/${etag}` : etag }),
    ...(kind === 'disposed' && {
      'content-disposition': `attachment; filename="a.csv"; filename*=UTF-8''ventas%20%C3%B1.csv`,
    }),
    ...(kind === 'typed' && { 'content-type': 'text/csv; charset=utf-8' }),
  };
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const isPartial = from > 0 && kind !== 'rangeless' && request.headers['if-range'] === etag;
  const start = isPartial ? from : 0;
  if (isPartial && start >= wholeFile.length) {
    return void response.writeHead(416, { ...headers, 'content-range': `bytes */${wholeFile.length}` }).end();
  }
  const shift = kind === 'shifted' ? 1 : 0;
  if (isPartial) headers['content-range'] = `bytes ${start + shift}-${wholeFile.length - 1}/${wholeFile.length}`;
  const remainingBytes = wholeFile.subarray(start);
  const isLonger = kind === 'longer' && isPartial;
  if (kind !== 'chunked' && !isLonger) headers['content-length'] = remainingBytes.length;
  response.writeHead(isPartial ? 206 : 200, headers);
  if (kind === 'stuck') return void response.write(remainingBytes.subarray(0, MIB_BYTES));
  if (isLonger) return void response.end(Buffer.concat([remainingBytes, remainingBytes]));
  const cutLength = parseLength(kind, earlierCount);
  if (cutLength >= remainingBytes.length) return void response.end(remainingBytes);
  response.write(remainingBytes.subarray(0, cutLength), () => response.destroy());
}

function parseLength(kind: string, earlierCount: number): number {
  if (kind === 'tiny') return MIB_BYTES / 2;
  if (['cut', 'never', 'weak', 'shifted', 'longer', 'chunkcut'].includes(kind)) return CUT_AFTER_BYTES;
  return earlierCount === 0 && ['changed', 'rangeless', 'untagged'].includes(kind)
    ? CUT_AFTER_BYTES
    : Number.POSITIVE_INFINITY;
}
