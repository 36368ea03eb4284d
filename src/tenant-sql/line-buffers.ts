/** Whole lines, in memory that is used again. */
export type Lines = Uint8Array<ArrayBuffer>;

/** Memory for lines on their way to whoever takes them: a few buffers that are used again, as V8 is slow to collect such. */
export class LineBuffers {
  readonly #size: number;
  readonly #free: Lines[];
  readonly #full: Lines[] = [];
  /** The lines that were taken last, and before. */
  readonly #taken: Lines[] = [];
  #arrived = () => {};

  /** @param count at least 4: two are filled, and two are taken */
  constructor(count: number, size: number) {
    this.#size = size;
    this.#free = Array.from({ length: count }, () => new Uint8Array(size));
  }

  /** Takes a free buffer of at least so many bytes, if there is any. */
  empty(bytes = 0): Lines | undefined {
    return bytes > this.#size ? undefined : this.#free.pop();
  }

  /** Hands on the lines that a buffer begins with. It may be a larger one in the place of one of these. */
  fill(lines: Lines): void {
    if (lines.length === 0) this.#release(lines);
    else this.#full.push(lines);
    this.#arrived();
  }

  /** The next lines, null where none come before `ended`. They stay until the second call after: to write them. */
  async take(ended: Promise<unknown>): Promise<Lines | null> {
    const [before] = this.#taken.length === 2 ? this.#taken.splice(0, 1) : [];
    if (before) this.#release(before);
    if (this.#full.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#arrived = resolve;
      await Promise.race([promise, ended]);
    }
    const lines = this.#full.shift();
    if (!lines) return null;
    this.#taken.push(lines);
    return lines;
  }

  #release({ buffer }: Lines): void {
    this.#free.push(new Uint8Array(buffer.byteLength === this.#size ? buffer : new ArrayBuffer(this.#size)));
  }
}
