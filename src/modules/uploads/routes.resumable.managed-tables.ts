import { z } from 'zod';
import type { PrincipalContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import { type HeaderProtocol, noContent, raw } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/managed-tables.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { storageUnavailable } from '../../platform/file-storage.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { databaseNotProvisioned } from '../managed-database/failures.ts';
import { tableNotFound } from '../managed-tables/failures.ts';
import {
  checksumMismatch,
  MAX_RESUMABLE_BYTES,
  offsetConflict,
  resumableTooLarge,
  TUS_VERSION,
  tooManyUnfinished,
  uploadBeyondLength,
  uploadLocked,
  uploadNotFound,
  wrongFileType,
  wrongTusVersion,
  wrongUploadHeader,
  wrongUploadType,
} from './failures.ts';
import {
  appendBytes,
  beginUpload,
  endUpload,
  findUploadArn,
  getUpload,
  type NewUploadRequest,
  UPLOAD_EXPIRY_MS,
} from './resumable.ts';
import type { ResumableUpload } from './resumable-store.ts';
import type { Checksum, SentBytes } from './resumable-writing.ts';

const UPLOADS_PATH = '/v1/managed-tables/uploads';
const BYTES_MEDIA_TYPE = 'application/offset+octet-stream';
/** The maximum number of characters of the `Upload-Metadata` header, which may hold a name of 1,024 characters in base64. */
const MAX_METADATA_LENGTH = 8_192;

/** The digest algorithms by their names in the tus protocol. */
const CHECKSUM_ALGORITHMS: Record<string, Checksum['algorithm']> = { sha1: 'SHA-1', sha256: 'SHA-256', md5: 'MD5' };

/** The headers of tus 1.0.0: https://tus.io/protocols/resumable-upload */
const TUS_PROTOCOL: Omit<HeaderProtocol, 'requestHeaders' | 'allowedHeaders'> = {
  answerHeaders: { 'Tus-Resumable': TUS_VERSION, 'Tus-Version': TUS_VERSION },
  optionsHeaders: {
    'Tus-Extension': 'creation,creation-with-upload,checksum,expiration,termination',
    'Tus-Max-Size': String(MAX_RESUMABLE_BYTES),
    'Tus-Checksum-Algorithm': Object.keys(CHECKSUM_ALGORITHMS).join(','),
  },
  successHeaders: {
    'Upload-Offset': 'How many bytes are there.',
    'Upload-Expires': 'When the upload is deleted if no byte comes.',
    'Upload-Length': 'The number of bytes of the file.',
    'Upload-Metadata': 'As it was sent.',
    'Content-Location': 'The upload job, once all bytes are there.',
  },
};

const REQUEST_HEADER_DESCRIPTIONS = {
  'Tus-Resumable': 'The version of the protocol, `1.0.0`. Required.',
  'Upload-Length': 'The number of bytes of the file. Required.',
  'Upload-Metadata':
    'Names with values in base64, separated by commas: `filename` is required; for an existing table, `table_id`, `mode` (`append`, `replace` or `upsert`), `evolve` (`none`, `add` or `widen`) and `key` (the columns, separated by commas). Others are ignored.',
  'Upload-Offset': 'The number of the first byte: as many as are there. Required.',
  'Upload-Checksum': 'A digest of the bytes of this request: `sha1`, `sha256` or `md5`, a space, and its base64.',
  'X-HTTP-Method-Override': '`PATCH`, `HEAD` or `DELETE`.',
} as const;

const bytes = { [BYTES_MEDIA_TYPE]: z.string().meta({ format: 'binary' }) };

const uploadFailures = [wrongTusVersion, uploadNotFound, databaseNotProvisioned, ...tenantSqlFailures];
const byteRouteFailures = [
  wrongUploadHeader,
  wrongUploadType,
  offsetConflict,
  uploadLocked,
  uploadBeyondLength,
  checksumMismatch,
  storageUnavailable,
];

const describeProtocol = (...headerNames: (keyof typeof REQUEST_HEADER_DESCRIPTIONS)[]): HeaderProtocol => ({
  ...TUS_PROTOCOL,
  requestHeaders: Object.fromEntries(headerNames.map((name) => [name, REQUEST_HEADER_DESCRIPTIONS[name]])),
  // A deferred length is refused: without its header here, a page would get no answer to read.
  allowedHeaders: [...Object.keys(REQUEST_HEADER_DESCRIPTIONS), 'Upload-Defer-Length'],
});

const BYTES_DESCRIPTION =
  'From `Upload-Offset` on, any number of them. What arrives before the connection is cut stays, unless `Upload-Checksum` was sent. The answer to the last byte names the job in `Content-Location`.';

export const resumableUploadEndpoints = [
  endpoint(
    {
      method: 'post',
      path: UPLOADS_PATH,
      access: {
        decidedBy: '`managed-tables:upload` on the table of `table_id`, or on all where a new one is made',
        anyOf: ['managed-tables:upload'],
      },
      operationId: 'beginResumableUpload',
      summary: 'Begin a resumable upload',
      description:
        'By tus 1.0.0, for one file of up to 5 GiB. Its bytes follow by PATCH, in as many requests as it takes; the first of them may be the body of this one. When all are there, a job reads them as it reads files that were sent by a form. An upload that nobody goes on with for 24 hours is deleted; 20 of a company can be begun at once. `replace` and `upsert` also need `managed-tables:data-write`.',
      protocol: describeProtocol('Tus-Resumable', 'Upload-Length', 'Upload-Metadata', 'Upload-Checksum'),
      raw: bytes,
      returns: raw(201, 'The upload, at `Location`.'),
      fails: [
        ...uploadFailures,
        ...byteRouteFailures,
        invalidInput,
        tableNotFound,
        resumableTooLarge,
        tooManyUnfinished,
        wrongFileType,
        quotaExceeded,
      ],
    },
    async ({ ctx, request }) => {
      requireVersion(request);
      const uploadRequest = readDescription(request.headers);
      const hasBytes = request.headers.has('content-type') && request.headers.get('content-length') !== '0';
      if (hasBytes) requireBytesMediaType(request);
      const upload = await beginUpload(ctx, uploadRequest, hasBytes ? readSentBytes(request) : undefined);
      return toUploadResponse(201, upload, { Location: `${UPLOADS_PATH}/${upload.id}` });
    },
  ),
  endpoint(
    {
      method: 'get',
      path: `${UPLOADS_PATH}/{uploadId}`,
      access: { action: 'managed-tables:upload', on: findUploadArn },
      operationId: 'getResumableUpload',
      summary: 'Get how far a resumable upload is',
      description:
        'HEAD is what tus asks for: `Upload-Offset` says where to go on, and `Content-Location` names the job once the last byte is there. For some ten seconds after a connection was cut it may say less than has come. Only who began the upload is told.',
      protocol: describeProtocol('Tus-Resumable'),
      returns: raw(200, 'Headers alone.'),
      fails: [...uploadFailures, uploadLocked],
    },
    async ({ ctx, params, request }) => {
      // Who reads the address by GET may not know the protocol.
      if (request.method === 'HEAD') requireVersion(request);
      return viewProgress(200, await getUpload(ctx, params.uploadId));
    },
  ),
  endpoint(
    {
      method: 'patch',
      path: `${UPLOADS_PATH}/{uploadId}`,
      access: { action: 'managed-tables:upload', on: findUploadArn },
      operationId: 'sendResumableUpload',
      summary: 'Send bytes of a resumable upload',
      description: `${BYTES_DESCRIPTION} Of two requests at once one is refused.`,
      protocol: describeProtocol('Tus-Resumable', 'Upload-Offset', 'Upload-Checksum'),
      raw: bytes,
      returns: raw(204, 'The bytes are there.'),
      fails: [...uploadFailures, ...byteRouteFailures],
    },
    async ({ ctx, params, request }) => {
      requireVersion(request);
      return sendBytes(ctx, params.uploadId, request);
    },
  ),
  endpoint(
    {
      method: 'post',
      path: `${UPLOADS_PATH}/{uploadId}`,
      access: { action: 'managed-tables:upload', on: findUploadArn },
      operationId: 'sendResumableUploadByPost',
      summary: 'Send bytes of a resumable upload by POST',
      description: `For clients that cannot send PATCH: with \`X-HTTP-Method-Override: PATCH\`. ${BYTES_DESCRIPTION} With \`HEAD\` or \`DELETE\` it is answered as that method.`,
      protocol: describeProtocol('X-HTTP-Method-Override', 'Tus-Resumable', 'Upload-Offset', 'Upload-Checksum'),
      raw: bytes,
      returns: raw(204, 'The bytes are there.'),
      fails: [...uploadFailures, ...byteRouteFailures],
    },
    async ({ ctx, params, request }) => {
      requireVersion(request);
      switch (request.headers.get('x-http-method-override')) {
        case 'PATCH':
          return sendBytes(ctx, params.uploadId, request);
        case 'HEAD':
          return viewProgress(204, await getUpload(ctx, params.uploadId));
        case 'DELETE':
          await endUpload(ctx, params.uploadId);
          return new Response(null, { status: 204 });
        default:
          throw wrongUploadHeader('X-HTTP-Method-Override', 'PATCH, HEAD, DELETE');
      }
    },
  ),
  endpoint(
    {
      method: 'delete',
      path: `${UPLOADS_PATH}/{uploadId}`,
      access: { action: 'managed-tables:upload', on: findUploadArn },
      operationId: 'deleteResumableUpload',
      summary: 'Delete a resumable upload',
      description: 'With the bytes that have arrived. The job of one that is finished stays.',
      protocol: { ...describeProtocol('Tus-Resumable'), successHeaders: {} },
      returns: noContent,
      fails: uploadFailures,
    },
    async ({ ctx, params, request }) => {
      requireVersion(request);
      await endUpload(ctx, params.uploadId);
    },
  ),
];

/** Requires the supported version of tus. @throws wrongTusVersion */
function requireVersion({ headers }: Request): void {
  if (headers.get('tus-resumable') !== TUS_VERSION) throw wrongTusVersion();
}

/** Requires the media type for the bytes of an upload. @throws wrongUploadType */
function requireBytesMediaType({ headers }: Request): void {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  if (type.trim().toLowerCase() !== BYTES_MEDIA_TYPE) throw wrongUploadType();
}

function parseOffset(headers: Headers): number {
  const offset = readCount(headers, 'Upload-Offset');
  if (!Number.isSafeInteger(offset)) throw wrongUploadHeader('Upload-Offset', `at most ${MAX_RESUMABLE_BYTES}`);
  return offset;
}

function readCount(headers: Headers, name: string): number {
  const text = headers.get(name) ?? '';
  if (!/^\d+$/.test(text)) throw wrongUploadHeader(name, 'a number of bytes');
  return Number(text);
}

/** Reads the description of a new upload from its headers. */
function readDescription(headers: Headers): NewUploadRequest {
  if (headers.has('upload-defer-length')) throw wrongUploadHeader('Upload-Defer-Length', 'Upload-Length instead');
  const length = readCount(headers, 'Upload-Length');
  if (length > MAX_RESUMABLE_BYTES) throw resumableTooLarge();
  const metadata = headers.get('upload-metadata') ?? '';
  const metadataValues = parseMetadata(metadata);
  const fileName = metadataValues.get('filename') ?? '';
  if (fileName === '') throw invalidInput([{ field: 'filename', message: 'is required' }]);
  return {
    length,
    fileName,
    mimeType: metadataValues.get('filetype') ?? '',
    metadata,
    tableId: metadataValues.get('table_id') || undefined,
    mode: metadataValues.get('mode') || undefined,
    evolve: metadataValues.get('evolve') || undefined,
    keyColumns: (metadataValues.get('key') ?? '')
      .split(',')
      .map((column) => column.trim())
      .filter((column) => column !== ''),
  };
}

/** Parses metadata of the form `name base64,name base64`. */
function parseMetadata(header: string): Map<string, string> {
  const makeHeaderProblem = (expectedFormat: string) => wrongUploadHeader('Upload-Metadata', expectedFormat);
  if (header.length > MAX_METADATA_LENGTH) throw makeHeaderProblem(`at most ${MAX_METADATA_LENGTH} characters`);
  const metadataValues = new Map<string, string>();
  for (const pair of header.split(',').filter((pairText) => pairText.trim() !== '')) {
    const [name = '', value = '', ...others] = pair.trim().split(' ');
    if (metadataValues.has(name)) throw makeHeaderProblem('each name once');
    const text = others.length === 0 ? decodeText(value) : null;
    if (text === null) throw makeHeaderProblem('names with values in base64, separated by commas');
    metadataValues.set(name, text);
  }
  return metadataValues;
}

/** Decodes a text from base64 of UTF-8; null where it is invalid. */
function decodeText(base64: string): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.fromBase64(base64));
  } catch {
    return null;
  }
}

