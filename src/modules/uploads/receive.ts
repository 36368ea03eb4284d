import { MultipartMalformed, type PartHeaders, parseBoundary } from '../../formats/multipart/headers.ts';
import { MultipartReader } from '../../formats/multipart/reader.ts';
import { invalid } from '../../kernel/failure.ts';
import type { SentBody } from '../../kernel/files.ts';
import { describeUnknownFields, MAX_UNKNOWN } from '../../kernel/members.ts';
import { limitMarks } from '../../kernel/text.ts';
import { withinTime } from '../../kernel/time-limit.ts';
import { storageUnavailable, storing } from '../../platform/file-storage.ts';
import { logError } from '../../platform/log.ts';
import type { Segment } from '../../platform/segments.ts';
import { deleteObjects } from '../../platform/stored-files.ts';
import {
  MAX_FILES,
  MAX_UPLOAD_BYTES,
  malformedForm,
  noFiles,
  notMultipart,
  tooLarge,
  tooManyFiles,
  wrongFileType,
} from './failures.ts';
import { FORM_TYPES, isAccepted } from './kinds.ts';

/** A file in R2, as an upload job shows it. */
export interface StoredFile {
  /** The name that the sender gave it, as {@link toSafeFileName} makes it. Never part of a path. */
  original_name: string;
  /** Its key in R2, or the prefix of its pieces' keys: see {@link listSegments}. */
  storage_path: string;
  size_bytes: number;
  mime_type: string;
  /** The last parts of its pieces' keys, behind `storage_path/`, in order; numbers from 0 when absent. */
  pieces?: string[];
}

/** The content of an upload form. */
export interface UploadForm {
  /** The files, in the order of the form. */
  files: StoredFile[];
  /** The field `mode`, wherever it stands; null when absent. */
  mode: string | null;
  /** The field `evolve`, wherever it stands; null when absent. */
  evolve: string | null;
  /** The fields `key`, in their order; at most {@link MAX_KEYS}. */
  keys: string[];
}

/**
 * The size of a piece: a larger file is stored in pieces, each an object, of which one at a time is held in memory. Not as
 * parts of an R2 multipart upload: no list shows those of a broken one, so that no sweep could delete them.
 */
export const PIECE_BYTES = 8 * 1024 * 1024;
/** The maximum number of bytes of a form besides its files: boundaries, headers, other fields. */
const MAX_FORM_BYTES = 1024 * 1024;
const MAX_FIELD_BYTES = 64;
/** The maximum number of fields `key` that are read: one more than a key may have columns, so that too many are noticed. */
const MAX_KEYS = 5;
/** The maximum number of bytes of a refused body that are read, so that its sender gets the answer. */
const DRAIN_BYTES = 2 * MAX_UPLOAD_BYTES;
/** The longest time to read a refused body where the files cannot be stored. Milliseconds. */
const DRAIN_MS = 5_000;
/** The longest time for deleting refused files. Milliseconds. */
const DISCARD_MS = 5_000;
/** The media type that browsers send for a file whose type they do not know. */
const UNKNOWN_TYPE = 'application/octet-stream';

/**
 * Streams the files of a form into R2 under `prefix`, numbered from 0, in memory that does not depend on their size.
 * Sizes are counted as the bytes arrive, whatever the headers claim. When it throws, nothing is left in R2, unless R2 is out
 * of reach.
 */
export async function receiveForm({ stream, type }: SentBody, bucket: R2Bucket, prefix: string): Promise<UploadForm> {
  const boundary = parseBoundary(type);
  if (!boundary || !stream) throw notMultipart();
  const maxBytes = MAX_UPLOAD_BYTES + MAX_FORM_BYTES;
  const reader = new MultipartReader(stream, boundary, { blockBytes: PIECE_BYTES, maxBytes, tooLarge });
  const form: UploadForm = { files: [], mode: null, evolve: null, keys: [] };
  const unknown: string[] = [];
  try {
    for (let part = await reader.next(); part; part = await reader.next()) {
      if (isFile(part)) await receiveFile(part, reader, bucket, prefix, form);
      else if (part.name === 'mode' && part.filename === null) form.mode = await readFieldText(reader);
      else if (part.name === 'evolve' && part.filename === null) form.evolve = await readFieldText(reader);
      else if (part.name === 'key' && part.filename === null) {
        if (form.keys.length < MAX_KEYS) form.keys.push(await readFieldText(reader));
      } else if (unknown.length < MAX_UNKNOWN.names) unknown.push(part.name);
    }
    if (form.files.length === 0) throw noFiles();
    if (unknown.length > 0) throw invalid(describeUnknownFields(unknown));
    return form;
  } catch (error) {
    await discardFiles(bucket, form.files);
    const drained = reader.drain(DRAIN_BYTES);
    // Whoever waited for the store has waited long enough.
    await (storageUnavailable.matches(error) ? withinTime(DRAIN_MS, drained).catch(() => {}) : drained);
    throw error instanceof MultipartMalformed ? malformedForm(error.message) : error;
  }
}

