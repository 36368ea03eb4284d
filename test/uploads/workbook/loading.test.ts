import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type InferredColumn, planLoad } from '../../../src/modules/uploads/inference/index.ts';
import { parseCopyText } from '../../formats/copy/parsing.ts';
import { copyData, loadColumns } from '../inference/reading.ts';
import { type Cell, makeSheetWorkbook } from '../workbooks.ts';
import { convertWorkbook, inferSheet } from './converting.ts';

/** Analyses a sheet whose only data column, `valor`, has these cells. */
async function analyseCells(cells: Cell[]) {
  const sheet = makeSheetWorkbook([['n', 'valor'], ...cells.map((cell, n): Cell[] => [n, cell])], {
    formats: [14, 22],
  });
  const convertedSheet = await convertWorkbook(sheet);
  const inference = inferSheet(convertedSheet);
  const [file] = inference.files as [(typeof inference.files)[number]];
  const { type, evidence } = inference.schema.columns[1] as InferredColumn;
  /** Returns the values of the column as they are sent to Postgres; each is converted if `isConverted`. */
  const loadValues = (types: Record<string, 'decimal' | 'text'> = {}, isConverted = false) => {
    const plan = planLoad(isConverted ? { ...file, plain: false } : file, loadColumns(inference, types));
    const { text } = copyData(plan, new TextEncoder().encode(convertedSheet.text));
    return plan.mode === 'raw' ? listSecondFields(text) : parseCopyText(text).map(([, value = null]) => value);
  };
  return { type, nulls: evidence.nulls, loaded: loadValues };
}

/** Lists the second field of each CSV line that has two. */
const listSecondFields = (csv: string): (string | null)[] =>
  csv
    .split('\n')
    .slice(0, -1)
    .map((line) => line.slice(line.indexOf(',') + 1).replace(/^"(.*)"$/, '$1'))
    .map((text) => (text === '' ? null : text.replaceAll('""', '"')));

it('a number cell of a workbook is read with a decimal point, even if text cells beside it use a comma', async () => {
  const cells = [{ t: 'str', v: '1.234,56' }, 1.234, 1000, { t: 'str', v: '2.000' }];
  const { loaded } = await analyseCells(cells);
  expect(loaded({ valor: 'decimal' })).toEqual(['1234.56', '1.234', '1000', '2000']);
});

const arbitraryDay = fc.integer({ min: 1, max: 2_958_465 });
const CELL_KINDS = {
  number: fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e12, max: 1e12 }),
  whole: fc.integer(),
  boolean: fc.boolean(),
  date: arbitraryDay.map((v) => ({ s: 1, v: String(v) })),
  moment: fc
    .tuple(arbitraryDay, fc.double({ min: 0, max: 1, noNaN: true }))
    .map(([v, part]) => ({ s: 2, v: String(v + part) })),
  iso: fc.constantFrom('2024-01-31', '2024-01-31T10:20:30', '2024-01-31T00:00:00Z').map((v) => ({ t: 'd', v })),
  error: fc.constant({ t: 'e', v: '#N/A' }),
  formula: fc.integer().map((n) => ({ t: 'str', xml: `<f>A1</f><v>${n}</v>` })),
  rich: fc.constantFrom('1,5', '1.234,5', '12/31/2024', '31/12/2024', 'sim', ' ', 'x').map((text) => ({
    t: 'inlineStr',
    xml: `<is><r><t>${text.slice(0, 2)}</t></r><r><rPr/><t xml:space="preserve">${text.slice(2)}</t></r></is>`,
  })),
} satisfies Record<string, fc.Arbitrary<Cell>>;

/** Matches the texts that Postgres reads as a value of each type, whatever its settings. */
const TYPE_PATTERNS: Record<InferredColumn['type'], RegExp> = {
  text: /^/,
  integer: /^-?\d+$/,
  decimal: /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i,
  boolean: /^(true|false)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  datetime: /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z?)?$/,
};

it('a sheet can be loaded with the types that the analysis proposes, whichever row decides them', async () => {
  const cellKinds = Object.values(CELL_KINDS) as fc.Arbitrary<Cell>[];
  const mostCells = fc.constantFrom(...cellKinds).chain((kind) => fc.array(kind, { minLength: 1, maxLength: 20 }));
  // Few are longer than what is looked at first: those take long.
  const isLong = fc.nat(5).map((n) => n === 0);
  const sheet = fc.tuple(mostCells, mostCells, fc.nat(20), isLong);
  await fc.assert(
    fc.asyncProperty(sheet, async ([usual, deciding, at, isLong]) => {
      const leadingCells = isLong ? Array.from({ length: 1100 }, (_, n) => usual[n % usual.length] as Cell) : usual;
      const cells = leadingCells.toSpliced(Math.max(0, leadingCells.length - at), 0, deciding[0] as Cell);
      const { type, nulls, loaded } = await analyseCells(cells);
      const values = loaded();
      expect(values).toHaveLength(cells.length);
      expect(values.filter((value) => value === null)).toHaveLength(nulls);
      expect(values.filter((value) => value !== null && !TYPE_PATTERNS[type].test(value))).toEqual([]);
      expect(loaded({}, true)).toEqual(values);
    }),
    { numRuns: 60 },
  );
});
