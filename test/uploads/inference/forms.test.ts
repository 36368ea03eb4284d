import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ColumnType,
  finishInference,
  type Inference,
  planLoad,
} from '../../../src/modules/uploads/inference/index.ts';
import { parseCopyText } from '../../formats/copy/parsing.ts';
import { copyData, encodeFile, loadColumns, readFile } from './reading.ts';

/** Loads the column `v` of each file with every value converted. @returns the loaded values, and the proposed column */
function loadFiles(texts: string[], type?: ColumnType, blockSize?: number) {
  const bytes = texts.map(encodeFile);
  const inference = finishInference(bytes.map((file, index) => readFile(file, `${index}.csv`, blockSize)));
  const types: Record<string, ColumnType> = type === undefined ? {} : { v: type };
  const values = inference.files.map((file, index) => {
    const formats = file.formats.map((format) => ({ ...format, asIs: false }));
    const plan = planLoad({ ...file, plain: false, formats }, loadColumns(inference, types));
    return parseCopyText(copyData(plan, bytes[index] as Uint8Array, blockSize).text).map((row) => row[1]);
  });
  return { column: inference.schema.columns[1] as Inference['schema']['columns'][number], values, inference };
}

const makeFile = (values: string[], delimiter = ','): string =>
  [`k${delimiter}v`, ...values.map((value, row) => `k${row}x${delimiter}"${value}"`), ''].join('\n');

/** A value that several formats can read, its result by each of them, and values that decide for one format. */
interface AmbiguousValue {
  type: ColumnType;
  openValue: string;
  decidingValues: [value: string, format: string, loaded: string, open: string][];
}

const AMBIGUOUS_VALUES: AmbiguousValue[] = [
  {
    type: 'date',
    openValue: '01/02/2024',
    decidingValues: [
      ['12/31/2024', 'm/d/yyyy', '2024-12-31', '2024-01-02'],
      ['31/12/2024', 'd/m/yyyy', '2024-12-31', '2024-02-01'],
    ],
  },
  {
    type: 'datetime',
    openValue: '01-02-24 10:00',
    decidingValues: [
      ['12-31-24 11:30', 'm-d-yy hh:mm', '2024-12-31 11:30:00', '2024-01-02 10:00:00'],
      ['31-12-24 11:30', 'd-m-yy hh:mm', '2024-12-31 11:30:00', '2024-02-01 10:00:00'],
    ],
  },
  {
    type: 'decimal',
    openValue: '1,234',
    decidingValues: [
      ['1,5', '1234,56', '1.5', '1.234'],
      ['1.234,5', '1.234,56', '1234.5', '1.234'],
      ['1,234.5', '1,234.56', '1234.5', '1234'],
    ],
  },
  {
    type: 'decimal',
    openValue: '1.234',
    decidingValues: [
      ['1.5', '1234.56', '1.5', '1.234'],
      ['1.234.567', '1.234,56', '1234567', '1234'],
      ['1,234.5', '1,234.56', '1234.5', '1.234'],
    ],
  },
];

describe('the notation of dates and numbers that the analysis infers for a column', () => {
  /** Generates sizes of files with ambiguous values, and one position among them for a deciding value. */
  const arbitraryPositions = fc
    .array(fc.integer({ min: 1, max: 2500 }), { minLength: 1, maxLength: 3 })
    .chain((sizes) =>
      fc.record({
        sizes: fc.constant(sizes),
        at: fc
          .integer({ min: 0, max: sizes.length - 1 })
          .chain((fileNumber) =>
            fc.tuple(fc.constant(fileNumber), fc.integer({ min: 0, max: (sizes[fileNumber] as number) - 1 })),
          ),
        choice: fc.constantFrom(...AMBIGUOUS_VALUES),
        which: fc.integer({ min: 0, max: 2 }),
        block: fc.constantFrom(1 << 12, 1 << 16, 1 << 20),
      }),
    );

  test('is used by the load, whichever row, file or block decides the notation', () => {
    fc.assert(
      fc.property(arbitraryPositions, ({ sizes, at: [number, row], choice, which, block }) => {
        const { type, openValue, decidingValues: deciders } = choice;
        const [decider, format, loaded, reading] = deciders[
          which % deciders.length
        ] as AmbiguousValue['decidingValues'][number];
        const isDecider = (index: number, line: number) => index === number && line === row;
        const texts = sizes.map((size, index) =>
          makeFile(Array.from({ length: size }, (_, line) => (isDecider(index, line) ? decider : openValue))),
        );
        const { column, values } = loadFiles(texts, undefined, block);
        expect(column).toMatchObject({ type, evidence: { format: expect.stringContaining(format) } });
        expect(values).toEqual(
          sizes.map((size, index) =>
            Array.from({ length: size }, (_, line) => (isDecider(index, line) ? loaded : reading)),
          ),
        );
      }),
      { numRuns: 60 },
    );
  });

  test.each<[string, string[], ColumnType, string[]]>([
    [
      'dates in two notations',
      ['2024-01-31', '01/02/2024', '12/31/2024'],
      'date',
      ['2024-01-31', '2024-01-02', '2024-12-31'],
    ],
    ['dates with two separators', ['01/02/2024', '12-31-2024'], 'date', ['2024-01-02', '2024-12-31']],
    ['codes and decimals', ['007', '1,234', '1,5'], 'decimal', ['7', '1.234', '1.5']],
  ])(
    'is used by the load also when a text column gets another type and a late row decides the notation: %s',
    (_what, values, type, loadedValues) => {
      const repeatMiddle = <T>(allValues: T[]): T[] => [
        ...allValues.slice(0, -1),
        ...Array(3000).fill(allValues.at(-2)),
        allValues.at(-1) as T,
      ];
      const { column, values: result } = loadFiles([makeFile(repeatMiddle(values))], type);
      expect(column.type).toBe('text');
      expect(result).toEqual([repeatMiddle(loadedValues)]);
    },
  );
});

