import fc from 'fast-check';
import Papa from 'papaparse';
import { describe, expect, it } from 'vitest';
import type { Dialect } from '../../../src/formats/csv/dialect.ts';
import {
  createFields,
  MAX_FIELDS,
  readFieldText,
  scanRecords,
  TooManyFields,
} from '../../../src/formats/csv/records.ts';
import { createDecoder } from '../../../src/formats/text/decode.ts';

const encoder = new TextEncoder();
const fields = createFields();
const decode = createDecoder('utf-8');

/** Reads the records of a text that arrives in blocks of the given size, or of more where a record is longer. */
function readRecords(text: string, dialect: Dialect, blockBytes: number): string[][] {
  const bytes = encoder.encode(text);
  const records: string[][] = [];
  for (let at = 0, size = blockBytes; at < bytes.length; ) {
    const blockOfBytes = bytes.subarray(at, at + size);
    const { endIndex } = scanRecords(blockOfBytes, 0, at + size >= bytes.length, dialect, 1, fields, () => {
      records.push(
        Array.from({ length: fields.fieldCount }, (_, index) =>
          readFieldText(blockOfBytes, fields, index, dialect, decode),
        ),
      );
    });
    size = endIndex === 0 ? size * 2 : blockBytes;
    at += endIndex;
  }
  return records;
}

const COMMA_DIALECT: Dialect = { delimiter: ',', quote: '"', escape: 'doubled', spaceBeforeQuote: false };

describe('the records read from a CSV', () => {
  it('are the records that papaparse wrote, in any dialect and with any size of blocks', () => {
    const cell = fc
      .array(fc.constantFrom('a', 'é', '1', '"', "'", ',', ';', '\t', '|', '\n', '\r\n', ' '))
      .map((pieces) => pieces.join(''));
    const rows = fc
      .integer({ min: 1, max: 4 })
      .chain((width) =>
        fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 6 }),
      );
    const dialects = fc.record({
      delimiter: fc.constantFrom<Dialect['delimiter']>(',', ';', '\t', '|'),
      quote: fc.constantFrom<'"' | "'">('"', "'"),
      newline: fc.constantFrom('\n', '\r\n', '\r'),
      quotes: fc.boolean(),
    });
    fc.assert(
      fc.property(
        rows,
        dialects,
        fc.integer({ min: 1, max: 40 }),
        (table, { delimiter, quote, newline, quotes }, blockBytes) => {
          const text = Papa.unparse(table, { delimiter, quoteChar: quote, newline, quotes }) + newline;
          expect(readRecords(text, { ...COMMA_DIALECT, delimiter, quote }, blockBytes)).toEqual(table);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('may have quotes escaped by backslashes', () => {
    const text = `${String.raw`"a\"b","c\\","d\e"`}\n`;
    expect(readRecords(text, { ...COMMA_DIALECT, escape: 'backslash' }, 100)).toEqual([
      ['a"b', 'c\\', String.raw`d\e`],
    ]);
  });

  it('are refused with more fields than a table can have', () => {
    const makeLine = (count: number) => encoder.encode(`a\n${','.repeat(count - 1)}\n`);
    const scanBytes = (bytes: Uint8Array) => scanRecords(bytes, 0, true, COMMA_DIALECT, 1, fields, () => {});
    expect(scanBytes(makeLine(MAX_FIELDS)).nextLine).toBe(3);
    expect(() => scanBytes(makeLine(MAX_FIELDS + 1))).toThrow(new TooManyFields(2));
  });
});
