import { describe, expect, it } from 'vitest';
import type { ZipEntry } from '../../src/formats/zip/directory.ts';
import { chooseEntries } from '../../src/modules/uploads/archive.ts';
import { FORM_EXTENSIONS, UNPACKED_TYPES } from '../../src/modules/uploads/kinds.ts';

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
