import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InferenceError, planLoad } from '../../../src/modules/uploads/inference/index.ts';
import { parseCopyText } from '../../formats/copy/parsing.ts';
import { parseCopyCsv } from './copying.ts';
import { copyData, encodeFile, inferBytes, loadColumns } from './reading.ts';

/** A line of a generated file: its cells; none for a blank line. */
type Line = string[];

interface GeneratedFile {
  lines: Line[];
  delimiter: string;
  lineEnd: string;
  quotes: 'needed' | 'all';
  encoding: 'utf-8' | 'utf-16le' | 'windows-1252';
}

const word = fc.constantFrom(
  ...['Ana', 'Bia Lima', 'Rio', 'São Paulo', 'x', 'nome', 'valor', 'n/d', '-', '#1', 's', 'sim', 'Fonte: IBGE', 'a\\b'],
  ...['+5511999998888', '32E4', '007', "it's", 'Norte', 'Sul', '\u0081', '\u0001'],
);
const number = fc.constantFrom('1', '20', '2019', '2020', '-3', '1.5', '7.25', '2024-01-31', '1234567', '0');
const special = fc.constantFrom('Silva, Ana', 'a;b', '12,50', 'diz "oi"', 'a|b', '1.234,5', 'x, y; z');
const empty = fc.constant('');
const cell = fc.oneof(
  { weight: 6, arbitrary: word },
  { weight: 6, arbitrary: number },
  { weight: 1, arbitrary: special },
  { weight: 2, arbitrary: empty },
);

const generateLine = (width: number, of: fc.Arbitrary<string>) => fc.array(of, { minLength: width, maxLength: width });
const titles = (width: number) =>
  fc.array(
    fc.oneof(
      fc.constantFrom<Line[]>(['Relatório'], ['Vendas de 2024'], [], ['# gerado'], ['# a', 'b', 'c']),
      fc.tuple(word, fc.integer({ min: 1, max: width })).map(([text, size]) => [text, ...Array(size - 1).fill('')]),
      generateLine(Math.max(1, width - 1), cell),
    ),
    { maxLength: 4 },
  );
const gap = fc.constantFrom<Line>([], [''], ['', '']);
const body = (width: number) =>
  fc.array(
    fc.oneof(
      { weight: 12, arbitrary: generateLine(width, cell) },
      { weight: 1, arbitrary: gap },
      { weight: 1, arbitrary: generateLine(1, cell) },
      { weight: 1, arbitrary: generateLine(Math.max(1, width - 1), cell) },
      { weight: 2, arbitrary: word.map((text) => [text, ...Array(width - 1).fill('')]) },
    ),
    { minLength: 0, maxLength: 12 },
  );
const wideLine = (width: number) => fc.integer({ min: 1, max: 3 }).chain((more) => generateLine(width + more, cell));
/** Some lines have too many fields. */
const tooWide = (width: number) =>
  fc
    .tuple(body(width), fc.array(fc.tuple(wideLine(width), fc.nat()), { minLength: 1, maxLength: 4 }))
    .map(([lines, wide]) => wide.reduce((all, [line, at]) => all.toSpliced(at % (all.length + 1), 0, line), lines));
