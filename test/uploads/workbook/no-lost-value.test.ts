import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Inference, InferenceError, planLoad } from '../../../src/modules/uploads/inference/index.ts';
import { JobProblem } from '../../../src/modules/uploads/problems.ts';
import { parseCopyText } from '../../formats/copy/parsing.ts';
import { copyData, loadColumns } from '../inference/reading.ts';
import { type Cell, makeWorkbook, type SheetParts } from '../workbooks.ts';
import { convertWorkbook, inferSheet } from './converting.ts';

/** Merged cells: rows and columns counted from 0, both ends included. */
interface MergedArea {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

/** A generated sheet: its cells, its merged areas, and the row, from 0, in which its body begins. */
interface GeneratedSheet {
  rows: Cell[][];
  merges: MergedArea[];
  bodyStart: number;
}

const COLUMN_LETTERS = 'ABCDEFGHIJ';
const formatReference = ({ top, bottom, left, right }: MergedArea) =>
  `${COLUMN_LETTERS[left]}${top + 1}:${COLUMN_LETTERS[right]}${bottom + 1}`;

/** Makes a cell with a unique value, so that each value shows where it comes from. */
const makeCell = (kind: number, serialNumber: number): Cell => {
  switch (kind) {
    case 0:
    case 1:
      return null;
    case 2:
    case 3:
      return `w${serialNumber}`;
    case 4:
      return `w${serialNumber} x`;
    case 5:
      return { s: 1, v: String(40_000 + serialNumber) };
    case 6:
      return serialNumber + 0.5;
    default:
      return serialNumber + 1000;
  }
};

const sheet: fc.Arbitrary<GeneratedSheet> = fc
  .record({
    width: fc.integer({ min: 1, max: 6 }),
    titles: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }),
    header: fc.constantFrom('none', 'names', 'names', 'shared', 'groups', 'groups'),
    unnamed: fc.array(fc.nat(5), { maxLength: 2 }),
    /** The kind of most values in each column. */
    kinds: fc.array(fc.nat(8), { minLength: 6, maxLength: 6 }),
    body: fc.array(
      fc.array(fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, fc.nat(8)), { minLength: 6, maxLength: 6 }),
      {
        maxLength: 9,
      },
    ),
    gaps: fc.array(fc.nat(9), { maxLength: 2 }),
    areas: fc.array(fc.tuple(fc.nat(9), fc.nat(5), fc.nat(3), fc.nat(2)), { maxLength: 5 }),
    notes: fc.array(fc.boolean(), { maxLength: 2 }),
    left: fc.nat(2),
  })
  .map(({ width, titles, header, unnamed, kinds, body, gaps, areas, notes, left }) => {
    let serialNumber = 0;
    const rows: Cell[][] = [];
    const merges: MergedArea[] = [];
    const addLine = (cells: Cell[]) => rows.push([...Array<Cell>(left).fill(null), ...cells]);
    const addMerge = (top: number, bottom: number, from: number, to: number) => {
      const area = { top, bottom, left: left + from, right: left + to };
      const isOverlapping = merges.some(
        (otherArea) =>
          area.top <= otherArea.bottom &&
          otherArea.top <= area.bottom &&
          area.left <= otherArea.right &&
          otherArea.left <= area.right,
      );
      if (isOverlapping || (top === bottom && from === to)) return;
      merges.push(area);
    };
    for (const count of titles) {
      addLine(Array.from({ length: Math.min(count, width) }, () => `Título ${++serialNumber}`));
      if (count === 1) addMerge(rows.length - 1, rows.length - 1, 0, width - 1);
    }
    const names = Array.from({ length: width }, (_, n) => (unnamed.includes(n) ? null : `n${++serialNumber}`));
    if (header === 'groups' && width > 2) {
      const group = Array.from(
        { length: width },
        (_, n): Cell => (n === 0 ? (names[0] ?? null) : n === 1 ? `g${++serialNumber}` : null),
      );
      addMerge(rows.length, rows.length + 1, 0, 0);
      addMerge(rows.length, rows.length, 1, width - 1);
      addLine(group);
      addLine([null, ...names.slice(1)]);
    } else if (header === 'shared' && width > 2) {
      addMerge(rows.length, rows.length, 1, 2);
      addLine(names.with(2, null));
    } else if (header !== 'none') addLine(names);
    const start = rows.length;
    for (const [index, cells] of body.entries()) {
      if (gaps.includes(index)) addLine([]);
      addLine(cells.slice(0, width).map((kind, column) => makeCell(kind ?? (kinds[column] as number), ++serialNumber)));
    }
    for (const [row, column, down, across] of areas) {
      const top = start + row;
      if (top + down < rows.length && column + across < width) addMerge(top, top + down, column, column + across);
    }
    for (const isApart of notes) {
      if (isApart) addLine([]);
      addLine([`Fonte ${++serialNumber} x`]);
    }
    // What a merged cell covers holds nothing.
    for (const { top, bottom, left: from, right } of merges)
      for (let row = top; row <= bottom; row++)
        for (let column = from; column <= right; column++) {
          const cells = rows[row];
          if (cells && (row > top || column > from) && column < cells.length) cells[column] = null;
        }
    return { rows, merges, bodyStart: start };
  });

