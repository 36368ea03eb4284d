import { InferenceError } from './errors.ts';
import type { Encoding } from './schema.ts';
import type { Decode } from './types.ts';

/** Windows-1252's printable characters between 0x80 and 0x9F; its five holes stay control characters (WHATWG). */
const HIGH_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal: false });
const strictUtf8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });
const strictUtf16 = new TextDecoder('utf-16le', { ignoreBOM: true, fatal: true });
const encoder = new TextEncoder();

/** The byte order mark's encoding and length, if the file begins with one. */
function byteOrderMark(bytes: Uint8Array): { encoding: Encoding; length: number } | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { encoding: 'utf-8', length: 3 };
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: 'utf-16le', length: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: 'utf-16be', length: 2 };
  return null;
}

/** UTF-16 without a mark: nearly every second byte of Western text is zero. */
function zeroPattern(bytes: Uint8Array): Encoding | null {
  const length = Math.min(bytes.length & ~1, 1024);
  const zeros = [0, 0];
  for (let index = 0; index < length; index++) {
    if (bytes[index] === 0) zeros[index & 1] = (zeros[index & 1] as number) + 1;
  }
  const [even, odd] = zeros as [number, number];
  if (length < 4) return null;
  if (odd > length * 0.35 && even < length * 0.05) return 'utf-16le';
  if (even > length * 0.35 && odd < length * 0.05) return 'utf-16be';
  return null;
}

/**
 * The encoding that the beginning of a file shows, and the length of its byte order mark. UTF-8 is a hypothesis: it
 * holds until a byte contradicts it (see {@link validUtf8Length}), which may be a hundred megabytes later.
 */
export function beginningEncoding(bytes: Uint8Array): { encoding: Encoding; mark: number } {
  const mark = byteOrderMark(bytes);
  if (mark !== null) return { encoding: mark.encoding, mark: mark.length };
  return { encoding: zeroPattern(bytes) ?? 'utf-8', mark: 0 };
}

/** Whether any byte is not ASCII. Reads four bytes at a time. */
export function hasHighBytes(bytes: Uint8Array): boolean {
  let index = 0;
  while (index < bytes.length && ((bytes.byteOffset + index) & 3) !== 0) {
    if ((bytes[index++] as number) >= 128) return true;
  }
  if (index === bytes.length) return false;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + index, (bytes.length - index) >> 2);
  for (let word = 0; word < words.length; word++) {
    if (((words[word] as number) & 0x80808080) !== 0) return true;
  }
  for (index += words.length * 4; index < bytes.length; index++) {
    if ((bytes[index] as number) >= 128) return true;
  }
  return false;
}

/** Whether the bytes are UTF-8; unless they are the file's last, a character cut off at their end is fine. */
export function isUtf8(bytes: Uint8Array, isLast: boolean): boolean {
  let end = bytes.length;
  if (!isLast) {
    const from = Math.max(0, end - 3);
    for (let index = end - 1; index >= from; index--) {
      const byte = bytes[index] as number;
      if (byte < 0x80) break;
      if (byte >= 0xc0) {
        const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
        if (index + length > end) end = index;
        break;
      }
    }
  }
  try {
    strictUtf8.decode(bytes.subarray(0, end));
    return true;
  } catch {
    return false;
  }
}

/** Index of the first control character that no text file has, or -1: what is not UTF-8 and has them is not text. */
export function controlCharacter(bytes: Uint8Array): number {
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] as number;
    if (byte < 32 && byte !== 27 && byte !== 26 && (byte < 9 || byte > 13)) return index;
  }
  return -1;
}

const decodeUtf8: Decode = (bytes, start, end) => {
  const length = end - start;
  if (length > 24) return utf8.decode(bytes.subarray(start, end));
  // Short ASCII values are most of what is decoded; a decoder's call costs more than they do.
  let text = '';
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    if (byte >= 128) return utf8.decode(bytes.subarray(start, end));
    text += String.fromCharCode(byte);
  }
  return text;
};

/** Not TextDecoder: not every runtime has Windows-1252, and some read it as Latin-1. */
const decode1252: Decode = (bytes, start, end) => {
  let text = '';
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    text += byte >= 0x80 && byte < 0xa0 ? HIGH_1252[byte - 0x80] : String.fromCharCode(byte);
  }
  return text;
};

const UTF8_OF_1252 = Array.from({ length: 256 }, (_, byte) => encoder.encode(decode1252(Uint8Array.of(byte), 0, 1)));

/** The UTF-8 bytes of a byte of Windows-1252. */
export function utf8Of1252(byte: number): Uint8Array {
  return UTF8_OF_1252[byte] as Uint8Array;
}

/** How bytes in the working form of an encoding (see {@link workingBytes}) become strings. */
export function decoderOf(encoding: Encoding): Decode {
  return encoding === 'windows-1252' ? decode1252 : decodeUtf8;
}

/**
 * The bytes that the scanner works on: ASCII-compatible ones. UTF-8 and Windows-1252 are that already; UTF-16 becomes
 * UTF-8 (up to a whole character unless it is the file's last block).
 */
export function workingBytes(block: Uint8Array, encoding: Encoding, isLast: boolean, line: number): Uint8Array {
  if (encoding === 'utf-8' || encoding === 'windows-1252') return block;
  let length = block.length & ~1;
  const units = block.slice(0, length);
  if (encoding === 'utf-16be') {
    for (let index = 0; index < length; index += 2) {
      const high = units[index] as number;
      units[index] = units[index + 1] as number;
      units[index + 1] = high;
    }
  }
  if (!isLast && length >= 2 && ((units[length - 1] as number) & 0xfc) === 0xd8) length -= 2;
  if (isLast && block.length % 2 === 1) throw unreadable(line, 'UTF-16');
  try {
    return encoder.encode(strictUtf16.decode(units.subarray(0, length)));
  } catch {
    throw unreadable(line, 'UTF-16');
  }
}

/** How many bytes of the file the first `length` working bytes are. */
export function sourceLength(working: Uint8Array, length: number, encoding: Encoding): number {
  if (encoding === 'utf-8' || encoding === 'windows-1252') return length;
  return utf8.decode(working.subarray(0, length)).length * 2;
}

/** The error of bytes that are no text in the encoding that the file claims. */
export function unreadable(line: number, encoding: string): InferenceError {
  return new InferenceError(
    'UNREADABLE_BYTES',
    `O arquivo não pôde ser lido como texto ${encoding}: há bytes inválidos a partir da linha ${line}.`,
    { line },
  );
}