/** Reads the bytes of a request, and their checksum. */
function readSentBytes({ body, headers }: Request): SentBytes {
  const checksumHeader = headers.get('upload-checksum');
  const [name = '', value = ''] = checksumHeader?.split(' ') ?? [];
  const algorithm = Object.hasOwn(CHECKSUM_ALGORITHMS, name) ? CHECKSUM_ALGORITHMS[name] : undefined;
  if (checksumHeader !== null && (!algorithm || !/^[A-Za-z0-9+/]+={0,2}$/.test(value)))
    throw wrongUploadHeader('Upload-Checksum', `${Object.keys(CHECKSUM_ALGORITHMS).join(', ')} and a digest in base64`);
  const announcedBytes = Number(headers.get('content-length') ?? 0);
  return { bytes: body, announcedBytes, checksum: algorithm && { algorithm, value } };
}

/** Appends the bytes of a request to an upload. */
async function sendBytes(ctx: PrincipalContext, id: string, request: Request): Promise<Response> {
  requireBytesMediaType(request);
  const sentBytes = { offset: parseOffset(request.headers), ...readSentBytes(request) };
  return toUploadResponse(204, await appendBytes(ctx, id, sentBytes));
}

/** Makes the response that tells the progress of an upload. */
const viewProgress = (status: 200 | 204, upload: ResumableUpload): Response =>
  toUploadResponse(status, upload, {
    'Upload-Length': String(upload.length),
    ...(upload.metadata !== '' && { 'Upload-Metadata': upload.metadata }),
  });

/** Makes the protocol's response for an upload, with its offset and expiry. */
function toUploadResponse(
  status: 200 | 201 | 204,
  upload: ResumableUpload,
  moreHeaders: Record<string, string> = {},
): Response {
  const headers = {
    'Upload-Offset': String(upload.received),
    ...(upload.isFinished && { 'Content-Location': `/v1/managed-tables/upload-jobs/${upload.id}` }),
    'Upload-Expires': new Date(upload.updatedAt + UPLOAD_EXPIRY_MS).toUTCString(),
    'Cache-Control': 'no-store',
    ...moreHeaders,
  };
  return new Response(null, { status, headers });
}
