import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { NestedReader, type SliceLimits } from '../../../src/formats/parquet/columns.ts';
import { type Column, readFooter } from '../../../src/formats/parquet/footer.ts';
import { LeafReader } from '../../../src/formats/parquet/leaves.ts';

const TEXT: Partial<SchemaElement> = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' };
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** Opens the only column of a file of lists, whose items are texts or groups with these members. */
const openLists = async (rows: unknown[], members: string[] = []): Promise<NestedReader> =>
  (await openCountedLists(rows, members, 1 << 20)).lists;

/** Also counts the reads of each part of the file. @param windowBytes the number of bytes that are read at a time */
async function openCountedLists(rows: unknown[], members: string[], windowBytes: number) {
  const bytes = new ByteWriter();
  const item: SchemaElement[] =
    members.length > 0
      ? [
          { name: 'element', repetition_type: 'REQUIRED', num_children: members.length },
          ...members.map((name) => ({ ...TEXT, name })),
        ]
      : [{ ...TEXT, name: 'element' }];
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [
      { name: 'root', num_children: 1 },
      { name: 'lista', repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...item,
    ],
  });
  writer.write({ columnData: [{ name: 'lista', data: rows }], rowGroupSize: rows.length, pageSize: 16 * 1024 });
  writer.finish();
  const file = new Uint8Array(bytes.getBuffer());
  const readCounts = new Map<number, number>();
  const read = async (offset: number, length: number) => {
    readCounts.set(offset, (readCounts.get(offset) ?? 0) + 1);
    return file.slice(offset, offset + length);
  };
  const { columns, leaves, rowGroups } = await readFooter(read, file.length, 10);
  const memory = { dictionaryBytes: 0, pageBytes: 0 };
  const readers = leaves.map((leaf, index) => {
    const chunk = rowGroups[0]?.chunks[index];
    if (!chunk) throw new Error('no chunk');
    return new LeafReader(read, leaf, chunk, 'lista', windowBytes, memory);
  });
  const lists = new NestedReader(
    columns[0] as Column,
    readers,
    readers.map(({ chunk }) => ({ offset: chunk.start, skippedRowCount: 0 })),
  );
  return { lists, readCounts };
}

/** Reads all rows. @returns the values, and the largest number of bytes that their texts had at a time */
async function readAll(reader: NestedReader, rowCount: number, limits: SliceLimits) {
  const values: unknown[] = [];
  let mostBytes = 0;
  let sliceCount = 0;
  while (values.length < rowCount) {
    const readyCount = await reader.countReadyRows(limits);
    const { texts } = reader;
    mostBytes = Math.max(mostBytes, texts.length);
    for (let index = 0; index < readyCount; index++) {
      const text = new TextDecoder().decode(
        texts.bytes.subarray(index === 0 ? 0 : texts.endOffsets[index - 1], texts.endOffsets[index]),
      );
      values.push(text === '' ? null : JSON.parse(text.slice(1, -1).replaceAll('""', '"')));
    }
    reader.takeRows(readyCount);
    sliceCount++;
  }
  return { values, mostBytes, sliceCount };
}

describe('a slice of a nested Parquet column', () => {
  const longText = 'x'.repeat(10_000);

  it('ends where its texts reach the limit of bytes, however often the file repeats a text', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => (n % 7 === 0 ? null : [String(n), longText, null]));
    const { values, mostBytes } = await readAll(await openLists(rows), 300, { maxRows: 1000, maxBytes: 100_000 });
    expect(values).toEqual(rows);
    expect(mostBytes).toBeLessThan(120_000);
  });

  it('ends where its texts reach the limit of bytes together, when its groups have several members', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => [
      { a: longText.slice(n), b: `${n}`, c: n % 3 ? null : longText },
    ]);
    const { values, mostBytes } = await readAll(await openLists(rows, ['a', 'b', 'c']), 300, {
      maxRows: 1000,
      maxBytes: 100_000,
    });
    expect(values).toEqual(rows);
    expect(mostBytes).toBeLessThan(130_000);
  });

  it('reads no page again that the slice before ended in, however many slices and members there are', async () => {
    const members = ['code', 'name', 'town', 'country'];
    const rows = Array.from({ length: 20_000 }, (_, n) => [
      Object.fromEntries(members.map((name, index) => [name, index === 0 ? `${n}` : `${name} ${n % 300}`])),
    ]);
    const { lists, readCounts } = await openCountedLists(rows, members, 1);
    // Opening a file reads its footer only.
    readCounts.clear();
    const { values, mostBytes, sliceCount } = await readAll(lists, 20_000, { maxRows: 100_000, maxBytes: 8 * 1024 });
    expect(values).toEqual(rows);
    expect(mostBytes).toBeLessThan(10_000);
    expect(sliceCount).toBeGreaterThan(200);
    // A slice may have been read to the page after the one that it ends in.
    expect(Math.max(...readCounts.values())).toBeLessThan(6);
  });

  it('ends where the names of members reach the limit of bytes', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => [{ [longText]: `${n}` }]);
    const limits = { maxRows: 1000, maxBytes: 100_000 };
    const { values, mostBytes } = await readAll(await openLists(rows, [longText]), 300, limits);
    expect(values).toEqual(rows);
    expect(mostBytes).toBeLessThan(120_000);
  });

  it('holds a row that is as long as a record may be, and none that is longer', async () => {
    const limits = { maxRows: 1000, maxBytes: 100_000 };
    const text = 'x'.repeat(1024 * 1024);
    const rows = [['a'], Array(15).fill(text), ['b']];
    expect((await readAll(await openLists(rows), 3, limits)).values).toEqual(rows);
    for (const longList of [await openLists([Array(17).fill(text)]), await openGroups(17, 'x'.repeat(1024 * 1024))])
      await expect(longList.countReadyRows(limits)).rejects.toMatchObject({ fault: 'row_too_long', column: 'lista' });
  });

  const openGroups = (count: number, name: string) => openLists([Array(count).fill({ [name]: 'a' })], [name]);

  it('holds each row alone where long values in several members are together longer than a record', async () => {
    const text = 'x'.repeat(MAX_RECORD_BYTES / 2 - 100);
    const rows = [[{ a: 'a', b: 'b', c: text }], [{ a: 'a', b: text, c: 'c' }], [{ a: text, b: 'b', c: text }], null];
    const lists = await openLists(rows, ['a', 'b', 'c']);
    const { values, mostBytes } = await readAll(lists, 4, { maxRows: 1000, maxBytes: 100_000 });
    expect(values).toEqual(rows);
    expect(mostBytes).toBeLessThan(MAX_RECORD_BYTES);
  });
});
