import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { makeDescriptor, makeLocalHeader, type WrittenEntry, writeDirectory } from '../../formats/zip/write.ts';
import { archiveTooLarge } from './failures.ts';

/** A file of an archive, as its manifest describes it. */
export interface WrittenFile extends WrittenEntry {
  /** The number of table rows or of lines; null for a file that has neither. */
  rows: number | null;
  /** The SHA-256 digest of the file, hexadecimal. */
  sha256: string;
}

/** The state of a partly written archive. */
export interface ArchiveState {
  uploadId: string;
  /** The ETags of the uploaded parts, in order. */
  parts: string[];
  files: WrittenFile[];
}

/** Receives the bytes of a file. */
export interface ByteSink {
  write(bytes: Uint8Array, rowCount?: number): Promise<void>;
  /** Tells whether the file has reached its limits, so that the rest goes into another file. */
  isFull(): boolean;
}

/** The size of each part of an upload except the last; one is buffered in memory. */
const PART_BYTES = 8 * 1024 * 1024;
/** The maximum number of parts that R2 accepts: https://developers.cloudflare.com/r2/platform/limits/ */
const MAX_PARTS = 10_000;

/** The bytes and milliseconds after which the rest goes into another file: far less than a zip file without extensions can hold. */
export interface FileLimits {
  fileBytes: number;
  fileMilliseconds: number;
}

/** A zip file in R2 that is written file by file; after each of them, another invocation can continue it. */
export class Archive {
  readonly #upload: R2MultipartUpload;
  readonly #archiveState: ArchiveState;
  readonly #mayWrite: () => void;
  readonly #limits: FileLimits;
  readonly #buffer = new Uint8Array(PART_BYTES);
  #bufferLength: number;

  /**
   * @param tail the bytes after the last uploaded part @param requireLease throws if another attempt has taken over the archive
   */
  constructor(
    bucket: R2Bucket,
    key: string,
    { written, tail }: { written: ArchiveState; tail: Uint8Array },
    requireLease: () => void,
    limits: FileLimits,
  ) {
    this.#limits = limits;
    this.#upload = bucket.resumeMultipartUpload(key, written.uploadId);
    this.#archiveState = structuredClone(written);
    this.#mayWrite = requireLease;
    this.#buffer.set(tail);
    this.#bufferLength = tail.length;
  }

  /** The state from which another invocation can continue, until more is written here. */
  get checkpoint(): { written: ArchiveState; tail: Uint8Array } {
    return { written: this.#archiveState, tail: this.#buffer.subarray(0, this.#bufferLength) };
  }

  get files(): readonly WrittenFile[] {
    return this.#archiveState.files;
  }

  /** Removes files from the zip directory: their bytes stay in the archive, but no zip program lists them. */
  unlistFiles(shouldUnlist: (file: WrittenFile) => boolean): void {
    this.#archiveState.files = this.#archiveState.files.filter((file) => !shouldUnlist(file));
  }

  /**
   * Adds a file. If `writeContent` fails, the bytes written so far stay in the archive, unlisted; after a failure of a deflated
   * file, the archive must not be used again. @param isDeflated whether to compress the file, unnecessary for formats that are
   * compressed themselves @returns the result of `writeContent`
   */
  async addFile<T>(path: string, isDeflated: boolean, writeContent: (sink: ByteSink) => Promise<T>): Promise<T> {
    const offset = this.#offset;
    const sha256 = createHash('sha256');
    const entry = { path, isDeflated, offset, crc: 0, compressed: 0, size: 0 };
    let rows: number | null = null;
    const { fileBytes, fileMilliseconds } = this.#limits;
    const endsAt = Date.now() + fileMilliseconds;
    const compressor = this.#packing(isDeflated, (bytes) => {
      entry.compressed += bytes;
    });
    await this.#append(makeLocalHeader(entry));
    const result = await writeContent({
      write: async (bytes, addedRowCount) => {
        if (addedRowCount !== undefined) rows = (rows ?? 0) + addedRowCount;
        entry.size += bytes.length;
        entry.crc = crc32(bytes, entry.crc);
        sha256.update(bytes);
        await compressor.write(bytes);
      },
      isFull: () => entry.size > fileBytes || Date.now() > endsAt,
    });
    await compressor.end();
    await this.#append(makeDescriptor(entry));
    this.#archiveState.files.push({ ...entry, rows, sha256: sha256.digest('hex') });
    return result;
  }

  /** Writes the zip directory, and completes the multipart upload. @returns the archive's size */
  async end(): Promise<number> {
    const start = this.#offset;
    for (const bytes of writeDirectory(this.#archiveState.files, start)) await this.#append(bytes);
    const bytes = this.#offset;
    await this.#storePart();
    const parts = this.#archiveState.parts.map((etag, at) => ({ partNumber: at + 1, etag }));
    await this.#upload.complete(parts);
    return bytes;
  }

  get #offset(): number {
    return this.#archiveState.parts.length * PART_BYTES + this.#bufferLength;
  }

  #packing(isDeflated: boolean, count: (bytes: number) => void) {
    const appendBytes = (bytes: Uint8Array) => {
      count(bytes.length);
      return this.#append(bytes);
    };
    if (!isDeflated) return { write: appendBytes, end: async () => {} };
    const { readable, writable } = new CompressionStream('deflate-raw');
    const writer = writable.getWriter();
    const appendPromise = (async () => {
      for await (const bytes of readable as unknown as AsyncIterable<Uint8Array>) await appendBytes(bytes);
    })();
    // It is thrown where it is waited for.
    appendPromise.catch(() => {});
    return {
      write: (bytes: Uint8Array) => Promise.race([writer.write(bytes), appendPromise]),
      end: async () => {
        await Promise.race([writer.close(), appendPromise]);
        await appendPromise;
      },
    };
  }

  async #append(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const freeBytes = Math.min(PART_BYTES - this.#bufferLength, bytes.length - at);
      this.#buffer.set(bytes.subarray(at, at + freeBytes), this.#bufferLength);
      this.#bufferLength += freeBytes;
      at += freeBytes;
      if (this.#bufferLength === PART_BYTES) await this.#storePart();
    }
  }

  async #storePart(): Promise<void> {
    const { parts } = this.#archiveState;
    if (parts.length === MAX_PARTS) throw archiveTooLarge();
    this.#mayWrite();
    const { etag } = await this.#upload.uploadPart(parts.length + 1, this.#buffer.subarray(0, this.#bufferLength));
    parts.push(etag);
    this.#bufferLength = 0;
  }
}
