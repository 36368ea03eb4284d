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

/** Counts which blocks of code are run how often: work that does not depend on the machine. */
const session = new Session();
let converting: typeof import('./converting.ts');
let limits: typeof import('../../../src/formats/workbook/limits.ts');
beforeAll(async () => {
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  // Only what is compiled from here on is counted block by block.
  converting = await import('./converting.ts');
  limits = await import('../../../src/formats/workbook/limits.ts');
});
afterAll(async () => {
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
});

/** Blocks of the readers that were run since it was last asked. */
async function countBlocks(): Promise<number> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => /src\/(?:formats|modules\/uploads)\//.test(url))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
    .reduce((sum, count) => sum + count, 0);
}

/** Blocks of code for each byte that is unpacked or written, and for all the rest. */
const BLOCKS_A_BYTE = 20;
const BLOCKS_BESIDE = 1_000_000;

/** Bytes that a conversion writes, and blocks that are run for it. */
async function measureCost(convert: (count: (bytes: number) => void) => Promise<string>) {
  let put = 0;
  await countBlocks();
  const code = await converting.readProblemCode(
    convert((bytes) => {
      put += bytes;
    }),
  );
  return { put, blocks: await countBlocks(), code };
}

const measureWorkbook = (book: Uint8Array) =>
  measureCost((count) => converting.convertToText(book, 32 * 1024 * 1024, count));
const measureOldWorkbook = (book: Uint8Array) => measureCost((count) => converting.convertOldToText(book, count));

const toColumnLetters = (column: number): string =>
  column < 26
    ? String.fromCharCode(65 + column)
    : toColumnLetters(Math.floor(column / 26) - 1) + toColumnLetters(column % 26);

const column = fc.oneof(fc.nat(5), fc.nat(16_383), fc.constant(16_383));
const row = fc.oneof(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 1_048_576 }));
const span = <T>(end: fc.Arbitrary<T>) => fc.tuple(end, end);

/** Merged cells that lie apart, in one place, or anywhere. */
const merges = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map((count) => Array.from({ length: count }, (_, n) => `A${n + 1}:XFD${n + 1}`)),
  fc.integer({ min: 1, max: 40 }).map((count) => Array.from({ length: count }, () => 'A1:XFD1')),
  fc
    .integer({ min: 1, max: 400 })
    .map((count) => Array.from({ length: count }, (_, n) => `${toColumnLetters(n)}2:${toColumnLetters(n)}1048576`)),
  fc.array(
    fc.tuple(span(column), span(row)).map(([[a, b], [c, d]]) => {
      const [left, right, top, bottom] = [Math.min(a, b), Math.max(a, b), Math.min(c, d), Math.max(c, d)];
      return `${toColumnLetters(left)}${top}:${toColumnLetters(right)}${bottom}`;
    }),
  ),
);

/** Attributes and inside of a cell: a number, nothing, a text, a text that many cells share. */
const cell = fc.oneof(
  fc.constant(['', '<v>1</v>']),
  fc.constant(['', '']),
  fc.integer({ min: 1, max: 300 }).map((length) => [' t="inlineStr"', `<is><t>${'x'.repeat(length)}</t></is>`]),
  fc.constant([' t="s"', '<v>0</v>']),
);

/** Rows that hold values in far columns, or nothing at all, again and again. */
const rows = fc
  .tuple(
    fc.array(fc.tuple(column, cell), { minLength: 1, maxLength: 8 }),
    fc.integer({ min: 1, max: 2000 }),
    fc.nat(300),
  )
  .map(([cells, times, gap]) => {
    const places = [...new Map(cells.toSorted(([a], [b]) => a - b))];
    return Array.from({ length: times }, (_, n) => {
      const row = 1 + n * (1 + gap);
      const inside = places.map(
        ([place, [attributes, value]]) => `<c r="${toColumnLetters(place)}${row}"${attributes}>${value}</c>`,
      );
      return `<row r="${row}">${inside.join('')}</row>`;
    }).join('');
  });

/** A workbook that lists its only sheet many times, with a shared text so long. */
function makeWorkbook(body: string, refs: string[], sheets: number, length: number): Zippable {
  const merged = `<mergeCells>${refs.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`;
  const sheet = `<worksheet><sheetData>${body}</sheetData>${merged}</worksheet>`;
  const files = makeWorkbookFiles({
    sheets: [{ rows: [] }],
    strings: [`<t>${'y'.repeat(length)}</t>`],
    files: { 'xl/worksheets/sheet1.xml': sheet },
  });
  const main = strFromU8(files['xl/workbook.xml'] as Uint8Array);
  return { ...files, 'xl/workbook.xml': strToU8(main.replace(/<sheet [^>]*>/, (one) => one.repeat(sheets))) };
}

