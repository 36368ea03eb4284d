import { requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { isInvalidInput } from '../../kernel/failure.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { makeResourceArn } from '../../permissions/arn.ts';
import { storageUnavailable, waitForStorage } from '../../platform/file-storage.ts';
import { logError } from '../../platform/log.ts';
import { deleteByPrefix } from '../../platform/stored-files.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { openDatabaseIfAny, requireDatabase, scheduleSweep } from '../managed-database/service.ts';
import { tableBusy, tableNotFound } from '../managed-tables/failures.ts';
import { getTable, lockTable, runTableTransaction } from '../managed-tables/service.ts';
import {
  checksumMismatch,
  MAX_RESUMABLE_BYTES,
  offsetConflict,
  resumableTooLarge,
  tooManyUnfinished,
  uploadBeyondLength,
  uploadLocked,
  uploadNotFound,
  wrongFileType,
} from './failures.ts';
import { requireFileQuota } from './file-quota.ts';
import type { UploadMode } from './job.ts';
import { ACCEPTED_EXTENSIONS, hasAcceptedExtension } from './kinds.ts';
import { tableChanged } from './problems.ts';
import { makePieceKey, makeUploadPrefix, normalizeMediaType, toSafeFileName } from './receive.ts';
import * as uploads from './resumable-store.ts';
import {
  CLAIM_SECONDS,
  makePieceName,
  makeWriterId,
  type SentBytes,
  toStoredFile,
  UploadWriter,
} from './resumable-writing.ts';
import {
  chooseKey,
  RESUME_AFTER_MS,
  requireMayChangeTable,
  requireNoTableOptions,
  toEvolve,
  toMode,
} from './service.ts';
import * as store from './store.ts';

/** The time without a byte after which an upload is deleted. Milliseconds. */
export const UPLOAD_EXPIRY_MS = DAY_MS;
/** The maximum number of unfinished resumable uploads per company. */
const MAX_UNFINISHED_UPLOADS = 20;

/** The file and options of a new upload, as the sender declares them. */
export interface NewUploadRequest {
  length: number;
  fileName: string;
  mimeType: string;
  /** The metadata in exactly the text that the sender sent. */
  metadata: string;
  tableId: string | undefined;
  mode: string | undefined;
  evolve: string | undefined;
  keyColumns: string[];
}

/**
 * Begins an upload.
 * @param sentBytes its first bytes, where the request has some. If they are rejected, no upload remains
 * @returns the upload with its progress
 */
export async function beginUpload(
  ctx: PrincipalContext,
  uploadRequest: NewUploadRequest,
  sentBytes: SentBytes | undefined,
): Promise<uploads.ResumableUpload> {
  const newUpload = await insertNewUpload(ctx, uploadRequest);
  if (newUpload.length === 0) {
    if (sentBytes && (await hasBytes(sentBytes))) {
      await endUpload(ctx, newUpload.id);
      throw uploadBeyondLength(0);
    }
    return finishUpload(ctx, await requireDatabase(ctx), newUpload);
  }
  if (!sentBytes) return newUpload;
  try {
    return await appendBytes(ctx, newUpload.id, { offset: 0, ...sentBytes });
  } catch (error) {
    if (uploadBeyondLength.matches(error) || checksumMismatch.matches(error)) await endUpload(ctx, newUpload.id);
    // It is there, and can be gone on with.
    if (storageUnavailable.matches(error) || uploadLocked.matches(error)) return readUpload(ctx, newUpload.id);
    throw error;
  }
}

async function insertNewUpload(
  ctx: PrincipalContext,
  uploadRequest: NewUploadRequest,
): Promise<uploads.ResumableUpload> {
  const { tableId, length, metadata } = uploadRequest;
  requireAction(ctx.actor, 'managed-tables:upload', tableId ?? '*');
  if (length > MAX_RESUMABLE_BYTES) throw resumableTooLarge();
  const fileName = toSafeFileName(uploadRequest.fileName);
  if (!hasAcceptedExtension(fileName)) throw wrongFileType(fileName, ACCEPTED_EXTENSIONS);
  const mode = toUploadMode(uploadRequest);
  const evolve = toEvolve(uploadRequest.evolve ?? null);
  requireMayChangeTable(ctx, mode, tableId ?? null, evolve);
  const database = await requireDatabase(ctx);
  const table = tableId === undefined ? undefined : await getTable(ctx, tableId);
  const now = ctx.now();
  const upload: uploads.ResumableUpload = {
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    createdByUserId: ctx.actor.id,
    fileName,
    mimeType: normalizeMediaType(uploadRequest.mimeType),
    userTableId: tableId ?? null,
    mode,
    evolve,
    key: table ? chooseKey(mode, uploadRequest.keyColumns, table.columns) : null,
    metadata,
    length,
    received: 0,
    pieces: length === 0 ? [makePieceName(0, makeWriterId())] : [],
    isFinished: false,
    updatedAt: now,
  };
  // Before anything else, so that a sweep deletes what nobody goes on with.
  await scheduleSweep(ctx, now + RESUME_AFTER_MS);
  // An empty file is stored as well: its job fails, and says why.
  for (const name of upload.pieces)
    await waitForStorage(ctx.files.put(makePieceKey(toStoredFile(upload), name), new Uint8Array()));
  const limits = { maxUploads: MAX_UNFINISHED_UPLOADS, since: computeExpiry(ctx), at: formatIsoTimestamp(now) };
  await database.runInTransaction(async (tx) => {
    if (!(await uploads.insertUpload(tx, upload, limits))) throw tooManyUnfinished(MAX_UNFINISHED_UPLOADS);
    await requireFileQuota(ctx, tx, length);
  });
  return upload;
}

function toUploadMode({ tableId, mode, evolve, keyColumns }: NewUploadRequest): UploadMode {
  if (tableId === undefined) {
    requireNoTableOptions({ mode, evolve, key: keyColumns.length > 0 ? keyColumns : undefined });
    return 'create';
  }
  return toMode(mode ?? null);
}

function makeUploadKey(ctx: PrincipalContext, id: string): uploads.UploadKey {
  if (!ID_PATTERN.test(id)) throw uploadNotFound();
  return { id, companyId: ctx.actor.companyId, createdByUserId: ctx.actor.id };
}

/** Computes the expiry cutoff in ISO 8601: an upload whose last byte is older has expired. */
const computeExpiry = (ctx: CompanyContext): string => formatIsoTimestamp(ctx.now() - UPLOAD_EXPIRY_MS);

/** Finds the ARN of the table that an upload is for; that of all tables where the upload creates a table, or does not exist. */
export async function findUploadArn(ctx: PrincipalContext, id: string): Promise<string> {
  const database = ID_PATTERN.test(id) ? await openDatabaseIfAny(ctx) : undefined;
  const upload = database && (await uploads.readUpload(database, makeUploadKey(ctx, id)));
  return makeResourceArn('managed-tables:upload', ctx.actor.companyId, upload?.userTableId ?? '*');
}

/**
 * Returns an upload with its progress. If all its bytes have been received but it has no job, creates the job first; where its
 * table is busy, the job comes later.
 */
export async function getUpload(ctx: PrincipalContext, id: string): Promise<uploads.ResumableUpload> {
  const upload = await readUpload(ctx, id);
  if (upload.isFinished || upload.received < upload.length) return upload;
  return finishUpload(ctx, await requireDatabase(ctx), upload).catch((error) => {
    if (uploadLocked.matches(error)) return upload;
    throw error;
  });
}

async function readUpload(ctx: PrincipalContext, id: string): Promise<uploads.ResumableUpload> {
  const upload = await uploads.readUpload(await requireDatabase(ctx), makeUploadKey(ctx, id));
  if (!upload || upload.updatedAt + UPLOAD_EXPIRY_MS <= ctx.now()) throw uploadNotFound();
  return upload;
}

/**
 * Adds bytes to an upload, in memory that does not depend on their number. Where the connection is lost, the received bytes stay,
 * unless a checksum was given. @param offset the offset of the first byte @returns the upload with its new progress
 */
export async function appendBytes(
  ctx: PrincipalContext,
  id: string,
  { offset, ...sent }: { offset: number } & SentBytes,
): Promise<uploads.ResumableUpload> {
  const database = await requireDatabase(ctx);
  const writer = makeWriterId();
  const claim = { writer, offset, seconds: CLAIM_SECONDS, since: computeExpiry(ctx) };
  const upload = await uploads.claimUpload(database, makeUploadKey(ctx, id), claim);
  if (!upload) {
    const storedUpload = await readUpload(ctx, id);
    const { received, length, isFinished } = storedUpload;
    if (received !== offset) throw offsetConflict(received);
    if (!isFinished) throw uploadLocked();
    // At the end of the file: a sender that lost the answer to its last byte gets it now.
    if (await hasBytes(sent)) throw uploadBeyondLength(length);
    return storedUpload;
  }
  const receivedUpload = new UploadWriter(ctx, database, upload, writer).receiveBytes(sent);
  // Who was cut off waits for no answer; what has come is stored all the same.
  ctx.defer(receivedUpload.catch(() => {}));
  const now = await receivedUpload;
  return now.received < now.length ? now : finishUpload(ctx, database, now);
}

/** Tells whether a request has any byte. Bytes that are read to find this out are discarded. */
async function hasBytes({ bytes, announcedBytes }: SentBytes): Promise<boolean> {
  if (announcedBytes > 0 || bytes === null) return announcedBytes > 0;
  const reader = bytes.getReader();
  try {
    for (let readResult = await reader.read(); !readResult.done; readResult = await reader.read())
      if (readResult.value.length > 0) return true;
    return false;
  } finally {
    reader.releaseLock();
  }
}

/** Creates the job of a completely received upload, unless it exists. @throws uploadLocked if its table is busy */
async function finishUpload(
  ctx: CompanyContext,
  database: TenantSql,
  upload: uploads.ResumableUpload,
): Promise<uploads.ResumableUpload> {
  const at = ctx.now();
  let isJobCreated = false;
  try {
    isJobCreated = await runTableTransaction(database, async (tx) => {
      const finishedUpload = await uploads.finishUpload(tx, upload, formatIsoTimestamp(at));
      if (finishedUpload) await insertJob(tx, ctx, finishedUpload);
      return finishedUpload !== undefined;
    });
  } catch (error) {
    throw tableBusy.matches(error) ? uploadLocked().addCause(error) : error;
  }
  if (!isJobCreated) {
    const storedUpload = await uploads.readUpload(database, upload);
    if (!storedUpload?.isFinished) throw uploadNotFound();
    return storedUpload;
  }
  await ctx.jobs.send({ type: 'upload.analyse', companyId: upload.companyId, jobId: upload.id });
  return { ...upload, isFinished: true, updatedAt: at };
}

/** Inserts the job of an upload. If its table is deleted, or lacks columns of the key, the job fails, but not the request. */
async function insertJob(tx: TenantTx, ctx: CompanyContext, upload: uploads.ResumableUpload): Promise<void> {
  const { id, companyId, createdByUserId, mode, evolve, key, userTableId, length } = upload;
  const progress = { rows_processed: 0, rows_total: null, bytes_processed: 0, bytes_total: length };
  const createdAt = formatIsoTimestamp(ctx.now());
  const job = { id, companyId, createdByUserId, files: [toStoredFile(upload)], progress, createdAt };
  const hasKeyColumns = userTableId === null || (await hasTableKeyColumns(tx, ctx, userTableId, { mode, key }));
  await store.insertJob(tx, { ...job, mode, evolve, key, userTableId });
  if (!hasKeyColumns) await store.failJob(tx, { id, companyId }, tableChanged, createdAt);
}

async function hasTableKeyColumns(
  tx: TenantTx,
  ctx: CompanyContext,
  tableId: string,
  { mode, key }: Pick<uploads.ResumableUpload, 'mode' | 'key'>,
): Promise<boolean> {
  try {
    const { columns } = await lockTable(tx, ctx, tableId, 'row');
    chooseKey(mode, key ?? [], columns);
    return true;
  } catch (error) {
    // The job finds out by itself that there is no table.
    if (tableNotFound.matches(error)) return true;
    if (isInvalidInput(error)) return false;
    throw error;
  }
}

/** Creates the missing jobs of uploads whose bytes have all been received. @returns the number of these uploads */
export async function finishCompleteUploads(
  ctx: CompanyContext,
  database: TenantSql,
  maxUploads: number,
): Promise<number> {
  const completeUploads = await uploads.readCompleteUploads(database, ctx.actor.companyId, maxUploads);
  for (const upload of completeUploads) {
    await finishUpload(ctx, database, upload).catch((error) =>
      logError('upload_not_finished', error, { upload: upload.id }),
    );
  }
  return completeUploads.length;
}

/** Deletes an upload with its bytes; the job of a finished upload stays. */
export async function endUpload(ctx: PrincipalContext, id: string): Promise<void> {
  const database = await requireDatabase(ctx);
  // A request that is adding bytes may still put some: a sweep finds them.
  await scheduleSweep(ctx, ctx.now() + RESUME_AFTER_MS);
  const deletedUpload = await uploads.deleteUpload(database, makeUploadKey(ctx, id), { since: computeExpiry(ctx) });
  if (!deletedUpload) throw uploadNotFound();
  if (!deletedUpload.isFinished)
    await deleteByPrefix(ctx.files, `${makeUploadPrefix(ctx.actor.companyId, id)}/`).catch((error) =>
      logError('files_not_deleted', error, { upload: id }),
    );
}
