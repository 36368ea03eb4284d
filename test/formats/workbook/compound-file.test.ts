import { describe, expect, it } from 'vitest';
import { CompoundDamaged, openCompoundFile } from '../../../src/formats/workbook/compound-file.ts';

const SECTOR_BYTES = 512;
const NONE = 0xffffffff;
const END = 0xfffffffe;
const STREAM = 2;

interface ContainerParts {
  /** Numbers in the allocation table, which is the first sector. The directory is the second. */
  table: number[];
  entries: { name: string; type: number; firstSector: number; length: number; child?: number; next?: number }[];
  sectorCount: number;
  /** First sector that lists sectors of the allocation table, beyond those in the header. */
  firstListSector?: number;
  /** Numbers in other sectors. */
  numbers?: Record<number, number[]>;
}

/** Makes an OLE container with sectors of 512 bytes. */
function makeContainer({ table, entries, sectorCount, firstListSector = END, numbers = {} }: ContainerParts) {
  const bytes = new Uint8Array((sectorCount + 1) * SECTOR_BYTES);
  const view = new DataView(bytes.buffer);
  const writeNumbers = (at: number, ...values: number[]) => {
    for (const [index, value] of values.entries()) view.setUint32(at + 4 * index, value, true);
  };
  view.setUint16(30, 9, true);
  writeNumbers(48, 1, 0, 4096, END, 0, firstListSector, 0, 0, ...Array(108).fill(NONE));
  for (const [sector, values] of Object.entries({ 0: table, ...numbers }))
    writeNumbers((Number(sector) + 1) * SECTOR_BYTES, ...values);
  for (const [index, { name, type, firstSector, length, child = NONE, next = NONE }] of entries.entries()) {
    const at = 2 * SECTOR_BYTES + 128 * index;
    for (let letter = 0; letter < name.length; letter++) view.setUint16(at + 2 * letter, name.charCodeAt(letter), true);
    view.setUint16(at + 64, 2 * name.length + 2, true);
    view.setUint8(at + 66, type);
    writeNumbers(at + 68, NONE, next, child);
    writeNumbers(at + 116, firstSector, length);
  }
  return bytes;
}

const open = (bytes: Uint8Array) =>
  openCompoundFile(async (offset, length) => bytes.slice(offset, offset + length), bytes.length);

const ROOT = { name: 'Root Entry', type: 5, firstSector: END, length: 0 };

describe('a container of streams', () => {
  it('lists the sectors of the streams alone that are opened, as each may claim all of them', async () => {
    const streams = await open(
      makeContainer({
        table: [END, END, END, 3],
        entries: [
          { ...ROOT, child: 1 },
          { name: 'Workbook', type: STREAM, firstSector: 2, length: 4096, next: 2 },
          { name: 'Endless', type: STREAM, firstSector: 3, length: 4096 },
        ],
        sectorCount: 4,
      }),
    );
    expect([...streams.keys()]).toEqual(['workbook', 'endless']);
    expect(streams.get('workbook')?.().size).toBe(SECTOR_BYTES);
    expect(streams.get('endless')).toThrow(CompoundDamaged);
  });

  it('has no more sectors of its allocation table than its size needs, although their list leads back to itself', async () => {
    // The sectors lie so far apart that reading all of them for as long as the list goes on would be refused as too slow.
    const listSectors = [4999, 14_999, 24_999, 34_999];
    const numbers = listSectors.map((sector, index) => [
      sector,
      [...Array(127).fill(0), listSectors[(index + 1) % listSectors.length] as number],
    ]);
    const container = makeContainer({
      table: [END, END],
      entries: [ROOT],
      sectorCount: 40_000,
      firstListSector: 4999,
      numbers: Object.fromEntries(numbers),
    });
    expect((await open(container)).size).toBe(0);
  });
});
