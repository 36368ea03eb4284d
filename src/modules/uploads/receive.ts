import { MultipartMalformed, type PartHeaders, parseBoundary } from '../../formats/multipart/headers.ts';
import { MultipartReader } from '../../formats/multipart/reader.ts';
import { invalidInput } from '../../kernel/failure.ts';
import type { SentBody } from '../../kernel/files.ts';
import { describeUnknownFields, UNKNOWN_FIELD_LIMITS } from '../../kernel/members.ts';
import { limitCombiningMarks } from '../../kernel/text.ts';
import { awaitWithinTime } from '../../kernel/time-limit.ts';
import { storageUnavailable, waitForStorage } from '../../platform/file-storage.ts';
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
import { FORM_EXTENSIONS, hasAcceptedExtension } from './kinds.ts';

/** A file in R2, in the form that an upload job shows. */
export interface StoredFile {
  /** The sender's name of the file, made safe by {@link toSafeFileName}. Never part of a path. */
  original_name: string;
  /** The file's key in R2, or the prefix of its pieces' keys: see {@link listSegments}. */
  storage_path: string;
  size_bytes: number;
  mime_type: string;
  /** The last parts of its pieces' keys, behind `storage_path/`, in order; numbers from 0 when absent. */
  pieces?: string[];
}

/** The content of an upload form. */
export interface UploadForm {
  /** The files, in the order of the form's fields. */
  files: StoredFile[];
  /** The field `mode`, wherever it stands in the form; null when absent. */
  mode: string | null;
  /** The field `evolve`, wherever it stands in the form; null when absent. */
  evolve: string | null;
  /** The fields `key`, in their order; at most {@link MAX_KEY_FIELDS}. */
  keys: string[];
}

/**
 * The size of a piece: a larger file is stored in pieces, each an R2 object, so that only one piece at a time is held in memory.
 * An R2 multipart upload is no alternative: the parts of a broken one are in no list, so that no sweep could delete them.
 */
export const PIECE_BYTES = 8 * 1024 * 1024;
/** The maximum number of bytes of a form without its files: boundaries, headers, other fields. */
const MAX_FORM_BYTES = 1024 * 1024;
const MAX_FIELD_BYTES = 64;
/** The maximum number of `key` fields that are read: one more than a key may have columns, so that too many are noticed. */
const MAX_KEY_FIELDS = 5;
/** The maximum number of bytes of a rejected body that are read, so that its sender gets the answer. */
const MAX_DRAINED_BYTES = 2 * MAX_UPLOAD_BYTES;
/** The longest time to read a rejected body where the files cannot be stored. Milliseconds. */
const MAX_DRAIN_MS = 5_000;
/** The longest time for deleting refused files. Milliseconds. */
const MAX_DISCARD_MS = 5_000;
/** The media type that browsers send for a file whose type they do not know. */
const UNKNOWN_MEDIA_TYPE = 'application/octet-stream';

/**
 * Streams the files of a form into R2 under `prefix`, numbered from 0, in memory that does not depend on their size. Sizes are
 * counted as the bytes arrive, whatever the headers claim. When it throws, nothing is left in R2, unless R2 is unreachable.
 */
export async function receiveForm(
  { stream, mediaType: type }: SentBody,
  bucket: R2Bucket,
  prefix: string,
): Promise<UploadForm> {
  const boundary = parseBoundary(type);
  if (!boundary || !stream) throw notMultipart();
  const maxBytes = MAX_UPLOAD_BYTES + MAX_FORM_BYTES;
  const reader = new MultipartReader(stream, boundary, {
    blockBytes: PIECE_BYTES,
    maxBytes,
    makeTooLargeError: tooLarge,
  });
  const uploadForm: UploadForm = { files: [], mode: null, evolve: null, keys: [] };
  const unknownFields: string[] = [];
  try {
    for (let partHeaders = await reader.readNextHeaders(); partHeaders; partHeaders = await reader.readNextHeaders()) {
      if (isFile(partHeaders)) await receiveFile(partHeaders, reader, bucket, prefix, uploadForm);
      else if ((partHeaders.name === 'mode' || partHeaders.name === 'evolve') && partHeaders.filename === null) {
        if (uploadForm[partHeaders.name] !== null)
          throw invalidInput([{ field: partHeaders.name, message: 'must be sent once' }]);
        uploadForm[partHeaders.name] = await readFieldText(reader);
      } else if (partHeaders.name === 'key' && partHeaders.filename === null) {
        if (uploadForm.keys.length < MAX_KEY_FIELDS) uploadForm.keys.push(await readFieldText(reader));
      } else if (unknownFields.length < UNKNOWN_FIELD_LIMITS.names) unknownFields.push(partHeaders.name);
    }
    if (uploadForm.files.length === 0) throw noFiles();
    if (unknownFields.length > 0) throw invalidInput(describeUnknownFields(unknownFields));
    return uploadForm;
  } catch (error) {
    await discardFiles(bucket, uploadForm.files);
    const discardPromise = reader.discardBody(MAX_DRAINED_BYTES);
    // Whoever waited for the store has waited long enough.
    await (storageUnavailable.matches(error)
      ? awaitWithinTime(MAX_DRAIN_MS, discardPromise).catch(() => {})
      : discardPromise);
    throw error instanceof MultipartMalformed ? malformedForm(error.message) : error;
  }
}

/** Lists the pieces of a stored file, in their order. */
export function listSegments(file: StoredFile): Segment[] {
  const { storage_path: key, size_bytes: size, pieces } = file;
  if (pieces === undefined && size < PIECE_BYTES) return [{ key, bytes: size }];
  const names = pieces ?? Array.from({ length: Math.ceil(size / PIECE_BYTES) }, (_, pieceIndex) => pieceIndex);
  return names.map((name, pieceIndex) => ({
    key: makePieceKey(file, name),
    bytes: Math.min(PIECE_BYTES, size - pieceIndex * PIECE_BYTES),
  }));
}

