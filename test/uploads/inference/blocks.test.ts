import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finishInference } from '../../../src/modules/uploads/inference/index.ts';
import { encodeFile, inferBytes, readFile, readRefusal, readRows } from './reading.ts';

/** Generates dialects in which a table is written. */
const arbitraryDialect = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  quote: fc.constantFrom('"', "'"),
  escaping: fc.constantFrom('doubled', 'backslash'),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  always: fc.boolean(),
});

type WrittenDialect = typeof arbitraryDialect extends fc.Arbitrary<infer T> ? T : never;

function writeField(value: string, { delimiter, quote, escaping, always }: WrittenDialect): string {
  const hasSpecialCharacters = [delimiter, quote, '\n', '\r', '\\', '"', "'"].some((character) =>
    value.includes(character),
  );
  if (!hasSpecialCharacters && !always) return value;
  const escapedValue =
    escaping === 'doubled'
      ? value.replaceAll(quote, quote + quote)
      : value.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`);
  return quote + escapedValue + quote;
}

const writeCsv = (rows: string[][], dialect: WrittenDialect): string =>
  rows.map((row) => row.map((value) => writeField(value, dialect)).join(dialect.delimiter) + dialect.lineEnd).join('');

const arbitraryWord = fc.stringMatching(/^[a-zA-Zç]{1,8}$/);
const cell = fc.oneof(
  arbitraryWord,
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc
    .date({ min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  fc
    .tuple(arbitraryWord, fc.constantFrom(',', ';', '|', '\t', '"', "'", '\n', '\r\n', ' ', 'é', '😀'), arbitraryWord)
    .map((parts) => parts.join('')),
);

/** Generates tables with a key, so that no row can be a note, and with a header of distinct words above a number. */
const tables = fc
  .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 3, max: 12 }))
  .chain(([columns, rows]) =>
    fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), { minLength: rows, maxLength: rows }),
  )
  .map((rows) => rows.map((row, index) => [String(index), ...row]));

const makeHeader = (columnCount: number): string[] => ['chave', 'alfa', 'beta', 'gama', 'delta'].slice(0, columnCount);

describe('a CSV file that is read in blocks', () => {
  test('is read with the values that were written, in any dialect', () => {
    fc.assert(
      fc.property(tables, arbitraryDialect, (rows, dialect) => {
        // Signs of the other dialects all over a small table can make another reading as good: quote everything then.
        const text = writeCsv([makeHeader((rows[0] as string[]).length), ...rows], { ...dialect, always: true });
        expect(readRows(encodeFile(text))).toEqual(rows);
      }),
      { numRuns: 300 },
    );
  });

  test('is read correctly when plain values stand without quotes', () => {
    const plainValue = fc.oneof(arbitraryWord, fc.integer().map(String));
    const rows = fc
      .array(fc.tuple(plainValue, plainValue, plainValue), { minLength: 2, maxLength: 20 })
      .map((all) => all.map((row, index) => [String(index), ...row]));
    fc.assert(
      fc.property(rows, arbitraryDialect, (table, dialect) => {
        const text = writeCsv([makeHeader(4), ...table], dialect);
        expect(readRows(encodeFile(text))).toEqual(table);
      }),
      { numRuns: 200 },
    );
  });

  test('is refused, or read with as many rows as were counted, whatever its bytes are', () => {
    const piece = fc.constantFrom(
      ...[',', ';', '\t', '|', '"', "'", '\n', '\r', '\r\n', ' ', '\\', 'a', 'bc', '1', '2.5', '1,5', '2024-01-01'],
      ...['\u00a0', 'é', '😀', '\ufeff', 'sim', 'true', '""', '\n\n', ',,'],
    );
    const texts = fc.array(piece, { maxLength: 60 }).map((pieces) => encodeFile(pieces.join('')));
    const bytes = fc.oneof({ weight: 4, arbitrary: texts }, fc.uint8Array({ maxLength: 40 }));
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 20 }), (file, blockSize) => {
        const problem = readRefusal(() => inferBytes(file));
        if (problem !== null) expect(problem.code).toMatch(/^[A-Z_]+$/);
        else {
          expect(readRows(file, blockSize)).toHaveLength(inferBytes(file).schema.total_row_count_estimate);
          expect(readRows(file, blockSize)).toEqual(readRows(file));
        }
      }),
      { numRuns: 3000 },
    );
  });

  /** Makes a file longer than its head, with quotes, line ends inside fields, nulls, and letters of two and four bytes. */
  const makeLongFile = (lineEnd: string): Uint8Array => {
    const lines = ['chave;nome;nota;valor'];
    for (let index = 0; index < 9000; index++) {
      const note =
        index % 3 === 0 ? `"linha um${lineEnd}linha; dois ""${index}"""` : index % 7 === 0 ? '' : `ação ${index}`;
      lines.push(`${index};nome 😀 ${index};${note};${index % 5 === 0 ? '' : `${index},5`}`);
    }
    return encodeFile(lines.join(lineEnd) + lineEnd);
  };

  test.each(['\n', '\r\n', '\r'])('is read the same wherever it is cut into blocks (line end %j)', (lineEnd) => {
    const bytes = makeLongFile(lineEnd);
    expect(bytes.length).toBeGreaterThan(256 * 1024);
    const wholeInference = inferBytes(bytes, bytes.length);
    const rows = readRows(bytes, bytes.length);
    expect(rows).toHaveLength(9000);
    expect(wholeInference.schema.columns.map(({ type }) => type)).toEqual(['integer', 'text', 'text', 'decimal']);
    for (const blockSize of [97, 1009, 65_537]) {
      expect(inferBytes(bytes, blockSize)).toEqual(wholeInference);
      expect(readRows(bytes, blockSize)).toEqual(rows);
    }
  });

  test('may be in UTF-16, in blocks of any size', () => {
    const text = new TextDecoder().decode(makeLongFile('\n'));
    const bytes = new Uint8Array(2 + text.length * 2);
    const view = new DataView(bytes.buffer);
    view.setUint16(0, 0xfeff);
    for (let index = 0; index < text.length; index++) view.setUint16(2 + index * 2, text.charCodeAt(index));
    const wholeInference = inferBytes(bytes, bytes.length);
    expect(wholeInference.files[0]?.end).toBe(bytes.length);
    expect(inferBytes(bytes, 70_001)).toEqual(wholeInference);
    expect(readRows(bytes, 70_001)).toEqual(readRows(encodeFile(text)));
  });

  test('has a small analysis state even with a thousand columns of long values', () => {
    const columns = Array.from({ length: 1000 }, (_, index) => `coluna número ${index}`);
    const value = 'valor bastante longo '.repeat(10);
    const makeRow = (index: number) =>
      columns.map((_, column) => (column === 0 ? index : `${value}${index}`)).join(',');
    const text = `${columns.join(',')}\n${Array.from({ length: 60 }, (_, index) => makeRow(index)).join('\n')}\n`;
    const state = readFile(encodeFile(text), 'largo.csv', 1 << 20);
    expect(JSON.stringify(state).length).toBeLessThan(1.2 * 1024 * 1024);
    const { schema } = finishInference([state]);
    expect(schema.columns).toHaveLength(1000);
    expect(schema.columns[999]?.name).toBe('coluna_numero_999');
    expect(schema.sample_rows.length).toBeGreaterThan(0);
    expect(schema.total_row_count_estimate).toBe(60);
  });

  test('may have a cell of 5 MB', () => {
    const bigValue = 'x'.repeat(5 * 1024 * 1024);
    const bytes = encodeFile(`a,b\n1,"${bigValue}"\n2,y\n`);
    const { schema } = inferBytes(bytes, 1 << 20);
    expect(schema.total_row_count_estimate).toBe(2);
    expect(JSON.stringify(schema).length).toBeLessThan(10_000);
    expect(readRows(bytes, 1 << 20)[0]?.[1]).toHaveLength(bigValue.length);
  });

  test('is refused with a quote that is never closed, before it fills the memory', () => {
    const quotedRow = '1,"x, y"\n';
    const smallFile = encodeFile(`a,b\n${quotedRow}2,"y\n${'3,z\n'.repeat(10)}`);
    expect(readRefusal(() => inferBytes(smallFile))).toMatchObject({
      code: 'UNCLOSED_QUOTE',
      line: 3,
      file: 'arquivo.csv',
    });
    const largeFile = encodeFile(`a,b\n${quotedRow.repeat(100_000)}2,"y\n${'3,z\n'.repeat(5_000_000)}`);
    expect(readRefusal(() => inferBytes(largeFile, 4 << 20))).toMatchObject({
      code: 'RECORD_TOO_LARGE',
      line: 100_002,
    });
  });
});
