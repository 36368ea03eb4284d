import { requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { invalid, isInvalid } from '../../kernel/failure.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { resourceArn } from '../../permissions/arn.ts';
import { storageUnavailable, storing } from '../../platform/file-storage.ts';
import { logError } from '../../platform/log.ts';
import { deleteObjects } from '../../platform/stored-files.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { openDatabaseIfAny, requireDatabase, scheduleSweep } from '../managed-database/service.ts';
import { tableBusy, tableNotFound } from '../managed-tables/failures.ts';
import { getTable, inTransaction, lockTable } from '../managed-tables/service.ts';
import {
  beyondLength,
  checksumMismatch,
  MAX_RESUMABLE_BYTES,
  offsetConflict,
  resumableTooLarge,
  tooManyUnfinished,
  uploadLocked,
  uploadNotFound,
  wrongFileType,
} from './failures.ts';
import type { UploadMode } from './job.ts';
import { ACCEPTED_TYPES, isAccepted } from './kinds.ts';
import { tableChanged } from './problems.ts';
import { makePieceKey, makePrefix, normalizeMediaType, toSafeFileName } from './receive.ts';
import * as uploads from './resumable-store.ts';
import {
  makePieceName,
  makeWriterId,
  type SentBytes,
  toStoredFile,
  WRITER_SECONDS,
  Writing,
} from './resumable-writing.ts';
import { requireFileRoom } from './room.ts';
import { chooseKey, RESUME_AFTER_MS, requireChanging, toEvolve, toMode } from './service.ts';
import * as store from './store.ts';

/** The time without a byte after which an upload is deleted. Milliseconds. */
export const RESUMABLE_MS = DAY_MS;
/** The maximum number of unfinished resumable uploads per company. */
const MAX_UNFINISHED_UPLOADS = 20;
const KEYS_PER_PAGE = 1000;

/** The file and options of a new upload, as the sender declares them. */
export interface NewResumable {
  length: number;
  fileName: string;
  mimeType: string;
  /** The metadata as the sender wrote it. */
  metadata: string;
  tableId: string | undefined;
  mode: string | undefined;
  evolve: string | undefined;
  key: string[];
}

/**
 * Begins an upload.
 * @param sent its first bytes, where the request has some. If they are refused, no upload is left
 * @returns the upload after that
 */
export async function beginUpload(
  ctx: PrincipalContext,
  wanted: NewResumable,
  sent: SentBytes | undefined,
): Promise<uploads.ResumableUpload> {
  const begun = await insertNewUpload(ctx, wanted);
  if (begun.length === 0) return finish(ctx, await requireDatabase(ctx), begun);
  if (!sent) return begun;
  try {
    return await appendBytes(ctx, begun.id, { offset: 0, ...sent });
  } catch (error) {
    if (beyondLength.matches(error) || checksumMismatch.matches(error)) await endUpload(ctx, begun.id);
    // It is there, and can be gone on with.
    if (storageUnavailable.matches(error) || uploadLocked.matches(error)) return readUpload(ctx, begun.id);
    throw error;
  }
}

async function insertNewUpload(ctx: PrincipalContext, wanted: NewResumable): Promise<uploads.ResumableUpload> {
  const { tableId, length, metadata } = wanted;
  requireAction(ctx.actor, 'managed-tables:upload', tableId ?? '*');
  if (length > MAX_RESUMABLE_BYTES) throw resumableTooLarge();
  const fileName = toSafeFileName(wanted.fileName);
  if (!isAccepted(fileName)) throw wrongFileType(fileName, ACCEPTED_TYPES);
  const mode = toUploadMode(wanted);
  const evolve = toEvolve(wanted.evolve ?? null);
  requireChanging(ctx, mode, tableId ?? null, evolve);
  const database = await requireDatabase(ctx);
  const table = tableId === undefined ? undefined : await getTable(ctx, tableId);
  const now = ctx.now();
  const upload: uploads.ResumableUpload = {
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    createdByUserId: ctx.actor.id,
    fileName,
    mimeType: normalizeMediaType(wanted.mimeType),
    userTableId: tableId ?? null,
    mode,
    evolve,
    key: table ? chooseKey(mode, wanted.key, table.columns) : null,
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
    await storing(ctx.files.put(makePieceKey(toStoredFile(upload), name), new Uint8Array()));
  const limits = { most: MAX_UNFINISHED_UPLOADS, since: computeExpiry(ctx), at: isoTimestamp(now) };
  await database.transaction(async (tx) => {
    if (!(await uploads.insertUpload(tx, upload, limits))) throw tooManyUnfinished(MAX_UNFINISHED_UPLOADS);
    await requireFileRoom(ctx, tx, length);
  });
  return upload;
}

function toUploadMode({ tableId, mode, evolve, key }: NewResumable): UploadMode {
  if (tableId === undefined) {
    const said = { mode, evolve, key: key.length > 0 ? key : undefined };
    const alone = Object.entries(said).flatMap(([field, value]) => (value === undefined ? [] : [field]));
    if (alone.length > 0) throw invalid(alone.map((field) => ({ field, message: 'is for an existing table' })));
    return 'create';
  }
  return toMode(mode ?? null);
}

function makeUploadKey(ctx: PrincipalContext, id: string): uploads.UploadKey {
  if (!ID_PATTERN.test(id)) throw uploadNotFound();
  return { id, companyId: ctx.actor.companyId, createdByUserId: ctx.actor.id };
}

/** The time before which an upload's last byte makes it expired. */
const computeExpiry = (ctx: CompanyContext): string => isoTimestamp(ctx.now() - RESUMABLE_MS);

/** The ARN of the table that an upload is for; of all tables where it makes a table, or does not exist. */
export async function findUploadArn(ctx: PrincipalContext, id: string): Promise<string> {
  const database = ID_PATTERN.test(id) ? await openDatabaseIfAny(ctx) : undefined;
  const upload = database && (await uploads.readUpload(database, makeUploadKey(ctx, id)));
  return resourceArn('managed-tables:upload', ctx.actor.companyId, upload?.userTableId ?? '*');
}

/** Returns an upload with its progress. If all its bytes are there but no job, makes the job first. */
export async function getUpload(ctx: PrincipalContext, id: string): Promise<uploads.ResumableUpload> {
  const upload = await readUpload(ctx, id);
  if (upload.isFinished || upload.received < upload.length) return upload;
  return finish(ctx, await requireDatabase(ctx), upload);
}

async function readUpload(ctx: PrincipalContext, id: string): Promise<uploads.ResumableUpload> {
  const upload = await uploads.readUpload(await requireDatabase(ctx), makeUploadKey(ctx, id));
  if (!upload || upload.updatedAt + RESUMABLE_MS <= ctx.now()) throw uploadNotFound();
  return upload;
}

/**
 * Adds bytes to an upload, in memory that does not depend on their number. Where the connection is cut, the received bytes
 * stay, unless a checksum was given.
 * @param offset the offset of the first byte
 * @returns the upload after that
 */
export async function appendBytes(
  ctx: PrincipalContext,
  id: string,
  { offset, ...sent }: { offset: number } & SentBytes,
): Promise<uploads.ResumableUpload> {
  const database = await requireDatabase(ctx);
  const writer = makeWriterId();
  const claim = { writer, offset, seconds: WRITER_SECONDS, since: computeExpiry(ctx) };
  const upload = await uploads.claimUpload(database, makeUploadKey(ctx, id), claim);
  if (!upload) {
    const { received, isFinished } = await readUpload(ctx, id);
    throw isFinished || received !== offset ? offsetConflict(received) : uploadLocked();
  }
  const receiving = new Writing(ctx, database, upload, writer).receive(sent);
  // Who was cut off waits for no answer; what has come is stored all the same.
  ctx.defer(receiving.catch(() => {}));
  const now = await receiving;
  return now.received < now.length ? now : finish(ctx, database, now);
}

/** Makes the job of an upload whose bytes are all there, once. @throws uploadLocked where its table is busy */
async function finish(
  ctx: CompanyContext,
  database: TenantSql,
  upload: uploads.ResumableUpload,
): Promise<uploads.ResumableUpload> {
  const at = ctx.now();
  let isMade = false;
  try {
    isMade = await inTransaction(database, async (tx) => {
      const whole = await uploads.finishUpload(tx, upload, isoTimestamp(at));
      if (whole) await insertJob(tx, ctx, whole);
      return whole !== undefined;
    });
  } catch (error) {
    throw tableBusy.matches(error) ? uploadLocked().because(error) : error;
  }
  if (!isMade) {
    const found = await uploads.readUpload(database, upload);
    if (!found?.isFinished) throw uploadNotFound();
    return found;
  }
  await ctx.jobs.send({ type: 'upload.analyse', companyId: upload.companyId, jobId: upload.id });
  return { ...upload, isFinished: true, updatedAt: at };
}

/** Inserts the job of an upload. If its table is gone, or lacks columns of the key, the job fails; the request does not. */
async function insertJob(tx: TenantTx, ctx: CompanyContext, upload: uploads.ResumableUpload): Promise<void> {
  const { id, companyId, createdByUserId, mode, evolve, key, userTableId, length } = upload;
  const progress = { rows_processed: 0, rows_total: null, bytes_processed: 0, bytes_total: length };
  const createdAt = isoTimestamp(ctx.now());
  const job = { id, companyId, createdByUserId, files: [toStoredFile(upload)], progress, createdAt };
  const isKeyThere = userTableId === null || (await hasTableKeyColumns(tx, ctx, userTableId, { mode, key }));
  await store.insertJob(tx, { ...job, mode, evolve, key, userTableId });
  if (!isKeyThere) await store.failJob(tx, { id, companyId }, tableChanged, createdAt);
}

async function hasTableKeyColumns(
  tx: TenantTx,
  ctx: CompanyContext,
  tableId: string,
  { mode, key }: Pick<uploads.ResumableUpload, 'mode' | 'key'>,
): Promise<boolean> {
  try {
    const { columns } = await lockTable(tx, ctx, tableId);
    chooseKey(mode, key ?? [], columns);
    return true;
  } catch (error) {
    // The job finds out by itself that there is no table.
    if (tableNotFound.matches(error)) return true;
    if (isInvalid(error)) return false;
    throw error;
  }
}

/** Makes the jobs of uploads whose bytes are all there and that have none. @returns the number of these uploads */
export async function finishCompleteUploads(ctx: CompanyContext, database: TenantSql, most: number): Promise<number> {
  const whole = await uploads.readCompleteUploads(database, ctx.actor.companyId, most);
  for (const upload of whole) {
    await finish(ctx, database, upload).catch((error) => logError('upload_not_finished', error, { upload: upload.id }));
  }
  return whole.length;
}

/** Deletes an upload with its bytes; the job of a finished one stays. */
export async function endUpload(ctx: PrincipalContext, id: string): Promise<void> {
  const database = await requireDatabase(ctx);
  // A request that is adding bytes may still put some: a sweep finds them.
  await scheduleSweep(ctx, ctx.now() + RESUME_AFTER_MS);
  const deleted = await uploads.deleteUpload(database, makeUploadKey(ctx, id), { since: computeExpiry(ctx) });
  if (!deleted) throw uploadNotFound();
  if (!deleted.isFinished)
    await deleteBytes(ctx, id).catch((error) => logError('files_not_deleted', error, { upload: id }));
}

async function deleteBytes(ctx: PrincipalContext, id: string): Promise<void> {
  const prefix = `${makePrefix(ctx.actor.companyId, id)}/`;
  for (let isMore = true; isMore; ) {
    const page = await ctx.files.list({ prefix, limit: KEYS_PER_PAGE });
    await deleteObjects(
      ctx.files,
      page.objects.map(({ key }) => key),
    );
    isMore = page.truncated;
  }
}
