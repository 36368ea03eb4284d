import type { TenantTx } from '../../tenant-sql/client.ts';
import { type RowOf, toRecord } from '../../tenant-sql/records.ts';
import type { EvolveMode, UploadMode } from './job.ts';

/** A resumable upload, whose bytes come in any number of requests, one after the other. */
export interface ResumableUpload {
  id: string;
  companyId: string;
  createdByUserId: string;
  fileName: string;
  mimeType: string;
  /** The id of the table that the rows go into; null for a new table. */
  userTableId: string | null;
  /** The way in which the rows enter the table; `create` for a new table. */
  mode: UploadMode;
  evolve: EvolveMode;
  key: string[] | null;
  /** The metadata in the sender's own text. */
  metadata: string;
  /** The number of bytes of the whole file. */
  length: number;
  /** The number of bytes that are stored for good. */
  received: number;
  /** Names of the objects that hold the received bytes, in order; all but the last are of `PIECE_BYTES`. */
  pieces: string[];
  /** Whether the upload's job, which has the same id, was created. */
  isFinished: boolean;
  /** The time of the last byte. Milliseconds. */
  updatedAt: number;
}

export interface UploadKey {
  id: string;
  companyId: string;
  /** The user who began the upload: nobody else may continue it. */
  createdByUserId: string;
}

/** The progress of an upload. */
export type UploadProgress = Pick<ResumableUpload, 'received' | 'pieces'>;

/** The members of an upload that its row holds as they are, under the names of the columns. */
type StoredUpload = Omit<ResumableUpload, 'key' | 'length' | 'received' | 'updatedAt'>;

type UploadRow = RowOf<StoredUpload> &
  Record<'length' | 'received' | 'updated_at', string> & {
    key_columns: string[] | null;
  };

const UPLOAD_COLUMNS = `id, company_id, created_by_user_id, file_name, mime_type, user_table_id, mode, evolve, key_columns, metadata, length,
  received, pieces, is_finished, (extract(epoch FROM updated_at) * 1000)::bigint AS updated_at`;
const UPLOAD_KEY_CONDITION = 'id = $1 AND company_id = $2 AND created_by_user_id = $3';
const listKeyParameters = ({ id, companyId, createdByUserId }: UploadKey) => [id, companyId, createdByUserId];

const toUpload = ({ key_columns: key, length, received, updated_at, ...row }: UploadRow): ResumableUpload => ({
  ...toRecord<StoredUpload>(row),
  key,
  length: Number(length),
  received: Number(received),
  updatedAt: Number(updated_at),
});

/** The key of the advisory lock (an arbitrary number) under which the unfinished uploads of the company are counted. */
const UPLOAD_COUNT_LOCK_ID = 519_204_877;

/** Inserts an upload. @returns false if the company has `maxUploads` unfinished ones that received a byte after `since` */
export async function insertUpload(
  tx: TenantTx,
  upload: Omit<ResumableUpload, 'received' | 'isFinished' | 'updatedAt'>,
  { maxUploads, since, at }: { maxUploads: number; since: string; at: string },
): Promise<boolean> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [UPLOAD_COUNT_LOCK_ID]);
  const insertedRowCount = await tx.execute(
    `INSERT INTO console.resumable_uploads
       (id, company_id, created_by_user_id, file_name, mime_type, user_table_id, mode, key_columns, length, updated_at,
        metadata, pieces, evolve)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8::json, $9, $10, $13, $14::json, $15
     WHERE (SELECT count(*) FROM console.resumable_uploads
            WHERE company_id = $2 AND NOT is_finished AND updated_at > $11) < $12`,
    [
      upload.id,
      upload.companyId,
      upload.createdByUserId,
      upload.fileName,
      upload.mimeType,
      upload.userTableId,
      upload.mode,
      upload.key && JSON.stringify(upload.key),
      upload.length,
      at,
      since,
      maxUploads,
      upload.metadata,
      JSON.stringify(upload.pieces),
      upload.evolve,
    ],
  );
  return insertedRowCount === 1;
}

export async function readUpload(tx: TenantTx, key: UploadKey): Promise<ResumableUpload | undefined> {
  const [row] = await tx.query<UploadRow>(
    `SELECT ${UPLOAD_COLUMNS} FROM console.resumable_uploads WHERE ${UPLOAD_KEY_CONDITION}`,
    listKeyParameters(key),
  );
  return row && toUpload(row);
}

/**
 * Claims an upload for one request that adds bytes from an offset on. The claim ends after `seconds`, so that a request that died
 * does not block others for longer. @returns undefined where another request has claimed it, or the upload does not exist, is
 * finished or at another offset
 */
export async function claimUpload(
  tx: TenantTx,
  key: UploadKey,
  { writer, offset, seconds, since }: { writer: string; offset: number; seconds: number; since: string },
): Promise<ResumableUpload | undefined> {
  const [row] = await tx.query<UploadRow>(
    `UPDATE console.resumable_uploads SET writer = $4, writer_until = now() + make_interval(secs => $5)
     WHERE ${UPLOAD_KEY_CONDITION} AND NOT is_finished AND updated_at > $6 AND received = $7
       AND (writer IS NULL OR writer_until < now()) RETURNING ${UPLOAD_COLUMNS}`,
    [...listKeyParameters(key), writer, seconds, since, offset],
  );
  return row && toUpload(row);
}

