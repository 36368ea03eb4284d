import type { RowCounts, SheetFacts } from './choice.ts';
import { joinHeaderRows } from './first-rows.ts';
import type { Merge } from './merges.ts';
import { RowWriter } from './row-writer.ts';

/** Approximate number of bytes of text that are held in memory before they are passed on. */
export const TEXT_BYTES = 4 * 1024 * 1024;

/** Text of a sheet that is converted in one go. The text is passed on while its rows are written. */
export class SheetText {
  readonly writer = new RowWriter();
  readonly #write: (text: Uint8Array) => Promise<void>;
  #isFirst = true;
  #headerRow: number | null = null;
  #joinedRowCount = 0;

  constructor(write: (text: Uint8Array) => Promise<void>) {
    this.#write = write;
  }

  /** True if there is enough text to be passed on. */
  get isFull(): boolean {
    return this.writer.endedBytes >= TEXT_BYTES;
  }

  /** Passes on the complete rows. @param merges the merged cells that begin in the first rows */
  async flush(merges: Merge[], firstColumn: number): Promise<void> {
    const rows = this.writer.takeRows();
    if (!this.#isFirst) return this.#write(rows);
    this.#isFirst = false;
    const { text, headerRow: header, emptiedRowCount: joined } = joinHeaderRows(rows, merges, firstColumn);
    this.#headerRow = header;
    this.#joinedRowCount = joined;
    await this.#write(text);
  }

  get rowCounts(): RowCounts {
    return {
      filledRowCount: this.writer.filledRowCount - this.#joinedRowCount,
      narrowRowCount: this.writer.narrowRowCount,
    };
  }

  makeFacts(name: string | null): SheetFacts {
    return { name, width: this.writer.width, header: this.#headerRow };
  }
}
