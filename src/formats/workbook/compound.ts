import { dataView } from '../../kernel/bytes.ts';
import type { ReadRange } from '../zip/directory.ts';
import { WorkbookTooLarge } from './limits.ts';

/** The bytes are not an OLE container, or one that is cut off or damaged. */
export class CompoundDamaged extends Error {}

/** Bytes that lie in pieces of a file and are read as one sequence. */
export interface ByteStream {
  size: number;
  read: ReadRange;
}

const HEADER_BYTES = 512;
const ENTRY_BYTES = 128;
const MINI_BYTES = 64;
/** The largest sector number; larger values have a special meaning. */
const MAX_SECTOR = 0xfffffffa;
const NO_ENTRY = 0xffffffff;
const STREAM = 2;
const MAX_ENTRIES = 100_000;

/** Opens an OLE container (MS-CFB): the streams at its root, by lower-case names. @throws CompoundDamaged */
export async function openCompound(from: ReadRange, size: number): Promise<Map<string, ByteStream>> {
  const read = windowed(from, size);
  const header = dataView(await read(0, HEADER_BYTES));
  if (header.byteLength < HEADER_BYTES) throw new CompoundDamaged();
  const shift = header.getUint16(30, true);
  if (shift !== 9 && shift !== 12) throw new CompoundDamaged();
  const sectorBytes = 1 << shift;
  const toOffset = (sector: number) => (sector + 1) * sectorBytes;

  const fat = await readFat(read, header, sectorBytes, size);
  const sectors = (first: number): number[] => chain(fat, first, Math.ceil(size / sectorBytes));
  const openStream = (first: number, length: number) =>
    streamIn(read, sectors(first).map(toOffset), sectorBytes, length);

  const directory = openStream(header.getUint32(48, true), Number.POSITIVE_INFINITY);
  const entries = dataView(await directory.read(0, Math.min(directory.size, MAX_ENTRIES * ENTRY_BYTES)));
  const root = openStream(entries.getUint32(116, true), Number.POSITIVE_INFINITY);
  const miniTable = openStream(header.getUint32(60, true), Number.POSITIVE_INFINITY);
  const miniFat = numbersIn(await miniTable.read(0, miniTable.size));
  const smallest = header.getUint32(56, true);

  const found = new Map<string, ByteStream>();
  for (const at of siblings(entries, entries.getUint32(76, true))) {
    if (entries.getUint8(at + 66) !== STREAM) continue;
    const first = entries.getUint32(at + 116, true);
    const length = entries.getUint32(at + 120, true);
    const places = () => chain(miniFat, first, miniFat.length).map((sector) => sector * MINI_BYTES);
    found.set(
      nameAt(entries, at),
      length < smallest ? streamIn(root.read, places(), MINI_BYTES, length) : openStream(first, length),
    );
  }
  return found;
}

/** Reads the table of each sector's next one: the header lists its first sectors, chained sectors the others. */
async function readFat(read: ReadRange, header: DataView, sectorBytes: number, size: number): Promise<Uint32Array> {
  const places: number[] = [];
  for (let at = 76; at < HEADER_BYTES; at += 4) places.push(header.getUint32(at, true));
  const most = Math.ceil(size / sectorBytes);
  let next = header.getUint32(68, true);
  for (let count = 0; next < MAX_SECTOR && count < most; count++) {
    const more = numbersIn(await read((next + 1) * sectorBytes, sectorBytes));
    for (const place of more.subarray(0, -1)) places.push(place);
    next = more.at(-1) ?? NO_ENTRY;
  }
  const used = places.filter((place) => place < most).slice(0, Math.ceil((most * 4) / sectorBytes) + 1);
  const fat = new Uint32Array((used.length * sectorBytes) / 4);
  for (const [index, place] of used.entries()) {
    fat.set(numbersIn(await read((place + 1) * sectorBytes, sectorBytes)), (index * sectorBytes) / 4);
  }
  return fat;
}

/** @throws CompoundDamaged for an endless chain */
function chain(fat: Uint32Array, first: number, most: number): number[] {
  const sectors: number[] = [];
  for (let sector = first; sector < MAX_SECTOR; sector = fat[sector] ?? NO_ENTRY) {
    if (sectors.push(sector) > most) throw new CompoundDamaged();
  }
  return sectors;
}

/** The offsets of the entries of one folder, which form a tree. */
function siblings(entries: DataView, first: number): number[] {
  const places = new Set<number>();
  const open = [first];
  for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
    const at = entry * ENTRY_BYTES;
    if (at + ENTRY_BYTES > entries.byteLength || places.has(at)) continue;
    places.add(at);
    open.push(entries.getUint32(at + 68, true), entries.getUint32(at + 72, true));
  }
  return [...places];
}

function nameAt(entries: DataView, at: number): string {
  const length = Math.min(64, entries.getUint16(at + 64, true)) - 2;
  let name = '';
  for (let index = 0; index < length; index += 2) name += String.fromCharCode(entries.getUint16(at + index, true));
  return name.toLowerCase();
}

/** A stream of pieces of one size; adjacent pieces are read at once. */
function streamIn(read: ReadRange, places: number[], pieceBytes: number, length: number): ByteStream {
  const size = Math.min(length, places.length * pieceBytes);
  return {
    size,
    async read(offset, wanted) {
      const whole = new Uint8Array(Math.max(0, Math.min(wanted, size - offset)));
      for (let at = 0; at < whole.length; ) {
        const index = Math.floor((offset + at) / pieceBytes);
        const within = (offset + at) % pieceBytes;
        let end = index + 1;
        while (places[end] === (places[end - 1] as number) + pieceBytes) end++;
        const most = Math.min(whole.length - at, (end - index) * pieceBytes - within);
        const bytes = await read((places[index] as number) + within, most);
        if (bytes.length < most) throw new CompoundDamaged();
        whole.set(bytes, at);
        at += most;
      }
      return whole;
    },
  };
}

const WINDOW_BYTES = 2 * 1024 * 1024;

/** Reads a file in large windows and keeps the last few: sectors are small and lie nearly in order. */
function windowed(read: ReadRange, size: number): ReadRange {
  const windows = new Map<number, Uint8Array>();
  let loads = 0;
  const readWindow = async (index: number): Promise<Uint8Array> => {
    const known = windows.get(index);
    if (known) return known;
    // Only a file made to be slow has its pieces so scattered.
    if (++loads > 64 + 8 * Math.ceil(size / WINDOW_BYTES)) throw new WorkbookTooLarge();
    const bytes = await read(index * WINDOW_BYTES, Math.min(WINDOW_BYTES, size - index * WINDOW_BYTES));
    const [oldest] = windows.keys();
    if (windows.size > 2 && oldest !== undefined) windows.delete(oldest);
    windows.set(index, bytes);
    return bytes;
  };
  return async (offset, length) => {
    const whole = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
    for (let at = 0; at < whole.length; ) {
      const index = Math.floor((offset + at) / WINDOW_BYTES);
      const within = offset + at - index * WINDOW_BYTES;
      const bytes = (await readWindow(index)).subarray(within, within + whole.length - at);
      if (bytes.length === 0) throw new CompoundDamaged();
      whole.set(bytes, at);
      at += bytes.length;
    }
    return whole;
  };
}

function numbersIn(bytes: Uint8Array): Uint32Array {
  const view = dataView(bytes);
  return Uint32Array.from({ length: bytes.length >> 2 }, (_, index) => view.getUint32(index * 4, true));
}
