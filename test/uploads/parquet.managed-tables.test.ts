import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import type { PageHeader } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import type { Leaf } from '../../src/formats/parquet/footer.ts';
import { checkHeader, readDictionary, readPage } from '../../src/formats/parquet/pages.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { MANY_ROWS, readFixture } from './parquet.ts';
import { loadSource, readFailure, readSource } from './sources.ts';

const company = await createProvisionedCompany();

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

  it.each(['snappy-1.0', 'zstd-2.0'] as const)('is read completely over many small messages: %s', async (name) => {
    const { rows } = await loadSource(company, 'b.parquet', readFixture(name), {
      env: { UPLOAD_MESSAGE_BYTES: '2000' },
    });
    expect(rows).toEqual(MANY_ROWS);
  });

  it('fails its job when it is cut', async () => {
    const bytes = readFixture('types').slice(0, -20);
    expect(await readFailure(company, 'd.parquet', bytes)).toMatchObject({
      code: 'PARQUET_UNREADABLE',
      file: 'd.parquet',
    });
  });

  it('cannot be analysed again with options for CSV', async () => {
    const job = await readSource(company, 'f.parquet', readFixture('int96'));
    const path = `/v1/managed-tables/upload-jobs/${job._id}/analyze`;
    expect((await company.as.post(path, { json: { header: false } })).status).toBe(422);
  });
});

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
