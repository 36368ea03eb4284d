import { ApiError, wait } from './answers.ts';
import type { FileInParts, UploadOptions } from './upload.ts';

/** Size in bytes above which a file is sent by tus: in parts, each resumed where it was cut. */
const RESUMABLE_BYTES = 50_000_000;
/** Pattern of the file names that a form upload accepts. */
const FORM_FILE_PATTERN = /\.(csv|xlsx?|zip)$/i;

/** Returns true if a file is sent by tus, alone in its upload. */
export const isSentResumably = ({ name, size }: File): boolean =>
  size > RESUMABLE_BYTES || !FORM_FILE_PATTERN.test(name);

const UPLOADS_PATH = '/v1/managed-tables/uploads';
const UPLOAD_PATH = `${UPLOADS_PATH}/{uploadId}`;
/** Bytes of the pieces that the API stores. */
const PIECE_BYTES = 8 * 1024 * 1024;
/**
 * Approximate number of parts. Few, so that a fast line leaves most of the caller's requests per minute to others; but
 * of 5 GiB, each part (88 MiB) is smaller than what proxies let through.
 */
const TARGET_PARTS = 60;
/** Number of failures in a row without a new byte after which a part fails; a dead request blocks the part for 10 s. */
const MAX_FAILURES = 8;
/** Longest pause where the API does not say how long to wait. */
const MAX_PAUSE_S = 5;
/** Statuses after which the upload's current offset is read, and sending continues there. */
const TEMPORARY_STATUSES = [408, 409, 423, 429, 500, 502, 503, 504];

interface TusRequest {
  params?: Record<string, string>;
  headers: Record<string, string>;
  bytes?: Blob;
  signal?: AbortSignal | undefined;
  onHeaders?: (headers: Headers) => void;
}

/** Function that sends a tus request through the client; only the headers of the answer are used. */
type SendTusRequest = (
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  tusRequest: TusRequest,
) => Promise<unknown>;

/** Progress of an upload. */
interface UploadPosition {
  uploadId: string;
  offset: number;
  /** True once all bytes have arrived. */
  isComplete: boolean;
}

/**
 * Sends one file by tus 1.0.0.
 * @returns the id of the job that reads the file
 * @throws the refusal of the API, the last of too many failures in a row, or an error if the file has fewer bytes than
 * the upload
 */
export async function sendResumably(
  sendRequest: SendTusRequest,
  file: FileInParts,
  options: UploadOptions,
): Promise<string> {
  const { onProgress, onBegun, resumeAt, signal } = options;
  const sendTusRequest = async (
    method: Parameters<SendTusRequest>[0],
    path: string,
    tusRequest: Partial<TusRequest> = {},
  ): Promise<Headers> => {
    let answerHeaders = new Headers();
    await sendRequest(method, path, {
      ...tusRequest,
      signal: tusRequest.signal ?? signal,
      headers: { 'tus-resumable': '1.0.0', ...tusRequest.headers },
      onHeaders: (headers) => {
        answerHeaders = headers;
      },
    });
    return answerHeaders;
  };
  const toPosition = (uploadId: string, headers: Headers): UploadPosition => ({
    uploadId,
    offset: Number(headers.get('upload-offset')),
    isComplete: headers.has('content-location'),
  });
  const readPosition = async (uploadId: string) =>
    toPosition(uploadId, await sendTusRequest('GET', UPLOAD_PATH, { params: { uploadId } }));

  const total = file.size;
  const reportProgress = (sentBytes: number) => onProgress?.({ sent: sentBytes, total });
  let at = resumeAt !== undefined ? await readPosition(resumeAt) : await createUpload(sendTusRequest, file, options);
  if (resumeAt === undefined) onBegun?.(at.uploadId);
  reportProgress(at.offset);
  const size = Math.ceil(total / TARGET_PARTS / PIECE_BYTES) * PIECE_BYTES;
  try {
    for (let failureCount = 0; !at.isComplete; ) {
      const { uploadId, offset } = at;
      let hasEnded = false;
      try {
        const part = await file.slice(offset, offset + size);
        at = await sendPart(part, at);
        hasEnded = part.size === 0;
        failureCount = 0;
      } catch (error) {
        if (signal?.aborted || failureCount >= MAX_FAILURES || !isTemporary(error)) throw error;
        const retryAfter = error instanceof ApiError ? error.retryAfter : null;
        await wait((retryAfter ?? Math.min(2 ** failureCount / 4, MAX_PAUSE_S)) * 1000, signal);
        at = await readPosition(uploadId).catch(() => at);
        failureCount = at.offset > offset ? 0 : failureCount + 1;
      }
      if (hasEnded && !at.isComplete)
        throw new Error(`"${file.name}" has no more bytes after ${offset}, but its upload is not complete`);
      if (at.offset > offset) reportProgress(at.offset);
    }
  } catch (error) {
    // Whoever was told where it is may go on later.
    if (signal?.aborted && !onBegun && resumeAt === undefined)
      await sendTusRequest('DELETE', UPLOAD_PATH, {
        params: { uploadId: at.uploadId },
        signal: new AbortController().signal,
      }).catch(() => {});
    throw error;
  }
  return at.uploadId;

  async function sendPart(bytes: Blob, { uploadId, offset }: UploadPosition): Promise<UploadPosition> {
    const headers = { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) };
    return toPosition(uploadId, await sendTusRequest('PATCH', UPLOAD_PATH, { params: { uploadId }, headers, bytes }));
  }
}

async function createUpload(
  sendTusRequest: (method: 'POST', path: string, tusRequest: Partial<TusRequest>) => Promise<Headers>,
  file: FileInParts,
  { tableId, mode, evolve, key }: UploadOptions,
): Promise<UploadPosition> {
  const metadata = { filename: file.name, filetype: file.type, table_id: tableId, mode, evolve, key: key?.join(',') };
  const pairs = Object.entries(metadata).flatMap(([name, value]) => (value ? [`${name} ${encodeBase64(value)}`] : []));
  const headers = { 'upload-length': String(file.size), 'upload-metadata': pairs.join(',') };
  const answerHeaders = await sendTusRequest('POST', UPLOADS_PATH, { headers });
  return { uploadId: answerHeaders.get('location')?.split('/').at(-1) ?? '', offset: 0, isComplete: false };
}

/** Returns true if an error may be temporary: there was no answer, or one with a temporary status. */
const isTemporary = (error: unknown): boolean =>
  !(error instanceof ApiError) || TEMPORARY_STATUSES.includes(error.status);

const encodeBase64 = (text: string): string =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));
