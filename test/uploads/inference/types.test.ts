import { describe, expect, test } from 'vitest';
import { beginInference, finishInference, inferFromBlock } from '../../../src/modules/uploads/inference/index.ts';
import { encodeFile, formatColumns, inferColumn, inferText, readFile } from './reading.ts';

/** Values that have no type but text. */
const TEXT_VALUES = [
  '007|-01|+|-|1 000|--1|0x1F|1_000|١٢٣',
  '1e1000|1e|e5|.|,|1.5.5|12,34,567|1,2345,678|1.234.56|012.345|00.5|R$ 10,00|$10.00|10%|(10)|10-|Infinity',
  'truely',
  '2023-02-29|1900-02-29|2024-13-01|0000-01-01|31/12-2024|31/12/204|2024-01|2024-01-31x',
  '2024-01-31 10:00:00UTC|2024-01-31 UTC|2024-01-31 10:00:00 GMT|2024-01-31 24:00|2024-01-31 10:60',
  '2024-01-31 10:00 PM|2024-01-31 1:00|2024-01-31 10:00+25:00|2024-01-31T',
  '2024-01-31 23:59:59.9999999|2024-01-31 23:59:59.0000001|2024-01-31 23:59:59.',
  '0001-01-01 01:59:59.999+02:00|9999-12-31 22:00-02:00|1/1/0001 00:00+00:01|31/12/9999 23:59-00:01',
  '12/31/9999 23:59-00:01|10:00',
].flatMap((values) => values.split('|'));

