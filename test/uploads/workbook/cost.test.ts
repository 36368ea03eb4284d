import { Session } from 'node:inspector/promises';
import fc from 'fast-check';
import { strFromU8, strToU8, type Zippable, zipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeWorkbookFiles } from '../workbooks.ts';
import {
  makeMergeRecord,
  makeNumberRecord,
  makeSharedText,
  makeSharedTextRecord,
  makeWorkbookOfRecords,
} from './records.ts';

/** Profiler session that counts executed blocks of code: a measure of work that does not depend on the machine. */
const session = new Session();
let convertingModule: typeof import('./converting.ts');
let limitsModule: typeof import('../../../src/formats/workbook/limits.ts');
beforeAll(async () => {
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  // Only what is compiled from here on is counted block by block.
  convertingModule = await import('./converting.ts');
  limitsModule = await import('../../../src/formats/workbook/limits.ts');
});
afterAll(async () => {
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
});

/** Returns the number of blocks of the readers that were executed since the last call. */
async function countBlocks(): Promise<number> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => /src\/(?:formats|modules\/uploads)\//.test(url))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
    .reduce((sum, count) => sum + count, 0);
}

/** The maximum number of executed blocks of code for each byte that is unpacked or written. */
const MAX_BLOCKS_PER_BYTE = 20;
/** The maximum number of executed blocks of code for everything else. */
const MAX_OTHER_BLOCKS = 1_000_000;

/** Measures the bytes that a conversion writes, and the blocks executed for it. */
async function measureCost(convert: (count: (bytes: number) => void) => Promise<string>) {
  let writtenBytes = 0;
  await countBlocks();
  const code = await convertingModule.readProblemCode(
    convert((bytes) => {
      writtenBytes += bytes;
    }),
  );
  return { put: writtenBytes, blocks: await countBlocks(), code };
}

const measureWorkbook = (workbook: Uint8Array) =>
  measureCost((count) => convertingModule.convertToText(workbook, 32 * 1024 * 1024, count));
const measureOldWorkbook = (workbook: Uint8Array) =>
  measureCost((count) => convertingModule.convertOldToText(workbook, count));

const toColumnLetters = (column: number): string =>
  column < 26
    ? String.fromCharCode(65 + column)
    : toColumnLetters(Math.floor(column / 26) - 1) + toColumnLetters(column % 26);

const column = fc.oneof(fc.nat(5), fc.nat(16_383), fc.constant(16_383));
const row = fc.oneof(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 1_048_576 }));
const makeSpanArbitrary = <T>(end: fc.Arbitrary<T>) => fc.tuple(end, end);

/** Generates merged cells that lie apart, in one place, or anywhere. */
const arbitraryMerges = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map((count) => Array.from({ length: count }, (_, n) => `A${n + 1}:XFD${n + 1}`)),
  fc.integer({ min: 1, max: 40 }).map((count) => Array.from({ length: count }, () => 'A1:XFD1')),
  fc
    .integer({ min: 1, max: 400 })
    .map((count) => Array.from({ length: count }, (_, n) => `${toColumnLetters(n)}2:${toColumnLetters(n)}1048576`)),
  fc.array(
    fc.tuple(makeSpanArbitrary(column), makeSpanArbitrary(row)).map(([[a, b], [c, d]]) => {
      const [left, right, top, bottom] = [Math.min(a, b), Math.max(a, b), Math.min(c, d), Math.max(c, d)];
      return `${toColumnLetters(left)}${top}:${toColumnLetters(right)}${bottom}`;
    }),
  ),
);

/** Generates the attributes and content of a cell: a number, nothing, a text, or a shared text. */
const cell = fc.oneof(
  fc.constant(['', '<v>1</v>']),
  fc.constant(['', '']),
  fc.integer({ min: 1, max: 300 }).map((length) => [' t="inlineStr"', `<is><t>${'x'.repeat(length)}</t></is>`]),
  fc.constant([' t="s"', '<v>0</v>']),
);

/** Generates rows that repeatedly hold values in far columns, or no values at all. */
const rows = fc
  .tuple(
    fc.array(fc.tuple(column, cell), { minLength: 1, maxLength: 8 }),
    fc.integer({ min: 1, max: 2000 }),
    fc.nat(300),
  )
  .map(([cells, times, gap]) => {
    const cellsByColumn = [...new Map(cells.toSorted(([a], [b]) => a - b))];
    return Array.from({ length: times }, (_, n) => {
      const row = 1 + n * (1 + gap);
      const cellElements = cellsByColumn.map(
        ([place, [attributes, value]]) => `<c r="${toColumnLetters(place)}${row}"${attributes}>${value}</c>`,
      );
      return `<row r="${row}">${cellElements.join('')}</row>`;
    }).join('');
  });

