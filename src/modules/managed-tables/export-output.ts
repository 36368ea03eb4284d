import type { CompanyContext } from '../../context.ts';
import { awaitWithinTime } from '../../kernel/time-limit.ts';
import { BufferedExport, MAX_READING_MS } from './waiting-export.ts';

/** The total time that rows wait for the reader of an export, before the rest goes to R2. Milliseconds. */
export const READER_WAIT_MS = 5_000;
/** The maximum total time to wait for writes to R2 that are slower than reading the rows. Milliseconds. */
const MAX_R2_DELAY_MS = 45_000;
/** The maximum size of bytes that are copied before they are sent: only buffers of this size are reused (see `LineBuffers`). */
const MAX_COPIED_BYTES = 512 * 1024;

const OUTPUT_NOT_READ_ERROR = new Error('not taken yet');

/** The error thrown where the reader of an export has cancelled the stream. */
export class ReaderGoneError extends Error {}

/** The output of an export: directly to its reader, or through R2 once the reader is slower than Postgres. */
export class ExportOutput {
  readonly #ctx: CompanyContext;
  readonly #reader: WritableStreamDefaultWriter<Uint8Array>;
  readonly #copy = new Uint8Array(MAX_COPIED_BYTES);
  #patienceMs = READER_WAIT_MS;
  #behindMs = MAX_R2_DELAY_MS;
  #writtenPromise: Promise<void> = Promise.resolve();
  #bufferedExport: BufferedExport | undefined;

  constructor(ctx: CompanyContext, readerStream: WritableStream<Uint8Array>) {
    this.#ctx = ctx;
    this.#reader = readerStream.getWriter();
  }

  /** Begins to write bytes, whose memory may be reused once `awaitReady` resolves. */
  write(bytes: Uint8Array): void {
    this.#writtenPromise = this.#bufferedExport
      ? this.#bufferedExport.write(bytes)
      : this.#send(this.#copyBytes(bytes));
    // It is thrown where it is waited for.
    this.#writtenPromise.catch(() => {});
  }

  /** Resolves when more can be written: after less than a minute in total, however slow the reader is. */
  async awaitReady(): Promise<void> {
    const startedAt = Date.now();
    if (this.#bufferedExport) {
      await awaitWithinTime(this.#behindMs, this.#writtenPromise, () => new Error('R2 is too slow'));
      this.#behindMs -= Date.now() - startedAt;
      return;
    }
    await awaitWithinTime(Math.max(0, this.#patienceMs), this.#writtenPromise, () => OUTPUT_NOT_READ_ERROR).catch(
      (error) => {
        if (error !== OUTPUT_NOT_READ_ERROR) throw error;
        this.#bufferedExport = new BufferedExport(this.#ctx, this.#writtenPromise, (bytes) => this.#send(bytes));
      },
    );
    this.#patienceMs -= Date.now() - startedAt;
  }

  /** Resolves when the reader has received everything. */
  async end(): Promise<void> {
    await awaitWithinTime(MAX_READING_MS, this.#finish(), () => new ReaderGoneError('the export is taken too slowly'));
  }

  async #finish(): Promise<void> {
    await this.#writtenPromise;
    await this.#bufferedExport?.end();
    await this.#reader.close();
  }

  /** Ends the export as a broken stream, and deletes its objects. */
  async abort(error: unknown): Promise<void> {
    await this.#reader.abort(error).catch(() => {});
    await this.#bufferedExport?.discard();
  }

  /** Copies bytes whose memory may be reused before they are sent; larger bytes are returned as they are. */
  #copyBytes(bytes: Uint8Array): Uint8Array {
    if (bytes.length > MAX_COPIED_BYTES) return bytes;
    this.#copy.set(bytes);
    return this.#copy.subarray(0, bytes.length);
  }

  async #send(bytes: Uint8Array): Promise<void> {
    await this.#reader.write(bytes).catch((error) => {
      throw new ReaderGoneError('nobody takes the export any more', { cause: error });
    });
  }
}
