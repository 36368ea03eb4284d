import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { findDataOffset, readDirectory } from '../../../src/formats/zip/directory.ts';
import { createZipSource, unpackWhole } from '../../../src/formats/zip/unpack.ts';
import {
  makeDescriptor,
  makeLocalHeader,
  makePathPart,
  type WrittenEntry,
  writeDirectory,
} from '../../../src/formats/zip/write.ts';
import { concatBytes } from '../../../src/kernel/bytes.ts';

const text = new TextEncoder();

/** Writes a zip file of stored entries that begins at the given offset. */
function writeZip(files: Record<string, string>, start = 0) {
  const entries: WrittenEntry[] = [];
  const parts: Uint8Array[] = [];
  let offset = start;
  for (const [path, content] of Object.entries(files)) {
    const data = text.encode(content);
    const entry = {
      path,
      isDeflated: false,
      crc: crc32(data),
      compressed: data.length,
      size: data.length,
      offset,
    };
    const entryBytes = concatBytes([makeLocalHeader(entry), data, makeDescriptor(entry)]);
    parts.push(entryBytes);
    entries.push(entry);
    offset += entryBytes.length;
  }
  return { entries, bytes: concatBytes([...parts, ...writeDirectory(entries, offset)]) };
}

describe('the records of a written zip file', () => {
  it('are read back with any names', async () => {
    const files = { 'a.csv': 'a\n1\n', 'pasta/é 😀.txt': 'olá', empty: '' };
    const { bytes } = writeZip(files);
    const zip = createZipSource(bytes);
    const entries = await readDirectory(zip.read, bytes.length);
    const readEntries = await Promise.all(
      entries.map(async (entry) => [entry.name, new TextDecoder().decode(await unpackWhole(zip, entry, 100))]),
    );
    expect(Object.fromEntries(readEntries)).toEqual(files);
  });

  it('may have offsets beyond 4 GiB', async () => {
    const start = 5 * 1024 ** 3;
    const { bytes, entries } = writeZip({ 'far.txt': 'far', 'farther.txt': 'farther' }, start);
    // What comes before is not looked at.
    const readBytes = async (offset: number, length: number) => {
      const leadingZeros = new Uint8Array(Math.min(length, Math.max(0, start - offset)));
      const from = Math.max(0, offset - start);
      return concatBytes([leadingZeros, bytes.subarray(from, from + length - leadingZeros.length)]);
    };
    const foundEntries = await readDirectory(readBytes, start + bytes.length);
    expect(foundEntries.map(({ name, header }) => [name, header])).toEqual(
      entries.map(({ path, offset }) => [path, offset]),
    );
    expect(await findDataOffset(readBytes, foundEntries[1] as (typeof foundEntries)[number])).toBe(
      (entries[1]?.offset ?? 0) + 30 + 11,
    );
  });

  it('may be more than 65,535 entries', async () => {
    const { bytes } = writeZip(Object.fromEntries(Array.from({ length: 70_000 }, (_, n) => [`${n}`, ''])));
    const entries = await readDirectory(createZipSource(bytes).read, bytes.length);
    expect([entries.length, entries.at(-1)?.name]).toEqual([70_000, '69999']);
  });

  it('are refused for an entry of 4 GiB', () => {
    const entry = { path: 'a', isDeflated: true, crc: 0, compressed: 1, size: 2 ** 32, offset: 0 };
    expect(() => makeDescriptor(entry)).toThrow('too large');
  });
});

it.each([
  ['sales_2024', 'sales_2024'],
  ['Vendas São Paulo 😀', 'Vendas São Paulo 😀'],
  ['a/b', 'a%2Fb'],
  ['a\\b', 'a%5Cb'],
  ['..', '%2E%2E'],
  ['.', '%2E'],
  ['../../etc/passwd', '%2E.%2F..%2Fetc%2Fpasswd'],
  ['con:*?"<>|', 'con%3A%2A%3F%22%3C%3E%7C'],
  ['100%', '100%25'],
  ['ends. ', 'ends.%20'],
  ['', '%00'],
  ['\u0000\n', '%00%0A'],
  ['\ud800', '\ufffd'],
  ['a'.repeat(300), 'a'.repeat(150)],
])('the name %j becomes the part %j of a path in a zip file', (name, part) => expect(makePathPart(name)).toBe(part));