/** Makes a workbook that lists its only sheet many times, with a shared text of this length. */
function makeWorkbook(body: string, mergedReferences: string[], sheetCount: number, length: number): Zippable {
  const mergeElement = `<mergeCells>${mergedReferences.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`;
  const sheet = `<worksheet><sheetData>${body}</sheetData>${mergeElement}</worksheet>`;
  const files = makeWorkbookFiles({
    sheets: [{ rows: [] }],
    strings: [`<t>${'y'.repeat(length)}</t>`],
    files: { 'xl/worksheets/sheet1.xml': sheet },
  });
  const mainPart = strFromU8(files['xl/workbook.xml'] as Uint8Array);
  return {
    ...files,
    'xl/workbook.xml': strToU8(mainPart.replace(/<sheet [^>]*>/, (sheetElement) => sheetElement.repeat(sheetCount))),
  };
}

describe('the cost of reading a workbook', () => {
  it('is bounded by its size, whatever it contains', async () => {
    const arbitraryWorkbook = fc.tuple(
      rows,
      arbitraryMerges,
      fc.integer({ min: 1, max: 100 }),
      fc.constantFrom(3, 30_000),
    );
    await fc.assert(
      fc.asyncProperty(arbitraryWorkbook, async (parts) => {
        const files = makeWorkbook(...parts);
        const packedFile = zipSync(files);
        const unpackedBytes = Object.values(files).reduce((sum, file) => sum + (file as Uint8Array).length, 0);
        const { put, blocks } = await measureWorkbook(packedFile);
        expect(put).toBeLessThanOrEqual(
          limitsModule.computeMaxXmlBytes(packedFile.length) + limitsModule.computeMaxTextBytes(packedFile.length),
        );
        expect(blocks).toBeLessThanOrEqual(MAX_OTHER_BLOCKS + MAX_BLOCKS_PER_BYTE * (put + unpackedBytes));
      }),
      { numRuns: 12, endOnFailure: true },
    );
  });

  it.each([
    ['the same whole row, repeated', (_: number) => 'A1:XFD1'],
    ['whole rows', (n: number) => `A${n + 1}:XFD${n + 1}`],
    ['two whole rows each', (n: number) => `A${2 * n + 1}:XFD${2 * n + 2}`],
  ])('does not grow with merged cells of %s', async (_, makeReference) => {
    const body = Array.from({ length: 100 }, (_, n) => `<row r="${n + 1}"><c><v>1</v></c><c><v>2</v></c></row>`).join(
      '',
    );
    const files = makeWorkbook(
      body,
      Array.from({ length: 300 }, (_, n) => makeReference(n)),
      1,
      3,
    );
    const { blocks } = await measureWorkbook(zipSync(files));
    expect(blocks).toBeLessThanOrEqual(MAX_OTHER_BLOCKS);
  });
});

describe('the cost of reading a BIFF workbook', () => {
  const arbitraryColumn = fc.nat(255);
  const line = fc.oneof(fc.nat(70), fc.nat(65_535));
  const arbitraryArea = fc
    .tuple(makeSpanArbitrary(line), makeSpanArbitrary(arbitraryColumn))
    .map(([rows, columns]) => [...rows.toSorted((a, b) => a - b), ...columns.toSorted((a, b) => a - b)])
    .map((ends) => ends as [number, number, number, number]);
  const arbitraryAreas = fc.oneof(
    fc.integer({ min: 1, max: 5_000 }).map((count) => Array.from({ length: count }, () => [0, 0, 0, 255] as const)),
    fc.integer({ min: 1, max: 5_000 }).map((count) => Array.from({ length: count }, (_, n) => [n, n, 0, 255] as const)),
    fc.array(arbitraryArea, { maxLength: 400 }),
  );
  const arbitraryCell = fc.record({ row: line, column: arbitraryColumn, isText: fc.boolean() });

  it('is bounded by its size, whatever it contains', async () => {
    const arbitraryWorkbook = fc.tuple(
      fc.array(arbitraryCell, { minLength: 1, maxLength: 3_000 }),
      arbitraryAreas,
      fc.constantFrom(3, 30_000),
    );
    await fc.assert(
      fc.asyncProperty(arbitraryWorkbook, async ([cells, places, length]) => {
        const records = cells.map(({ row, column, isText }) =>
          isText ? makeSharedTextRecord(row, column, 0) : makeNumberRecord(row, column, 7),
        );
        const bytes = makeWorkbookOfRecords([...records, ...makeMergeRecord(places)], makeSharedText(length));
        const { put, blocks } = await measureOldWorkbook(bytes);
        expect(put).toBeLessThanOrEqual(limitsModule.computeMaxTextBytes(bytes.length));
        expect(blocks).toBeLessThanOrEqual(MAX_OTHER_BLOCKS + MAX_BLOCKS_PER_BYTE * (put + bytes.length));
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  it('is limited by a refusal where few bytes expand to much text', async () => {
    const cells = Array.from({ length: 3_000 }, (_, row) => makeSharedTextRecord(row, 0, 0));
    const bytes = makeWorkbookOfRecords(cells, makeSharedText(30_000));
    const { put, code } = await measureOldWorkbook(bytes);
    expect(code).toBe('WORKBOOK_TOO_LARGE');
    expect(put).toBeLessThanOrEqual(limitsModule.computeMaxTextBytes(bytes.length));
  });
});
