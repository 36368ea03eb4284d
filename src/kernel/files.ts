/** An answer that is sent as it is: its bytes, and the headers that describe them. */
export class PreparedResponse {
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(body: PreparedResponse['body'], headers: PreparedResponse['headers']) {
    this.body = body;
    this.headers = headers;
  }
}

/** A body as it is sent: read as it comes, by the type and the length that its sender says. */
export interface SentBody {
  stream: ReadableStream<Uint8Array> | null;
  type: string | null;
  length: number | null;
}

/** JSON that is written already. */
export const preparedJson = (body: PreparedResponse['body']): PreparedResponse =>
  new PreparedResponse(body, { 'Content-Type': MEDIA_TYPES.json });

/** Pieces of text that are handed on together. */
const PIECES_PER_CHUNK = 200;

/** An answer that is written while its pieces are made: as fast as it is taken, and no further. */
export function streamedText(pieces: AsyncGenerator<string>, headers: PreparedResponse['headers']): PreparedResponse {
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

/** The media types of downloadable files, by extension. */
export const MEDIA_TYPES = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  parquet: 'application/vnd.apache.parquet',
  zip: 'application/zip',
} as const;

export type FileExtension = keyof typeof MEDIA_TYPES;

/** The media type of a file, with its encoding. */
export const contentType = (ending: FileExtension): string =>
  BINARY.has(ending) ? MEDIA_TYPES[ending] : `${MEDIA_TYPES[ending]}; charset=utf-8`;

const BINARY: ReadonlySet<FileExtension> = new Set(['xlsx', 'parquet', 'zip']);

/** Characters that a system refuses in the name of a file, or that have a meaning there. */
const FORBIDDEN_IN_FILE_NAMES = /[\p{Cc}\p{Cf}\p{Cs}\\/:*?"<>|]/gu;
const MAX_NAME = 150;

/** The name of a file, in Unicode, as every system takes it. */
export const fileName = (name: string, ending: string): string =>
  `${[...name.replace(FORBIDDEN_IN_FILE_NAMES, '_')].slice(0, MAX_NAME).join('')}.${ending}`;

/** The headers of a file that is made to be taken away. RFC 6266: a name for all, and one in Unicode. */
export function fileHeaders(name: string, ending: FileExtension): Record<string, string> {
  const whole = fileName(name, ending);
  const plain = whole.replace(/[^\x20-\x7e]/g, '_');
  const encoded = encodeURIComponent(whole).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
  return {
    'Content-Type': contentType(ending),
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`,
  };
}