/** The pieces of a stored file, in their order. */
export function listSegments(file: StoredFile): Segment[] {
  const { storage_path: key, size_bytes: size, pieces } = file;
  if (pieces === undefined && size < PIECE_BYTES) return [{ key, bytes: size }];
  const names = pieces ?? Array.from({ length: Math.ceil(size / PIECE_BYTES) }, (_, piece) => piece);
  return names.map((name, piece) => ({
    key: makePieceKey(file, name),
    bytes: Math.min(PIECE_BYTES, size - piece * PIECE_BYTES),
  }));
}

export const makePieceKey = (file: Pick<StoredFile, 'storage_path'>, piece: number | string): string =>
  `${file.storage_path}/${piece}`;

/** Deletes stored files from R2. */
export async function deleteFiles(bucket: R2Bucket, files: StoredFile[]): Promise<void> {
  await deleteObjects(
    bucket,
    files.flatMap((file) => listSegments(file).map(({ key }) => key)),
  );
}

/** As `deleteFiles`, for files of a refused request: those that cannot be deleted now are left to the sweep. */
export async function discardFiles(bucket: R2Bucket, files: StoredFile[]): Promise<void> {
  await withinTime(DISCARD_MS, deleteFiles(bucket, files)).catch((error) => logError('files_not_deleted', error));
}

/** The prefix in R2 of a company's uploads, or of one job's. */
export const makePrefix = (companyId: string, jobId?: string): string =>
  jobId === undefined ? `uploads/${companyId}` : `uploads/${companyId}/${jobId}`;

/** The id of the job that an object in R2 belongs to. */
export const parseJobId = (key: string): string => key.split('/')[2] ?? '';

/** Whether a part of the form is a file: both ways to repeat a field of a form are in use. */
const isFile = ({ name }: PartHeaders): boolean => name === 'files' || name === 'files[]';

/** The size of all files together. */
export const sumBytes = (files: { size_bytes: number }[]): number =>
  files.reduce((sum, file) => sum + file.size_bytes, 0);

async function receiveFile(
  part: PartHeaders,
  reader: MultipartReader,
  bucket: R2Bucket,
  prefix: string,
  form: UploadForm,
): Promise<void> {
  if (!part.filename) {
    // A browser's "no file chosen" has neither a name nor content.
    const { bytes } = await reader.block(1);
    if (bytes.length > 0) throw wrongFileType('', FORM_TYPES);
    return;
  }
  const name = toSafeFileName(part.filename);
  if (form.files.length === MAX_FILES) throw tooManyFiles();
  if (!isAccepted(name, FORM_TYPES)) throw wrongFileType(name, FORM_TYPES);
  const file: StoredFile = {
    original_name: name,
    storage_path: `${prefix}/${form.files.length}`,
    size_bytes: 0,
    mime_type: normalizeMediaType(part.mediaType),
  };
  form.files.push(file);
  await storePart(reader, bucket, file, MAX_UPLOAD_BYTES - sumBytes(form.files));
}

/** Puts the part that is being read into R2, piece by piece, under the keys of {@link listSegments}. */
async function storePart(reader: MultipartReader, bucket: R2Bucket, file: StoredFile, maxBytes: number): Promise<void> {
  for (let piece = 0, last = false; !last; piece += 1) {
    const block = await reader.block(PIECE_BYTES);
    last = block.last;
    file.size_bytes += block.bytes.length;
    if (file.size_bytes > maxBytes) throw tooLarge();
    if (block.bytes.length === 0 && piece > 0) return;
    await storing(
      bucket.put(file.size_bytes < PIECE_BYTES ? file.storage_path : makePieceKey(file, piece), block.bytes),
    );
  }
}

/** The media type of a file as it is shown: an invalid one becomes the unknown type. */
export const normalizeMediaType = (sent: string): string =>
  /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(sent) ? sent : UNKNOWN_TYPE;

async function readFieldText(reader: MultipartReader): Promise<string> {
  const { bytes } = await reader.block(MAX_FIELD_BYTES);
  return Buffer.from(bytes).toString('utf8');
}

/** The maximum number of characters of a file's name. */
const MAX_NAME_LENGTH = 255;

/**
 * The name that a sender gave a file, safe to be stored and shown: the base name, in Unicode's form NFC, without control
 * characters and those that change the direction of text, cut to 255 characters before its extension.
 */
export function toSafeFileName(given: string): string {
  const base = given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1);
  const visible = limitMarks(base.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, ''))
    .normalize('NFC')
    .trim();
  const characters = Array.from(visible);
  if (characters.length <= MAX_NAME_LENGTH) return visible;
  const dot = visible.lastIndexOf('.');
  const extension = dot > 0 ? Array.from(visible.slice(dot)).slice(0, 16) : [];
  return [...characters.slice(0, MAX_NAME_LENGTH - extension.length), ...extension].join('');
}

/** The maximum number of characters of a path within an archive, which any name fits. */
const MAX_PATH_LENGTH = 1_000;

/** The path of a file in an archive, each name in it made safe; of a longer one only the last folders. */
export function toSafePath(given: string): string {
  let path = '';
  const names = given.split(/[/\\]/).map(toSafeFileName);
  for (const name of names.reverse().filter((each) => each !== '')) {
    const longer = path === '' ? name : `${name}/${path}`;
    if (longer.length > MAX_PATH_LENGTH) break;
    path = longer;
  }
  return path;
}