export const makePieceKey = (file: Pick<StoredFile, 'storage_path'>, piece: number | string): string =>
  `${file.storage_path}/${piece}`;

/** Deletes stored files from R2. */
export async function deleteStoredFiles(bucket: R2Bucket, files: StoredFile[]): Promise<void> {
  await deleteObjects(
    bucket,
    files.flatMap((file) => listSegments(file).map(({ key }) => key)),
  );
}

/** Deletes the stored files of a rejected request; those that cannot be deleted now are left to the sweep. */
export async function discardFiles(bucket: R2Bucket, files: StoredFile[]): Promise<void> {
  await awaitWithinTime(MAX_DISCARD_MS, deleteStoredFiles(bucket, files)).catch((error) =>
    logError('files_not_deleted', error),
  );
}

/** Makes the prefix in R2 of a company's uploads, or of one job's. */
export const makeUploadPrefix = (companyId: string, jobId?: string): string =>
  jobId === undefined ? `uploads/${companyId}` : `uploads/${companyId}/${jobId}`;

/** Parses the id of the job that an object in R2 belongs to from the object's key. */
export const parseJobId = (key: string): string => key.split('/')[2] ?? '';

/** Tells whether a part of the form is a file; both usual names of a repeated field are accepted. */
const isFile = ({ name }: PartHeaders): boolean => name === 'files' || name === 'files[]';

/** Sums the sizes of all files. */
export const sumBytes = (files: { size_bytes: number }[]): number =>
  files.reduce((sum, file) => sum + file.size_bytes, 0);

async function receiveFile(
  partHeaders: PartHeaders,
  reader: MultipartReader,
  bucket: R2Bucket,
  prefix: string,
  uploadForm: UploadForm,
): Promise<void> {
  if (!partHeaders.filename) {
    // A browser's "no file chosen" has neither a name nor content.
    const { bytes } = await reader.readBlock(1);
    if (bytes.length > 0) throw wrongFileType('', FORM_EXTENSIONS);
    return;
  }
  const name = toSafeFileName(partHeaders.filename);
  if (uploadForm.files.length === MAX_FILES) throw tooManyFiles();
  if (!hasAcceptedExtension(name, FORM_EXTENSIONS)) throw wrongFileType(name, FORM_EXTENSIONS);
  const file: StoredFile = {
    original_name: name,
    storage_path: `${prefix}/${uploadForm.files.length}`,
    size_bytes: 0,
    mime_type: normalizeMediaType(partHeaders.mediaType),
  };
  uploadForm.files.push(file);
  await storePart(reader, bucket, file, MAX_UPLOAD_BYTES - sumBytes(uploadForm.files));
}

/** Stores the part of the form that is being read in R2, piece by piece, under the keys of {@link listSegments}. */
async function storePart(reader: MultipartReader, bucket: R2Bucket, file: StoredFile, maxBytes: number): Promise<void> {
  for (let piece = 0, isLast = false; !isLast; piece += 1) {
    const block = await reader.readBlock(PIECE_BYTES);
    isLast = block.isLast;
    file.size_bytes += block.bytes.length;
    if (file.size_bytes > maxBytes) throw tooLarge();
    if (block.bytes.length === 0 && piece > 0) return;
    await waitForStorage(
      bucket.put(file.size_bytes < PIECE_BYTES ? file.storage_path : makePieceKey(file, piece), block.bytes),
    );
  }
}

/** Normalizes the media type of a file: an invalid one becomes the unknown type. */
export const normalizeMediaType = (sentType: string): string =>
  /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(sentType) ? sentType : UNKNOWN_MEDIA_TYPE;

async function readFieldText(reader: MultipartReader): Promise<string> {
  const { bytes } = await reader.readBlock(MAX_FIELD_BYTES);
  return Buffer.from(bytes).toString('utf8');
}

/** The maximum number of characters of a file's name. */
const MAX_NAME_LENGTH = 255;

/**
 * Makes a sender's file name safe to be stored and shown: the base name, in Unicode's form NFC, without control characters and
 * those that change the direction of text, cut to 255 characters before its extension.
 */
export function toSafeFileName(sentName: string): string {
  const baseName = sentName.slice(Math.max(sentName.lastIndexOf('/'), sentName.lastIndexOf('\\')) + 1);
  const visibleName = limitCombiningMarks(baseName.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, ''))
    .normalize('NFC')
    .trim();
  const characters = Array.from(visibleName);
  if (characters.length <= MAX_NAME_LENGTH) return visibleName;
  const dotIndex = visibleName.lastIndexOf('.');
  const extension = dotIndex > 0 ? Array.from(visibleName.slice(dotIndex)).slice(0, 16) : [];
  return [...characters.slice(0, MAX_NAME_LENGTH - extension.length), ...extension].join('');
}

/** The maximum number of characters of a path within an archive, which any name fits. */
const MAX_PATH_LENGTH = 1_000;

/** Makes the path of a file in an archive safe, name by name; of a path that is too long, keeps the last folders. */
export function toSafePath(sentPath: string): string {
  let path = '';
  const names = sentPath.split(/[/\\]/).map(toSafeFileName);
  for (const name of names.reverse().filter((safeName) => safeName !== '')) {
    const longerPath = path === '' ? name : `${name}/${path}`;
    if (longerPath.length > MAX_PATH_LENGTH) break;
    path = longerPath;
  }
  return path;
}
