import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import type { PageHeader } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import type { Leaf } from '../../src/formats/parquet/footer.ts';
import { checkHeader, readDictionary, readPage } from '../../src/formats/parquet/pages.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import files from './fixtures/files.json';
import { loadSource, readFailure, readSource } from './sources.ts';

const company = await createProvisionedCompany();

/** Reads a file that another program has written: see fixtures/make.py. */
const readFixture = (name: keyof typeof files): Uint8Array => Uint8Array.from(Buffer.from(files[name], 'base64'));

/** The rows of the table `many` in fixtures/make.py. */
const EXPECTED_ROWS = Array.from({ length: 300 }, (_, row) => ({
  n: row,
  texto: row % 7 === 0 ? null : `linha ${row % 50}`,
  fracao: row % 3 === 0 ? null : row / 8,
  lista: row % 5 === 0 ? null : JSON.stringify(Array.from({ length: row % 4 }, (_, at) => at)),
  sim: row % 2 === 0,
}));

interface FileChanges {
  change?: (writer: ParquetWriter) => void;
  codec?: 'UNCOMPRESSED' | 'SNAPPY';
}

/** Makes a file of one column of numbers, changed before its footer is written. */
function makeParquetFile(values: number[], { change = () => {}, codec = 'SNAPPY' }: FileChanges = {}): Uint8Array {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [
      { name: 'root', num_children: 1 },
      { name: 'n', type: 'INT32', repetition_type: 'REQUIRED' },
    ],
    codec,
  });
  writer.write({ columnData: [{ name: 'n', data: values }] });
  change(writer);
  writer.finish();
  return new Uint8Array(bytes.getBuffer());
}