describe('the cost of reading a workbook', () => {
  it('is bounded by its size, whatever it contains', async () => {
    const book = fc.tuple(rows, merges, fc.integer({ min: 1, max: 100 }), fc.constantFrom(3, 30_000));
    await fc.assert(
      fc.asyncProperty(book, async (parts) => {
        const files = makeWorkbook(...parts);
        const packed = zipSync(files);
        const unpacked = Object.values(files).reduce((sum, file) => sum + (file as Uint8Array).length, 0);
        const { put, blocks } = await measureWorkbook(packed);
        expect(put).toBeLessThanOrEqual(
          limits.computeMaxXmlBytes(packed.length) + limits.computeMaxTextBytes(packed.length),
        );
        expect(blocks).toBeLessThanOrEqual(BLOCKS_BESIDE + BLOCKS_A_BYTE * (put + unpacked));
      }),
      { numRuns: 12, endOnFailure: true },
    );
  });

  it.each([
    ['the same whole row, repeated', (_: number) => 'A1:XFD1'],
    ['whole rows', (n: number) => `A${n + 1}:XFD${n + 1}`],
    ['two whole rows each', (n: number) => `A${2 * n + 1}:XFD${2 * n + 2}`],
  ])('does not grow with merged cells of %s', async (_, refOf) => {
    const body = Array.from({ length: 100 }, (_, n) => `<row r="${n + 1}"><c><v>1</v></c><c><v>2</v></c></row>`).join(
      '',
    );
    const files = makeWorkbook(
      body,
      Array.from({ length: 300 }, (_, n) => refOf(n)),
      1,
      3,
    );
    const { blocks } = await measureWorkbook(zipSync(files));
    expect(blocks).toBeLessThanOrEqual(BLOCKS_BESIDE);
  });
});

describe('the cost of reading a BIFF workbook', () => {
  const place = fc.nat(255);
  const line = fc.oneof(fc.nat(70), fc.nat(65_535));
  const area = fc
    .tuple(span(line), span(place))
    .map(([rows, columns]) => [...rows.toSorted((a, b) => a - b), ...columns.toSorted((a, b) => a - b)])
    .map((ends) => ends as [number, number, number, number]);
  const areas = fc.oneof(
    fc.integer({ min: 1, max: 5_000 }).map((count) => Array.from({ length: count }, () => [0, 0, 0, 255] as const)),
    fc.integer({ min: 1, max: 5_000 }).map((count) => Array.from({ length: count }, (_, n) => [n, n, 0, 255] as const)),
    fc.array(area, { maxLength: 400 }),
  );
  const one = fc.record({ row: line, column: place, isText: fc.boolean() });

  it('is bounded by its size, whatever it contains', async () => {
    const book = fc.tuple(fc.array(one, { minLength: 1, maxLength: 3_000 }), areas, fc.constantFrom(3, 30_000));
    await fc.assert(
      fc.asyncProperty(book, async ([cells, places, length]) => {
        const records = cells.map(({ row, column, isText }) =>
          isText ? makeSharedTextRecord(row, column, 0) : makeNumberRecord(row, column, 7),
        );
        const bytes = makeWorkbookOfRecords([...records, ...makeMergeRecord(places)], makeSharedText(length));
        const { put, blocks } = await measureOldWorkbook(bytes);
        expect(put).toBeLessThanOrEqual(limits.computeMaxTextBytes(bytes.length));
        expect(blocks).toBeLessThanOrEqual(BLOCKS_BESIDE + BLOCKS_A_BYTE * (put + bytes.length));
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  it('is limited by a refusal where few bytes make much text', async () => {
    const cells = Array.from({ length: 3_000 }, (_, row) => makeSharedTextRecord(row, 0, 0));
    const bytes = makeWorkbookOfRecords(cells, makeSharedText(30_000));
    const { put, code } = await measureOldWorkbook(bytes);
    expect(code).toBe('WORKBOOK_TOO_LARGE');
    expect(put).toBeLessThanOrEqual(limits.computeMaxTextBytes(bytes.length));
  });
});
