import type { CompanyContext } from '../../context.ts';
import { withinTime } from '../../kernel/time-limit.ts';
import { MAX_TAKING_MS, WaitingExport } from './waiting-export.ts';

/** The time that rows wait for the reader of an export, in all, before the rest goes to R2. Milliseconds. */
export const READER_WAIT_MS = 5_000;
/** The maximum total time to wait for writes to R2 that are slower than reading the rows. Milliseconds. */
const MAX_R2_DELAY_MS = 45_000;
/** The largest bytes that are copied before they are sent: only buffers of this size are used again (see `LineBuffers`). */
const MAX_COPIED_BYTES = 512 * 1024;

const NOT_TAKEN_YET = new Error('not taken yet');

/** Thrown where the reader of an export takes no more. */
export class ReaderGone extends Error {}

/** The output of an export: straight to its reader, or by way of R2 once the reader is slower than Postgres. */
export class ExportOutput {
  readonly #ctx: CompanyContext;
  readonly #reader: WritableStreamDefaultWriter<Uint8Array>;
  readonly #copy = new Uint8Array(MAX_COPIED_BYTES);
  #patienceMs = READER_WAIT_MS;
  #behindMs = MAX_R2_DELAY_MS;
  #written: Promise<void> = Promise.resolve();
  #waiting: WaitingExport | undefined;

  constructor(ctx: CompanyContext, taker: WritableStream<Uint8Array>) {
    this.#ctx = ctx;
    this.#reader = taker.getWriter();
  }

  /** Begins to write bytes, whose memory may be used again once `ready` resolves. */
  write(bytes: Uint8Array): void {
    this.#written = this.#waiting ? this.#waiting.write(bytes) : this.#send(this.#copyBytes(bytes));
    // It is thrown where it is waited for.
    this.#written.catch(() => {});
  }

  /** Resolves when more can be written: after less than a minute in all, however slow the reader is. */
  async ready(): Promise<void> {
    const began = Date.now();
    if (this.#waiting) {
      await withinTime(this.#behindMs, this.#written, () => new Error('R2 is too slow'));
      this.#behindMs -= Date.now() - began;
      return;
    }
    await withinTime(Math.max(0, this.#patienceMs), this.#written, () => NOT_TAKEN_YET).catch((error) => {
      if (error !== NOT_TAKEN_YET) throw error;
      this.#waiting = new WaitingExport(this.#ctx, this.#written, (bytes) => this.#send(bytes));
    });
    this.#patienceMs -= Date.now() - began;
  }

  /** Resolves when the reader has taken everything. */
  async end(): Promise<void> {
    await withinTime(MAX_TAKING_MS, this.#finish(), () => new ReaderGone('the export is taken too slowly'));
  }

  async #finish(): Promise<void> {
    await this.#written;
    await this.#waiting?.end();
    await this.#reader.close();
  }

  /** Ends the export as a broken stream, and deletes its objects. */
  async abort(error: unknown): Promise<void> {
    await this.#reader.abort(error).catch(() => {});
    await this.#waiting?.discard();
  }

  /** A copy of bytes whose memory may be used again before they are sent; larger bytes as they are. */
  #copyBytes(bytes: Uint8Array): Uint8Array {
    if (bytes.length > MAX_COPIED_BYTES) return bytes;
    this.#copy.set(bytes);
    return this.#copy.subarray(0, bytes.length);
  }

  async #send(bytes: Uint8Array): Promise<void> {
    await this.#reader.write(bytes).catch((error) => {
      throw new ReaderGone('nobody takes the export any more', { cause: error });
    });
  }
}
