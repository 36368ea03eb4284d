import { createDataView } from '../../kernel/bytes.ts';
import type { ReadRange } from '../zip/directory.ts';
import { WorkbookTooLarge } from './limits.ts';

/** Error thrown when the bytes are not an OLE container, or one that is cut off or damaged. */
export class CompoundDamaged extends Error {}

/** Bytes in pieces of a file that are read as one sequence. */
export interface ByteStream {
  size: number;
  read: ReadRange;
}

const HEADER_BYTES = 512;
const ENTRY_BYTES = 128;
const MINI_BYTES = 64;
/** Largest sector number; larger values have a special meaning. */
const MAX_SECTOR = 0xfffffffa;
const NO_ENTRY = 0xffffffff;
const STREAM_ENTRY_TYPE = 2;
const MAX_ENTRIES = 100_000;

/** Opens a stream of a container. @throws CompoundDamaged */
type OpenStream = () => ByteStream;

/** Opens an OLE container (MS-CFB): the streams at its root, by lower-case names. @throws CompoundDamaged */
export async function openCompoundFile(readRange: ReadRange, size: number): Promise<Map<string, OpenStream>> {
  const read = createWindowedReader(readRange, size);
  const header = createDataView(await read(0, HEADER_BYTES));
  if (header.byteLength < HEADER_BYTES) throw new CompoundDamaged();
  const shift = header.getUint16(30, true);
  if (shift !== 9 && shift !== 12) throw new CompoundDamaged();
  const sectorBytes = 1 << shift;
  const toOffset = (sector: number) => (sector + 1) * sectorBytes;

  const fat = await readFat(read, header, sectorBytes, size);
  const listSectors = (firstSector: number): number[] => listChain(fat, firstSector, Math.ceil(size / sectorBytes));
  const openStream = (firstSector: number, length: number) =>
    createStream(read, listSectors(firstSector).map(toOffset), sectorBytes, length);

  const directory = openStream(header.getUint32(48, true), Number.POSITIVE_INFINITY);
  const entries = createDataView(await directory.read(0, Math.min(directory.size, MAX_ENTRIES * ENTRY_BYTES)));
  const root = openStream(entries.getUint32(116, true), Number.POSITIVE_INFINITY);
  const miniTable = openStream(header.getUint32(60, true), Number.POSITIVE_INFINITY);
  const miniFat = readNumbers(await miniTable.read(0, Math.min(miniTable.size, 4 * Math.ceil(size / MINI_BYTES))));
  const minStreamBytes = header.getUint32(56, true);

  // Each may claim all sectors of the file: only those that are used are listed.
  const foundStreams = new Map<string, OpenStream>();
  for (const at of listSiblings(entries, entries.getUint32(76, true))) {
    if (entries.getUint8(at + 66) !== STREAM_ENTRY_TYPE) continue;
    const firstSector = entries.getUint32(at + 116, true);
    const length = entries.getUint32(at + 120, true);
    const listOffsets = () => listChain(miniFat, firstSector, miniFat.length).map((sector) => sector * MINI_BYTES);
    foundStreams.set(readName(entries, at), () =>
      length < minStreamBytes
        ? createStream(root.read, listOffsets(), MINI_BYTES, length)
        : openStream(firstSector, length),
    );
  }
  return foundStreams;
}

/** Reads the allocation table: the header lists its first sectors, chained sectors the others. */
async function readFat(read: ReadRange, header: DataView, sectorBytes: number, size: number): Promise<Uint32Array> {
  const maxSectors = Math.ceil(size / sectorBytes);
  const maxTableSectors = Math.ceil((maxSectors * 4) / sectorBytes) + 1;
  const tableSectors: number[] = [];
  /** Adds sectors of the table. @returns whether it may have more */
  const addSectors = (sectorNumbers: Uint32Array): boolean => {
    for (const sectorNumber of sectorNumbers)
      if (sectorNumber < maxSectors && tableSectors.length < maxTableSectors) tableSectors.push(sectorNumber);
    return tableSectors.length < maxTableSectors;
  };
  let mayHaveMore = addSectors(readNumbers(await read(76, HEADER_BYTES - 76)));
  let nextSector = header.getUint32(68, true);
  // The chain of a damaged file may lead back to itself.
  for (let count = 0; mayHaveMore && nextSector < MAX_SECTOR && count < maxTableSectors; count++) {
    const chainedSectors = readNumbers(await read((nextSector + 1) * sectorBytes, sectorBytes));
    mayHaveMore = addSectors(chainedSectors.subarray(0, -1));
    nextSector = chainedSectors.at(-1) ?? NO_ENTRY;
  }
  const fat = new Uint32Array((tableSectors.length * sectorBytes) / 4);
  for (const [index, place] of tableSectors.entries()) {
    fat.set(readNumbers(await read((place + 1) * sectorBytes, sectorBytes)), (index * sectorBytes) / 4);
  }
  return fat;
}