const formatCell = (cell: Cell | undefined): string => {
  if (cell === null || cell === undefined) return '';
  if (typeof cell !== 'object') return String(cell);
  return new Date(Date.UTC(1899, 11, 30) + Number(cell.v) * 86_400_000).toISOString().slice(0, 10);
};

/** Returns the values of all rows as they are loaded, each value as its text. */
function readLoadedRows(inference: Inference, text: string): (string | null)[][] {
  const [file] = inference.files as [Inference['files'][number]];
  const types = Object.fromEntries(inference.schema.columns.map(({ name }) => [name, 'text' as const]));
  const plan = planLoad({ ...file, plain: false }, loadColumns(inference, types));
  return parseCopyText(copyData(plan, new TextEncoder().encode(text)).text);
}

/** Expects that every filled cell of the sheet's body is loaded in its place, reported as skipped, or part of the header. */
function expectAllKept({ rows, merges, bodyStart }: GeneratedSheet, inference: Inference, text: string): void {
  const { columns, dialect } = inference.schema;
  const first = Math.min(...rows.map((row) => row.findIndex((cell) => cell !== null)).filter((column) => column >= 0));
  const start = (inference.files[0]?.start.line ?? 0) - 1;
  const skippedLines = new Map(dialect.skipped.map((line) => [line.line - 1, line.text]));
  const findCategory = (row: number, column: number) => {
    const area = merges.find(
      (otherArea) => otherArea.left === column && otherArea.top < row && row <= otherArea.bottom,
    );
    const cell = area && rows[area.top]?.[column];
    return typeof cell === 'string' ? cell : '';
  };
  const expected: string[][] = [];
  for (const [index, row] of rows.entries()) {
    const cells = columns.map((_, column) => formatCell(row[first + column]));
    if (cells.every((cell) => cell === '')) continue;
    const skippedText = skippedLines.get(index);
    if (skippedText !== undefined) for (const cell of cells) expect(skippedText).toContain(cell);
    else if (index >= start) expected.push(cells.map((cell, column) => cell || findCategory(index, first + column)));
    // Of the body, nothing but the one row that is taken for names, perhaps below groups, may stand above the rows.
    else if (index >= bodyStart) {
      for (const [column, cell] of cells.entries())
        if (cell !== '') expect(` ${columns[column]?.display_name}`.endsWith(` ${cell}`)).toBe(true);
    }
  }
  expect(readLoadedRows(inference, text).map((row) => row.map((value) => value ?? ''))).toEqual(expected);
}

it('a sheet of a workbook, however its cells are merged has every filled cell below the header loaded in its place or reported as skipped, or is refused', async () => {
  let failedCount = 0;
  let joinedCount = 0;
  const runCount = 150;
  await fc.assert(
    fc.asyncProperty(fc.array(sheet, { minLength: 1, maxLength: 3 }), fc.boolean(), async (sheets, isSplit) => {
      const parts = sheets.map(
        ({ rows, merges }, n): SheetParts => ({ name: `P${n}`, rows, merges: merges.map(formatReference) }),
      );
      let convertedSheet: Awaited<ReturnType<typeof convertWorkbook>>;
      let inference: Inference;
      try {
        convertedSheet = await convertWorkbook(
          makeWorkbook({ sheets: parts, formats: [14] }),
          isSplit ? 64 : undefined,
        );
        inference = inferSheet(convertedSheet);
      } catch (error) {
        expect(error instanceof JobProblem || error instanceof InferenceError).toBe(true);
        failedCount++;
        return;
      }
      if (convertedSheet.sheet.header !== null) joinedCount++;
      const readSheet = sheets[Number(inference.schema.dialect.sheet?.slice(1))] as GeneratedSheet;
      expectAllKept(readSheet, inference, convertedSheet.text);
    }),
    { numRuns: runCount },
  );
  // Most are loaded, and many have joined headers: the property is not kept by refusing.
  expect(failedCount).toBeLessThan(runCount / 3);
  expect(joinedCount).toBeGreaterThan(runCount / 20);
}, 240_000);
