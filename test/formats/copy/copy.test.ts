import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatCsvOptions, hasEndOfData } from '../../../src/formats/copy/csv.ts';
import { CopyText } from '../../../src/formats/copy/text.ts';
import { parseCopyText } from './parsing.ts';

const encoder = new TextEncoder();

describe('a writer of the text format of COPY', () => {
  it('writes any values, and grows its buffer as needed', () => {
    const value = fc.option(fc.string({ unit: fc.constantFrom('\\', '\t', '\n', '\r', 'N', 'n', 'é', '"', '.') }));
    const rows = fc.array(fc.array(value, { minLength: 2, maxLength: 2 }));
    fc.assert(
      fc.property(rows, (table) => {
        const text = new CopyText(0);
        for (const row of table) {
          for (const [index, cell] of row.entries()) {
            if (index > 0) text.endValue();
            if (cell === null) text.writeNull();
            else text.writeText(cell);
          }
          text.endRow();
        }
        expect(parseCopyText(new TextDecoder().decode(text.getBytes()))).toEqual(table);
      }),
    );
  });

  it('converts Windows-1252 and doubled quotes', () => {
    const text = new CopyText(0);
    text.writeEscaped(Uint8Array.of(0x80, 0xe9), 0, 2, -1, true);
    text.writeEscaped(encoder.encode('say ""no""'), 0, 10, 34);
    expect(new TextDecoder().decode(text.getBytes())).toBe('€ésay "no"');
  });

  it('takes hardly more memory than a long value, and keeps its escapes', () => {
    const text = new CopyText(1024);
    const value = `x${'""'.repeat(2 ** 21)}\t`;
    text.writeEscaped(encoder.encode(value), 0, value.length, 34);
    expect(new TextDecoder().decode(text.getBytes()) === `x${'"'.repeat(2 ** 21)}\\t`).toBe(true);
    text.writeEscaped(encoder.encode('y'.repeat(2 ** 24)), 0, 2 ** 24);
    expect(text.length).toBe(2 ** 24 + 2 ** 21 + 3);
    expect(text.bytes.length).toBeLessThanOrEqual(2 ** 25);
  });
});

describe('a CSV that is sent to COPY unchanged', () => {
  it('has COPY options that match its dialect', () => {
    const dialect = { delimiter: ';', quote: '"', escape: 'doubled', spaceBeforeQuote: false } as const;
    expect(formatCsvOptions(dialect, 'utf-8', ['"a""b"'])).toBe(
      `FORMAT csv, DELIMITER ';', QUOTE '"', ESCAPE '"', FORCE_NULL ("a""b"), ENCODING 'UTF8'`,
    );
    expect(formatCsvOptions({ ...dialect, delimiter: '\t', quote: null }, 'windows-1252', ['"a"'])).toBe(
      `FORMAT csv, DELIMITER E'\\x09', QUOTE E'\\x01', ESCAPE E'\\x01', FORCE_NULL ("a"), ENCODING 'WIN1252'`,
    );
  });

  it.each([
    ['\\.', true],
    ['a\n\\.\r\nb', true],
    ['a\n\\.b\n', false],
    ['a\\.\n', false],
  ])('has a line that would end COPY early in %j: %s', (text, hasCopyEnd) => {
    expect(hasEndOfData(encoder.encode(text))).toBe(hasCopyEnd);
  });
});