const typed = (width: number) =>
  fc
    .tuple(generateLine(width, fc.oneof({ weight: 5, arbitrary: word }, empty)), fc.integer({ min: 1, max: 8 }))
    .chain(([header, rows]) =>
      fc
        .array(
          fc
            .tuple(fc.oneof(word, fc.constant('duas\nlinhas')), generateLine(width - 1, fc.oneof(number, empty)))
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
        titles(width),
        fc.oneof(body(width), typed(width), tooWide(width)),
        fc.array(
          fc.oneof(
            gap,
            titles(width).map((all) => all[0] ?? []),
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
  const write = (value: string) =>
    quotes === 'all' || [delimiter, '"', '\n'].some((sign) => value.includes(sign)) || value.startsWith("'")
      ? `"${value.replaceAll('"', '""')}"`
      : value;
  return lines.map((cells) => cells.map(write).join(delimiter) + lineEnd).join('');
}

function encodeText(text: string, encoding: GeneratedFile['encoding']): Uint8Array {
  if (encoding === 'utf-8') return encodeFile(text);
  if (encoding === 'windows-1252') return Uint8Array.from(text, (sign) => sign.charCodeAt(0));
  return Uint8Array.from([...`\ufeff${text}`].flatMap((sign) => [sign.charCodeAt(0) & 255, sign.charCodeAt(0) >> 8]));
}

/** What the file became: header, rows by both ways of loading, and the lines that were skipped. */
function loadFile(bytes: Uint8Array, block: number) {
  const inference = inferBytes(bytes, block);
  const [file] = inference.files as [(typeof inference.files)[number]];
  const texts = Object.fromEntries(inference.schema.columns.map(({ name }) => [name, 'text' as const]));
  const columns = loadColumns(inference, texts);
  const converted = copyData(planLoad({ ...file, plain: false }, columns), bytes, block);
  const plan = planLoad(file, columns);
  const straight = plan.mode === 'raw' ? readCopiedRows(plan, bytes, block) : null;
  return { schema: inference.schema, rows: parseCopyText(converted.text), straight, count: file.rows };
}

/** What COPY reads of a file that goes to it unchanged. */
function readCopiedRows(plan: ReturnType<typeof planLoad>, bytes: Uint8Array, block: number): (string | null)[][] {
  const isUtf8 = plan.copyOptions.includes('UTF8');
  const decode = (piece: Uint8Array) =>
    isUtf8 ? new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(piece) : String.fromCharCode(...piece);
  const data = isUtf8 ? copyData(plan, bytes, block).text : decode(bytes.subarray(plan.start.offset, plan.end));
  return parseCopyCsv(data, plan.copyOptions);
}

/** Line numbers of the records of a generated file. */
function numberRecords({ lines }: GeneratedFile): { line: number; cells: Line }[] {
  let line = 1;
  return lines.map((cells) => {
    const record = { line, cells };
    line += 1 + cells.join('').split('\n').length - 1;
    return record;
  });
}

const isFilled = (text: string | null | undefined): text is string =>
  text !== null && text !== undefined && text.trim() !== '';

/** The filled cells of a row with their places. */
const filterFilled = (cells: readonly (string | null)[]) =>
  cells.flatMap((text, index) => (isFilled(text) ? [`${index}: ${text}`] : []));

/**
 * Every record is, in this order: skipped, the header, a row. The rows are those of the file, cell by cell; in an R
 * table the header's cells stand one column further to the right.
 */
function expectNothingLost(file: GeneratedFile, { schema, rows, straight, count }: ReturnType<typeof loadFile>): void {
  const { dialect } = schema;
  const skipped = new Set(dialect.skipped.map(({ line }) => line));
  const left = numberRecords(file).filter(({ line, cells }) => cells.some(isFilled) && !skipped.has(line));
  const header = dialect.header ? left.shift() : undefined;
  if (header) {
    const names = schema.columns.map(({ name, display_name }) => (name === display_name ? '' : display_name));
    for (const name of header.cells.map((text) => text.trim()).filter((text) => text !== '')) {
      expect(schema.columns.map(({ display_name }) => display_name)).toContain(name);
    }
    expect(names.length).toBeGreaterThan(0);
  }
  expect(rows.map(filterFilled)).toEqual(left.map(({ cells }) => filterFilled(cells)));
  expect(rows).toHaveLength(count);
  if (straight !== null) expect(straight.map(filterFilled)).toEqual(rows.map(filterFilled));
}

/** A value over two lines stays one, whatever parts the columns. */
function expectNoneCutInTwo(rows: (string | null)[][]): void {
  for (const text of rows.flat()) {
    if (text?.includes('linhas')) expect(text).toContain('duas\nlinhas');
  }
}

/** Whether a file is read with its own delimiter: otherwise signs of another stand in its values. */
const isReadAsWritten = (file: GeneratedFile, delimiter: string, width: number): boolean =>
  delimiter === file.delimiter || (width === 1 && file.lines.every((cells) => cells.length < 2));

describe('an uploaded text file', () => {
  it('loses no value: each is loaded in its place, or stands in a line that is reported as skipped', () => {
    let read = 0;
    fc.assert(
      fc.property(files, fc.integer({ min: 8, max: 4000 }), (file, block) => {
        const bytes = encodeText(writeText(file), file.encoding);
        let result: ReturnType<typeof loadFile>;
        try {
          result = loadFile(bytes, block);
        } catch (error) {
          if (error instanceof InferenceError) return;
          throw error;
        }
        expectNoneCutInTwo(result.rows);
        if (!isReadAsWritten(file, result.schema.dialect.delimiter ?? ',', result.schema.columns.length)) return;
        read++;
        expectNothingLost(file, result);
      }),
      { numRuns: 3000 },
    );
    expect(read).toBeGreaterThan(1500);
  });
});
