import { describe, expect, it } from 'vitest';
import { formatNumber, formatPlainNumber, unescapeText } from '../../../src/formats/workbook/cells.ts';
import { findBuiltinFormat, parseCustomFormat } from '../../../src/formats/workbook/number-format.ts';

describe('a number format of a workbook', () => {
  it.each<[kind: string, codes: string]>([
    ['number', 'General|0|0.00|0.0|00.00|#,##0.00|0%|0.00E+00|R$ #,##0.00;[Red]-R$ #,##0.00|[$R$-416] #,##0.00'],
    ['number', '"dias: "0|# ?/?|@'],
    ['date', 'dd/mm/yyyy|d/m/yy|yyyy-mm-dd|[$-416]d" de "mmmm" de "yyyy;@|dd\\ \\d\\e\\ mmm|mmm/yy|mmmm|yyyy'],
    ['date', '[$-F800]dddd, mmmm dd, yyyy'],
    ['datetime', 'dd/mm/yyyy hh:mm|m/d/yy h:mm AM/PM|yyyy-mm-dd"T"hh:mm:ss.000'],
    ['time', 'h:mm|hh:mm:ss|mm:ss.0|[$-F400]h:mm:ss AM/PM'],
    ['span', '[h]:mm:ss|[mm]:ss'],
    ['code', '00000|00000-000|000"."000"."000"-"00'],
  ])('shows a value of the kind %s if it is one of %s', (kind, codes) => {
    for (const code of codes.split('|')) expect([code, parseCustomFormat(code).kind]).toEqual([code, kind]);
  });

  it.each([
    ['number', [0, 4, 9, 49]],
    ['date', [14, 17, 57]],
    ['time', [18, 21]],
    ['datetime', [22]],
    ['span', [46]],
  ])('shows a value of the kind %s if its built-in number is one of %j', (kind, ids) => {
    for (const id of ids) expect([id, findBuiltinFormat(id).kind]).toEqual([id, kind]);
  });
});

it.each([
  ['dd/mm/yyyy', 45322, '2024-01-31', '2028-02-01'],
  ['dd/mm/yyyy', 45322.75, '2024-01-31', '2028-02-01'],
  ['dd/mm/yyyy', 1, '1900-01-01', '1904-01-02'],
  ['dd/mm/yyyy', 59, '1900-02-28', '1904-02-29'],
  ['dd/mm/yyyy', 61, '1900-03-01', '1904-03-02'],
  ['dd/mm/yyyy', 2958465, '9999-12-31', '2958465'],
  ['dd/mm/yyyy', 2957003, '9995-12-30', '9999-12-31'],
  ['dd/mm/yyyy', 2958466, '2958466', '2958466'],
  ['dd/mm/yyyy hh:mm', 2958465.999999999, '2958466', '2958466'],
  ['hh:mm', -0.25, '-0.25', '-0.25'],
  ['hh:mm', 1e300, '1e+300', '1e+300'],
  ['[h]:mm', 1e300, '1e+300', '1e+300'],
  ['000', 1e25, '1e+25', '1e+25'],
  ['dd/mm/yyyy', -1, '-1', '-1'],
  ['dd/mm/yyyy hh:mm', 45322.43078703704, '2024-01-31T10:20:20', '2028-02-01T10:20:20'],
  ['dd/mm/yyyy hh:mm', 45322, '2024-01-31T00:00:00', '2028-02-01T00:00:00'],
  ['dd/mm/yyyy hh:mm:ss.000', 45322.000001157, '2024-01-31T00:00:00.100', '2028-02-01T00:00:00.100'],
  ['hh:mm', 0.9999999999, '00:00:00', '00:00:00'],
  ['hh:mm', 45322.25, '06:00:00', '06:00:00'],
  ['[h]:mm', 1.5, '36:00:00', '36:00:00'],
  ['[h]:mm', -0.25, '-06:00:00', '-06:00:00'],
  ['00000-000', 1310100, '01310-100', '01310-100'],
  ['000"."000"."000"-"00', 1234567890, '012.345.678-90', '012.345.678-90'],
  ['000', 12345, '12345', '12345'],
  ['000', -7, '-007', '-007'],
])(
  'the number of a workbook cell is shown in the format %s: %d as %s, and as %s when dates count from 1904',
  (code, value, textIn1900System, textIn1904System) => {
    expect(formatNumber(String(value), parseCustomFormat(code), false)).toBe(textIn1900System);
    expect(formatNumber(String(value), parseCustomFormat(code), true)).toBe(textIn1904System);
  },
);

it.each([
  ['0.30000000000000004', '0.3'],
  ['1.1000000000000001', '1.1'],
  ['1234.5', '1234.5'],
  ['1E-3', '0.001'],
  ['1.5E+3', '1500'],
  ['9007199254740993', '9007199254740993'],
  ['12345678901234567890', '12345678901234567890'],
  ['007', '7'],
  ['-0012', '-12'],
  ['-0', '0'],
  ['5.0', '5'],
  ['10.50', '10.5'],
  ['-0.0', '0'],
  [' 5 ', '5'],
  ['', null],
  ['abc', null],
  ['1E+400', null],
])('the number %s of a workbook cell is shown as %s', (storedNumber, shownNumber) => {
  expect(formatPlainNumber(storedNumber)).toBe(shownNumber);
});

it.each([
  ['a_x000D_b', 'a\rb'],
  ['_x005F_x000D_', '_x000D_'],
  ['a_x0000_b', 'ab'],
  ['a_xD800_b', 'a\ufffdb'],
  ['plain_xyz', 'plain_xyz'],
])('the text %s of a workbook cell is read as %j', (storedText, text) => {
  expect(unescapeText(storedText)).toBe(text);
});
