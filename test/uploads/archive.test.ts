import { describe, expect, it } from 'vitest';
import type { CompanyContext } from '../../src/context.ts';
import type { ZipEntry } from '../../src/formats/zip/directory.ts';
import { chooseEntries } from '../../src/modules/uploads/archive.ts';
import { FORM_EXTENSIONS, UNPACKED_TYPES } from '../../src/modules/uploads/kinds.ts';
import { beginReading } from '../../src/modules/uploads/parquet.ts';
import { beginRecords } from '../../src/modules/uploads/records.ts';
import { type Item, prepareItem, type TextConversion } from '../../src/modules/uploads/sources.ts';
import { createMemoryBucket } from './workbook/converting.ts';

describe('a zip archive', () => {
  const makeEntry = (name: string, otherFields: Partial<ZipEntry> = {}): ZipEntry => ({
    name,
    method: 8,
    encrypted: false,
    compressed: 10,
    size: 100,
    crc: 0,
    header: 0,
    ...otherFields,
  });
  const MB = 1024 * 1024;
  const listNames = (size: number, entries: ZipEntry[]) =>
    chooseEntries('x.zip', size, entries).map(({ name }) => name);
  const findRefusal = (size: number, entries: ZipEntry[]) => {
    try {
      chooseEntries('x.zip', size, entries);
      return 'none';
    } catch (error) {
      return (error as { error: { code: string } }).error.code;
    }
  };

  it('is read without its folders, hidden files, files that macOS adds and files of other types', () => {
    const allNames = [
      'a.csv',
      'dir/',
      'dir/b.XLSX',
      'dir/.c.csv',
      '.git/d.csv',
      '__MACOSX/._a.csv',
      'leia.txt',
      'c.xls',
    ];
    expect(
      listNames(
        MB,
        allNames.map((name) => makeEntry(name)),
      ),
    ).toEqual(['a.csv', 'dir/b.XLSX', 'c.xls']);
  });

  it('is read with the kinds of files that its upload takes', () => {
    const allEntries = ['a.tsv', 'b.JSON', 'c.ndjson', 'd.jsonl', 'e.parquet', 'f.csv.gz', 'g.csv', 'h.txt'].map(
      (name) => makeEntry(name),
    );
    const listChosenNames = (types: readonly string[]) =>
      chooseEntries('x.zip', MB, allEntries, types).map(({ name }) => name);
    expect(listChosenNames(FORM_EXTENSIONS)).toEqual(['g.csv']);
    expect(listChosenNames(UNPACKED_TYPES)).toEqual(['a.tsv', 'b.JSON', 'c.ndjson', 'd.jsonl', 'e.parquet', 'g.csv']);
  });

  it.each<[string, number, ZipEntry[], string]>([
    ['no file to load', MB, [makeEntry('leia.txt'), makeEntry('dir/')], 'ZIP_NO_FILES'],
    ['no entries', MB, [], 'ZIP_NO_FILES'],
    ['50 files', MB, Array.from({ length: 50 }, (_, n) => makeEntry(`${n}.csv`)), 'none'],
    ['51 files', MB, Array.from({ length: 51 }, (_, n) => makeEntry(`${n}.csv`)), 'ZIP_TOO_MANY_FILES'],
    [
      '51 files, of which one is ignored for its type',
      MB,
      Array.from({ length: 51 }, (_, n) => makeEntry(n ? `${n}.csv` : 'x.txt')),
      'none',
    ],
    ['an archive inside', MB, [makeEntry('a.csv'), makeEntry('dir/b.ZIP')], 'ZIP_NESTED'],
    ['a password', MB, [makeEntry('a.csv', { encrypted: true })], 'ZIP_ENCRYPTED'],
    [
      'a password on a file that is ignored for its type',
      MB,
      [makeEntry('a.csv'), makeEntry('x.txt', { encrypted: true })],
      'none',
    ],
    ['an unknown compression', MB, [makeEntry('a.csv', { method: 14 })], 'ZIP_METHOD'],
    ['a path that leads out of its folder', MB, [makeEntry('../../a.csv')], 'ZIP_UNSAFE_NAME'],
    ['a path that leads out of a folder and in again', MB, [makeEntry('x/../a.csv')], 'ZIP_UNSAFE_NAME'],
    ['1 GiB of content', 100 * MB, [makeEntry('a.csv', { size: 1024 * MB })], 'none'],
    [
      'more than 1 GiB of content',
      100 * MB,
      [makeEntry('a.csv', { size: 1024 * MB }), makeEntry('b.csv', { size: 1 })],
      'ZIP_TOO_LARGE',
    ],
    ['50 MB of content in 1,000 bytes', 1000, [makeEntry('a.csv', { size: 50 * MB })], 'none'],
    ['content of 200 times its size', MB, [makeEntry('a.csv', { size: 200 * MB })], 'none'],
    [
      'content of more than 200 times its size',
      MB,
      [makeEntry('a.csv', { size: 200 * MB }), makeEntry('b.csv', { size: 1 })],
      'ZIP_RATIO',
    ],
  ])('with %s is accepted, or refused with an error code', (_, size, entries, code) => {
    expect(findRefusal(size, entries)).toBe(code);
  });
});

describe('the texts of records of a job', () => {
  const GIB = 1024 ** 3;
  const bucket = createMemoryBucket();
  const ctx = { files: bucket, config: { UPLOAD_MESSAGE_BYTES: 1000 }, actor: { companyId: 'empresa' } };
  const conversion: TextConversion = {
    ctx: ctx as unknown as CompanyContext,
    jobId: 'tarefa',
    analysisNumber: 0,
    sheet: undefined,
  };

  it('may have 10 GiB together, and fail the job beyond that', async () => {
    const records = { names: ['a'], encoding: 'utf-8' as const };
    const text: Item = { kind: 'text', name: 'a', segments: [], size_bytes: 3 * GIB, sheet: null, records };
    const parquet: Item = {
      kind: 'parquet',
      name: 'b.parquet',
      segments: [],
      size_bytes: 0,
      reading: { ...beginReading(), text: [{ key: 'b', bytes: 3 * GIB }] },
    };
    const convert = async (content: string) => {
      const size = content.length;
      await bucket.put('c', new TextEncoder().encode(content));
      const reading = { ...beginRecords('lines'), text: [{ key: 'd', bytes: 4 * GIB - 4 }] };
      const item: Item = {
        kind: 'records',
        name: 'c',
        segments: [{ key: 'c', bytes: size }],
        size_bytes: size,
        reading,
      };
      const { items } = await prepareItem(conversion, [text, parquet, item], 2);
      return items[2];
    };
    expect(await convert('{"a":123}\n')).toMatchObject({ kind: 'text', size_bytes: 4 * GIB });
    await expect(convert('{"a":1234}\n')).rejects.toMatchObject({ error: { code: 'JSON_TOO_LARGE', file: 'c' } });
  });
});