describe('a Parquet file', () => {
  it('keeps its column types', async () => {
    const { types, rows, schema } = await loadSource(company, 'tipos.parquet', readFixture('types'), {
      changes: { time_zone: 'America/Sao_Paulo' },
    });
    expect(types).toEqual({
      booleano: 'boolean',
      i8: 'integer',
      i64: 'integer',
      u8: 'integer',
      u32: 'integer',
      u64: 'decimal',
      u64_pequeno: 'integer',
      f16: 'decimal',
      f32: 'decimal',
      f64: 'decimal',
      d9: 'decimal',
      d38: 'decimal',
      d50: 'decimal',
      dia: 'date',
      ms: 'datetime',
      us: 'datetime',
      ns: 'datetime',
      ns_fino: 'text',
      local: 'datetime',
      longe: 'text',
      hora: 'text',
      texto: 'text',
      numeros: 'text',
      categoria: 'text',
      uuid: 'text',
      nada: 'text',
      lista: 'text',
      mapa: 'text',
      grupo: 'text',
      lista_de_grupos: 'text',
    });
    expect(rows).toEqual([
      {
        booleano: true,
        i8: -128,
        i64: '-9223372036854775808',
        u8: 255,
        u32: 4294967295,
        u64: '18446744073709551615',
        u64_pequeno: 7,
        f16: 1.5,
        f32: 0.1,
        f64: expect.anything(),
        d9: -1.05,
        d38: '-1234567890123456789012345678.0123456789',
        d50: `-${'9'.repeat(50)}`,
        dia: '1969-12-31',
        ms: '2024-01-31T12:30:15.123Z',
        us: '2024-01-31T12:30:15.123456Z',
        ns: '2024-01-31T12:30:15.123456Z',
        ns_fino: '2024-01-31T12:30:15.123456789Z',
        local: '2024-01-31T15:30:15.123456Z',
        longe: '+318857-05-20T17:46:40Z',
        hora: '23:59:59.000005',
        texto: 'a,"b"\nç😀',
        numeros: '1',
        categoria: 'x',
        uuid: '80000000-0000-0000-0000-000000000005',
        nada: null,
        lista: '[1,null,4611686018427387904]',
        mapa: '{"a":1.5,"b":null}',
        grupo: '{"n":1.10,"dia":"2024-01-31","textos":["a",null,"b\\""]}',
        lista_de_grupos: '[{"a":true,"b":[1,2]},{"a":null,"b":[]}]',
      },
      expect.objectContaining({
        booleano: null,
        texto: null,
        numeros: '2',
        lista: null,
        mapa: null,
        grupo: null,
        f64: null,
      }),
      expect.objectContaining({
        booleano: false,
        i64: '9223372036854775807',
        u64: 1,
        f16: null,
        f32: null,
        f64: -0.1,
        d9: 1234567.89,
        dia: '9999-12-31',
        ms: '0001-01-01T00:00:00.000Z',
        us: '1969-12-31T23:59:59.000001Z',
        ns_fino: '2024-01-31T12:30:15Z',
        local: '2024-07-01T03:00:00.000Z',
        texto: '5',
        lista: '[]',
        mapa: '{}',
        grupo: '{"n":null,"dia":null,"textos":null}',
        lista_de_grupos: '[null]',
      }),
    ]);
    const evidenceByName = Object.fromEntries(
      schema.columns.map(({ name, evidence }: { name: string; evidence: object }) => [name, evidence]),
    );
    expect(evidenceByName).toMatchObject({
      f16: { nulls: 2, not_numbers: 1 },
      f32: { nulls: 2, not_numbers: 1 },
      f64: { nulls: 1, not_numbers: 1 },
      ns_fino: { counter_example: { line: 1 } },
    });
    expect(evidenceByName.d9).not.toHaveProperty('not_numbers');
    expect(schema.dialect).toMatchObject({ delimiter: null, quote: null, header: true, sheet: null });
  });

  it('may have datetimes of the type INT96', async () => {
    const { types, rows } = await loadSource(company, 'a.parquet', readFixture('int96'));
    expect(types).toEqual({ quando: 'datetime' });
    expect(rows).toEqual([{ quando: '2024-01-31T12:30:15.123456Z' }, { quando: null }]);
  });

  const wholeFiles = (Object.keys(files) as (keyof typeof files)[]).filter((name) => /^\w+-[\d.]+$|^delta/.test(name));
  it.each(wholeFiles)('is read with every row once: %s', async (name) => {
    const { types, rows } = await loadSource(company, 'a.parquet', readFixture(name));
    expect(types).toEqual({ n: 'integer', texto: 'text', fracao: 'decimal', lista: 'text', sim: 'boolean' });
    expect(rows).toEqual(EXPECTED_ROWS);
  });

  it('may have empty and missing lists of groups in pages of version 2', async () => {
    const { rows } = await loadSource(company, 'a.parquet', readFixture('lists-of-groups'));
    expect(rows.map(({ c }) => c)).toEqual(['[{"a":1},{"a":2}]', '[]', null, '[{"a":null}]', '[{"a":3}]']);
  });

  it('may have maps with any keys, of which every entry is kept', async () => {
    const { rows } = await loadSource(company, 'a.parquet', readFixture('maps'));
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
    const { rows } = await loadSource(company, 'a.parquet', readFixture('group-names'));
    expect(rows.map((row) => Object.values(row))).toEqual([
      ['{"__proto__":1,"constructor":2}', '{"__proto__":{"x":1},"__proto__.x":2,"10":3,"9":4,"entries":5}'],
    ]);
  });

  it('may have runs that are filled up beyond the last row, as DuckDB writes them', async () => {
    const { rows } = await loadSource(company, 'a.parquet', readFixture('duckdb'));
    const expectedRows = Array.from({ length: 20 }, (_, row) => ({
      n: row === 1 ? null : row,
      texto: `linha ${row % 3}`,
      lista: row % 2 === 1 ? `[${row},null]` : '[]',
      sim: row % 2 === 0,
    }));
    expect(rows).toEqual(expectedRows);
  });

  it.each(['snappy-1.0', 'zstd-2.0'] as const)('is read completely over many small messages: %s', async (name) => {
    const { rows } = await loadSource(company, 'b.parquet', readFixture(name), {
      env: { UPLOAD_MESSAGE_BYTES: '2000' },
    });
    expect(rows).toEqual(EXPECTED_ROWS);
  });

  it('is read when it is written by our own exporter', async () => {
    const values = Array.from({ length: 5000 }, (_, row) => (row * 7919) % 1000);
    const { rows } = await loadSource(company, 'c.parquet', makeParquetFile(values));
    expect(rows.map(({ n }) => n)).toEqual(values);
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
    ['a claim of 10^12 rows', makeParquetFile([1, 2], { change: claimRows }), { code: 'PARQUET_UNREADABLE' }],
    [
      'a claim of 10^12 rows in a group of one',
      makeParquetFile([1], { change: claimAll }),
      { code: 'PARQUET_UNREADABLE' },
    ],
    [
      'an unknown compression codec',
      makeParquetFile([1, 2], { change: claimCodec }),
      { code: 'PARQUET_CODEC', column: 'n' },
    ],
    [
      'an offset of pages beyond its end',
      makeParquetFile([1, 2], { change: claimOffset }),
      { code: 'PARQUET_UNREADABLE' },
    ],
  ])('fails its job for %s', async (_, bytes, expected) => {
    expect(await readFailure(company, 'd.parquet', bytes)).toMatchObject({ ...expected, file: 'd.parquet' });
  });

  it('is read, or fails its job with a known error, whichever byte is changed', async () => {
    const bytes = readFixture('zstd-1.0');
    for (let at = 5; at < bytes.length; at += Math.ceil(bytes.length / 12)) {
      const changedBytes = bytes.slice();
      changedBytes[at] = (changedBytes[at] ?? 0) ^ 0x55;
      const { status, error } = await readSource(company, 'e.parquet', changedBytes);
      expect(['waiting_confirm', 'failed']).toContain(status);
      if (error) expect(error.code).toMatch(/^PARQUET_|^UNREADABLE_BYTES|^RECORD_TOO|^NUL_|^NO_/);
    }
  });

  it('cannot be analysed again with options for CSV', async () => {
    const job = await readSource(company, 'f.parquet', makeParquetFile([1]));
    const path = `/v1/managed-tables/upload-jobs/${job._id}/analyze`;
    expect((await company.as.post(path, { json: { header: false } })).status).toBe(422);
  });
});

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

