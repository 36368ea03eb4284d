import type { ByteStream } from './compound.ts';

/** Kinds of records (MS-XLS 2.3; before Excel 97: OpenOffice's documentation of the format, by Daniel Rentz). */
export const INTEGER_2 = 0x02;
export const NUMBER_2 = 0x03;
export const LABEL_2 = 0x04;
export const BOOLEAN_2 = 0x05;
export const FORMULA = 0x06;
export const STRING_2 = 0x07;
export const END = 0x0a;
export const FORMAT_2 = 0x1e;
export const DATE_MODE = 0x22;
export const PASSWORD = 0x2f;
export const CONTINUE = 0x3c;
export const CODE_PAGE = 0x42;
export const SHEET = 0x85;
export const ROW_OF_NUMBERS = 0xbd;
export const RICH_LABEL = 0xd6;
export const STYLE = 0xe0;
export const MERGES = 0xe5;
export const TEXTS = 0xfc;
export const TEXT_CELL = 0xfd;
export const NUMBER = 0x203;
export const LABEL = 0x204;
export const BOOLEAN = 0x205;
export const FORMULA_3 = 0x206;
export const STRING = 0x207;
export const STYLE_3 = 0x243;
export const SHORT_NUMBER = 0x27e;
export const FORMULA_4 = 0x406;
export const FORMAT = 0x41e;
export const STYLE_4 = 0x443;
const BEGINNINGS = [0x009, 0x209, 0x409, 0x809];

export const isBeginning = (kind: number): boolean => BEGINNINGS.includes(kind);

/** The bytes are cut off, or are not records. */
export class RecordsDamaged extends Error {}

/** Bytes read at a time. */
export const BLOCK_BYTES = 256 * 1024;

/** Receives a record's content; `offset` is the record's place in the stream. Returning true ends the reading. */
export type OnRecord = (kind: number, content: DataView, offset: number) => boolean;

/** Calls `onRecord` from `offset` on until it ends the reading. @returns bytes read. @throws RecordsDamaged if cut */
export async function eachRecord(stream: ByteStream, offset: number, onRecord: OnRecord): Promise<number> {
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
