/** Error thrown when the packed bytes are damaged, or unpack to more than allowed. */
class Lz4Damaged extends Error {}

/** Unpacks blocks of LZ4, of which Parquet's LZ4_RAW has one, to exactly `length` bytes. */
export function unpackLz4Block(packed: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length);
  if (unpackInto(packed, out, 0) !== length) throw new Lz4Damaged();
  return out;
}

/** Unpacks the older LZ4 format: blocks preceded by their packed and unpacked lengths, or a block alone. */
export function unpackLz4(packed: Uint8Array, length: number): Uint8Array {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const out = new Uint8Array(length);
  let at = 0;
  let end = 0;
  while (at + 8 <= packed.length) {
    const unpacked = view.getUint32(at);
    const size = view.getUint32(at + 4);
    at += 8;
    if (size > packed.length - at || unpacked > length - end) break;
    if (unpackInto(packed.subarray(at, at + size), out.subarray(0, end + unpacked), end) !== end + unpacked) break;
    at += size;
    end += unpacked;
    if (at === packed.length && end === length) return out;
  }
  return unpackLz4Block(packed, length);
}

/** Unpacks a block into a buffer. @returns the end of the unpacked bytes; -1 if the block cannot be unpacked */
function unpackInto(packed: Uint8Array, out: Uint8Array, from: number): number {
  let end = from;
  for (let at = 0; at < packed.length; ) {
    const token = packed[at++] as number;
    let literals = token >> 4;
    if (literals === 15) for (let byte = 255; byte === 255; literals += byte) byte = packed[at++] ?? 0;
    if (literals > packed.length - at || literals > out.length - end) return -1;
    out.set(packed.subarray(at, at + literals), end);
    at += literals;
    end += literals;
    if (at >= packed.length) return end;
    const distance = (packed[at] as number) | ((packed[at + 1] ?? 0) << 8);
    at += 2;
    let length = token & 15;
    if (length === 15) for (let byte = 255; byte === 255; length += byte) byte = packed[at++] ?? 0;
    length += 4;
    if (distance === 0 || distance > end - from || length > out.length - end) return -1;
    for (const stop = end + length; end < stop; end++) out[end] = out[end - distance] as number;
  }
  return end;
}
