import { ApiError, wait } from './answers.ts';
import type { FileInParts, UploadOptions } from './upload.ts';

/** A file of more bytes goes out by tus: in parts, each sent anew from where it was cut. */
const RESUMABLE_BYTES = 50_000_000;
/** The kinds of files that forms take. */
const IN_FORMS = /\.(csv|xlsx?|zip)$/i;

/** Whether a file goes out by tus, alone. */
export const isSentResumably = ({ name, size }: File): boolean => size > RESUMABLE_BYTES || !IN_FORMS.test(name);

const UPLOADS_PATH = '/v1/managed-tables/uploads';
const UPLOAD = `${UPLOADS_PATH}/{uploadId}`;
/** The size of the pieces that the API stores. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** The number of parts, about: of 5 GiB each is smaller than what proxies let through. */
const PARTS = 100;
/** The failures in a row without a new byte after which a part is given up; a dead request blocks it for 10 s. */
const TRIES = 8;
const MAX_PAUSE_S = 5;
/** Answers after which it helps to ask where to go on. */
const PASSING = [408, 409, 423, 500, 502, 503, 504];

interface Asking {
  params?: Record<string, string>;
  headers: Record<string, string>;
  bytes?: Blob;
  signal?: AbortSignal | undefined;
  onHeaders?: (headers: Headers) => void;
}

/** Asks the API for something, as the client does; of the answer only the headers are looked at. */
type Call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, asking: Asking) => Promise<unknown>;

/** The progress of an upload. */
interface Place {
  uploadId: string;
  offset: number;
  /** Once all bytes are there. */
  isWhole: boolean;
}

/**
 * Sends one file by tus 1.0.0. @returns the id of its job
 * @throws the API's refusal, or the last of many failures in a row, or that the file has fewer bytes than the upload
 */
export async function sendResumably(call: Call, file: FileInParts, options: UploadOptions): Promise<string> {
  const { onProgress, onBegun, resumeAt, signal } = options;
  const ask = async (method: Parameters<Call>[0], path: string, asking: Partial<Asking> = {}): Promise<Headers> => {
    let found = new Headers();
    await call(method, path, {
      ...asking,
      signal: asking.signal ?? signal,
      headers: { 'tus-resumable': '1.0.0', ...asking.headers },
      onHeaders: (headers) => {
        found = headers;
      },
    });
    return found;
  };
  const toPlace = (uploadId: string, headers: Headers): Place => ({
    uploadId,
    offset: Number(headers.get('upload-offset')),
    isWhole: headers.has('content-location'),
  });
  const look = async (uploadId: string) => toPlace(uploadId, await ask('GET', UPLOAD, { params: { uploadId } }));

  const total = file.size;
  const tell = (sent: number) => onProgress?.({ sent, total });
  let at = resumeAt !== undefined ? await look(resumeAt) : await begin(ask, file, options);
  if (resumeAt === undefined) onBegun?.(at.uploadId);
  tell(at.offset);
  const size = Math.ceil(total / PARTS / PIECE_BYTES) * PIECE_BYTES;
  try {
    for (let failed = 0; !at.isWhole; ) {
      const { uploadId, offset } = at;
      let hasEnded = false;
      try {
        const part = await file.slice(offset, offset + size);
        at = await sendPart(part, at);
        hasEnded = part.size === 0;
        failed = 0;
      } catch (error) {
        if (signal?.aborted || failed >= TRIES || !mayPass(error)) throw error;
        const asked = error instanceof ApiError ? error.retryAfter : null;
        await wait(Math.min(asked ?? 2 ** failed / 4, MAX_PAUSE_S) * 1000, signal);
        at = await look(uploadId).catch(() => at);
        failed = at.offset > offset ? 0 : failed + 1;
      }
      if (hasEnded && !at.isWhole)
        throw new Error(`"${file.name}" has no more bytes after ${offset}, but its upload is not complete`);
      if (at.offset > offset) tell(at.offset);
    }
  } catch (error) {
    // Whoever was told where it is may go on later.
    if (signal?.aborted && !onBegun && resumeAt === undefined)
      await ask('DELETE', UPLOAD, { params: { uploadId: at.uploadId }, signal: new AbortController().signal }).catch(
        () => {},
      );
    throw error;
  }
  return at.uploadId;

  async function sendPart(bytes: Blob, { uploadId, offset }: Place): Promise<Place> {
    const headers = { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) };
    return toPlace(uploadId, await ask('PATCH', UPLOAD, { params: { uploadId }, headers, bytes }));
  }
}

async function begin(
  ask: (method: 'POST', path: string, asking: Partial<Asking>) => Promise<Headers>,
  file: FileInParts,
  { tableId, mode, evolve, key }: UploadOptions,
): Promise<Place> {
  const said = { filename: file.name, filetype: file.type, table_id: tableId, mode, evolve, key: key?.join(',') };
  const pairs = Object.entries(said).flatMap(([name, value]) => (value ? [`${name} ${base64(value)}`] : []));
  const headers = { 'upload-length': String(file.size), 'upload-metadata': pairs.join(',') };
  const found = await ask('POST', UPLOADS_PATH, { headers });
  return { uploadId: found.get('location')?.split('/').at(-1) ?? '', offset: 0, isWhole: false };
}

/** Whether an error may pass: there was no answer, or one that may be another one later. */
const mayPass = (error: unknown): boolean => !(error instanceof ApiError) || PASSING.includes(error.status);

const base64 = (text: string): string =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));
