/** Records of Excel 2 to 2003 (BIFF), written by hand. */

export const makeRecord = (kind: number, ...content: number[]): number[] => [
  kind & 255,
  kind >> 8,
  content.length & 255,
  content.length >> 8,
  ...content,
];
export const toTwoBytes = (number: number): number[] => [number & 255, number >> 8];
export const toFourBytes = (number: number): number[] => [...toTwoBytes(number & 0xffff), ...toTwoBytes(number >>> 16)];

type Bytes = number[] | Uint8Array;

const joinRecords = (records: Bytes[]) => Buffer.concat(records.map((each) => Buffer.from(each)));

/** A workbook of these records of a sheet, and of these shared texts' records. */
export function makeWorkbookOfRecords(cells: Bytes[], texts: Bytes[] = []): Uint8Array<ArrayBuffer> {
  const begin = (kind: number) =>
    makeRecord(0x809, ...toTwoBytes(0x600), ...toTwoBytes(kind), ...new Array(12).fill(0));
  const globals = (offset: number) =>
    joinRecords([
      begin(5),
      makeRecord(0xe0, ...new Array(20).fill(0)),
      makeRecord(0x85, ...toFourBytes(offset), 0, 0, 1, 0, 65),
      ...texts,
      makeRecord(0x0a),
    ]);
  return joinRecords([globals(globals(0).length), begin(16), ...cells, makeRecord(0x0a)]);
}

/** A cell with a whole number. */
export const makeNumberRecord = (row: number, column: number, value: number): number[] =>
  makeRecord(0x27e, ...toTwoBytes(row), ...toTwoBytes(column), 0, 0, ...toFourBytes((value << 2) | 2));

/** Whole numbers side by side, as one record. */
export const makeNumbersRecord = (row: number, values: readonly number[]): number[] =>
  makeRecord(
    0xbd,
    ...toTwoBytes(row),
    ...toTwoBytes(0),
    ...values.flatMap((value) => [0, 0, ...toFourBytes((value << 2) | 2)]),
    ...toTwoBytes(values.length - 1),
  );

/** A cell that shows one of the shared texts. */
export const makeSharedTextRecord = (row: number, column: number, text: number): number[] =>
  makeRecord(0xfd, ...toTwoBytes(row), ...toTwoBytes(column), 0, 0, ...toFourBytes(text));

/** The records of one text that cells share, of `length` letters. */
export function makeSharedText(length: number): number[][] {
  const room = 8_000;
  const records = [
    makeRecord(
      0xfc,
      ...toFourBytes(1),
      ...toFourBytes(1),
      ...toTwoBytes(length),
      0,
      ...new Array(Math.min(length, room)).fill(121),
    ),
  ];
  for (let rest = length - room; rest > 0; rest -= room) {
    records.push(makeRecord(0x3c, 0, ...new Array(Math.min(rest, room)).fill(121)));
  }
  return records;
}

/** The records of texts of Latin-1 that cells share, none of which is divided. */
export function makeSharedTexts(texts: readonly string[]): Uint8Array[] {
  const room = 8_000;
  const contents = [Buffer.from([...toFourBytes(texts.length), ...toFourBytes(texts.length)])];
  for (let at = 0; at < texts.length; ) {
    const parts = [];
    for (let bytes = 0; at < texts.length && bytes < room; at += 1) {
      const text = texts[at] as string;
      parts.push(Buffer.from([...toTwoBytes(text.length), 0]), Buffer.from(text, 'latin1'));
      bytes += text.length;
    }
    contents.push(Buffer.concat(parts));
  }
  return contents.map((content, n) =>
    Buffer.concat([Buffer.from([...toTwoBytes(n === 0 ? 0xfc : 0x3c), ...toTwoBytes(content.length)]), content]),
  );
}

/** Merged cells, each from row to row and column to column. */
export const makeMergeRecord = (areas: (readonly [number, number, number, number])[]): number[][] =>
  Array.from({ length: Math.ceil(areas.length / 1000) }, (_, n) => {
    const some = areas.slice(n * 1000, (n + 1) * 1000);
    return makeRecord(0xe5, ...toTwoBytes(some.length), ...some.flatMap((area) => area.flatMap(toTwoBytes)));
  });