describe('the notation of dates and numbers in each file', () => {
  test('may differ within one column', () => {
    const { column, values } = loadFiles([
      makeFile(['1.234,56', '7,5']),
      makeFile(['1,234.56', '7.5']),
      makeFile(['31']),
    ]);
    expect(column).toMatchObject({ type: 'decimal', evidence: { format: '1.234,56 | 1,234.56' } });
    expect(values).toEqual([['1234.56', '7.5'], ['1234.56', '7.5'], ['31']]);
    const loadedDates = loadFiles([makeFile(['31/12/2024']), makeFile(['12/31/2024']), makeFile(['2024-12-31'])]);
    expect(loadedDates.column).toMatchObject({
      type: 'date',
      evidence: { format: 'd/m/yyyy | m/d/yyyy | yyyy-mm-dd' },
    });
    expect(loadedDates.values).toEqual([['2024-12-31'], ['2024-12-31'], ['2024-12-31']]);
    expect(loadedDates.inference.schema.sample_rows.map((row) => row.v)).toEqual(Array(3).fill('2024-12-31'));
    const loadedBooleans = loadFiles([makeFile(['sim', 'não']), makeFile(['true', 'false']), makeFile(['s', 'n'])]);
    expect(loadedBooleans.column).toMatchObject({
      type: 'boolean',
      evidence: { format: 'sim/não | true/false | s/n' },
    });
    expect(loadedBooleans.values).toEqual(Array(3).fill(['true', 'false']));
  });

  test.each([
    ['no file decides it', [['01/02/2024'], ['03/04/2024']], [['2024-02-01'], ['2024-04-03']]],
    ['one file decides it', [['01/02/2024'], ['12/31/2024']], [['2024-01-02'], ['2024-12-31']]],
    ['a file with another separator decides it', [['01/02/24'], ['12-31-2024']], [['2024-01-02'], ['2024-12-31']]],
    ['the year first decides nothing', [['01/02/2024'], ['2024-12-31']], [['2024-02-01'], ['2024-12-31']]],
    [
      'two files decide it differently',
      [['01/02/2024'], ['12/31/2024'], ['31/12/2024']],
      [['2024-02-01'], ['2024-12-31'], ['2024-12-31']],
    ],
    ['numbers: no file decides it', [['1.234'], ['1,234']], [['1.234'], ['1234']]],
    ['numbers: one file decides it', [['1.234'], ['1.234,5']], [['1234'], ['1234.5']]],
    ['numbers: two files decide it differently', [['1,234'], ['1,5'], ['1.5']], [['1234'], ['1.5'], ['1.5']]],
  ])(
    'is that of the other files where it is ambiguous and the other files agree, or else the default: %s',
    (_what, files, loadedValues) => {
      expect(loadFiles(files.map((values) => makeFile(values))).values).toEqual(loadedValues);
    },
  );

  test('treats 1,234 alone as a decimal with a comma in a file with semicolons', () => {
    expect(loadFiles([makeFile(['1,234'], ';'), makeFile(['1,234'], ',')]).values).toEqual([['1.234'], ['1234']]);
  });

  test('reads 1,234 alone in a file of one column as a grouped number, because the file has no delimiter', () => {
    const bytes = encodeFile('preco\n1,234\n2,500\n');
    const inference = finishInference([readFile(bytes, 'precos.csv')]);
    const plan = planLoad(inference.files[0] as Inference['files'][number], loadColumns(inference));
    expect(parseCopyText(copyData(plan, bytes).text)).toEqual([['1234'], ['2500']]);
  });

  test('treats single letters as booleans where both letters of a pair occur in any of the files', () => {
    expect(loadFiles([makeFile(['s', 's']), makeFile(['n'])]).column.type).toBe('boolean');
    expect(loadFiles([makeFile(['s', 's']), makeFile(['f'])]).column.type).toBe('text');
    expect(loadFiles([makeFile(['s', 's']), makeFile(['true'])]).column.type).toBe('text');
  });

  test('lets a file be sent to COPY unchanged if COPY can read it', () => {
    const texts = ['k,v,w\nx,1,01/02/2024\n', 'k,v,w\ny,1.5,31/01/2024\n', 'k,v,w\nz,"2,5",12/31/2024\n'];
    const inference = finishInference(texts.map((text, index) => readFile(encodeFile(text), `${index}.csv`)));
    const plans = inference.files.map((file) => planLoad(file, loadColumns(inference)));
    expect(plans.map(({ mode, dateStyle }) => [mode, dateStyle])).toEqual([
      ['raw', 'ISO, DMY'],
      ['raw', 'ISO, DMY'],
      ['convert', 'ISO, MDY'],
    ]);
  });
});

test('inferred columns are nullable, whether or not the files have empty values', () => {
  const { schema, found } = finishInference([readFile(encodeFile('k,v\nx,1\ny,\n'))]);
  expect(schema.columns.map(({ nullable, evidence }) => [nullable, evidence.nulls])).toEqual([
    [true, 0],
    [true, 1],
  ]);
  expect(found.map(({ nullable }) => nullable)).toEqual([false, true]);
});
