import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InferenceError, planLoad } from '../../../src/modules/uploads/inference/index.ts';
import { parseCopyText } from '../../formats/copy/parsing.ts';
import { parseCopyCsv } from './copying.ts';
import { copyData, encodeFile, inferBytes, loadColumns } from './reading.ts';

/** A line of a generated file: its cells; no cells for a blank line. */
type LineCells = string[];

interface GeneratedFile {
  lines: LineCells[];
  delimiter: string;
  lineEnd: string;
  quotes: 'needed' | 'all';
  encoding: 'utf-8' | 'utf-16le' | 'windows-1252';
}

const arbitraryWord = fc.constantFrom(
  ...['Ana', 'Bia Lima', 'Rio', 'São Paulo', 'x', 'nome', 'valor', 'n/d', '-', '#1', 's', 'sim', 'Fonte: IBGE', 'a\\b'],
  ...['+5511999998888', '32E4', '007', "it's", 'Norte', 'Sul', '\u0081', '\u0001'],
);
const arbitraryNumber = fc.constantFrom('1', '20', '2019', '2020', '-3', '1.5', '7.25', '2024-01-31', '1234567', '0');
const arbitrarySpecialValue = fc.constantFrom('Silva, Ana', 'a;b', '12,50', 'diz "oi"', 'a|b', '1.234,5', 'x, y; z');
const emptyCell = fc.constant('');
const cell = fc.oneof(
  { weight: 6, arbitrary: arbitraryWord },
  { weight: 6, arbitrary: arbitraryNumber },
  { weight: 1, arbitrary: arbitrarySpecialValue },
  { weight: 2, arbitrary: emptyCell },
);

const generateLine = (width: number, of: fc.Arbitrary<string>) => fc.array(of, { minLength: width, maxLength: width });
const generateTitles = (width: number) =>
  fc.array(
    fc.oneof(
      fc.constantFrom<LineCells[]>(['Relatório'], ['Vendas de 2024'], [], ['# gerado'], ['# a', 'b', 'c']),
      fc
        .tuple(arbitraryWord, fc.integer({ min: 1, max: width }))
        .map(([text, size]) => [text, ...Array(size - 1).fill('')]),
      generateLine(Math.max(1, width - 1), cell),
    ),
    { maxLength: 4 },
  );
const arbitraryGap = fc.constantFrom<LineCells>([], [''], ['', '']);
const generateBody = (width: number) =>
  fc.array(
    fc.oneof(
      { weight: 12, arbitrary: generateLine(width, cell) },
      { weight: 1, arbitrary: arbitraryGap },
      { weight: 1, arbitrary: generateLine(1, cell) },
      { weight: 1, arbitrary: generateLine(Math.max(1, width - 1), cell) },
      { weight: 2, arbitrary: arbitraryWord.map((text) => [text, ...Array(width - 1).fill('')]) },
    ),
    { minLength: 0, maxLength: 12 },
  );
const generateWideLine = (width: number) =>
  fc.integer({ min: 1, max: 3 }).chain((extraFields) => generateLine(width + extraFields, cell));
/** Generates lines of which some have too many fields. */
const generateTooWideLines = (width: number) =>
  fc
    .tuple(generateBody(width), fc.array(fc.tuple(generateWideLine(width), fc.nat()), { minLength: 1, maxLength: 4 }))
    .map(([lines, wide]) =>
      wide.reduce((allLines, [line, at]) => allLines.toSpliced(at % (allLines.length + 1), 0, line), lines),
    );
const generateTypedLines = (width: number) =>
  fc
    .tuple(
      generateLine(width, fc.oneof({ weight: 5, arbitrary: arbitraryWord }, emptyCell)),
      fc.integer({ min: 1, max: 8 }),
    )
    .chain(([header, rows]) =>
      fc
        .array(
          fc
            .tuple(
              fc.oneof(arbitraryWord, fc.constant('duas\nlinhas')),
              generateLine(width - 1, fc.oneof(arbitraryNumber, emptyCell)),
            )
            .map(([key, rest]) => [key, ...rest]),
          {
            minLength: rows,
            maxLength: rows,
          },
        )
        .map((lines) => [header, ...lines]),
    );

const files = fc.integer({ min: 1, max: 5 }).chain((width) =>
  fc.record<GeneratedFile>({
    lines: fc
      .tuple(
        generateTitles(width),
        fc.oneof(generateBody(width), generateTypedLines(width), generateTooWideLines(width)),
        fc.array(
          fc.oneof(
            arbitraryGap,
            generateTitles(width).map((allTitles) => allTitles[0] ?? []),
          ),
          { maxLength: 3 },
        ),
      )
      .map((parts) => parts.flat()),
    delimiter: fc.constantFrom(',', ';', '\t', '|'),
    lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
    quotes: fc.constantFrom('needed', 'needed', 'all'),
    encoding: fc.constantFrom('utf-8', 'utf-8', 'utf-16le', 'windows-1252'),
  }),
);

function writeText({ lines, delimiter, lineEnd, quotes }: GeneratedFile): string {
  const writeValue = (value: string) =>
    quotes === 'all' || [delimiter, '"', '\n'].some((character) => value.includes(character)) || value.startsWith("'")
      ? `"${value.replaceAll('"', '""')}"`
      : value;
  return lines.map((cells) => cells.map(writeValue).join(delimiter) + lineEnd).join('');
}

