/** Records of Excel 2 to 2003 (BIFF), written by hand. */

export const recordOf = (kind: number, ...content: number[]): number[] => [
  kind & 255,
  kind >> 8,
  content.length & 255,
  content.length >> 8,
  ...content,
];
export const two = (number: number): number[] => [number & 255, number >> 8];
export const four = (number: number): number[] => [...two(number & 0xffff), ...two(number >>> 16)];

type Bytes = number[] | Uint8Array;

const joined = (records: Bytes[]) => Buffer.concat(records.map((each) => Buffer.from(each)));

/** A workbook of these records of a sheet, and of these shared texts' records. */
export function aBookOfRecords(cells: Bytes[], texts: Bytes[] = []): Uint8Array<ArrayBuffer> {
  const begin = (kind: number) => recordOf(0x809, ...two(0x600), ...two(kind), ...new Array(12).fill(0));
  const globals = (offset: number) =>
    joined([
      begin(5),
      recordOf(0xe0, ...new Array(20).fill(0)),
      recordOf(0x85, ...four(offset), 0, 0, 1, 0, 65),
      ...texts,
      recordOf(0x0a),
    ]);
  return joined([globals(globals(0).length), begin(16), ...cells, recordOf(0x0a)]);
}

/** A cell with a whole number. */
export const number = (row: number, column: number, value: number): number[] =>
  recordOf(0x27e, ...two(row), ...two(column), 0, 0, ...four((value << 2) | 2));

/** Whole numbers side by side, as one record. */
export const numbers = (row: number, values: readonly number[]): number[] =>
  recordOf(
    0xbd,
    ...two(row),
    ...two(0),
    ...values.flatMap((value) => [0, 0, ...four((value << 2) | 2)]),
    ...two(values.length - 1),
  );

/** A cell that shows one of the shared texts. */
export const shared = (row: number, column: number, text: number): number[] =>
  recordOf(0xfd, ...two(row), ...two(column), 0, 0, ...four(text));

/** The records of one text that cells share, of `length` letters. */
export function oneSharedText(length: number): number[][] {
  const room = 8_000;
  const records = [
    recordOf(0xfc, ...four(1), ...four(1), ...two(length), 0, ...new Array(Math.min(length, room)).fill(121)),
  ];
  for (let rest = length - room; rest > 0; rest -= room) {
    records.push(recordOf(0x3c, 0, ...new Array(Math.min(rest, room)).fill(121)));
  }
  return records;
}

/** The records of texts of Latin-1 that cells share, none of which is divided. */
export function sharedTexts(texts: readonly string[]): Uint8Array[] {
  const room = 8_000;
  const contents = [Buffer.from([...four(texts.length), ...four(texts.length)])];
  for (let at = 0; at < texts.length; ) {
    const parts = [];
    for (let bytes = 0; at < texts.length && bytes < room; at += 1) {
      const text = texts[at] as string;
      parts.push(Buffer.from([...two(text.length), 0]), Buffer.from(text, 'latin1'));
      bytes += text.length;
    }
    contents.push(Buffer.concat(parts));
  }
  return contents.map((content, n) =>
    Buffer.concat([Buffer.from([...two(n === 0 ? 0xfc : 0x3c), ...two(content.length)]), content]),
  );
}

/** Merged cells, each from row to row and column to column. */
export const merged = (areas: (readonly [number, number, number, number])[]): number[][] =>
  Array.from({ length: Math.ceil(areas.length / 1000) }, (_, n) => {
    const some = areas.slice(n * 1000, (n + 1) * 1000);
    return recordOf(0xe5, ...two(some.length), ...some.flatMap((area) => area.flatMap(two)));
  });
