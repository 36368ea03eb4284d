import { z } from 'zod';
import type { PrincipalContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import { noContent, type Protocol, raw } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/managed-tables.ts';
import { invalid } from '../../kernel/failure.ts';
import { storageUnavailable } from '../../platform/file-storage.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { notProvisioned } from '../managed-database/failures.ts';
import { tableNotFound } from '../managed-tables/failures.ts';
import {
  beyondLength,
  checksumMismatch,
  MAX_RESUMABLE_BYTES,
  offsetConflict,
  resumableTooLarge,
  TUS_VERSION,
  tooManyUnfinished,
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
  type NewResumable,
  RESUMABLE_MS,
} from './resumable.ts';
import type { ResumableUpload } from './resumable-store.ts';
import type { Checksum, SentBytes } from './resumable-writing.ts';

const PATH = '/v1/managed-tables/uploads';
const BYTES = 'application/offset+octet-stream';
/** The maximum number of characters of the header, which may hold a name of 1,024 characters in base64. */
const MAX_METADATA = 8_192;

/** The digests by their names in the protocol. */
const ALGORITHMS: Record<string, Checksum['algorithm']> = { sha1: 'SHA-1', sha256: 'SHA-256', md5: 'MD5' };

/** The headers of tus 1.0.0: https://tus.io/protocols/resumable-upload */
const TUS: Omit<Protocol, 'requestHeaders'> = {
  answerHeaders: { 'Tus-Resumable': TUS_VERSION, 'Tus-Version': TUS_VERSION },
  optionsHeaders: {
    'Tus-Extension': 'creation,creation-with-upload,checksum,expiration,termination',
    'Tus-Max-Size': String(MAX_RESUMABLE_BYTES),
    'Tus-Checksum-Algorithm': Object.keys(ALGORITHMS).join(','),
  },
  successHeaders: {
    'Upload-Offset': 'How many bytes are there.',
    'Upload-Expires': 'When the upload is deleted if no byte comes.',
    'Upload-Length': 'The number of bytes of the file.',
    'Upload-Metadata': 'As it was sent.',
    'Content-Location': 'The upload job, once all bytes are there.',
  },
};

const READ_DESCRIPTIONS = {
  'Tus-Resumable': 'The version of the protocol, `1.0.0`. Required.',
  'Upload-Length': 'The number of bytes of the file. Required.',
  'Upload-Metadata':
    'Names with values in base64, separated by commas: `filename` is required; for an existing table, `table_id`, `mode` (`append`, `replace` or `upsert`), `evolve` (`none`, `add` or `widen`) and `key` (the columns, separated by commas). Others are ignored.',
  'Upload-Offset': 'The number of the first byte: as many as are there. Required.',
  'Upload-Checksum': 'A digest of the bytes of this request: `sha1`, `sha256` or `md5`, a space, and its base64.',
  'X-HTTP-Method-Override': '`PATCH`, `HEAD` or `DELETE`.',
} as const;

const bytes = { [BYTES]: z.string().meta({ format: 'binary' }) };

const failures = [wrongTusVersion, uploadNotFound, notProvisioned, ...tenantSqlFailures];
const byteRouteFailures = [
  wrongUploadHeader,
  wrongUploadType,
  offsetConflict,
  uploadLocked,
  beyondLength,
  checksumMismatch,
  storageUnavailable,
];

const describeProtocol = (...reads: (keyof typeof READ_DESCRIPTIONS)[]): Protocol => ({
  ...TUS,
  requestHeaders: Object.fromEntries(reads.map((name) => [name, READ_DESCRIPTIONS[name]])),
});

const CONTINUED =
  'From `Upload-Offset` on, any number of them. What arrives before the connection is cut stays, unless `Upload-Checksum` was sent. The answer to the last byte names the job in `Content-Location`.';

export const resumableUploadEndpoints = [
  endpoint(
    {
      method: 'post',
      path: PATH,
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
        ...failures,
        ...byteRouteFailures,
        invalid,
        tableNotFound,
        resumableTooLarge,
        tooManyUnfinished,
        wrongFileType,
        quotaExceeded,
      ],
    },
    async ({ ctx, request }) => {
      requireVersion(request);
      const wanted = readDescription(request.headers);
      const hasBytes = request.headers.has('content-type') && request.headers.get('content-length') !== '0';
      if (hasBytes) requireBytes(request);
      const upload = await beginUpload(ctx, wanted, hasBytes ? readSentBytes(request) : undefined);
      return toUploadResponse(201, upload, { Location: `${PATH}/${upload.id}` });
    },
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{uploadId}`,
      access: { action: 'managed-tables:upload', on: findUploadArn },
      operationId: 'getResumableUpload',
      summary: 'Get how far a resumable upload is',
      description:
        'HEAD is what tus asks for: `Upload-Offset` says where to go on, and `Content-Location` names the job once the last byte is there. For some ten seconds after a connection was cut it may say less than has come. Only who began the upload is told.',
      protocol: describeProtocol('Tus-Resumable'),
      returns: raw(200, 'Headers alone.'),
      fails: [...failures, uploadLocked],
    },
    async ({ ctx, params, request }) => {
      // Who reads the address by GET may not know the protocol.
      if (request.method === 'HEAD') requireVersion(request);
      return viewOffset(200, await getUpload(ctx, params.uploadId));
    },
  ),
  endpoint(
    {
      method: 'patch',
      path: `${PATH}/{uploadId}`,
      access: { action: 'managed-tables:upload', on: findUploadArn },
      operationId: 'sendResumableUpload',
      summary: 'Send bytes of a resumable upload',
      description: `${CONTINUED} Of two requests at once one is refused.`,
      protocol: describeProtocol('Tus-Resumable', 'Upload-Offset', 'Upload-Checksum'),
      raw: bytes,
      returns: raw(204, 'The bytes are there.'),
      fails: [...failures, ...byteRouteFailures],
    },
    async ({ ctx, params, request }) => {
      requireVersion(request);
      return sendBytes(ctx, params.uploadId, request);
    },
  ),
  endpoint(
    {
      method: 'post',
      path: `${PATH}/{uploadId}`,
      access: { action: 'managed-tables:upload', on: findUploadArn },
      operationId: 'sendResumableUploadByPost',
      summary: 'Send bytes of a resumable upload by POST',
      description: `For clients that cannot send PATCH: with \`X-HTTP-Method-Override: PATCH\`. ${CONTINUED} With \`HEAD\` or \`DELETE\` it is answered as that method.`,
      protocol: describeProtocol('X-HTTP-Method-Override', 'Tus-Resumable', 'Upload-Offset', 'Upload-Checksum'),
      raw: bytes,
      returns: raw(204, 'The bytes are there.'),
      fails: [...failures, ...byteRouteFailures],
    },
    async ({ ctx, params, request }) => {
      requireVersion(request);
      switch (request.headers.get('x-http-method-override')) {
        case 'PATCH':
          return sendBytes(ctx, params.uploadId, request);
        case 'HEAD':
          return viewOffset(204, await getUpload(ctx, params.uploadId));
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
      path: `${PATH}/{uploadId}`,
      access: { action: 'managed-tables:upload', on: findUploadArn },
      operationId: 'deleteResumableUpload',
      summary: 'Delete a resumable upload',
      description: 'With the bytes that have arrived. The job of one that is finished stays.',
      protocol: { ...describeProtocol('Tus-Resumable'), successHeaders: {} },
      returns: noContent,
      fails: failures,
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

/** Requires the media type for bytes of an upload. @throws wrongUploadType */
function requireBytes({ headers }: Request): void {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  if (type.trim().toLowerCase() !== BYTES) throw wrongUploadType();
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
function readDescription(headers: Headers): NewResumable {
  if (headers.has('upload-defer-length')) throw wrongUploadHeader('Upload-Defer-Length', 'Upload-Length instead');
  const length = readCount(headers, 'Upload-Length');
  if (length > MAX_RESUMABLE_BYTES) throw resumableTooLarge();
  const metadata = headers.get('upload-metadata') ?? '';
  const said = parseMetadata(metadata);
  const fileName = said.get('filename') ?? '';
  if (fileName === '') throw invalid([{ field: 'filename', message: 'is required' }]);
  return {
    length,
    fileName,
    mimeType: said.get('filetype') ?? '',
    metadata,
    tableId: said.get('table_id') || undefined,
    mode: said.get('mode') || undefined,
    evolve: said.get('evolve') || undefined,
    key: (said.get('key') ?? '')
      .split(',')
      .map((column) => column.trim())
      .filter((column) => column !== ''),
  };
}

/** Reads metadata, `name base64,name base64`. */
function parseMetadata(header: string): Map<string, string> {
  const wrong = (expected: string) => wrongUploadHeader('Upload-Metadata', expected);
  if (header.length > MAX_METADATA) throw wrong(`at most ${MAX_METADATA} characters`);
  const said = new Map<string, string>();
  for (const pair of header.split(',').filter((each) => each.trim() !== '')) {
    const [name = '', value = '', ...others] = pair.trim().split(' ');
    if (said.has(name)) throw wrong('each name once');
    const text = others.length === 0 ? decodeText(value) : null;
    if (text === null) throw wrong('names with values in base64, separated by commas');
    said.set(name, text);
  }
  return said;
}

/** Decodes a text from base64 of UTF-8; null where it is invalid. */
function decodeText(base64: string): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.fromBase64(base64));
  } catch {
    return null;
  }
}

/** The bytes of a request, and their checksum. */
function readSentBytes({ body, headers }: Request): SentBytes {
  const said = headers.get('upload-checksum');
  const [name = '', value = ''] = said?.split(' ') ?? [];
  const algorithm = Object.hasOwn(ALGORITHMS, name) ? ALGORITHMS[name] : undefined;
  if (said !== null && (!algorithm || !/^[A-Za-z0-9+/]+={0,2}$/.test(value)))
    throw wrongUploadHeader('Upload-Checksum', `${Object.keys(ALGORITHMS).join(', ')} and a digest in base64`);
  const announced = Number(headers.get('content-length') ?? 0);
  return { bytes: body, announced, checksum: algorithm && { algorithm, value } };
}

/** Appends the bytes of a request to an upload. */
async function sendBytes(ctx: PrincipalContext, id: string, request: Request): Promise<Response> {
  requireBytes(request);
  const sent = { offset: parseOffset(request.headers), ...readSentBytes(request) };
  return toUploadResponse(204, await appendBytes(ctx, id, sent));
}

/** The answer about how far an upload is. */
const viewOffset = (status: 200 | 204, upload: ResumableUpload): Response =>
  toUploadResponse(status, upload, {
    'Upload-Length': String(upload.length),
    ...(upload.metadata !== '' && { 'Upload-Metadata': upload.metadata }),
  });

/** The protocol's answer for an upload, with its offset and expiry. */
function toUploadResponse(
  status: 200 | 201 | 204,
  upload: ResumableUpload,
  more: Record<string, string> = {},
): Response {
  const headers = {
    'Upload-Offset': String(upload.received),
    ...(upload.isFinished && { 'Content-Location': `/v1/managed-tables/upload-jobs/${upload.id}` }),
    'Upload-Expires': new Date(upload.updatedAt + RESUMABLE_MS).toUTCString(),
    'Cache-Control': 'no-store',
    ...more,
  };
  return new Response(null, { status, headers });
}