function encodeText(text: string, encoding: GeneratedFile['encoding']): Uint8Array {
  if (encoding === 'utf-8') return encodeFile(text);
  if (encoding === 'windows-1252') return Uint8Array.from(text, (character) => character.charCodeAt(0));
  return Uint8Array.from(
    [...`\ufeff${text}`].flatMap((character) => [character.charCodeAt(0) & 255, character.charCodeAt(0) >> 8]),
  );
}

/** Loads a file as text. @returns its header, its rows by both ways of loading, and the skipped lines */
function loadFile(bytes: Uint8Array, blockSize: number) {
  const inference = inferBytes(bytes, blockSize);
  const [file] = inference.files as [(typeof inference.files)[number]];
  const texts = Object.fromEntries(inference.schema.columns.map(({ name }) => [name, 'text' as const]));
  const columns = loadColumns(inference, texts);
  const convertedCopy = copyData(planLoad({ ...file, plain: false }, columns), bytes, blockSize);
  const plan = planLoad(file, columns);
  const copiedRows = plan.mode === 'raw' ? readCopiedRows(plan, bytes, blockSize) : null;
  return { schema: inference.schema, rows: parseCopyText(convertedCopy.text), straight: copiedRows, count: file.rows };
}

/** Returns the rows that COPY reads of a file that is sent to it unchanged. */
function readCopiedRows(plan: ReturnType<typeof planLoad>, bytes: Uint8Array, blockSize: number): (string | null)[][] {
  const isUtf8 = plan.copyOptions.includes('UTF8');
  const decodePiece = (piece: Uint8Array) =>
    isUtf8 ? new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(piece) : String.fromCharCode(...piece);
  const data = isUtf8
    ? copyData(plan, bytes, blockSize).text
    : decodePiece(bytes.subarray(plan.start.offset, plan.end));
  return parseCopyCsv(data, plan.copyOptions);
}

/** Returns the records of a generated file with their line numbers. */
function numberRecords({ lines }: GeneratedFile): { line: number; cells: LineCells }[] {
  let line = 1;
  return lines.map((cells) => {
    const record = { line, cells };
    line += 1 + cells.join('').split('\n').length - 1;
    return record;
  });
}

const isFilled = (text: string | null | undefined): text is string =>
  text !== null && text !== undefined && text.trim() !== '';

/** Returns the filled cells of a row with their positions. */
const listFilledCells = (cells: readonly (string | null)[]) =>
  cells.flatMap((text, index) => (isFilled(text) ? [`${index}: ${text}`] : []));

/**
 * Expects that every record is, in this order, skipped, the header, or a row. The rows are those of the file, cell by cell; in a
 * table written by R the header's cells stand one column further to the right.
 */
function expectNothingLost(file: GeneratedFile, { schema, rows, straight, count }: ReturnType<typeof loadFile>): void {
  const { dialect } = schema;
  const skippedLines = new Set(dialect.skipped.map(({ line }) => line));
  const remainingLines = numberRecords(file).filter(
    ({ line, cells }) => cells.some(isFilled) && !skippedLines.has(line),
  );
  const header = dialect.header ? remainingLines.shift() : undefined;
  if (header) {
    const names = schema.columns.map(({ name, display_name }) => (name === display_name ? '' : display_name));
    for (const name of header.cells.map((text) => text.trim()).filter((text) => text !== '')) {
      expect(schema.columns.map(({ display_name }) => display_name)).toContain(name);
    }
    expect(names.length).toBeGreaterThan(0);
  }
  expect(rows.map(listFilledCells)).toEqual(remainingLines.map(({ cells }) => listFilledCells(cells)));
  expect(rows).toHaveLength(count);
  if (straight !== null) expect(straight.map(listFilledCells)).toEqual(rows.map(listFilledCells));
}

/** Expects that a value over two lines stays one value, whatever separates the columns. */
function expectNoValueSplit(rows: (string | null)[][]): void {
  for (const text of rows.flat()) {
    if (text?.includes('linhas')) expect(text).toContain('duas\nlinhas');
  }
}

/**
 * Returns whether a file was read with the delimiter that it was written with, or has only one column. Another delimiter may be
 * chosen where it occurs in the values.
 */
const isReadAsWritten = (file: GeneratedFile, delimiter: string, width: number): boolean =>
  delimiter === file.delimiter || (width === 1 && file.lines.every((cells) => cells.length < 2));

it('an uploaded text file loses no value: each value is loaded in its place, or is in a line that is reported as skipped', () => {
  let readCount = 0;
  fc.assert(
    fc.property(files, fc.integer({ min: 8, max: 4000 }), (file, blockSize) => {
      const bytes = encodeText(writeText(file), file.encoding);
      let result: ReturnType<typeof loadFile>;
      try {
        result = loadFile(bytes, blockSize);
      } catch (error) {
        if (error instanceof InferenceError) return;
        throw error;
      }
      expectNoValueSplit(result.rows);
      if (!isReadAsWritten(file, result.schema.dialect.delimiter ?? ',', result.schema.columns.length)) return;
      readCount++;
      expectNothingLost(file, result);
    }),
    { numRuns: 3000 },
  );
  expect(readCount).toBeGreaterThan(1500);
});
