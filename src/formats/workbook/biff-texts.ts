import { SharedTexts } from './texts.ts';

/** Encodings by Windows' code page numbers; without one, Excel wrote Western text. */
const ENCODINGS: Record<number, string> = {
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  1200: 'utf-16le',
  10000: 'macintosh',
  10007: 'x-mac-cyrillic',
  32768: 'macintosh',
  65001: 'utf-8',
};

/** Finds the decoder for a code page, for texts of workbooks before Excel 97. */
export function findDecoder(page: number): TextDecoder {
  const label = ENCODINGS[page] ?? (page >= 1250 && page <= 1258 ? `windows-${page}` : 'windows-1252');
  return new TextDecoder(label);
}

const WIDE_FLAG = 1;
const PHONETIC_FLAG = 4;
const RICH_FLAG = 8;

/** Reads characters of one byte (the lower half of UTF-16) or two, as Excel 97 and later store them. */
export function readCharacters(view: DataView, at: number, count: number, isWide: boolean): string {
  let text = '';
  for (let from = 0; from < count; from += 4096) {
    const length = Math.min(4096, count - from);
    const codes = Array.from({ length }, (_, index) =>
      isWide ? view.getUint16(at + (from + index) * 2, true) : view.getUint8(at + from + index),
    );
    text += String.fromCharCode(...codes);
  }
  return text;
}

/** Removes NUL, which text cannot hold, and replaces unpaired surrogates. */
export const cleanText = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/**
 * Reads shared texts (MS-XLS 2.4.265) without formatting. A text that continues in another record states the width of
 * its characters again.
 */
export class BiffTexts {
  readonly sharedTexts = new SharedTexts();
  /** Number of characters still to come of the text that continues in the next record. */
  #remainingCharacters = 0;
  /** Number of bytes of formatting still to come. */
  #remainingFormatBytes = 0;
  #isWide = false;
  /** Characters of the text that were read so far. */
  #partialText = '';
  #isOpen = false;

  /**
   * Reads the content of a record of shared texts, or of a record that continues it.
   * @throws WorkbookTooLarge, RangeError
   */
  feedRecord(record: Uint8Array, isFirst: boolean): void {
    const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
    // The record begins with two counts of texts.
    let at = isFirst ? 8 : 0;
    if (this.#remainingCharacters > 0 && at < record.length) this.#isWide = (view.getUint8(at++) & WIDE_FLAG) !== 0;
    while (at < record.length) {
      if (!this.#isOpen) at = this.#openText(view, at);
      const width = this.#isWide ? 2 : 1;
      const count = Math.min(this.#remainingCharacters, Math.floor((record.length - at) / width));
      this.#partialText += readCharacters(view, at, count, this.#isWide);
      this.#remainingCharacters -= count;
      at += count * width;
      if (this.#remainingCharacters > 0) return;
      const skippedBytes = Math.min(this.#remainingFormatBytes, record.length - at);
      this.#remainingFormatBytes -= skippedBytes;
      at += skippedBytes;
      if (this.#remainingFormatBytes === 0) this.#closeText();
    }
  }

  /** Reads the header of a text and returns where its characters begin. */
  #openText(view: DataView, from: number): number {
    let at = from + 3;
    const flags = view.getUint8(from + 2);
    this.#remainingCharacters = view.getUint16(from, true);
    this.#isWide = (flags & WIDE_FLAG) !== 0;
    this.#remainingFormatBytes = 0;
    if ((flags & RICH_FLAG) !== 0) {
      this.#remainingFormatBytes += view.getUint16(at, true) * 4;
      at += 2;
    }
    if ((flags & PHONETIC_FLAG) !== 0) {
      this.#remainingFormatBytes += view.getUint32(at, true);
      at += 4;
    }
    this.#isOpen = true;
    this.#partialText = '';
    return at;
  }

  #closeText(): void {
    this.sharedTexts.appendText(cleanText(this.#partialText));
    this.sharedTexts.endText();
    this.#isOpen = false;
  }
}