/** The values of one column, and the type and format that are inferred from them. */
const TYPE_CASES: [values: string[], type: string, format: string][] = [
  // integer
  [['1', '2', '-3', '+4', '0'], 'integer', 'integer'],
  [[' 1', '2 ', '\t3'], 'integer', 'integer'],
  [['9223372036854775807', '-9223372036854775808'], 'integer', 'integer'],
  [['9223372036854775808'], 'decimal', '1234.56'],
  [['-9223372036854775809'], 'decimal', '1234.56'],
  [['1', '99999999999999999999999'], 'decimal', '1234.56'],
  [['-0', '1'], 'integer', 'integer'],
  [['01', '2'], 'text', 'text'],
  [['01310-100', '04538-133'], 'text', 'text'],
  // decimal
  [['1.5', '2', '-3.25'], 'decimal', '1234.56'],
  [['.5', '5.', '+.25'], 'decimal', '1234.56'],
  [['1e5', '2.5E-3', '1E+10'], 'decimal', '1234.56'],
  [['32E4', '1E5', '10E3'], 'text', 'text'],
  [['1.5', '32E4'], 'text', 'text'],
  [['3.2E4', '-1E5', '1E+5', '2E-3'], 'decimal', '1234.56'],
  [['+5511999998888', '+5521988887777'], 'text', 'text'],
  [['+5511999998888', '12345678'], 'integer', 'integer'],
  [['+1234567', '+12345678'], 'integer', 'integer'],
  [['+12345678.5'], 'decimal', '1234.56'],
  [['1234,56', '0,5'], 'decimal', '1234,56'],
  [['1,5', '2'], 'decimal', '1234,56'],
  [['1.234,56', '12,50'], 'decimal', '1.234,56'],
  [['1.234.567,8'], 'decimal', '1.234,56'],
  [['1,234.56', '999.9'], 'decimal', '1,234.56'],
  [['1,234,567.8'], 'decimal', '1,234.56'],
  [['1.234'], 'decimal', '1234.56'],
  [['1.234', '5.678'], 'decimal', '1234.56'],
  [['1.234', '1.234.567'], 'decimal', '1.234,56'],
  [['1.234.567'], 'decimal', '1.234,56'],
  [['1,234,567'], 'decimal', '1,234.56'],
  [['1,234'], 'decimal', '1,234.56'],
  [['1,234', '0,5'], 'decimal', '1234,56'],
  [['1,234', '1,23'], 'decimal', '1234,56'],
  [['0,123'], 'decimal', '1234,56'],
  [['1.23', '1,23'], 'text', 'text'],
  [['1,234.56', '1.234,56'], 'text', 'text'],
  [['0.5'], 'decimal', '1234.56'],
  [['1.5 '], 'decimal', '1234.56'],
  // nothing but empty is null
  [['NA', '1'], 'text', 'text'],
  [['NULL', '1'], 'text', 'text'],
  [['NaN', '1.5'], 'text', 'text'],
  [['-', '1'], 'text', 'text'],
  [['1', '', '3'], 'integer', 'integer'],
  [['', ''], 'text', 'text'],
  // boolean
  [['true', 'FALSE', 'True'], 'boolean', 'true/false'],
  [['true'], 'boolean', 'true/false'],
  [['yes', 'No'], 'boolean', 'yes/no'],
  [['sim', 'não'], 'boolean', 'sim/não'],
  [['SIM', 'NÃO', 'nao', 'Na\u0303o'], 'boolean', 'sim/não'],
  [['Verdadeiro', 'falso'], 'boolean', 'verdadeiro/falso'],
  [['true', 'yes'], 'text', 'text'],
  [['t', 'f'], 'boolean', 't/f'],
  [['T', 'F', 't'], 'boolean', 't/f'],
  [['t', 't'], 'text', 'text'],
  [['f', 'f'], 'text', 'text'],
  [['y', 'n'], 'boolean', 'y/n'],
  [['S', 'N'], 'boolean', 's/n'],
  [['n', 'n'], 'text', 'text'],
  [['v', 'f'], 'boolean', 'v/f'],
  [['s', 'n', 'x'], 'text', 'text'],
  [['s', 'n', 'y'], 'text', 'text'],
  [['true', '1'], 'text', 'text'],
  [['0', '1'], 'integer', 'integer'],
  // date
  [['2024-01-31', '2024-02-29'], 'date', 'yyyy-mm-dd'],
  [['2000-02-29'], 'date', 'yyyy-mm-dd'],
  [['2024/1/5'], 'date', 'yyyy/mm/dd'],
  [['31/12/2024', '1/2/2024'], 'date', 'd/m/yyyy'],
  [['12/31/2024', '1/2/2024'], 'date', 'm/d/yyyy'],
  [['1/2/2024', '3/4/2024'], 'date', 'd/m/yyyy'],
  [['31/12/2024', '12/31/2024'], 'text', 'text'],
  [['31-12-2024'], 'date', 'd-m-yyyy'],
  [['31.12.2024'], 'date', 'd.m.yyyy'],
  [['31/12/24'], 'date', 'd/m/yy'],
  [['12/31/99'], 'date', 'm/d/yy'],
  [['31/12/2024', '31/12/24'], 'text', 'text'],
  [['20240131'], 'integer', 'integer'],
  [['1', '2024-01-31'], 'text', 'text'],
  // datetime
  [['2024-01-31 10:00'], 'datetime', 'yyyy-mm-dd hh:mm'],
  [['2024-01-31T10:00:59'], 'datetime', 'yyyy-mm-dd hh:mm:ss'],
  [['2024-01-31T10:00:59.123456Z'], 'datetime', 'yyyy-mm-dd hh:mm:ss.f±hh:mm'],
  [['2024-01-31 10:00:00+03:00', '2024-01-31 10:00:00-0300'], 'datetime', 'yyyy-mm-dd hh:mm:ss±hh:mm'],
  [['2024-01-31 10:00:00 +03'], 'datetime', 'yyyy-mm-dd hh:mm:ss±hh:mm'],
  [['2024-01-31 10:00:00 UTC', '2024-01-31T10:00 UTC'], 'datetime', 'yyyy-mm-dd hh:mm:ss±hh:mm'],
  [['31/12/2024 10:00 UTC'], 'datetime', 'd/m/yyyy hh:mm±hh:mm'],
  [['2024-01-31', '2024-01-31 10:00'], 'datetime', 'yyyy-mm-dd hh:mm'],
  [['31/12/2024 23:59'], 'datetime', 'd/m/yyyy hh:mm'],
  [['12/31/24 23:59:01'], 'datetime', 'm/d/yy hh:mm:ss'],
  // not finer than a microsecond
  [['2024-01-31 23:59:59.999999'], 'datetime', 'yyyy-mm-dd hh:mm:ss.f'],
  [['2024-01-31 23:59:59.999999000'], 'datetime', 'yyyy-mm-dd hh:mm:ss.f'],
  // within the years 1 to 9999 in UTC
  [['0001-01-01 00:00', '9999-12-31 23:59:59.999999'], 'datetime', 'yyyy-mm-dd hh:mm:ss.f'],
  [['0001-01-01', '9999-12-31'], 'date', 'yyyy-mm-dd'],
  [['0001-01-01 02:00+02:00', '9999-12-31 21:59:59-02:00'], 'datetime', 'yyyy-mm-dd hh:mm:ss±hh:mm'],
  [['0001-01-01 00:00-02:00', '9999-12-31 23:59:59+02:00'], 'datetime', 'yyyy-mm-dd hh:mm:ss±hh:mm'],
  [['02/01/0001 00:00+15:00', '30/12/9999 23:59-15:00'], 'datetime', 'd/m/yyyy hh:mm±hh:mm'],
];

