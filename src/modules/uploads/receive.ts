import { boundaryOf, MultipartMalformed, type PartHeaders } from '../../formats/multipart/headers.ts';
import { MultipartReader } from '../../formats/multipart/reader.ts';
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
import type { Segment } from './segments.ts';

/** A file as it lies in R2, in the words of an upload job's record. */
export interface StoredFile {
  /** The base name the sender gave it, made harmless. Never part of a path. */
  original_name: string;
  /** Its key in R2, or where its pieces lie: see {@link segmentsOf}. */
  storage_path: string;
  size_bytes: number;
  mime_type: string;
}

/** What an upload form held. */
export interface UploadForm {
  /** In the order of the form. */
  files: StoredFile[];
  /** The field `mode`, wherever it stood; null when absent. */
  mode: string | null;
}

/** File types whose content can be read. */
export const ACCEPTED_TYPES = ['.csv', '.xlsx', '.xls', '.zip'] as const;

/**
 * A file of so much or more is stored in pieces, each an object: so much is all that is ever held in memory. Not as parts
 * of one object by an R2 multipart upload: what a broken one leaves is in no list, for the scheduled run to find.
 */
const PIECE_BYTES = 8 * 1024 * 1024;
/** Everything of a form that is not a file: boundaries, headers, other fields. */
const MAX_FORM_BYTES = 1024 * 1024;
const MAX_FIELD_BYTES = 64;
/** A refused body is read this far, so that its sender gets to see the answer. */
const DRAIN_BYTES = 2 * MAX_UPLOAD_BYTES;
/** What browsers send for a file whose type they do not know. */
const UNKNOWN_TYPE = 'application/octet-stream';

/**
 * Streams the files of a form into R2 under `prefix`, numbered from 0, with memory that does not depend on their size.
 * Sizes are counted as the bytes arrive; what the headers claim plays no part.
 *
 * @throws a failure of `failures.ts`, or `multipart.malformed`; nothing is left in R2 then
 */
export async function receiveForm(request: Request, bucket: R2Bucket, prefix: string): Promise<UploadForm> {
  const boundary = boundaryOf(request.headers.get('content-type'));
  if (!boundary || !request.body) throw notMultipart();
  const maxBytes = MAX_UPLOAD_BYTES + MAX_FORM_BYTES;
  const reader = new MultipartReader(request.body, boundary, { blockBytes: PIECE_BYTES, maxBytes, tooLarge });
  const form: UploadForm = { files: [], mode: null };
  try {
    for (let head = await reader.next(); head; head = await reader.next()) {
      if (isFile(head)) await receiveFile(head, reader, bucket, prefix, form);
      else if (head.name === 'mode' && head.filename === null) form.mode = await fieldText(reader);
    }
    if (form.files.length === 0) throw noFiles();
    return form;
  } catch (error) {
    await forget(bucket, form.files);
    await reader.drain(DRAIN_BYTES);
    throw error instanceof MultipartMalformed ? malformedForm(error.message) : error;
  }
}

/** Where the bytes of a stored file lie, one piece after another. */
export function segmentsOf(file: StoredFile): Segment[] {
  const { storage_path: key, size_bytes: size } = file;
  if (size < PIECE_BYTES) return [{ key, bytes: size }];
  return Array.from({ length: Math.ceil(size / PIECE_BYTES) }, (_, piece) => ({
    key: pieceOf(file, piece),
    bytes: Math.min(PIECE_BYTES, size - piece * PIECE_BYTES),
  }));
}

const pieceOf = (file: StoredFile, piece: number): string => `${file.storage_path}/${piece}`;

/** Removes files of a form that led to nothing. */
export async function forget(bucket: R2Bucket, files: StoredFile[]): Promise<void> {
  await forgetKeys(
    bucket,
    files.flatMap((file) => segmentsOf(file).map(({ key }) => key)),
  );
}

/** Removes objects from R2, up to 1,000. */
export async function forgetKeys(bucket: R2Bucket, keys: string[]): Promise<void> {
  if (keys.length > 0) await bucket.delete(keys);
}

/** Where the uploads of a company lie in R2, or those of one job. */
export const filesOf = (companyId: string, jobId?: string): string =>
  jobId === undefined ? `uploads/${companyId}` : `uploads/${companyId}/${jobId}`;

/** The job that an object in R2 belongs to. */
export const jobIdOf = (key: string): string => key.split('/')[2] ?? '';

/** Both ways to repeat a field in a form are in use. */
const isFile = (head: PartHeaders): boolean => head.name === 'files' || head.name === 'files[]';

/** Bytes of files together. */
export const bytesOf = (files: { size_bytes: number }[]): number =>
  files.reduce((sum, file) => sum + file.size_bytes, 0);

async function receiveFile(
  head: PartHeaders,
  reader: MultipartReader,
  bucket: R2Bucket,
  prefix: string,
  form: UploadForm,
): Promise<void> {
  if (!head.filename) {
    // A browser's "no file chosen" has neither a name nor content.
    const { bytes } = await reader.block(1);
    if (bytes.length > 0) throw wrongFileType('', ACCEPTED_TYPES);
    return;
  }
  const name = fileName(head.filename);
  if (form.files.length === MAX_FILES) throw tooManyFiles();
  if (!ACCEPTED_TYPES.some((type) => name.toLowerCase().endsWith(type))) throw wrongFileType(name, ACCEPTED_TYPES);
  const file: StoredFile = {
    original_name: name,
    storage_path: `${prefix}/${form.files.length}`,
    size_bytes: 0,
    mime_type: /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(head.mediaType) ? head.mediaType : UNKNOWN_TYPE,
  };
  form.files.push(file);
  const room = MAX_UPLOAD_BYTES - bytesOf(form.files);
  await store(reader, bucket, file, room);
}

/** Puts the present part into R2, piece after piece, where `segmentsOf` finds it. */
async function store(reader: MultipartReader, bucket: R2Bucket, file: StoredFile, room: number): Promise<void> {
  for (let piece = 0, last = false; !last; piece += 1) {
    const block = await reader.block(PIECE_BYTES);
    last = block.last;
    file.size_bytes += block.bytes.length;
    if (file.size_bytes > room) throw tooLarge();
    if (block.bytes.length === 0 && piece > 0) return;
    await bucket.put(file.size_bytes < PIECE_BYTES ? file.storage_path : pieceOf(file, piece), block.bytes);
  }
}

async function fieldText(reader: MultipartReader): Promise<string> {
  const { bytes } = await reader.block(MAX_FIELD_BYTES);
  return Buffer.from(bytes).toString('utf8');
}

/** Characters of a file's name. */
const MAX_NAME_LENGTH = 255;

/**
 * The name a sender gave a file, made fit to be stored and shown: the base name only, without control characters and
 * invisible ones that change the direction of text, in one Unicode form, at most 255 characters with its extension kept.
 */
export function fileName(given: string): string {
  const base = given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1);
  const visible = base
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    .normalize('NFC')
    .trim();
  const characters = Array.from(visible);
  if (characters.length <= MAX_NAME_LENGTH) return visible;
  const dot = visible.lastIndexOf('.');
  const extension = dot > 0 ? Array.from(visible.slice(dot)).slice(0, 16) : [];
  return [...characters.slice(0, MAX_NAME_LENGTH - extension.length), ...extension].join('');
}
