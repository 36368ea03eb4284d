/** Answer that is sent unchanged: its bytes, and the headers that describe them. */
export class PreparedResponse {
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(body: PreparedResponse['body'], headers: PreparedResponse['headers']) {
    this.body = body;
    this.headers = headers;
  }
}

/** Body as it is sent: read as it arrives, with the type and the length that its sender states. */
export interface SentBody {
  stream: ReadableStream<Uint8Array> | null;
  mediaType: string | null;
  byteCount: number | null;
}

/** Makes an answer of JSON that is already written. */
export const makePreparedJson = (body: PreparedResponse['body']): PreparedResponse =>
  new PreparedResponse(body, { 'Content-Type': MEDIA_TYPES.json });

/** Number of pieces of text that are sent together. */
const PIECES_PER_CHUNK = 200;

/** Makes an answer that is written while its pieces are made: no faster than the client reads. */
export function streamText(pieces: AsyncGenerator<string>, headers: PreparedResponse['headers']): PreparedResponse {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let text = '';
        for (let count = 0; count < PIECES_PER_CHUNK; count += 1) {
          const { value, done } = await pieces.next();
          if (!done) text += value;
          else count = PIECES_PER_CHUNK;
          if (done && text === '') return controller.close();
        }
        controller.enqueue(encoder.encode(text));
      },
      async cancel() {
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 1 },
  );
  return new PreparedResponse(body, headers);
}

/** Media types of downloadable files, by extension. */
export const MEDIA_TYPES = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  parquet: 'application/vnd.apache.parquet',
  zip: 'application/zip',
} as const;

export type FileExtension = keyof typeof MEDIA_TYPES;

/** Returns the media type of a file, with its encoding. */
export const getContentType = (extension: FileExtension): string =>
  BINARY_EXTENSIONS.has(extension) ? MEDIA_TYPES[extension] : `${MEDIA_TYPES[extension]}; charset=utf-8`;

const BINARY_EXTENSIONS: ReadonlySet<FileExtension> = new Set(['xlsx', 'parquet', 'zip']);

/** Pattern of characters that some system refuses in the name of a file, or that have a meaning there. */
const FORBIDDEN_CHARACTERS_PATTERN = /[\p{Cc}\p{Cf}\p{Cs}\\/:*?"<>|]/gu;
const MAX_NAME_LENGTH = 150;

/** Makes the name of a file, in Unicode, that every system accepts. */
export const makeFileName = (name: string, extension: string): string =>
  `${[...name.replace(FORBIDDEN_CHARACTERS_PATTERN, '_')].slice(0, MAX_NAME_LENGTH).join('')}.${extension}`;

/** Makes the headers of a file to download. RFC 6266: a name for all, and one in Unicode. */
export function makeFileHeaders(name: string, extension: FileExtension): Record<string, string> {
  const unicodeName = makeFileName(name, extension);
  const asciiName = unicodeName.replace(/[^\x20-\x7e]/g, '_');
  const encodedName = encodeURIComponent(unicodeName).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
  return {
    'Content-Type': getContentType(extension),
    'Content-Disposition': `attachment; filename="${asciiName}"; filename*=UTF-8''${encodedName}`,
  };
}