describe('a Parquet page', () => {
  const leaf = {
    schemaElement: { name: 'n', type: 'INT32' },
    path: [],
    valueLevel: 0,
    repetitionCount: 0,
  } as unknown as Leaf;
  const makePageHeader = (unpackedBytes: number, valueCount: number): PageHeader =>
    ({
      type: 'DATA_PAGE',
      compressed_page_size: 100,
      uncompressed_page_size: unpackedBytes,
      data_page_header: { num_values: valueCount, encoding: 'PLAIN' },
    }) as PageHeader;
  const readFault = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      return (error as { fault?: string }).fault;
    }
    return 'none';
  };

  it('is refused before unpacking when its header claims too large a size or too many values', () => {
    expect(readFault(() => checkHeader(makePageHeader(2 ** 31 - 1, 10), 'n'))).toBe('page_too_large');
    expect(readFault(() => checkHeader(makePageHeader(-1, 10), 'n'))).toBe('damaged');
    expect(readFault(() => checkHeader(makePageHeader(1000, 2 ** 31 - 1), 'n'))).toBe('page_too_large');
    expect(readFault(() => checkHeader(makePageHeader(1000, 10), 'n'))).toBe('none');
  });

  it.each([
    ['GZIP', gzipSync],
    ['BROTLI', (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ['ZSTD', zstdCompressSync],
  ] as const)('is unpacked whatever its size: %s', (codec, compress) => {
    const blockSizes = [2, 3, 4, 5, 8, 16].map((blocks) => blocks * 40 * 1024);
    const sizes = [...Array.from({ length: 20 }, (_, exponent) => 8 << exponent), 40 * 1024, ...blockSizes];
    for (const size of sizes.flatMap((size) => [size - 4, size, size + 4])) {
      const count = size / 4;
      const values = Int32Array.from({ length: count }, (_, row) => row % 100);
      const packed = new Uint8Array(compress(new Uint8Array(values.buffer)));
      const header = makePageHeader(size, count);
      const { data_page_header: _, ...commonHeader } = header;
      const headerV2 = {
        ...commonHeader,
        type: 'DATA_PAGE_V2',
        data_page_header_v2: {
          num_values: count,
          num_nulls: 0,
          num_rows: count,
          encoding: 'PLAIN',
          definition_levels_byte_length: 0,
          repetition_levels_byte_length: 0,
          is_compressed: true,
        },
      } as PageHeader;
      const dictionaryHeader = {
        ...commonHeader,
        type: 'DICTIONARY_PAGE',
        dictionary_page_header: { num_values: count, encoding: 'PLAIN' },
      } as PageHeader;
      const pages = [
        readPage(packed, header, leaf, codec, 'n').values,
        readPage(packed, headerV2, leaf, codec, 'n').values,
        readDictionary(packed, dictionaryHeader, leaf, codec, 'n'),
      ];
      for (const page of pages) {
        const differingIndex = values.findIndex((value, row) => value !== page[row]);
        expect({ size, count: page.length, differsAt: differingIndex }).toEqual({ size, count, differsAt: -1 });
      }
    }
  });

  it.each(['GZIP', 'BROTLI', 'ZSTD'])('is refused when it is cut: %s', (codec) => {
    const values = new Uint8Array(80 * 1024);
    const compress = { GZIP: gzipSync, BROTLI: brotliCompressSync, ZSTD: zstdCompressSync }[codec];
    const packed = new Uint8Array(compress?.(values) ?? []);
    const header = makePageHeader(values.length, values.length / 4);
    expect(readFault(() => readPage(packed.subarray(0, -5), header, leaf, codec, 'n'))).toBe('damaged');
    expect(readFault(() => readPage(packed, header, leaf, codec, 'n'))).toBe('none');
  });

  it('is refused when it unpacks to more than its header says', () => {
    const gzipBomb = new Uint8Array(gzipSync(Buffer.alloc(50_000_000)));
    expect(readFault(() => readPage(gzipBomb, makePageHeader(40, 10), leaf, 'GZIP', 'n'))).toBe('damaged');
  });

  it.each(['RLE_DICTIONARY', 'PLAIN_DICTIONARY'])('is refused when a run claims two billion values: %s', (encoding) => {
    const bytes = Uint8Array.of(1, 0xfe, 0xff, 0xff, 0xff, 0x0f, 1);
    const header = makePageHeader(bytes.length, 10);
    if (header.data_page_header) header.data_page_header.encoding = encoding as never;
    expect(readFault(() => readPage(bytes, header, leaf, 'UNCOMPRESSED', 'n'))).toBe('damaged');
  });

  it('is refused when its delta-encoded values would become too large', () => {
    const text = { ...leaf, schemaElement: { name: 'n', type: 'BYTE_ARRAY' } } as Leaf;
    // 200 values, whose prefixes grow by a million each.
    const prefixes = [
      ...encodeVarint(128),
      1,
      ...encodeVarint(200),
      0,
      ...encodeZigzag(1_000_000),
      0,
      ...encodeZigzag(1_000_000),
      0,
    ];
    const header = makePageHeader(prefixes.length + 20, 200);
    if (header.data_page_header) header.data_page_header.encoding = 'DELTA_BYTE_ARRAY';
    const suffixes = [...encodeVarint(128), 1, ...encodeVarint(200), 0, ...encodeZigzag(0), 0, ...encodeZigzag(0), 0];
    const bytes = Uint8Array.from([...prefixes, ...suffixes]);
    header.uncompressed_page_size = bytes.length;
    expect(readFault(() => readPage(bytes, header, text, 'UNCOMPRESSED', 'n'))).toBe('page_too_large');
  });
});

function encodeVarint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...encodeVarint(value >>> 7)];
}

const encodeZigzag = (value: number): number[] => encodeVarint(value << 1);
