import { describe, expect, test } from 'vitest';
import { finishInference } from '../../../src/modules/uploads/inference/index.ts';
import { encodeFile, inferBytes, inferText, readFile, readRefusal } from './reading.ts';

const header = 'nome,idade\nana,30\nbia,31\n';

describe('the analysis of an invalid CSV file', () => {
  test.each([
    ['an empty file', ''],
    ['blank lines', '\n\n  \n,,\n'],
    ['a header alone', 'nome,idade\n'],
    ['a header alone without a line ending', 'nome,idade'],
    ['a title and a header', 'Lista de 2024\n\nnome,idade\n'],
    ['a byte order mark alone', '\ufeff'],
  ])('reports NO_ROWS: %s', (_what, text) => {
    expect(readRefusal(() => inferText(text))).toMatchObject({ code: 'NO_ROWS', file: 'arquivo.csv' });
  });

  test('reports the line of a row with too many fields', () => {
    expect(readRefusal(() => inferText(`${header}"caio\ne cia",32,a mais\n`))).toMatchObject({
      code: 'TOO_MANY_FIELDS',
      line: 4,
      value: 'a mais',
      file: 'arquivo.csv',
      message: 'A linha 4 tem 3 campos, mas a tabela tem 2 colunas.',
    });
    expect(readRefusal(() => inferText(`${header}"caio\ne cia",32\ndavi,33,,,x\n`))).toMatchObject({ line: 6 });
    expect(readRefusal(() => inferText(`${header}caio,32, ,\n`))).toBeNull();
  });

  test('reports the line of a row with too many fields 90,000 rows down', () => {
    const text = `${header}${'caio,32\n'.repeat(90_000)}davi,33,x\n`;
    expect(readRefusal(() => inferText(text, 1 << 18))).toMatchObject({ code: 'TOO_MANY_FIELDS', line: 90_004 });
  });

  test('reports the line of a NUL byte', () => {
    expect(readRefusal(() => inferText(`${header}ca\0io,32\n`))).toMatchObject({ code: 'NUL_BYTE', line: 4 });
    const textWithLateNul = `${header}${'caio,32\n'.repeat(100_000)}da\0vi,33\n`;
    expect(readRefusal(() => inferText(textWithLateNul, 1 << 18))).toMatchObject({ code: 'NUL_BYTE', line: 100_004 });
  });

  test.each([
    ['a PNG', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52], 'NUL_BYTE'],
    ['a zip', [0x50, 0x4b, 3, 4, 0x14, 0, 0, 0, 8, 0, 0xe9, 0xfe], 'NUL_BYTE'],
    ['UTF-16 of odd length', [0xff, 0xfe, 97, 0, 10, 0, 98], 'UNREADABLE_BYTES'],
    ['UTF-16 with half a character', [0xff, 0xfe, 0x3d, 0xd8, 10, 0, 98, 0], 'UNREADABLE_BYTES'],
    [
      'a byte order mark of UTF-8 before bytes of another encoding',
      [0xef, 0xbb, 0xbf, 97, 10, 0xe9, 10],
      'UNREADABLE_BYTES',
    ],
  ])('reports bytes that are not text: %s', (_what, bytes, code) => {
    expect(readRefusal(() => inferBytes(Uint8Array.from(bytes)))).toMatchObject({ code, file: 'arquivo.csv' });
  });

  test.each([
    ['UTF-8', encodeFile('\ufeffa,b\r\n1,2\r\n3,\ufffd\r\n4,?\r\n5,6\r\n').map((byte) => (byte === 63 ? 0xe9 : byte))],
    ['UTF-16', Uint8Array.from(Buffer.from('\ufeffa,b\r\n1,2\r\n3,\ufffd\r\n4,\ud83d\r\n5,6\r\n', 'utf16le'))],
    [
      'UTF-16 that ends within a character',
      Uint8Array.from(Buffer.from('\ufeffa,b\r1,2\r3,4\r5', 'utf16le')).subarray(0, -1),
    ],
  ])('reports the line of bytes that are not %s', (_what, bytes) => {
    expect(readRefusal(() => inferBytes(bytes))).toMatchObject({ code: 'UNREADABLE_BYTES', line: 4 });
  });

  test('reports more columns than a table can have', () => {
    const makeHeader = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`).join(',');
    for (const count of [1001, 1599, 5000, 17_000]) {
      const problem = readRefusal(() => inferText(`${makeHeader(count)}\n${makeHeader(count)}\n`));
      expect(problem).toMatchObject({ code: 'TOO_MANY_COLUMNS', file: 'arquivo.csv', line: 1 });
    }
    expect(inferText(`${makeHeader(1000)}\n${makeHeader(1000)}x\n`).schema.columns).toHaveLength(1000);
    // Trailing delimiters make no columns.
    expect(inferText(`${makeHeader(1000)},,,\n${makeHeader(1000)}x,,,\n`).schema.columns).toHaveLength(1000);
    expect(readRefusal(() => inferText(`a,b\n1,2\n${','.repeat(20_000)}\n`))?.code).toBe('TOO_MANY_FIELDS');
  });
});

describe('the analysis of several CSV files', () => {
  const readTextFile = (name: string, text: string) => readFile(encodeFile(text), name);

  test('matches their columns by name, and reads each in its own dialect', () => {
    const { schema, files } = finishInference([
      readTextFile('a.csv', 'nome,idade,dia\nana,30,01/02/2024\n'),
      readTextFile('b.csv', 'Dia;Nome;Idade\n31/01/2024;bia;1.5\n02/03/2024;"caio; davi";\n'),
    ]);
    expect(schema.columns.map(({ name, type, nullable }) => [name, type, nullable])).toEqual([
      ['nome', 'text', true],
      ['idade', 'decimal', true],
      ['dia', 'date', true],
    ]);
    expect(schema.suggested_table_name).toBe('a');
    expect(schema.total_row_count_estimate).toBe(3);
    expect(schema.sample_rows.map((row) => row.dia)).toEqual(['2024-02-01', '2024-01-31', '2024-03-02']);
    expect(files.map(({ fields, rows }) => [fields, rows])).toEqual([
      [[0, 1, 2], 1],
      [[1, 2, 0], 2],
    ]);
  });

  test('infers one type per column that fits all of them', () => {
    const { schema } = finishInference([
      readTextFile('a.csv', 'k,n\nx,1\ny,2\n'),
      readTextFile('b.csv', 'k,n\nz,3\nw,n/d\n'),
    ]);
    expect(schema.columns[1]).toMatchObject({ type: 'text', evidence: { counter_example: { value: 'n/d', line: 3 } } });
  });

  test('requires rows in only one of them', () => {
    const { schema } = finishInference([readTextFile('a.csv', 'k,n\n'), readTextFile('b.csv', 'k,n\nz,3\n')]);
    expect(schema.total_row_count_estimate).toBe(1);
    expect(
      readRefusal(() => finishInference([readTextFile('a.csv', 'k,n\n'), readTextFile('b.csv', 'k,n\n')]))?.code,
    ).toBe('NO_ROWS');
  });

  test('matches their columns by position when they have no headers', () => {
    const { schema } = finishInference([readTextFile('a.csv', '1,x\n2,y\n'), readTextFile('b.csv', '3,z\n')]);
    expect(readRefusal(() => schema)).toBeNull();
    expect(schema.total_row_count_estimate).toBe(3);
  });

  test.each([
    ['another column', 'k,m\nx,1\n', 'm'],
    ['an additional column', 'k,n,m\nx,1,2\n', 'm'],
    ['a missing column', 'k\nx\n', 'n'],
  ])('reports different headers for %s in one of them', (_what, text, column) => {
    const inferBoth = () => finishInference([readTextFile('a.csv', 'k,n\nx,1\n'), readTextFile('b.csv', text)]);
    expect(readRefusal(inferBoth)).toMatchObject({ code: 'HEADERS_DIFFER', file: 'b.csv', column });
  });
});
