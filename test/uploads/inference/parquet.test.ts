import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { ParquetProblem } from '../../../src/formats/parquet/problem.ts';
import { chooseFormatter } from '../../../src/formats/parquet/values.ts';
import { FIXTURE_NAMES, MANY_ROWS, readFixture } from '../parquet.ts';
import { readRecords, readRecordsProblem } from './records.ts';

/** Makes a file of one column of numbers, changed before its footer is written. */
function makeParquetFile(values: number[], change: (writer: ParquetWriter) => void = () => {}): Uint8Array {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [
      { name: 'root', num_children: 1 },
      { name: 'n', type: 'INT32', repetition_type: 'REQUIRED' },
    ],
    codec: 'SNAPPY',
  });
  writer.write({ columnData: [{ name: 'n', data: values }] });
  change(writer);
  writer.finish();
  return new Uint8Array(bytes.getBuffer());
}

function makeEncryptedFile(): Uint8Array {
  const bytes = readFixture('types');
  bytes.set(new TextEncoder().encode('PARE'), bytes.length - 4);
  return bytes;
}

const TRILLION_ROWS = 10n ** 12n;

function claimRows(writer: ParquetWriter): void {
  writer.num_rows = TRILLION_ROWS;
}

function claimAll(writer: ParquetWriter): void {
  claimRows(writer);
  for (const group of writer.row_groups) {
    group.num_rows = TRILLION_ROWS;
    for (const { meta_data: data } of group.columns) if (data) data.num_values = TRILLION_ROWS;
  }
}

function claimCodec(writer: ParquetWriter): void {
  for (const { columns } of writer.row_groups) for (const { meta_data: data } of columns) if (data) data.codec = 'LZO';
}

function claimOffset(writer: ParquetWriter): void {
  for (const { columns } of writer.row_groups)
    for (const { meta_data: data } of columns) if (data) data.data_page_offset = 2n ** 40n;
}

/** Returns rows with each value as it is sent to Postgres. */
const toTexts = (rows: Record<string, unknown>[]) =>
  rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)])),
  );

