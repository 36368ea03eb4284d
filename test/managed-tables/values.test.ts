import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSameDecimal } from '../../src/kernel/decimals.ts';
import { parseExactJson } from '../../src/kernel/exact-json.ts';
import type { ColumnType } from '../../src/tenant-sql/columns.ts';
import { toDatetimeJson, toJsonValue, toPostgresText } from '../../src/tenant-sql/values.ts';

type ValueCase = [value: unknown, text: string];

const ACCEPTED_VALUES: Record<ColumnType, ValueCase[]> = {
  text: [
    ['', ''],
    ['São Paulo — 東京 🎉', 'São Paulo — 東京 🎉'],
    ["'; DROP TABLE x; --", "'; DROP TABLE x; --"],
  ],
  integer: [
    [0, '0'],
    [-0, '0'],
    [9007199254740991, '9007199254740991'],
    [-9007199254740991, '-9007199254740991'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['+7', '7'],
    ['007', '7'],
  ],
  decimal: [
    [0.1, '0.1'],
    [1e-7, '1e-7'],
    ['1.50', '1.50'],
    ['.5', '.5'],
    ['5.', '5.'],
    ['-1E+3', '-1E+3'],
    ['0.12345678901234567890123456789', '0.12345678901234567890123456789'],
    [6.02214076e23, '6.02214076e+23'],
    [-(2 ** 53), '-9007199254740992'],
    [Number.MAX_VALUE, '1.7976931348623157e+308'],
    [Number.MIN_VALUE, '5e-324'],
    ['1e131071', '1e131071'],
    ['1e-16383', '1e-16383'],
  ],
  boolean: [
    [true, 'true'],
    ['false', 'false'],
  ],
  date: [
    ['2024-02-29', '2024-02-29'],
    ['0001-01-01', '0001-01-01'],
    ['9999-12-31', '9999-12-31'],
    ['2000-02-29', '2000-02-29'],
  ],
  datetime: [
    ['2024-01-31T13:45:00Z', '2024-01-31 13:45:00.000000+00'],
    ['2024-01-31 13:45', '2024-01-31 13:45:00.000000+00'],
    ['2024-01-31T13:45:06.123456', '2024-01-31 13:45:06.123456+00'],
    ['2024-01-31T13:45:06,5Z', '2024-01-31 13:45:06.500000+00'],
    ['2024-01-31T13:45:06.1234560Z', '2024-01-31 13:45:06.123456+00'],
    ['2024-01-31T23:30:00-03:00', '2024-02-01 02:30:00.000000+00'],
    ['2024-01-01T00:30:00+0530', '2023-12-31 19:00:00.000000+00'],
    ['2024-01-01T00:30:00+05', '2023-12-31 19:30:00.000000+00'],
    ['2024-01-31', '2024-01-31 00:00:00.000000+00'],
    ['0001-01-01T00:00:00Z', '0001-01-01 00:00:00.000000+00'],
    ['0099-12-31T23:59:59Z', '0099-12-31 23:59:59.000000+00'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31 23:59:59.999999+00'],
  ],
};

const REFUSED_VALUES: Record<ColumnType, unknown[]> = {
  text: ['a\0b', 'half \ud83c', 1, true, {}, ['a']],
  integer: [
    ...['9223372036854775808', '-9223372036854775809', '1.0', '1e3', '0x1f', '1_000', ' 1', '', '٣'],
    ...[9007199254740992, 1.5, Number.POSITIVE_INFINITY, true, [1]],
  ],
  decimal: [
    ...['1e131072', '1e-16384', 'NaN', 'Infinity', '.', '', 'e5', '1,5', '1 '],
    ...[Number.POSITIVE_INFINITY, Number.NaN, true],
  ],
  boolean: [1, 'TRUE', 'sim'],
  date: [
    ...['2023-02-29', '1900-02-29', '2024-04-31', '0000-01-01', '2024-13-01', '2024-00-10', '31/01/2024', '2024-1-1'],
    ...['2024-01-01T00:00:00Z', '10000-01-01', 'infinity', 20240101],
  ],
  datetime: [
    ...['2024-01-31T13:45:06.1234567Z', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-00:01', '2024-01-31T13Z'],
    ...['2024-01-31T24:00:00Z', '2024-01-31T23:60:00Z', '2024-01-31T23:59:60Z', '2024-02-30T00:00:00Z'],
    ...['2024-01-31T13:45:00+16:00', 'yesterday', 1706708700000],
  ],
};

describe('the text for Postgres of a JSON value', () => {
  for (const [type, cases] of Object.entries(ACCEPTED_VALUES) as [ColumnType, ValueCase[]][]) {
    it.each(cases)(`is for the ${type} %j the text %s`, (value, text) => {
      expect(toPostgresText(type, value)).toBe(text);
    });
    it.each(REFUSED_VALUES[type].map((value) => [value]))(`is none for the ${type} %j`, (value) => {
      expect(toPostgresText(type, value)).toBeUndefined();
    });
  }
});

describe('the JSON value of a Postgres value', () => {
  it.each<[ColumnType, string, unknown]>([
    ['integer', '9007199254740991', 9007199254740991],
    ['integer', '9007199254740992', '9007199254740992'],
    ['integer', '-9223372036854775808', '-9223372036854775808'],
    ['decimal', '0.1', 0.1],
    ['decimal', '1.50', 1.5],
    ['decimal', '0.000', 0],
    ['decimal', '-0.000100', -0.0001],
    ['decimal', '100000000000000000000', 1e20],
    ['decimal', '100000000000000000001', '100000000000000000001'],
    ['decimal', '9007199254740993', '9007199254740993'],
    ['decimal', '9999999999999999', '9999999999999999'],
    ['decimal', '0.30000000000000000', 0.3],
    ['decimal', '0.30000000000000001', '0.30000000000000001'],
    ['decimal', '1.5e-7', 1.5e-7],
    ['decimal', '1.5e-400', '1.5e-400'],
    ['decimal', '4.9e-324', '4.9e-324'],
    ['decimal', '1e400', '1e400'],
    ['decimal', 'NaN', 'NaN'],
    ['date', '2024-02-29', '2024-02-29'],
    ['datetime', '2024-01-31 13:45:00+00', '2024-01-31T13:45:00.000Z'],
    ['datetime', '2024-01-31 13:45:00.5+00', '2024-01-31T13:45:00.500Z'],
    ['datetime', '2024-01-31 13:45:00.123456+00', '2024-01-31T13:45:00.123456Z'],
    ['datetime', '2024-01-31 22:45:00-03', '2024-02-01T01:45:00.000Z'],
    ['datetime', '2024-01-01 00:15:00+05:30', '2023-12-31T18:45:00.000Z'],
    ['datetime', '1900-01-01 00:00:00-03:06:28', '1900-01-01T03:06:28.000Z'],
    ['datetime', '0001-01-01 00:00:00+00', '0001-01-01T00:00:00.000Z'],
    ['text', '123', '123'],
  ])('is read from the %s %s as %j', (type, text, value) => {
    expect(toJsonValue(type, text)).toStrictEqual(value);
  });

  it('is a string for a decimal beyond the range of a double', () => {
    for (const text of [`0.${'0'.repeat(400)}1`, `1${'0'.repeat(400)}`])
      expect(toJsonValue('decimal', text)).toBe(text);
  });

  it('is the same for null and booleans', () => {
    expect(toJsonValue('integer', null)).toBeNull();
    expect(toJsonValue('boolean', false)).toBe(false);
  });

  it('keeps every digit of a decimal when a client parses it', () => {
    const digits = fc.stringMatching(/^[0-9]{1,25}$/);
    fc.assert(
      fc.property(fc.boolean(), digits, digits, (isNegative, integerDigits, fraction) => {
        const storedText = `${isNegative ? '-' : ''}${BigInt(integerDigits)}.${fraction}`;
        const shownValue = toJsonValue('decimal', storedText);
        expect(toScaled(JSON.parse(JSON.stringify(shownValue)))).toBe(toScaled(storedText));
      }),
    );
  });

  it('is accepted again as it is or as a client serializes the number', () => {
    const digits = fc.stringMatching(/^[0-9]{1,25}$/);
    const writtenTexts = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(toPlainText),
      fc
        .tuple(digits, fc.integer({ min: -330, max: 330 }))
        .map(([text, exponent]) => toPlainText(`${text}e${exponent}`)),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
    );
    fc.assert(
      fc.property(writtenTexts, (storedText) => {
        for (const type of /^-?\d{1,19}$/.test(storedText)
          ? (['decimal', 'integer'] as const)
          : (['decimal'] as const)) {
          const json = JSON.stringify(toJsonValue(type, storedText));
          for (const sentJson of [json, JSON.stringify(JSON.parse(json))]) {
            const secondStoredText = toPostgresText(type, parseExactJson(sentJson));
            if (type === 'integer' && BigInt.asIntN(64, BigInt(storedText)) !== BigInt(storedText)) continue;
            expect(secondStoredText).toBeDefined();
            expect(isSameDecimal(secondStoredText as string, storedText)).toBe(true);
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('is the datetime that was stored', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }),
        (date) => {
          const text = toPostgresText('datetime', date.toISOString());
          expect(toDatetimeJson(text as string)).toBe(date.toISOString());
        },
      ),
    );
  });
});

/** Formats a number like Postgres, without an exponent. */
function toPlainText(value: number | string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(String(value)) ?? [];
  const point = whole.length + Number(exponent);
  const digits = (whole + fraction)
    .padStart(whole.length + fraction.length - Math.min(0, point), '0')
    .padEnd(point, '0');
  const at = Math.max(0, point);
  return `${sign}${digits.slice(0, at).replace(/^0+(?=\d)/, '') || '0'}${digits.length > at ? `.${digits.slice(at)}` : ''}`;
}

/** Converts a decimal to an exact integer number of 10^-60. */
function toScaled(value: number | string): bigint {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const magnitude = BigInt((whole + fraction).padEnd(whole.length + Number(exponent) + 60, '0'));
  return mantissa.startsWith('-') ? -magnitude : magnitude;
}
