/** Makes a record of Excel 2 to 2003 (BIFF). */

export const makeRecord = (kind: number, ...content: number[]): number[] => [
  kind & 255,
  kind >> 8,
  content.length & 255,
  content.length >> 8,
  ...content,
];
export const toTwoBytes = (number: number): number[] => [number & 255, number >> 8];
export const toFourBytes = (number: number): number[] => [...toTwoBytes(number & 0xffff), ...toTwoBytes(number >>> 16)];

type RecordBytes = number[] | Uint8Array;

const joinRecords = (records: RecordBytes[]) => Buffer.concat(records.map((record) => Buffer.from(record)));

/** Makes a workbook of these records of a sheet, and of these records of shared texts. */
export function makeWorkbookOfRecords(cells: RecordBytes[], texts: RecordBytes[] = []): Uint8Array<ArrayBuffer> {
  const makeBeginRecord = (kind: number) =>
    makeRecord(0x809, ...toTwoBytes(0x600), ...toTwoBytes(kind), ...new Array(12).fill(0));
  const makeGlobals = (offset: number) =>
    joinRecords([
      makeBeginRecord(5),
      makeRecord(0xe0, ...new Array(20).fill(0)),
      makeRecord(0x85, ...toFourBytes(offset), 0, 0, 1, 0, 65),
      ...texts,
      makeRecord(0x0a),
    ]);
  return joinRecords([makeGlobals(makeGlobals(0).length), makeBeginRecord(16), ...cells, makeRecord(0x0a)]);
}

/** Makes a cell with an integer. */
export const makeNumberRecord = (row: number, column: number, value: number): number[] =>
  makeRecord(0x27e, ...toTwoBytes(row), ...toTwoBytes(column), 0, 0, ...toFourBytes((value << 2) | 2));

/** Makes one record of integers side by side. */
export const makeNumbersRecord = (row: number, values: readonly number[]): number[] =>
  makeRecord(
    0xbd,
    ...toTwoBytes(row),
    ...toTwoBytes(0),
    ...values.flatMap((value) => [0, 0, ...toFourBytes((value << 2) | 2)]),
    ...toTwoBytes(values.length - 1),
  );

/** Makes a cell that shows one of the shared texts. */
export const makeSharedTextRecord = (row: number, column: number, text: number): number[] =>
  makeRecord(0xfd, ...toTwoBytes(row), ...toTwoBytes(column), 0, 0, ...toFourBytes(text));

/** Makes the records of one shared text of `length` letters. */
export function makeSharedText(length: number): number[][] {
  const maxBytes = 8_000;
  const records = [
    makeRecord(
      0xfc,
      ...toFourBytes(1),
      ...toFourBytes(1),
      ...toTwoBytes(length),
      0,
      ...new Array(Math.min(length, maxBytes)).fill(121),
    ),
  ];
  for (let remainingLength = length - maxBytes; remainingLength > 0; remainingLength -= maxBytes) {
    records.push(makeRecord(0x3c, 0, ...new Array(Math.min(remainingLength, maxBytes)).fill(121)));
  }
  return records;
}

/** Makes the records of shared texts in Latin-1, none of which is split. */
export function makeSharedTexts(texts: readonly string[]): Uint8Array[] {
  const maxBytes = 8_000;
  const contents = [Buffer.from([...toFourBytes(texts.length), ...toFourBytes(texts.length)])];
  for (let at = 0; at < texts.length; ) {
    const parts = [];
    for (let bytes = 0; at < texts.length && bytes < maxBytes; at += 1) {
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

/** Makes records of merged cells, each from row to row and column to column. */
export const makeMergeRecord = (areas: (readonly [number, number, number, number])[]): number[][] =>
  Array.from({ length: Math.ceil(areas.length / 1000) }, (_, n) => {
    const mergedAreas = areas.slice(n * 1000, (n + 1) * 1000);
    return makeRecord(
      0xe5,
      ...toTwoBytes(mergedAreas.length),
      ...mergedAreas.flatMap((area) => area.flatMap(toTwoBytes)),
    );
  });
