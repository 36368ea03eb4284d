export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** Function that decodes the bytes between two offsets. */
export type Decode = (bytes: Uint8Array, start: number, end: number) => string;

/** Characters of Windows-1252 from 0x80 to 0x9F; its five undefined bytes become control characters (WHATWG). */
const HIGH_1252_CHARACTERS = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal: false });
const strictUtf16Decoder = new TextDecoder('utf-16le', { ignoreBOM: true, fatal: true });
const encoder = new TextEncoder();

const decodeUtf8: Decode = (bytes, start, end) => {
  const length = end - start;
  if (length > 24) return utf8.decode(bytes.subarray(start, end));
  // Most decoded values are short and ASCII; calling a TextDecoder costs more than decoding them here.
  let text = '';
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    if (byte >= 128) return utf8.decode(bytes.subarray(start, end));
    text += String.fromCharCode(byte);
  }
  return text;
};

/** Decodes Windows-1252: not every runtime's TextDecoder supports the encoding, and some decode it as Latin-1. */
const decode1252: Decode = (bytes, start, end) => {
  let text = '';
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    text += byte >= 0x80 && byte < 0xa0 ? HIGH_1252_CHARACTERS[byte - 0x80] : String.fromCharCode(byte);
  }
  return text;
};

const UTF8_BY_1252_BYTE = Array.from({ length: 256 }, (_, byte) =>
  encoder.encode(decode1252(Uint8Array.of(byte), 0, 1)),
);

/** Returns the UTF-8 bytes of a byte of Windows-1252. */
export const toUtf8Bytes = (byte: number): Uint8Array => UTF8_BY_1252_BYTE[byte] as Uint8Array;

/** Returns the function that decodes the result of {@link toScannableBytes} for an encoding. */
export const createDecoder = (encoding: Encoding): Decode => (encoding === 'windows-1252' ? decode1252 : decodeUtf8);

/**
 * Converts a block of text to bytes in which each ASCII character is one byte, so that commas and digits can be searched for:
 * UTF-8 and Windows-1252 unchanged, UTF-16 as UTF-8, up to a complete character unless the block is the text's last. @returns
 * null when the block is not valid in the encoding
 */
export function toScannableBytes(block: Uint8Array, encoding: Encoding, isLast: boolean): Uint8Array | null {
  if (encoding === 'utf-8' || encoding === 'windows-1252') return block;
  let length = block.length & ~1;
  const units = block.slice(0, length);
  if (encoding === 'utf-16be') swapUnits(units);
  if (!isLast && length >= 2 && ((units[length - 1] as number) & 0xfc) === 0xd8) length -= 2;
  if (isLast && block.length % 2 === 1) return null;
  try {
    return encoder.encode(strictUtf16Decoder.decode(units.subarray(0, length)));
  } catch {
    return null;
  }
}

/** Changes the byte order of UTF-16. */
export function swapUnits(units: Uint8Array): void {
  for (let at = 0; at + 1 < units.length; at += 2) {
    const firstByte = units[at] as number;
    units[at] = units[at + 1] as number;
    units[at + 1] = firstByte;
  }
}

/** Returns the number of bytes of the text that the first `length` bytes of its {@link toScannableBytes} stand for. */
export function measureEncodedLength(scannableBytes: Uint8Array, length: number, encoding: Encoding): number {
  if (encoding === 'utf-8' || encoding === 'windows-1252') return length;
  return utf8.decode(scannableBytes.subarray(0, length)).length * 2;
}