interface ClaimedProgress extends UploadProgress {
  writer: string;
  /** The time of the write, in ISO 8601. */
  at: string;
}

/** Saves the progress, and renews the claim. @returns false where another request has claimed the upload, or it is deleted */
export async function saveClaimedProgress(
  tx: TenantTx,
  key: UploadKey,
  { writer, seconds, received, pieces, at }: ClaimedProgress & { seconds: number },
): Promise<boolean> {
  const updatedRowCount = await tx.execute(
    `UPDATE console.resumable_uploads
     SET received = $5, pieces = $6::json, updated_at = $7, writer_until = now() + make_interval(secs => $8)
     WHERE ${UPLOAD_KEY_CONDITION} AND writer = $4`,
    [...listKeyParameters(key), writer, received, JSON.stringify(pieces), at, seconds],
  );
  return updatedRowCount === 1;
}

/** Saves the progress, and ends the claim. @returns false where another request has claimed the upload, or it is deleted */
export async function endClaim(
  tx: TenantTx,
  key: UploadKey,
  { writer, received, pieces, at }: ClaimedProgress,
): Promise<boolean> {
  const updatedRowCount = await tx.execute(
    `UPDATE console.resumable_uploads SET received = $5, pieces = $6::json, updated_at = $7, writer = NULL
     WHERE ${UPLOAD_KEY_CONDITION} AND writer = $4`,
    [...listKeyParameters(key), writer, received, JSON.stringify(pieces), at],
  );
  return updatedRowCount === 1;
}

/**
 * Marks an upload as finished, in the transaction that creates its job. @returns undefined where it was finished already, or is
 * deleted
 */
export async function finishUpload(tx: TenantTx, key: UploadKey, at: string): Promise<ResumableUpload | undefined> {
  const [row] = await tx.query<UploadRow>(
    `UPDATE console.resumable_uploads SET is_finished = true, writer = NULL, updated_at = $4
     WHERE ${UPLOAD_KEY_CONDITION} AND NOT is_finished RETURNING ${UPLOAD_COLUMNS}`,
    [...listKeyParameters(key), at],
  );
  return row && toUpload(row);
}

/** Reads unfinished uploads whose bytes have all been received, up to `maxUploads`. */
export async function readCompleteUploads(
  tx: TenantTx,
  companyId: string,
  maxUploads: number,
): Promise<ResumableUpload[]> {
  const rows = await tx.query<UploadRow>(
    `SELECT ${UPLOAD_COLUMNS} FROM console.resumable_uploads
     WHERE company_id = $1 AND NOT is_finished AND received = length ORDER BY updated_at LIMIT $2`,
    [companyId, maxUploads],
  );
  return rows.map(toUpload);
}

/** Deletes an upload. @returns the upload as it was before; undefined where there is none with a byte after `since` */
export async function deleteUpload(
  tx: TenantTx,
  key: UploadKey,
  { since }: { since: string },
): Promise<ResumableUpload | undefined> {
  const [row] = await tx.query<UploadRow>(
    `DELETE FROM console.resumable_uploads WHERE ${UPLOAD_KEY_CONDITION} AND updated_at > $4 RETURNING ${UPLOAD_COLUMNS}`,
    [...listKeyParameters(key), since],
  );
  return row && toUpload(row);
}

/** Deletes up to `maxUploads` uploads without a byte since `silentSince`, finished or not. @returns the number of deleted uploads */
export async function deleteExpiredUploads(
  tx: TenantTx,
  companyId: string,
  silentSince: string,
  maxUploads: number,
): Promise<number> {
  return tx.execute(
    `DELETE FROM console.resumable_uploads WHERE updated_at <= $2 AND id IN (
       SELECT id FROM console.resumable_uploads WHERE company_id = $1 AND updated_at <= $2 ORDER BY updated_at LIMIT $3)`,
    [companyId, silentSince, maxUploads],
  );
}

/** Returns those of the ids that belong to unfinished uploads, whose files are still needed. */
export async function findUnfinishedUploads(
  tx: TenantTx,
  companyId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    'SELECT id FROM console.resumable_uploads WHERE company_id = $1 AND id = ANY($2::text[]) AND NOT is_finished',
    [companyId, [...ids]],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Reads the time of the last byte of the upload that has waited longest, in milliseconds; null where there is none. */
export async function readOldestUpload(tx: TenantTx, companyId: string): Promise<number | null> {
  const [row] = await tx.query<{ oldest: string | null }>(
    `SELECT (extract(epoch FROM min(updated_at)) * 1000)::bigint AS oldest
     FROM console.resumable_uploads WHERE company_id = $1`,
    [companyId],
  );
  return row?.oldest ? Number(row.oldest) : null;
}