describe('the inferred type of a CSV column', () => {
  test.each(TEXT_VALUES)('for "%s" alone is text', (value) => {
    const column = inferColumn([value]);
    expect([column.type, column.evidence.format]).toEqual(['text', 'text']);
  });

  test.each(TYPE_CASES)('for %j is %s in the notation %s', (values, type, format) => {
    const column = inferColumn(values);
    expect([column.type, column.evidence.format]).toEqual([type, format]);
  });

  test.each([
    ['is_paid', 'boolean'],
    ['isPaid', 'boolean'],
    ['has_children', 'boolean'],
    ['Tem filhos', 'boolean'],
    ['Ativo', 'boolean'],
    ['active', 'boolean'],
    ['enabled', 'boolean'],
    ['deleted', 'boolean'],
    ['island', 'integer'],
    ['activeusers', 'integer'],
    ['count', 'integer'],
  ])('for 0 and 1 under the header %s is %s', (header, type) => {
    expect(inferColumn(['0', '1', '1'], header).type).toBe(type);
    expect(inferColumn(['0', '1', '2'], header).type).toBe('integer');
  });

  test('is decimal for 1,234 where semicolons separate the fields', () => {
    const { schema } = inferText('nome;valor\nana;1,234\nbia;5,678\n');
    expect(schema.columns[1]?.evidence.format).toBe('1234,56');
    expect(schema.sample_rows[0]?.valor).toBe(1.234);
  });

  test('does not depend on Unicode spaces around a value', () => {
    expect(inferColumn(['\u00a012', '13\u00a0']).type).toBe('integer');
  });

  test('is changed by one late value, which is reported with its line', () => {
    const rows = Array.from({ length: 5000 }, (_, index) => `${index},x`);
    rows[4321] = 'n/d,x';
    const { columns } = inferText(`n,t\n${rows.join('\n')}\n`).schema;
    expect(columns[0]?.type).toBe('text');
    expect(columns[0]?.evidence.counter_example).toEqual({ value: 'n/d', line: 4323 });
  });

  test.each([
    [['1', '2', '2.5', '3.5'], { value: '2.5', line: 4 }],
    [['2024-01-01', '2024-01-02 10:00', '2024-01-02 11:00'], { value: '2024-01-02 10:00', line: 3 }],
    [['1', '2'], null],
    [['1', '2.5', 'x', 'y'], { value: 'x', line: 4 }],
    [['31/12/2024', '01/02/2024', '12/31/2024'], { value: '12/31/2024', line: 4 }],
    [['s', 's'], { value: 's', line: 2 }],
    [['', ''], null],
  ])('is reported with the counter-example of %j', (values, expected) => {
    expect(inferColumn(values).evidence.counter_example).toEqual(expected);
  });

  test('is reported with the number of nulls, which spaces alone are except in a text column', () => {
    const { columns } = inferText('a,b,c\n1,x,\n ,  ,w\n"",v,w\n4,y,\n5,z,\n').schema;
    expect(columns.map(({ type, nullable, evidence }) => [type, nullable, evidence.nulls])).toEqual([
      ['integer', true, 2],
      ['text', true, 0],
      ['text', true, 3],
    ]);
  });

  test('is reported with ten distinct values', () => {
    const values = Array.from({ length: 300 }, (_, index) => String(index % 50));
    expect(inferColumn(values).evidence.distinct_sample).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
  });

  test('can be any of the types within one file', () => {
    const text = 'i,d,b,dt,ts,t\n1,1.5,true,2024-01-31,2024-01-31T10:00:00Z,x\n,,,,,y\n';
    const inference = inferText(text);
    expect(formatColumns(inference)).toBe('i:integer d:decimal b:boolean dt:date ts:datetime t:text');
    expect(inference.schema.sample_rows).toEqual([
      { i: 1, d: 1.5, b: true, dt: '2024-01-31', ts: '2024-01-31T10:00:00.000Z', t: 'x' },
      { i: null, d: null, b: null, dt: null, ts: null, t: 'y' },
    ]);
    expect(inference.schema.total_row_count_estimate).toBe(2);
  });

  test('is reported with sample rows that keep every digit of numbers', () => {
    const { sample_rows } = inferText('k,i,d\nx,9007199254740993,0.1\ny,5,0.12345678901234567891\n').schema;
    expect(sample_rows).toEqual([
      { k: 'x', i: '9007199254740993', d: 0.1 },
      { k: 'y', i: 5, d: '0.12345678901234567891' },
    ]);
    const tinyNumbersSchema = inferText('k,d\nx,1.5e-400\ny,4.9e-324\nz,1.5e-7\n').schema;
    expect(tinyNumbersSchema.sample_rows.map(({ d }) => d)).toEqual(['1.5e-400', '4.9e-324', 1.5e-7]);
  });

  test.each([
    ['date', '2024-01-31', '2024-01-31T10:00:00Z', 'datetime'],
    ['integer', '5', '7', 'integer'],
    ['text', '"5"', '7', 'text'],
  ] as const)('beside a Parquet column of the type %s with %s, for %s, is %s', (type, told, plain, expected) => {
    const inferenceState = beginInference({
      fileName: 'a.parquet',
      records: { names: ['v'], types: [type], encoding: 'utf-8' },
    });
    const states = [
      inferFromBlock(inferenceState, encodeFile(`${told}\n`), true),
      readFile(encodeFile(`v\n${plain}\n`)),
    ];
    for (const files of [states, states.toReversed()])
      expect(formatColumns(finishInference(files))).toBe(`v:${expected}`);
  });
});