/** Lists the chain of sectors that begins with `firstSector`. @throws CompoundDamaged for an endless chain */
function listChain(fat: Uint32Array, firstSector: number, maxSectors: number): number[] {
  const sectors: number[] = [];
  for (let sector = firstSector; sector < MAX_SECTOR; sector = fat[sector] ?? NO_ENTRY) {
    if (sectors.push(sector) > maxSectors) throw new CompoundDamaged();
  }
  return sectors;
}

/** Lists the offsets of the entries of one folder, which form a tree. */
function listSiblings(entries: DataView, firstEntry: number): number[] {
  const entryOffsets = new Set<number>();
  const pendingEntries = [firstEntry];
  for (let entry = pendingEntries.pop(); entry !== undefined; entry = pendingEntries.pop()) {
    const at = entry * ENTRY_BYTES;
    if (at + ENTRY_BYTES > entries.byteLength || entryOffsets.has(at)) continue;
    entryOffsets.add(at);
    pendingEntries.push(entries.getUint32(at + 68, true), entries.getUint32(at + 72, true));
  }
  return [...entryOffsets];
}

function readName(entries: DataView, at: number): string {
  const length = Math.min(64, entries.getUint16(at + 64, true)) - 2;
  let name = '';
  for (let index = 0; index < length; index += 2) name += String.fromCharCode(entries.getUint16(at + index, true));
  return name.toLowerCase();
}

/** Makes a stream of pieces of one size; adjacent pieces are read at once. */
function createStream(read: ReadRange, pieceOffsets: number[], pieceBytes: number, length: number): ByteStream {
  const size = Math.min(length, pieceOffsets.length * pieceBytes);
  return {
    size,
    async read(offset, wantedLength) {
      const wholeBytes = new Uint8Array(Math.max(0, Math.min(wantedLength, size - offset)));
      for (let at = 0; at < wholeBytes.length; ) {
        const index = Math.floor((offset + at) / pieceBytes);
        const offsetInPiece = (offset + at) % pieceBytes;
        let end = index + 1;
        while (pieceOffsets[end] === (pieceOffsets[end - 1] as number) + pieceBytes) end++;
        const maxBytes = Math.min(wholeBytes.length - at, (end - index) * pieceBytes - offsetInPiece);
        const bytes = await read((pieceOffsets[index] as number) + offsetInPiece, maxBytes);
        if (bytes.length < maxBytes) throw new CompoundDamaged();
        wholeBytes.set(bytes, at);
        at += maxBytes;
      }
      return wholeBytes;
    },
  };
}

const WINDOW_BYTES = 2 * 1024 * 1024;

/** Makes a reader of a file in large windows that keeps the last few: sectors are small and lie nearly in order. */
function createWindowedReader(read: ReadRange, size: number): ReadRange {
  const windows = new Map<number, Uint8Array>();
  let loadCount = 0;
  const readWindow = async (index: number): Promise<Uint8Array> => {
    const knownWindow = windows.get(index);
    if (knownWindow) return knownWindow;
    // Only a file made to be slow has its pieces so scattered.
    if (++loadCount > 64 + 8 * Math.ceil(size / WINDOW_BYTES)) throw new WorkbookTooLarge();
    const bytes = await read(index * WINDOW_BYTES, Math.min(WINDOW_BYTES, size - index * WINDOW_BYTES));
    const [oldest] = windows.keys();
    if (windows.size > 2 && oldest !== undefined) windows.delete(oldest);
    windows.set(index, bytes);
    return bytes;
  };
  return async (offset, length) => {
    const wholeBytes = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
    for (let at = 0; at < wholeBytes.length; ) {
      const index = Math.floor((offset + at) / WINDOW_BYTES);
      const offsetInWindow = offset + at - index * WINDOW_BYTES;
      const bytes = (await readWindow(index)).subarray(offsetInWindow, offsetInWindow + wholeBytes.length - at);
      if (bytes.length === 0) throw new CompoundDamaged();
      wholeBytes.set(bytes, at);
      at += bytes.length;
    }
    return wholeBytes;
  };
}

function readNumbers(bytes: Uint8Array): Uint32Array {
  const view = createDataView(bytes);
  return Uint32Array.from({ length: bytes.length >> 2 }, (_, index) => view.getUint32(index * 4, true));
}
