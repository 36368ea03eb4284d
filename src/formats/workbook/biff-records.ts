import type { ByteStream } from './compound-file.ts';

/**
 * Kind of a record with an integer, in Excel 2. Kinds of records: MS-XLS 2.3; before Excel 97, OpenOffice's
 * documentation of the format, by Daniel Rentz.
 */
export const INTEGER_RECORD_2 = 0x02;
export const NUMBER_RECORD_2 = 0x03;
export const LABEL_RECORD_2 = 0x04;
export const BOOLEAN_RECORD_2 = 0x05;
export const FORMULA_RECORD = 0x06;
export const STRING_RECORD_2 = 0x07;
export const END_RECORD = 0x0a;
export const FORMAT_RECORD_2 = 0x1e;
export const DATE_MODE_RECORD = 0x22;
export const PASSWORD_RECORD = 0x2f;
export const CONTINUE_RECORD = 0x3c;
export const CODE_PAGE_RECORD = 0x42;
export const SHEET_RECORD = 0x85;
export const NUMBERS_RECORD = 0xbd;
export const RICH_LABEL_RECORD = 0xd6;
export const STYLE_RECORD = 0xe0;
export const MERGES_RECORD = 0xe5;
export const TEXTS_RECORD = 0xfc;
export const TEXT_CELL_RECORD = 0xfd;
export const NUMBER_RECORD = 0x203;
export const LABEL_RECORD = 0x204;
export const BOOLEAN_RECORD = 0x205;
export const FORMULA_RECORD_3 = 0x206;
export const STRING_RECORD = 0x207;
export const STYLE_RECORD_3 = 0x243;
export const SHORT_NUMBER_RECORD = 0x27e;
export const FORMULA_RECORD_4 = 0x406;
export const FORMAT_RECORD = 0x41e;
export const STYLE_RECORD_4 = 0x443;
const BEGINNING_RECORDS = [0x009, 0x209, 0x409, 0x809];

export const isBeginningRecord = (kind: number): boolean => BEGINNING_RECORDS.includes(kind);

/** Error thrown when the bytes are cut off, or are not records. */
export class RecordsDamaged extends Error {}

/** Number of bytes read at a time. */
export const BLOCK_BYTES = 256 * 1024;

/** Receives a record's content; `offset` is the record's offset in the stream. Returning true ends the reading. */
export type OnRecord = (kind: number, content: DataView, offset: number) => boolean;

/**
 * Calls `onRecord` from `offset` on until `onRecord` returns true.
 * @returns the number of bytes read
 * @throws RecordsDamaged if the stream is cut off
 */
export async function readRecords(stream: ByteStream, offset: number, onRecord: OnRecord): Promise<number> {
  for (let from = offset; ; ) {
    const bytes = await stream.read(from, BLOCK_BYTES);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    while (at + 4 <= bytes.length) {
      const length = view.getUint16(at + 2, true);
      if (at + 4 + length > bytes.length) break;
      const content = new DataView(bytes.buffer, bytes.byteOffset + at + 4, length);
      if (onRecord(view.getUint16(at, true), content, from + at)) return from + at + 4 + length - offset;
      at += 4 + length;
    }
    if (at === 0) throw new RecordsDamaged();
    from += at;
  }
}