describe('a Parquet file', () => {
  const wholeFiles = FIXTURE_NAMES.filter((name) => /^\w+-[\d.]+$|^delta/.test(name));
  it.each(wholeFiles)('is read with every row once: %s', async (name) => {
    const { types, rows } = await readRecords('a.parquet', readFixture(name));
    expect(types).toEqual({ n: 'integer', texto: 'text', fracao: 'decimal', lista: 'text', sim: 'boolean' });
    expect(rows).toEqual(toTexts(MANY_ROWS));
  });

  it('may have empty and missing lists of groups in pages of version 2', async () => {
    const { rows } = await readRecords('a.parquet', readFixture('lists-of-groups'));
    expect(rows.map(({ c }) => c)).toEqual(['[{"a":1},{"a":2}]', '[]', null, '[{"a":null}]', '[{"a":3}]']);
  });

  it('may have maps with any keys, of which every entry is kept', async () => {
    const { rows } = await readRecords('a.parquet', readFixture('maps'));
    expect(rows).toEqual([
      {
        grupos: '[{"key":{"a":1},"value":2},{"key":{"a":2},"value":3}]',
        listas: '[{"key":[1],"value":2},{"key":[2],"value":null}]',
        textos: '[{"key":"a","value":2},{"key":"a","value":3}]',
        dias: '{"2024-01-31":true}',
        numeros: '[{"10":{"x":1},"9":null},null]',
      },
      { grupos: '{}', listas: '{}', textos: '{"__proto__":2,"10":3,"9":4}', dias: '{}', numeros: '[]' },
      { grupos: null, listas: null, textos: '{}', dias: null, numeros: null },
    ]);
  });

  it('may have groups whose members have any names', async () => {
    const { rows } = await readRecords('a.parquet', readFixture('group-names'));
    expect(rows.map((row) => Object.values(row))).toEqual([
      ['{"__proto__":1,"constructor":2}', '{"__proto__":{"x":1},"__proto__.x":2,"10":3,"9":4,"entries":5}'],
    ]);
  });

  it('may have runs that are filled up beyond the last row, as DuckDB writes them', async () => {
    const { rows } = await readRecords('a.parquet', readFixture('duckdb'));
    const expectedRows = Array.from({ length: 20 }, (_, row) => ({
      n: row === 1 ? null : row,
      texto: `linha ${row % 3}`,
      lista: row % 2 === 1 ? `[${row},null]` : '[]',
      sim: row % 2 === 0,
    }));
    expect(rows).toEqual(toTexts(expectedRows));
  });

  it('is read when it is written by our own exporter', async () => {
    const values = Array.from({ length: 5000 }, (_, row) => (row * 7919) % 1000);
    const { rows } = await readRecords('c.parquet', makeParquetFile(values));
    expect(rows.map(({ n }) => Number(n))).toEqual(values);
  });

  it.each([
    ['a binary column', readFixture('binary'), { code: 'PARQUET_BINARY', column: 'bytes' }],
    ['a list of binary values', readFixture('nested-binary'), { code: 'PARQUET_BINARY', column: 'bytes' }],
    ['no rows', readFixture('empty'), { code: 'NO_ROWS' }],
    ['a NUL character', readFixture('nul'), { code: 'NUL_BYTE', column: 'a' }],
    ['a CSV under its name', new TextEncoder().encode('a,b,c\n1,2,3\n1,2,3\n'), { code: 'PARQUET_UNREADABLE' }],
    ['no bytes', new Uint8Array(), { code: 'PARQUET_UNREADABLE' }],
    ['a file that is cut', readFixture('types').slice(0, -20), { code: 'PARQUET_UNREADABLE' }],
    ['an encrypted footer', makeEncryptedFile(), { code: 'PARQUET_ENCRYPTED' }],
    ['a claim of 10^12 rows', makeParquetFile([1, 2], claimRows), { code: 'PARQUET_UNREADABLE' }],
    ['a claim of 10^12 rows in a group of one', makeParquetFile([1], claimAll), { code: 'PARQUET_UNREADABLE' }],
    ['an unknown compression codec', makeParquetFile([1, 2], claimCodec), { code: 'PARQUET_CODEC', column: 'n' }],
    ['an offset of pages beyond its end', makeParquetFile([1, 2], claimOffset), { code: 'PARQUET_UNREADABLE' }],
  ])('is refused for %s', async (_, bytes, expected) => {
    expect(await readRecordsProblem('d.parquet', bytes)).toMatchObject({ ...expected, file: 'd.parquet' });
  });

  it('may have decimal numbers of 512 bytes, and no longer ones, which take time that grows with their square', () => {
    const { formatValue } = chooseFormatter(
      { name: 'n', type: 'BYTE_ARRAY', converted_type: 'DECIMAL', scale: 2 },
      'n',
    );
    expect(formatValue(new Uint8Array(512).fill(255))).toBe('-0.01');
    expect(formatValue(new Uint8Array(512).with(0, 127))).toBe(
      `${(127n << 4088n) / 100n}.${String((127n << 4088n) % 100n).padStart(2, '0')}`,
    );
    expect(() => formatValue(new Uint8Array(513))).toThrow(new ParquetProblem('damaged'));
  });

  it('is read, or refused with a known error, whichever byte is changed', async () => {
    const bytes = readFixture('zstd-1.0');
    for (let at = 5; at < bytes.length; at += Math.ceil(bytes.length / 12)) {
      const changedBytes = bytes.slice();
      changedBytes[at] = (changedBytes[at] ?? 0) ^ 0x55;
      const problem = await readRecordsProblem('e.parquet', changedBytes);
      if (problem) expect(problem.code).toMatch(/^PARQUET_|^UNREADABLE_BYTES|^RECORD_TOO|^NUL_|^NO_/);
    }
  });
});
