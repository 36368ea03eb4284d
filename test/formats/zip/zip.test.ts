import { type Zippable, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { readDirectory, ZipDamaged, type ZipEntry } from '../../../src/formats/zip/directory.ts';
import { createZipSource, unpackZipEntry } from '../../../src/formats/zip/unpack.ts';

const encodeText = (content: string): Uint8Array => new TextEncoder().encode(content);
const CSV_BYTES = encodeText('a,b\n1,2\n'.repeat(500));

const readEntries = (zip: Uint8Array) => readDirectory(createZipSource(zip).read, zip.length);

/** Reads the unpacked entries of an archive, by name. */
async function readContents(zip: Uint8Array): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for (const entry of await readEntries(zip)) {
    const pieces: Uint8Array[] = [];
    await unpackZipEntry(createZipSource(zip), entry, (piece) => void pieces.push(piece.slice()));
    contents[entry.name] = new TextDecoder().decode(Buffer.concat(pieces));
  }
  return contents;
}

const hasDamage = async (zip: Uint8Array) => {
  try {
    await readContents(zip);
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(ZipDamaged);
    return true;
  }
};

describe('a zip archive', () => {
  it('is read with stored and deflated entries, even if its comment looks like the end of its directory', async () => {
    const files: Zippable = {
      'a.csv': [CSV_BYTES, { level: 0 }],
      'pasta/é.csv': CSV_BYTES,
      'vazio.csv': new Uint8Array(),
    };
    const zip = zipSync(files, { comment: 'PK\u0005\u0006 um comentário' });
    const expected = {
      'a.csv': new TextDecoder().decode(CSV_BYTES),
      'pasta/é.csv': new TextDecoder().decode(CSV_BYTES),
      'vazio.csv': '',
    };
    expect(await readContents(zip)).toEqual(expected);
  });

  it('may be written in the form for large files (Zip64)', async () => {
    expect(await readContents(toZip64(zipSync({ 'a.csv': CSV_BYTES, 'b.csv': encodeText('x') })))).toEqual({
      'a.csv': new TextDecoder().decode(CSV_BYTES),
      'b.csv': 'x',
    });
  });

  it('is reported as damaged wherever it is cut off or a byte of an entry is changed', async () => {
    const zip = zipSync({ 'a.csv': CSV_BYTES, 'b.csv': [CSV_BYTES, { level: 0 }] });
    for (let at = 0; at < zip.length; at += 61) expect(await hasDamage(zip.slice(0, at))).toBe(true);
    const [first, second] = await readEntries(zip);
    for (const entry of [first, second] as ZipEntry[]) {
      for (let at = entry.header + 40; at < entry.header + 30 + entry.compressed; at += 53) {
        const damagedZip = zip.slice();
        damagedZip[at] = (damagedZip[at] as number) ^ 1;
        expect(await hasDamage(damagedZip)).toBe(true);
      }
    }
  });

  it('is refused when an entry is larger than it claims', async () => {
    const zip = zipSync({ 'a.csv': CSV_BYTES });
    const [entry] = (await readEntries(zip)) as [ZipEntry];
    let unpackedBytes = 0;
    const pendingUnpack = unpackZipEntry(createZipSource(zip), { ...entry, size: 100 }, (piece) => {
      unpackedBytes += piece.length;
    });
    await expect(pendingUnpack).rejects.toBeInstanceOf(ZipDamaged);
    expect(unpackedBytes).toBeLessThanOrEqual(100);
  });
});

/** Converts an archive so that its directory is in the form for files beyond 4 GB: sizes and offsets are in extra fields. */
function toZip64(zip: Uint8Array): Uint8Array {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.length);
  const end = zip.length - 22;
  const [count, length, offset] = [
    view.getUint16(end + 10, true),
    view.getUint32(end + 12, true),
    view.getUint32(end + 16, true),
  ];
  const directory: Uint8Array[] = [];
  for (let at = offset; at < offset + length; ) {
    const head = zip.slice(at, at + 46);
    const headView = new DataView(head.buffer);
    const nameLength = headView.getUint16(28, true);
    const extra = new Uint8Array(28);
    const extraView = new DataView(extra.buffer);
    extraView.setUint16(0, 1, true);
    extraView.setUint16(2, 24, true);
    extraView.setBigUint64(4, BigInt(headView.getUint32(24, true)), true);
    extraView.setBigUint64(12, BigInt(headView.getUint32(20, true)), true);
    extraView.setBigUint64(20, BigInt(headView.getUint32(42, true)), true);
    for (const field of [20, 24, 42]) headView.setUint32(field, 0xffffffff, true);
    const oldExtraLength = headView.getUint16(30, true);
    headView.setUint16(30, 28, true);
    directory.push(head, zip.slice(at + 46, at + 46 + nameLength), extra);
    at += 46 + nameLength + oldExtraLength + headView.getUint16(32, true);
  }
  const size = directory.reduce((sum, piece) => sum + piece.length, 0);
  const record = new Uint8Array(56 + 20 + 22);
  const outputView = new DataView(record.buffer);
  outputView.setUint32(0, 0x06064b50, true);
  outputView.setBigUint64(4, 44n, true);
  for (const field of [24, 32]) outputView.setBigUint64(field, BigInt(count), true);
  outputView.setBigUint64(40, BigInt(size), true);
  outputView.setBigUint64(48, BigInt(offset), true);
  outputView.setUint32(56, 0x07064b50, true);
  outputView.setBigUint64(64, BigInt(offset + size), true);
  outputView.setUint32(72, 1, true);
  outputView.setUint32(76, 0x06054b50, true);
  for (const field of [84, 86]) outputView.setUint16(field, 0xffff, true);
  for (const field of [88, 92]) outputView.setUint32(field, 0xffffffff, true);
  return Buffer.concat([zip.slice(0, offset), ...directory, record]);
}
