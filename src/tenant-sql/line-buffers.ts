/** Complete lines, in memory that is reused. */
export type LineBytes = Uint8Array<ArrayBuffer>;

/** Buffers for lines between their writer and their reader: a few that are reused, as V8 is slow to collect such memory. */
export class LineBuffers {
  readonly #size: number;
  readonly #freeBuffers: LineBytes[];
  readonly #fullBuffers: LineBytes[] = [];
  /** The last two buffers of lines that were taken. */
  readonly #takenBuffers: LineBytes[] = [];
  #onArrived = () => {};

  /** Allocates `count` buffers of `size` bytes. @param count at least 4: two are being filled, and two are being read */
  constructor(count: number, size: number) {
    this.#size = size;
    this.#freeBuffers = Array.from({ length: count }, () => new Uint8Array(size));
  }

  /** Takes a free buffer of at least this size, if there is any. */
  takeFreeBuffer(bytes = 0): LineBytes | undefined {
    return bytes > this.#size ? undefined : this.#freeBuffers.pop();
  }

  /** Passes the lines at the beginning of a buffer to the reader. The buffer may be a larger one that the caller made. */
  pushLines(lines: LineBytes): void {
    if (lines.length === 0) this.#release(lines);
    else this.#fullBuffers.push(lines);
    this.#onArrived();
  }

  /**
   * Takes the next lines; null where none come before `endPromise` settles. They stay valid until the second call after this,
   * so that they can be written.
   */
  async takeLines(endPromise: Promise<unknown>): Promise<LineBytes | null> {
    const [formerBuffer] = this.#takenBuffers.length === 2 ? this.#takenBuffers.splice(0, 1) : [];
    if (formerBuffer) this.#release(formerBuffer);
    if (this.#fullBuffers.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onArrived = resolve;
      await Promise.race([promise, endPromise]);
    }
    const lines = this.#fullBuffers.shift();
    if (!lines) return null;
    this.#takenBuffers.push(lines);
    return lines;
  }

  #release({ buffer }: LineBytes): void {
    this.#freeBuffers.push(new Uint8Array(buffer.byteLength === this.#size ? buffer : new ArrayBuffer(this.#size)));
  }
}
