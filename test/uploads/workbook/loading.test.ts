import fc from 'fast-check';
import { expect, it } from 'vitest';
import { planLoad } from '../../../src/modules/uploads/inference/index.ts';
import { parseCopyText } from '../../formats/copy/parsing.ts';
import { copyData, loadColumns } from '../inference/reading.ts';
import { aSheet, type Cell } from '../workbooks.ts';
import { convert, inferSheet } from './converting.ts';

/** The values of a sheet's only data column as they are loaded, as what was proposed or as another type. */
async function loaded(cells: Cell[], type?: 'decimal' | 'text') {
  const converted = await convert(
    aSheet([['n', 'valor'], ...cells.map((cell, n): Cell[] => [n, cell])], { formats: [14, 22] }),
  );
  const inference = inferSheet(converted);
  const [file] = inference.files as [(typeof inference.files)[number]];
  const types: Record<string, 'decimal' | 'text'> = type ? { valor: type } : {};
  const { text: rows } = copyData(
    planLoad(file, loadColumns(inference, types)),
    new TextEncoder().encode(converted.text),
  );
  const [, column] = inference.schema.columns;
  const separator = rows.includes('\t') ? parseCopyText(rows).map(([, value]) => value) : null;
  return { type: column?.type, format: column?.evidence.format, values: separator };
}

it('a number cell of a workbook is read with a decimal point, even if text cells beside it use a comma', async () => {
  const cells = [{ t: 'str', v: '1.234,56' }, 1.234, 1000, { t: 'str', v: '2.000' }];
  expect(await loaded(cells, 'decimal')).toMatchObject({ values: ['1234.56', '1.234', '1000', '2000'] });
});

const day = fc.integer({ min: 1, max: 2_958_465 });
const KINDS = {
  number: fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e12, max: 1e12 }),
  whole: fc.integer(),
  boolean: fc.boolean(),
  date: day.map((v) => ({ s: 1, v: String(v) })),
  moment: fc.tuple(day, fc.double({ min: 0, max: 1, noNaN: true })).map(([v, part]) => ({ s: 2, v: String(v + part) })),
  iso: fc.constantFrom('2024-01-31', '2024-01-31T10:20:30', '2024-01-31T00:00:00Z').map((v) => ({ t: 'd', v })),
  error: fc.constant({ t: 'e', v: '#N/A' }),
  formula: fc.integer().map((n) => ({ t: 'str', xml: `<f>A1</f><v>${n}</v>` })),
  rich: fc.constantFrom('1,5', '1.234,5', '12/31/2024', '31/12/2024', 'sim', ' ', 'x').map((text) => ({
    t: 'inlineStr',
    xml: `<is><r><t>${text.slice(0, 2)}</t></r><r><rPr/><t xml:space="preserve">${text.slice(2)}</t></r></is>`,
  })),
} satisfies Record<string, fc.Arbitrary<Cell>>;

it('a sheet can be loaded with the types that the analysis proposes, whichever row decides them', async () => {
  const kinds = Object.values(KINDS) as fc.Arbitrary<Cell>[];
  const mostly = fc.constantFrom(...kinds).chain((kind) => fc.array(kind, { minLength: 1, maxLength: 20 }));
  // Few are longer than what is looked at first: those take long.
  const isLong = fc.nat(5).map((n) => n === 0);
  const sheet = fc.tuple(mostly, mostly, fc.nat(20), isLong);
  await fc.assert(
    fc.asyncProperty(sheet, async ([usual, deciding, at, isLong]) => {
      const before = isLong ? Array.from({ length: 1100 }, (_, n) => usual[n % usual.length] as Cell) : usual;
      const cells = before.toSpliced(Math.max(0, before.length - at), 0, deciding[0] as Cell);
      const { values } = await loaded(cells);
      expect(values?.length ?? cells.length).toBe(cells.length);
    }),
    { numRuns: 60 },
  );
});
