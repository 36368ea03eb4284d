import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { NestedReader, type SliceLimits } from '../../../src/formats/parquet/columns.ts';
import { type Column, readFooter } from '../../../src/formats/parquet/footer.ts';
import { LeafReader } from '../../../src/formats/parquet/leaves.ts';

const TEXT: Partial<SchemaElement> = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' };
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** Opens the only column of a file of lists, whose items are texts or groups with these members. */
async function openLists(rows: unknown[], members: string[] = []): Promise<NestedReader> {
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
  writer.write({ columnData: [{ name: 'lista', data: rows }] });
  writer.finish();
  const file = new Uint8Array(bytes.getBuffer());
  const read = async (offset: number, length: number) => file.slice(offset, offset + length);
  const { columns, leaves, rowGroups } = await readFooter(read, file.length, 10);
  const dictionaryMemory = { byteCount: 0 };
  const readers = leaves.map((leaf, index) => {
    const chunk = rowGroups[0]?.chunks[index];
    if (!chunk) throw new Error('no chunk');
    return new LeafReader(read, leaf, chunk, 'lista', 1 << 20, dictionaryMemory);
  });
  return new NestedReader(
    columns[0] as Column,
    readers,
    readers.map(({ chunk }) => ({ offset: chunk.start, skippedRowCount: 0 })),
  );
}

/** Reads all rows. @returns the values, and the largest number of bytes that their texts had at a time */
async function readAll(reader: NestedReader, rowCount: number, limits: SliceLimits) {
  const values: unknown[] = [];
  let mostBytes = 0;
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
  }
  return { values, mostBytes };
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
