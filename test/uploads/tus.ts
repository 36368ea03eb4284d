import { env } from 'cloudflare:test';
import { listSegments, type StoredFile } from '../../src/modules/uploads/receive.ts';
import type { ApiResponse, Caller, RequestOptions } from '../support/api.ts';
import type { Company } from '../support/companies.ts';
import { queryDatabase } from './support.ts';

export const UPLOADS_PATH = '/v1/managed-tables/uploads';
export const PIECE_BYTES = 8 * 1024 * 1024;
export const VERSION_HEADER = { 'tus-resumable': '1.0.0' };
const CONTENT_TYPE_HEADER = { 'content-type': 'application/offset+octet-stream' };

const encodeBase64 = (text: string) => Buffer.from(text).toString('base64');

export const formatMetadata = (metadata: Record<string, string>): string =>
  Object.entries(metadata)
    .map(([name, value]) => `${name} ${encodeBase64(value)}`)
    .join(',');

export interface UploadCreation extends RequestOptions {
  metadata?: Record<string, string>;
}

/** Begins an upload of the given number of bytes, as a tus client does. */
export const requestUpload = (
  as: Caller,
  length: number,
  { metadata, headers, body, ...sending }: UploadCreation = {},
) =>
  as.post(UPLOADS_PATH, {
    ...sending,
    ...(body !== undefined && { body }),
    headers: {
      ...VERSION_HEADER,
      'upload-length': String(length),
      'upload-metadata': formatMetadata({ filename: 'vendas.csv', ...metadata }),
      ...(body !== undefined && CONTENT_TYPE_HEADER),
      ...headers,
    },
  });

/** Begins an upload of the given number of bytes. @returns its path */
export async function beginUpload(as: Caller, length: number, creation: UploadCreation = {}): Promise<string> {
  const { status, headers, body } = await requestUpload(as, length, creation);
  if (status !== 201) throw new Error(`The upload was answered ${status}: ${JSON.stringify(body)}`);
  return headers.get('location') as string;
}

export const sendPart = (
  as: Caller,
  path: string,
  offset: number,
  body: BodyInit,
  options: RequestOptions = {},
): Promise<ApiResponse> =>
  as.patch(path, {
    ...options,
    body,
    headers: { ...VERSION_HEADER, ...CONTENT_TYPE_HEADER, 'upload-offset': String(offset), ...options.headers },
  });

/** Reads the headers that HEAD answers, by GET, which answers the same headers. */
export const readOffset = (as: Caller, path: string, options: RequestOptions = {}) =>
  as.get(path, { ...options, headers: VERSION_HEADER });

export const deleteUpload = (as: Caller, path: string) => as.delete(path, { headers: VERSION_HEADER });

export const parseOffset = ({ headers }: ApiResponse): number => Number(headers.get('upload-offset'));

export const parseUploadId = (path: string): string => path.split('/').at(-1) as string;

/** Returns a body that arrives in chunks of the given size, and is cut after `cutOffset` bytes if that is set. */
export function streamSlowly(
  bytes: Uint8Array,
  {
    chunkSize = 65_536,
    cutOffset = Number.POSITIVE_INFINITY,
    beforeChunk,
  }: {
    chunkSize?: number;
    cutOffset?: number;
    /** Called before each chunk, with the number of bytes already sent. */
    beforeChunk?: (at: number) => Promise<void> | void;
  } = {},
): ReadableStream<Uint8Array> {
  let at = 0;
  const source: UnderlyingByteSource = {
    type: 'bytes',
    async pull(controller) {
      await beforeChunk?.(at);
      if (at >= cutOffset) return controller.error(new Error('the connection is cut'));
      if (at >= bytes.length) {
        controller.close();
        controller.byobRequest?.respond(0);
        return;
      }
      const end = Math.min(at + chunkSize, bytes.length, cutOffset);
      controller.enqueue(bytes.slice(at, end));
      at = end;
    },
  };
  return new ReadableStream(source);
}

/** Returns bytes that are CSV, and that differ at every position. */
export function makeCsvBytes(length: number, seed = 7): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = 97 + ((state >>> 16) % 26);
  }
  for (let at = 63; at < length; at += 64) bytes[at] = 10;
  return bytes;
}

/** Reads the bytes of a job's file from R2. */
export async function readJobBytes(company: Company, jobId: string): Promise<Uint8Array> {
  const [file] = await queryDatabase(company, async (database) => {
    const [row] = await database.query<{ files: StoredFile[] }>('SELECT files FROM console.upload_jobs WHERE id = $1', [
      jobId,
    ]);
    return row?.files ?? [];
  });
  if (!file) throw new Error('There is no such job.');
  const allBytes = new Uint8Array(file.size_bytes);
  let at = 0;
  for (const { key, bytes } of listSegments(file)) {
    const object = await env.FILES.get(key);
    const piece = new Uint8Array((await object?.arrayBuffer()) ?? new ArrayBuffer());
    if (piece.length !== bytes) throw new Error(`${key} has ${piece.length} bytes, and should have ${bytes}`);
    allBytes.set(piece, at);
    at += piece.length;
  }
  return allBytes;
}

export const areEqual = (first: Uint8Array, second: Uint8Array): boolean => Buffer.compare(first, second) === 0;
