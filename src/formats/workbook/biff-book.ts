import * as record from './biff-records.ts';
import { RecordsDamaged } from './biff-records.ts';
import { BiffTexts, cleanText, findDecoder, readCharacters } from './biff-texts.ts';
import type { ByteStream } from './compound-file.ts';
import { findBuiltinFormat, NUMBER_FORMAT, type NumberFormat, parseCustomFormat } from './number-format.ts';
import type { SharedTexts } from './texts.ts';

/** Error thrown when the workbook cannot be read without its password. */
export class WorkbookEncrypted extends Error {}

/** Edition of the format: Excel 2, 3, 4, 5 (and 95), 97 to 2003. */
export type BiffEdition = 2 | 3 | 4 | 5 | 8;

/** Data of a BIFF workbook that precedes its sheets. */
export interface BiffBook {
  edition: BiffEdition;
  usesEpoch1904: boolean;
  /** Number format of each cell style; before Excel 3 of each format number. */
  formats: NumberFormat[];
  sharedTexts: SharedTexts;
  /** Decoder of texts of editions before Excel 97. */
  textDecoder: TextDecoder;
  /** Worksheets in their order, hidden ones last. */
  sheets: BiffSheet[];
  readByteCount: number;
}

/** Worksheet, and the offset of its records. In the oldest editions, a worksheet has no name. */
export interface BiffSheet {
  name: string | null;
  isHidden: boolean;
  offset: number;
}

const WORKBOOK_STREAM_TYPE = 5;
const WORKSHEET_STREAM_TYPE = 0;

/** Reads a BIFF workbook up to its sheets. @throws WorkbookEncrypted, RecordsDamaged, RangeError */
export async function readBiffBook(stream: ByteStream): Promise<BiffBook> {
  const reader = new BookReader();
  const readByteCount = await record.readRecords(stream, 0, (kind, content, offset) =>
    reader.takeRecord(kind, content, offset),
  );
  return { ...reader.makeBook(), readByteCount };
}

class BookReader {
  #edition: BiffEdition = 8;
  #isSheet = false;
  #usesEpoch1904 = false;
  #decoder = findDecoder(0);
  readonly #texts = new BiffTexts();
  #lastKind = 0;
  /** Sheets by their offsets. */
  readonly #sheets = new Map<number, BiffSheet>();
  /** Format codes by format number. */
  readonly #formatCodes = new Map<number, string>();
  /** Format number of each cell style. */
  readonly #styles: number[] = [];

  /** Reads a record; returns true after the last one. */
  takeRecord(kind: number, content: DataView, offset: number): boolean {
    if (offset === 0) this.#readBeginning(kind, content);
    if (kind !== record.CONTINUE_RECORD) this.#lastKind = kind;
    switch (kind) {
      case record.PASSWORD_RECORD:
        throw new WorkbookEncrypted();
      case record.DATE_MODE_RECORD:
        this.#usesEpoch1904 = content.getUint16(0, true) === 1;
        break;
      case record.CODE_PAGE_RECORD:
        this.#decoder = findDecoder(content.getUint16(0, true));
        break;
      case record.FORMAT_RECORD_2:
        this.#formatCodes.set(this.#formatCodes.size, this.#readShortText(content, 0));
        break;
      case record.FORMAT_RECORD:
        this.#readFormat(content);
        break;
      case record.STYLE_RECORD:
        this.#styles.push(content.getUint16(2, true));
        break;
      case record.STYLE_RECORD_3:
      case record.STYLE_RECORD_4:
        this.#styles.push(content.getUint8(1));
        break;
      case record.SHEET_RECORD:
        this.#readSheet(content);
        break;
      case record.TEXTS_RECORD:
      case record.CONTINUE_RECORD:
        if (this.#lastKind === record.TEXTS_RECORD)
          this.#texts.feedRecord(toBytes(content), kind === record.TEXTS_RECORD);
        break;
    }
    return kind === record.END_RECORD;
  }

  #readBeginning(kind: number, content: DataView): void {
    if (!record.isBeginningRecord(kind)) throw new RecordsDamaged();
    const editions: Record<number, BiffEdition> = { 9: 2, 521: 3, 1033: 4 };
    this.#edition = editions[kind] ?? (content.getUint16(0, true) === 0x600 ? 8 : 5);
    // The oldest editions consist of a single sheet.
    this.#isSheet = content.getUint16(2, true) !== WORKBOOK_STREAM_TYPE;
  }

  #readFormat(content: DataView): void {
    if (this.#edition < 5) this.#formatCodes.set(this.#formatCodes.size, this.#readShortText(content, 2));
    else if (this.#edition === 5) this.#formatCodes.set(content.getUint16(0, true), this.#readShortText(content, 2));
    else {
      const isWide = (content.getUint8(4) & 1) !== 0;
      this.#formatCodes.set(content.getUint16(0, true), readCharacters(content, 5, content.getUint16(2, true), isWide));
    }
  }

  #readShortText(content: DataView, at: number): string {
    return this.#decoder.decode(toBytes(content).subarray(at + 1, at + 1 + content.getUint8(at)));
  }

  #readSheet(content: DataView): void {
    if (content.getUint8(5) !== WORKSHEET_STREAM_TYPE) return;
    const offset = content.getUint32(0, true);
    this.#sheets.set(offset, { name: this.#readSheetName(content), isHidden: (content.getUint8(4) & 3) !== 0, offset });
  }

  #readSheetName(content: DataView): string {
    if (this.#edition < 8) return cleanText(this.#readShortText(content, 6));
    return cleanText(readCharacters(content, 8, content.getUint8(6), (content.getUint8(7) & 1) !== 0));
  }

  makeBook(): Omit<BiffBook, 'readByteCount'> {
    const sheets = [...this.#sheets.values()].sort((a, b) => Number(a.isHidden) - Number(b.isHidden));
    return {
      edition: this.#edition,
      usesEpoch1904: this.#usesEpoch1904,
      formats: this.#makeFormats(),
      sharedTexts: this.#texts.sharedTexts,
      textDecoder: this.#decoder,
      sheets: this.#isSheet ? [{ name: null, isHidden: false, offset: 0 }] : sheets,
    };
  }

  #makeFormats(): NumberFormat[] {
    const knownFormats = new Map([...this.#formatCodes].map(([number, code]) => [number, parseCustomFormat(code)]));
    const findFormat = (number: number) =>
      knownFormats.get(number) ?? (this.#edition < 5 ? findOldestFormat(number) : findBuiltinFormat(number));
    return this.#edition === 2
      ? Array.from({ length: 64 }, (_, number) => findFormat(number))
      : this.#styles.map(findFormat);
  }
}

/** Returns a format that workbooks before Excel 5 have without defining it. */
function findOldestFormat(number: number): NumberFormat {
  if (number >= 12 && number <= 15) return { kind: 'date' };
  if (number >= 16 && number <= 19) return { kind: 'time' };
  return number === 20 ? { kind: 'datetime' } : NUMBER_FORMAT;
}

export const toBytes = (content: DataView): Uint8Array =>
  new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
