import { Texts } from './texts.ts';

/** Encodings by Windows' numbers; what Excel wrote without one is Western. */
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

/** Decodes the texts of workbooks before Excel 97 by their code page. */
export function decoderOfPage(page: number): TextDecoder {
  const label = ENCODINGS[page] ?? (page >= 1250 && page <= 1258 ? `windows-${page}` : 'windows-1252');
  return new TextDecoder(label);
}

const WIDE = 1;
const PHONETIC = 4;
const RICH = 8;

/** Characters of one byte (the lower half of UTF-16) or two, as Excel 97 and later keep them. */
export function charactersAt(view: DataView, at: number, count: number, wide: boolean): string {
  let text = '';
  for (let from = 0; from < count; from += 4096) {
    const length = Math.min(4096, count - from);
    const codes = Array.from({ length }, (_, index) =>
      wide ? view.getUint16(at + (from + index) * 2, true) : view.getUint8(at + from + index),
    );
    text += String.fromCharCode(...codes);
  }
  return text;
}

/** NUL, which no text holds, and halves of characters go. */
export const cleaned = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/**
 * Reads the texts that cells share (MS-XLS 2.4.265) record by record: a text may go on in the next one, which then says
 * anew how wide its characters are. Formatting and pronunciation behind a text are passed over.
 */
export class OldTexts {
  readonly texts = new Texts();
  /** Of the text that goes on: characters and other bytes still to come, and what is there. */
  #characters = 0;
  #others = 0;
  #wide = false;
  #begun = '';
  #isOpen = false;

  /** Takes in the content of the record, or of one that continues it. @throws WorkbookTooLarge, RangeError */
  feed(record: Uint8Array, isFirst: boolean): void {
    const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
    // Two numbers of texts come first.
    let at = isFirst ? 8 : 0;
    if (this.#characters > 0 && at < record.length) this.#wide = (view.getUint8(at++) & WIDE) !== 0;
    while (at < record.length) {
      if (!this.#isOpen) at = this.#open(view, at);
      const width = this.#wide ? 2 : 1;
      const count = Math.min(this.#characters, Math.floor((record.length - at) / width));
      this.#begun += charactersAt(view, at, count, this.#wide);
      this.#characters -= count;
      at += count * width;
      if (this.#characters > 0) return;
      const passed = Math.min(this.#others, record.length - at);
      this.#others -= passed;
      at += passed;
      if (this.#others === 0) this.#close();
    }
  }

  /** Reads what comes before a text's characters. */
  #open(view: DataView, from: number): number {
    let at = from + 3;
    const flags = view.getUint8(from + 2);
    this.#characters = view.getUint16(from, true);
    this.#wide = (flags & WIDE) !== 0;
    this.#others = 0;
    if ((flags & RICH) !== 0) {
      this.#others += view.getUint16(at, true) * 4;
      at += 2;
    }
    if ((flags & PHONETIC) !== 0) {
      this.#others += view.getUint32(at, true);
      at += 4;
    }
    this.#isOpen = true;
    this.#begun = '';
    return at;
  }

  #close(): void {
    this.texts.appendText(cleaned(this.#begun));
    this.texts.endText();
    this.#isOpen = false;
  }
}
