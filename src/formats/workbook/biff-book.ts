import * as record from './biff-records.ts';
import { RecordsDamaged } from './biff-records.ts';
import { BiffTexts, charactersAt, cleanText, decoderOfPage } from './biff-texts.ts';
import type { ByteStream } from './compound.ts';
import { builtinFormat, customFormat, NUMBER, type NumberFormat } from './number-format.ts';
import type { Texts } from './texts.ts';

/** The workbook cannot be read without its password. */
export class WorkbookEncrypted extends Error {}

/** The format's editions: Excel 2, 3, 4, 5 (and 95), 97 to 2003. */
export type Edition = 2 | 3 | 4 | 5 | 8;

/** The data of a BIFF workbook that precedes its sheets. */
export interface BiffBook {
  edition: Edition;
  epoch1904: boolean;
  /** The number format of each cell style; before Excel 3 of each format number. */
  formats: NumberFormat[];
  texts: Texts;
  /** Decodes texts of editions before Excel 97. */
  decoder: TextDecoder;
  /** The worksheets in their order, hidden ones last. */
  sheets: BiffSheet[];
  read: number;
}

/** A worksheet, and where its records begin. The oldest editions give it no name. */
export interface BiffSheet {
  name: string | null;
  hidden: boolean;
  offset: number;
}

const WORKBOOK = 5;
const WORKSHEET = 0;

/** Reads a BIFF workbook up to its sheets. @throws WorkbookEncrypted, RecordsDamaged, RangeError */
export async function openBiffBook(stream: ByteStream): Promise<BiffBook> {
  const reader = new BookReader();
  const read = await record.eachRecord(stream, 0, (kind, content, offset) => reader.take(kind, content, offset));
  return { ...reader.book(), read };
}

class BookReader {
  #edition: Edition = 8;
  #isSheet = false;
  #epoch1904 = false;
  #decoder = decoderOfPage(0);
  readonly #texts = new BiffTexts();
  #before = 0;
  /** The sheets by their offsets. */
  readonly #sheets = new Map<number, BiffSheet>();
  /** Format codes by number, and the format number of each style. */
  readonly #codes = new Map<number, string>();
  readonly #styles: number[] = [];

  /** Reads a record; returns true after the last. */
  take(kind: number, content: DataView, offset: number): boolean {
    if (offset === 0) this.#begin(kind, content);
    if (kind !== record.CONTINUE) this.#before = kind;
    switch (kind) {
      case record.PASSWORD:
        throw new WorkbookEncrypted();
      case record.DATE_MODE:
        this.#epoch1904 = content.getUint16(0, true) === 1;
        break;
      case record.CODE_PAGE:
        this.#decoder = decoderOfPage(content.getUint16(0, true));
        break;
      case record.FORMAT_2:
        this.#codes.set(this.#codes.size, this.#shortText(content, 0));
        break;
      case record.FORMAT:
        this.#format(content);
        break;
      case record.STYLE:
        this.#styles.push(content.getUint16(2, true));
        break;
      case record.STYLE_3:
      case record.STYLE_4:
        this.#styles.push(content.getUint8(1));
        break;
      case record.SHEET:
        this.#sheet(content);
        break;
      case record.TEXTS:
      case record.CONTINUE:
        if (this.#before === record.TEXTS) this.#texts.feed(toBytes(content), kind === record.TEXTS);
        break;
    }
    return kind === record.END;
  }

  #begin(kind: number, content: DataView): void {
    if (!record.isBeginning(kind)) throw new RecordsDamaged();
    const editions: Record<number, Edition> = { 9: 2, 521: 3, 1033: 4 };
    this.#edition = editions[kind] ?? (content.getUint16(0, true) === 0x600 ? 8 : 5);
    // The oldest editions consist of a single sheet.
    this.#isSheet = content.getUint16(2, true) !== WORKBOOK;
  }

  #format(content: DataView): void {
    if (this.#edition < 5) this.#codes.set(this.#codes.size, this.#shortText(content, 2));
    else if (this.#edition === 5) this.#codes.set(content.getUint16(0, true), this.#shortText(content, 2));
    else {
      const wide = (content.getUint8(4) & 1) !== 0;
      this.#codes.set(content.getUint16(0, true), charactersAt(content, 5, content.getUint16(2, true), wide));
    }
  }

  #shortText(content: DataView, at: number): string {
    return this.#decoder.decode(toBytes(content).subarray(at + 1, at + 1 + content.getUint8(at)));
  }

  #sheet(content: DataView): void {
    if (content.getUint8(5) !== WORKSHEET) return;
    const offset = content.getUint32(0, true);
    this.#sheets.set(offset, { name: this.#sheetName(content), hidden: (content.getUint8(4) & 3) !== 0, offset });
  }

  #sheetName(content: DataView): string {
    if (this.#edition < 8) return cleanText(this.#shortText(content, 6));
    return cleanText(charactersAt(content, 8, content.getUint8(6), (content.getUint8(7) & 1) !== 0));
  }

  book(): Omit<BiffBook, 'read'> {
    const sheets = [...this.#sheets.values()].sort((a, b) => Number(a.hidden) - Number(b.hidden));
    return {
      edition: this.#edition,
      epoch1904: this.#epoch1904,
      formats: this.#formats(),
      texts: this.#texts.texts,
      decoder: this.#decoder,
      sheets: this.#isSheet ? [{ name: null, hidden: false, offset: 0 }] : sheets,
    };
  }

  #formats(): NumberFormat[] {
    const known = new Map([...this.#codes].map(([number, code]) => [number, customFormat(code)]));
    const findFormat = (number: number) =>
      known.get(number) ?? (this.#edition < 5 ? oldestFormat(number) : builtinFormat(number));
    return this.#edition === 2
      ? Array.from({ length: 64 }, (_, number) => findFormat(number))
      : this.#styles.map(findFormat);
  }
}

/** Formats that workbooks before Excel 5 have without defining them. */
function oldestFormat(number: number): NumberFormat {
  if (number >= 12 && number <= 15) return { kind: 'date' };
  if (number >= 16 && number <= 19) return { kind: 'time' };
  return number === 20 ? { kind: 'datetime' } : NUMBER;
}

export const toBytes = (content: DataView): Uint8Array =>
  new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
