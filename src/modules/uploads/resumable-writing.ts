import type { PrincipalContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { awaitWithinTime } from '../../kernel/time-limit.ts';
import { storageUnavailable, waitForStorage } from '../../platform/file-storage.ts';
import { logError } from '../../platform/log.ts';
import { deleteObjects } from '../../platform/stored-files.ts';
import type { TenantSql } from '../../tenant-sql/client.ts';
import { scheduleSweep } from '../managed-database/service.ts';
import { checksumMismatch, uploadBeyondLength, uploadLocked, uploadNotFound } from './failures.ts';
import { makePieceKey, makeUploadPrefix, PIECE_BYTES, type StoredFile } from './receive.ts';
import * as uploads from './resumable-store.ts';
import { RESUME_AFTER_MS } from './service.ts';

/** The duration of a claim: a request that does not renew its claim within this time no longer blocks others. Seconds. */
export const CLAIM_SECONDS = 10;
/** The interval at which a request renews its claim while bytes come slowly. Milliseconds. */
const RENEWAL_INTERVAL_MS = 3_000;
/** The longest pause between bytes, after which the sender counts as disconnected. Milliseconds. */
const MAX_PAUSE_MS = 30_000;
/** The longest time for deleting objects that are not needed. Milliseconds. */
const MAX_DISCARD_MS = 5_000;

/** A digest of the bytes of one request, sent with them: `value` in base64. */
export interface Checksum {
  algorithm: 'SHA-1' | 'SHA-256' | 'MD5';
  value: string;
}

/** The bytes and headers of a request that adds bytes. */
export interface SentBytes {
  bytes: ReadableStream<Uint8Array> | null;
  /** The number of bytes, where the request declares it; else 0. */
  announcedBytes: number;
  checksum?: Checksum | undefined;
}

/** Describes the file of an upload for its job. */
export const toStoredFile = (upload: uploads.ResumableUpload): StoredFile => ({
  original_name: upload.fileName,
  storage_path: `${makeUploadPrefix(upload.companyId, upload.id)}/0`,
  size_bytes: upload.length,
  mime_type: upload.mimeType,
  pieces: upload.pieces,
});

/** Makes the name of a piece. It contains its request, so that one stored late never overwrites that of another request. */
export const makePieceName = (pieceIndex: number, writer: string): string => `${pieceIndex}.${writer}`;

export const makeWriterId = (): string => crypto.randomUUID().slice(-12);

/**
 * Stores the bytes of one request as pieces of equal size. The last piece of a request may be shorter: the next request first
 * reads it, stores it again with the bytes that follow, and has the old object deleted. Only pieces that the upload's database
 * row lists are valid.
 */
export class UploadWriter {
  readonly #ctx: PrincipalContext;
  readonly #database: TenantSql;
  readonly #upload: uploads.ResumableUpload;
  readonly #writer: string;
  /** The buffer for one piece, or for the rest of the file where that is less. */
  readonly #buffer: Uint8Array;
  /** The number of bytes of the piece that is being received. */
  #length = 0;
  /** The progress including the bytes that are being received. */
  #reachedProgress: uploads.UploadProgress;
  /** The progress saved in the upload's database row. */
  #savedProgress: uploads.UploadProgress;
  #savedAt: number;
  /** Pieces that this request has stored but that are not yet saved in the upload's database row. */
  #uncountedPieces: string[] = [];

  /** Creates a writer for one request to an upload. @param writer the id of the request, which has claimed `upload` */
  constructor(ctx: PrincipalContext, database: TenantSql, upload: uploads.ResumableUpload, writer: string) {
    this.#ctx = ctx;
    this.#database = database;
    this.#upload = upload;
    this.#writer = writer;
    const { received, pieces, length } = upload;
    this.#reachedProgress = this.#savedProgress = { received, pieces };
    this.#savedAt = ctx.now();
    const pieceOffset = received - (received % PIECE_BYTES);
    this.#buffer = new Uint8Array(Math.min(PIECE_BYTES, length - pieceOffset));
  }

  /**
   * Receives bytes until the sender ends the request or disconnects. Bytes received before a disconnection stay stored, unless
   * the request has a checksum. @returns the upload with its new progress
   */
  async receiveBytes({ bytes, announcedBytes, checksum }: SentBytes): Promise<uploads.ResumableUpload> {
    const { received, length } = this.#upload;
    try {
      if (received + announcedBytes > length) throw uploadBeyondLength(length);
      await this.#readRest();
      await this.#receiveAll(bytes, checksum);
      await this.#storePiece();
    } catch (error) {
      // Whatever else fails is the database, or says that another request has taken over.
      if (!uploadBeyondLength.matches(error) && !checksumMismatch.matches(error) && !storageUnavailable.matches(error))
        throw error;
      this.#reachedProgress = this.#savedProgress;
      await this.#stop();
      throw error;
    }
    await this.#stop();
    return { ...this.#upload, ...this.#reachedProgress, updatedAt: this.#savedAt };
  }

  async #receiveAll(bytes: SentBytes['bytes'], checksum: Checksum | undefined): Promise<void> {
    const digest = checksum && new crypto.DigestStream(checksum.algorithm);
    const digestWriter = digest?.getWriter();
    const reader = bytes?.getReader();
    try {
      for (let chunk = await this.#readNextBytes(reader); chunk !== null; chunk = await this.#readNextBytes(reader)) {
        if (chunk === 'cut') {
          // Of bytes that cannot be checked any more none is kept.
          if (checksum) throw checksumMismatch();
          return;
        }
        if (this.#reachedProgress.received + chunk.length > this.#upload.length)
          throw uploadBeyondLength(this.#upload.length);
        await digestWriter?.write(chunk);
        await this.#take(chunk, checksum === undefined);
      }
    } finally {
      // What is left is read, so that the sender gets the answer.
      reader?.releaseLock();
    }
    if (!digest) return;
    await digestWriter?.close();
    if (Buffer.from(await digest.digest).toString('base64') !== checksum?.value) throw checksumMismatch();
  }

  /** Reads the next bytes. @returns null at the end, `cut` where the connection was lost */
  async #readNextBytes(
    reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  ): Promise<Uint8Array | 'cut' | null> {
    if (!reader) return null;
    try {
      const { value } = await awaitWithinTime(MAX_PAUSE_MS, reader.read());
      return value ?? null;
    } catch {
      return 'cut';
    }
  }

  /** Adds bytes to the piece. @param savesProgress whether to save the progress before the request has ended */
  async #take(chunk: Uint8Array, savesProgress: boolean): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const copiedBytes = Math.min(this.#buffer.length - this.#length, chunk.length - at);
      this.#buffer.set(chunk.subarray(at, at + copiedBytes), this.#length);
      this.#length += copiedBytes;
      at += copiedBytes;
      this.#reachedProgress = { ...this.#reachedProgress, received: this.#reachedProgress.received + copiedBytes };
      // The last piece waits for the end: more may follow than there should.
      if (this.#length < PIECE_BYTES || this.#reachedProgress.received === this.#upload.length) continue;
      await this.#storePiece();
      if (savesProgress) await this.#save(this.#reachedProgress);
    }
    if (this.#ctx.now() - this.#savedAt > RENEWAL_INTERVAL_MS) await this.#save(this.#savedProgress);
  }

  /** Reads the short last piece that the previous request has stored. */
  async #readRest(): Promise<void> {
    const { received, pieces } = this.#reachedProgress;
    const lastPieceBytes = received % PIECE_BYTES;
    if (lastPieceBytes === 0) return;
    const key = makePieceKey(toStoredFile(this.#upload), pieces.at(-1) as string);
    const lastPiece = await waitForStorage(this.#ctx.files.get(key));
    if (lastPiece?.size !== lastPieceBytes) throw storageUnavailable().addCause(new Error(`${key} is not what it was`));
    await waitForStorage(this.#fill(lastPiece.body));
    this.#reachedProgress = { received, pieces: pieces.slice(0, -1) };
  }

  async #fill(bytes: ReadableStream<Uint8Array>): Promise<void> {
    for await (const chunk of bytes) {
      this.#buffer.set(chunk, this.#length);
      this.#length += chunk.length;
    }
  }

  /** Stores the received bytes as a piece; does nothing if this request has received none. */
  async #storePiece(): Promise<void> {
    if (this.#reachedProgress.received === this.#savedProgress.received) {
      this.#reachedProgress = this.#savedProgress;
      return;
    }
    if (this.#length === 0) return;
    const { received, pieces } = this.#reachedProgress;
    const name = makePieceName(pieces.length, this.#writer);
    this.#uncountedPieces.push(name);
    const key = makePieceKey(toStoredFile(this.#upload), name);
    await waitForStorage(this.#ctx.files.put(key, this.#buffer.subarray(0, this.#length)));
    this.#length = 0;
    this.#reachedProgress = { received, pieces: [...pieces, name] };
  }

  async #save(progress: uploads.UploadProgress): Promise<void> {
    this.#savedAt = this.#ctx.now();
    const claimedProgress = { ...progress, writer: this.#writer, at: formatIsoTimestamp(this.#savedAt) };
    const isSaved = await uploads.saveClaimedProgress(this.#database, this.#upload, {
      ...claimedProgress,
      seconds: CLAIM_SECONDS,
    });
    if (!isSaved) await this.#giveUp();
    this.#markCounted(progress);
  }

  async #stop(): Promise<void> {
    const now = this.#ctx.now();
    // So that a sweep makes the job, should this request not come to it.
    if (this.#reachedProgress.received === this.#upload.length) await scheduleSweep(this.#ctx, now + RESUME_AFTER_MS);
    const at = this.#reachedProgress.received > this.#upload.received ? now : this.#upload.updatedAt;
    const finalProgress = { ...this.#reachedProgress, writer: this.#writer, at: formatIsoTimestamp(at) };
    if (!(await uploads.endClaim(this.#database, this.#upload, finalProgress))) await this.#giveUp();
    this.#savedAt = at;
    this.#markCounted(this.#reachedProgress);
    const { pieces } = this.#upload;
    const replacedPieces = pieces.filter((name) => !this.#reachedProgress.pieces.includes(name));
    await this.#discard([...this.#uncountedPieces, ...replacedPieces]);
  }

  #markCounted(progress: uploads.UploadProgress): void {
    this.#savedProgress = progress;
    this.#uncountedPieces = this.#uncountedPieces.filter((name) => !progress.pieces.includes(name));
  }

  /** Ends the request, as another one has claimed the upload, or it is deleted. @throws uploadLocked, uploadNotFound */
  async #giveUp(): Promise<never> {
    await this.#discard(this.#uncountedPieces);
    throw (await uploads.readUpload(this.#database, this.#upload)) ? uploadLocked() : uploadNotFound();
  }

  /** Deletes pieces that are no longer needed; the sweep deletes those that cannot be deleted now. */
  async #discard(names: string[]): Promise<void> {
    if (names.length === 0) return;
    const keys = names.map((name) => makePieceKey(toStoredFile(this.#upload), name));
    await awaitWithinTime(MAX_DISCARD_MS, deleteObjects(this.#ctx.files, keys)).catch((error) =>
      logError('files_not_deleted', error),
    );
  }
}
