/** Error thrown when the packed bytes are damaged, or unpack to more than allowed. */
class Lz4Damaged extends Error {}

/** Unpacks blocks of LZ4, of which Parquet's LZ4_RAW has one, to exactly `length` bytes. */
export function unpackLz4Block(packedBytes: Uint8Array, length: number): Uint8Array {
  const outputBytes = new Uint8Array(length);
  if (unpackInto(packedBytes, outputBytes, 0) !== length) throw new Lz4Damaged();
  return outputBytes;
}

/** Unpacks the older LZ4 format: blocks preceded by their packed and unpacked lengths, or a block alone. */
export function unpackLz4(packedBytes: Uint8Array, length: number): Uint8Array {
  const view = new DataView(packedBytes.buffer, packedBytes.byteOffset, packedBytes.byteLength);
  const outputBytes = new Uint8Array(length);
  let at = 0;
  let end = 0;
  while (at + 8 <= packedBytes.length) {
    const unpackedLength = view.getUint32(at);
    const size = view.getUint32(at + 4);
    at += 8;
    if (size > packedBytes.length - at || unpackedLength > length - end) break;
    if (
      unpackInto(packedBytes.subarray(at, at + size), outputBytes.subarray(0, end + unpackedLength), end) !==
      end + unpackedLength
    )
      break;
    at += size;
    end += unpackedLength;
    if (at === packedBytes.length && end === length) return outputBytes;
  }
  return unpackLz4Block(packedBytes, length);
}

/** Unpacks a block into a buffer. @returns the end of the unpacked bytes; -1 if the block cannot be unpacked */
function unpackInto(packedBytes: Uint8Array, outputBytes: Uint8Array, from: number): number {
  let end = from;
  for (let at = 0; at < packedBytes.length; ) {
    const token = packedBytes[at++] as number;
    let literalCount = token >> 4;
    if (literalCount === 15) for (let byte = 255; byte === 255; literalCount += byte) byte = packedBytes[at++] ?? 0;
    if (literalCount > packedBytes.length - at || literalCount > outputBytes.length - end) return -1;
    outputBytes.set(packedBytes.subarray(at, at + literalCount), end);
    at += literalCount;
    end += literalCount;
    if (at >= packedBytes.length) return end;
    const distance = (packedBytes[at] as number) | ((packedBytes[at + 1] ?? 0) << 8);
    at += 2;
    let length = token & 15;
    if (length === 15) for (let byte = 255; byte === 255; length += byte) byte = packedBytes[at++] ?? 0;
    length += 4;
    if (distance === 0 || distance > end - from || length > outputBytes.length - end) return -1;
    for (const stop = end + length; end < stop; end++) outputBytes[end] = outputBytes[end - distance] as number;
  }
  return end;
}
