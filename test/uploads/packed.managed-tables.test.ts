import { env } from 'cloudflare:test';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { continueUnpacking } from '../../src/modules/uploads/gzip.ts';
import { readSegments, type Segment, sumSegmentBytes } from '../../src/platform/segments.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { loadSource, readFailure, readSource } from './sources.ts';

const company = await createProvisionedCompany();

type FileBytes = Uint8Array<ArrayBuffer>;
const compressGzip = (text: string | Uint8Array): FileBytes => new Uint8Array(gzipSync(text));
const joinBytes = (...parts: Uint8Array[]): FileBytes => new Uint8Array(Buffer.concat(parts));

describe('a gzip file', () => {
  it.each([
    ['a.csv.gz', 'a;b\n1;x\n2;y\n'],
    ['A.TSV.GZ', 'a\tb\n1\tx\n2\ty\n'],
    ['a.ndjson.gz', '{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n'],
    ['a.jsonl.gz', '{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n'],
    ['a.json.gz', '[{"a":1,"b":"x"},{"a":2,"b":"y"}]'],
  ])('is unpacked and read by the file type of its content: %s', async (name, content) => {
    const { rows, schema } = await loadSource(company, name, compressGzip(content));
    expect(rows).toEqual([
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
    ]);
    expect(schema.suggested_table_name).toBe('a');
  });

  it('may consist of several gzip members', async () => {
    const { rows } = await loadSource(
      company,
      'b.csv.gz',
      joinBytes(compressGzip('a\n1\n'), compressGzip(''), compressGzip('2\n3\n')),
    );
    expect(rows.map(({ a }) => a)).toEqual([1, 2, 3]);
  });

  it('is unpacked completely over several messages', async () => {
    const lines = Array.from({ length: 40_000 }, (_, row) => `${row},${crypto.randomUUID()}`);
    const content = `n,id\n${lines.join('\n')}\n`;
    const { rows } = await loadSource(company, 'c.csv.gz', compressGzip(content), {
      env: { UPLOAD_MESSAGE_BYTES: String(40_000) },
    });
    expect(rows.map(({ n }) => n)).toEqual(lines.map((_, row) => row));
  });

  it('is read when the server sends it with Content-Encoding: gzip', async () => {
    const { rows } = await loadSource(company, 'd.csv.gz', compressGzip('a,b\n1,x\n'), {
      headers: { 'x-encoding': 'gzip' },
    });
    expect(rows).toEqual([{ a: 1, b: 'x' }]);
  });

  it.each([
    ['that ends early', (bytes: FileBytes) => bytes.slice(0, -4)],
    ['whose second member ends early', (bytes: FileBytes) => joinBytes(bytes, bytes.slice(0, 15))],
    ['with a wrong checksum', (bytes: FileBytes) => changeByte(bytes, bytes.length - 6)],
    ['with wrong bytes', (bytes: FileBytes) => changeByte(bytes, 12)],
    ['that is not gzip', () => new Uint8Array([0, 1, 2, 3, 0, 0, 0, 0])],
  ])('fails its job as a file %s', async (_, damageFile) => {
    const bytes = damageFile(compressGzip('a,b\n1,x\n2,y\n'.repeat(20)));
    expect(await readFailure(company, 'e.csv.gz', bytes)).toMatchObject({ code: 'GZIP_CORRUPT', file: 'e.csv.gz' });
  });

  it('is named with its .gz name in the error for its content', async () => {
    const html = '<!DOCTYPE html><html><body>Not found</body></html>';
    expect(await readFailure(company, 'm.csv.gz', compressGzip(html))).toMatchObject({ file: 'm.csv.gz' });
    expect(await readFailure(company, 'm.json.gz', compressGzip('[{"a":1},'))).toMatchObject({ file: 'm.json.gz' });
  });

  it('fails its job when it is a decompression bomb', async () => {
    const bytes = compressGzip(Buffer.alloc(60 * 1024 * 1024, 'a,b\n1,2\n'));
    expect(await readFailure(company, 'f.csv.gz', bytes)).toMatchObject({ code: 'GZIP_RATIO' });
  });

  it('is refused when it unpacks to more bytes than allowed', async () => {
    const bytes = compressGzip(crypto.getRandomValues(new Uint8Array(60_000)));
    const unpackGzip = (maxBytes: number, segmentsBefore: Segment[] = [], budget = 1e9) =>
      continueUnpacking(
        {
          bucket: env.FILES,
          newKey: () => `test/${crypto.randomUUID()}`,
          stream: () => new Blob([bytes]).stream() as ReadableStream<Uint8Array>,
          bytesPerCall: budget,
        },
        { name: 'g.csv.gz', size: bytes.length },
        segmentsBefore,
        maxBytes,
      );
    await expect(unpackGzip(59_999)).rejects.toMatchObject({
      error: { code: 'GZIP_TOO_LARGE', message: 'O conteúdo de "g.csv.gz" passa de 5 GiB depois de descompactado.' },
    });
    const { segments, done } = await unpackGzip(60_000);
    expect([done, sumSegmentBytes(segments)]).toEqual([true, 60_000]);
    expect(await readSegments(env.FILES, segments, 0, 60_000)).toHaveLength(60_000);
  });

  it('is refused when its content is a workbook', async () => {
    const { status } = await company.as.post('/v1/managed-tables/upload-from-url', {
      json: { url: 'https://files.example.com/a', filename: 'a.xlsx.gz' },
    });
    expect(status).toBe(422);
  });
});

function changeByte(bytes: FileBytes, at: number): FileBytes {
  const other = bytes.slice();
  other[at] = (other[at] ?? 0) ^ 0xff;
  return other;
}

describe('a file of tab-separated values', () => {
  it('is split at tabs, even if its values have more commas or semicolons', async () => {
    const { rows, schema } = await loadSource(company, 'h.tsv', 'a,b,c\td\n1,2,3\tx;y\n4,5,6\tz;w\n');
    expect(rows).toEqual([
      { a_b_c: '1,2,3', d: 'x;y' },
      { a_b_c: '4,5,6', d: 'z;w' },
    ]);
    expect(schema.dialect).toMatchObject({ delimiter: '\t', header: true });
  });

  it('may have one column', async () => {
    const { rows } = await loadSource(company, 'i.tsv', 'nome\nSilva, A\nSouza, B\n');
    expect(rows).toEqual([{ nome: 'Silva, A' }, { nome: 'Souza, B' }]);
  });

  it('is recognized by its media type, and can be analysed again with another delimiter', async () => {
    const headers = { 'content-type': 'text/tab-separated-values; charset=utf-8' };
    const job = await readSource(company, 'dados', 'a;b\n1;2\n', { headers });
    expect(job.files[0].original_name).toBe('dados.tsv');
    expect(job.inferred_schema.columns).toHaveLength(1);
    const { status } = await company.as.post(`/v1/managed-tables/upload-jobs/${job._id}/analyze`, {
      json: { delimiter: ';' },
    });
    expect(status).toBe(200);
    await expect
      .poll(
        async () =>
          (await company.as.get(`/v1/managed-tables/upload-jobs/${job._id}`)).body.inferred_schema.columns.length,
      )
      .toBe(2);
  });
});
