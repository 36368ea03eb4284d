import type { CompanyContext } from '../../context.ts';
import { withinTime } from '../../kernel/time-limit.ts';
import { MAX_TAKING_MS, WaitingExport } from './waiting-export.ts';

/** How long rows wait, all in all, for whoever takes the export, before the rest goes to R2. Milliseconds. */
export const PATIENCE_MS = 5_000;
/** How much longer R2 may take than reading, all in all. Milliseconds. */
const BEHIND_MS = 45_000;
/** Memory that is used again before it is taken is no larger: see `LineBuffers`. */
const COPIED_BYTES = 512 * 1024;

const NOT_YET = new Error('not taken yet');

/** Whoever took the export takes no more. */
export class TakenNoMore extends Error {}

/** Where an export is written to: straight to whoever takes it, or by way of R2 once that is slower than reading. */
export class ExportOutput {
  readonly #ctx: CompanyContext;
  readonly #taker: WritableStreamDefaultWriter<Uint8Array>;
  readonly #copy = new Uint8Array(COPIED_BYTES);
  #patienceMs = PATIENCE_MS;
  #behindMs = BEHIND_MS;
  #written: Promise<void> = Promise.resolve();
  #waiting: WaitingExport | undefined;

  constructor(ctx: CompanyContext, taker: WritableStream<Uint8Array>) {
    this.#ctx = ctx;
    this.#taker = taker.getWriter();
  }

  /** Begins to write bytes, which may be changed once `ready` resolves. */
  write(bytes: Uint8Array): void {
    this.#written = this.#waiting ? this.#waiting.write(bytes) : this.#send(this.#own(bytes));
    // It is thrown where it is waited for.
    this.#written.catch(() => {});
  }

  /** Resolves when more can be written, in a minute less than whoever takes it would take. */
  async ready(): Promise<void> {
    const began = Date.now();
    if (this.#waiting) {
      await withinTime(this.#behindMs, this.#written, () => new Error('R2 is too slow'));
      this.#behindMs -= Date.now() - began;
      return;
    }
    await withinTime(Math.max(0, this.#patienceMs), this.#written, () => NOT_YET).catch((error) => {
      if (error !== NOT_YET) throw error;
      this.#waiting = new WaitingExport(this.#ctx, this.#written, (bytes) => this.#send(bytes));
    });
    this.#patienceMs -= Date.now() - began;
  }

  /** Resolves when all is taken. */
  async end(): Promise<void> {
    await withinTime(MAX_TAKING_MS, this.#finish(), () => new TakenNoMore('the export is taken too slowly'));
  }

  async #finish(): Promise<void> {
    await this.#written;
    await this.#waiting?.end();
    await this.#taker.close();
  }

  /** Lets the export end as a broken stream; nothing is left of it. */
  async abort(error: unknown): Promise<void> {
    await this.#taker.abort(error).catch(() => {});
    await this.#waiting?.discard();
  }

  /** Bytes whose memory nobody uses before they are taken. */
  #own(bytes: Uint8Array): Uint8Array {
    if (bytes.length > COPIED_BYTES) return bytes;
    this.#copy.set(bytes);
    return this.#copy.subarray(0, bytes.length);
  }

  async #send(bytes: Uint8Array): Promise<void> {
    await this.#taker.write(bytes).catch((error) => {
      throw new TakenNoMore('nobody takes the export any more', { cause: error });
    });
  }
}
