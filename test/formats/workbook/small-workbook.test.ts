import { expect, it } from 'vitest';
import { readSmallWorkbook } from '../../../src/formats/workbook/small-workbook.ts';
import { createZipSource } from '../../../src/formats/zip/unpack.ts';
import { makeWorkbook, type SheetParts } from '../../uploads/workbooks.ts';

function readSheets(limit: number, ...sheets: SheetParts[]) {
  const bytes = makeWorkbook({ sheets });
  return readSmallWorkbook(createZipSource(bytes), bytes.length, limit);
}

it('a small workbook is read as lines of fields between tabs, without the quotes of its texts', async () => {
  const rows = [['Ana, "a" e "b"', null, 1.5], [], [null, '"', true], ['dois\nem um', '""']];
  expect(await readSheets(10_000, { name: 'A', rows }, { name: 'B', rows: [] })).toEqual([
    { name: 'A', text: 'Ana, "a" e "b"\t\t1.5\n\n\t"\ttrue\ndois\nem um\t""\n' },
    { name: 'B', text: '' },
  ]);
});

it('a value in the last column of a small workbook does not widen the rows below it', async () => {
  const rows = { 1: { XFD: 1 }, ...Object.fromEntries(Array.from({ length: 500 }, (_, n) => [n + 2, { A: n }])) };
  const [sheet] = await readSheets(100_000, { name: 'A', rows });
  expect(sheet?.text).toBe(`${'\t'.repeat(16_383)}1\n${Array.from({ length: 500 }, (_, n) => `${n}\n`).join('')}`);
});
