import { createDecoder, type Encoding, toScannableBytes } from './decode.ts';

const strictUtf8Decoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

function findByteOrderMark(bytes: Uint8Array): { encoding: Encoding; length: number } | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { encoding: 'utf-8', length: 3 };
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: 'utf-16le', length: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: 'utf-16be', length: 2 };
  return null;
}

/** Recognizes UTF-16 without a byte order mark: nearly every second byte of Western text is zero. */
function detectUtf16ByZeros(bytes: Uint8Array): Encoding | null {
  const length = Math.min(bytes.length & ~1, 1024);
  const zeroCounts = [0, 0];
  for (let index = 0; index < length; index++) {
    if (bytes[index] === 0) zeroCounts[index & 1] = (zeroCounts[index & 1] as number) + 1;
  }
  const [even, odd] = zeroCounts as [number, number];
  if (length < 4) return null;
  if (odd > length * 0.35 && even < length * 0.05) return 'utf-16le';
  if (even > length * 0.35 && odd < length * 0.05) return 'utf-16be';
  return null;
}

/** Guesses the encoding by the first bytes. UTF-8 is a guess that a far later byte may contradict: {@link isUtf8}. */
export function guessEncoding(bytes: Uint8Array): { encoding: Encoding; markLength: number } {
  const byteOrderMark = findByteOrderMark(bytes);
  if (byteOrderMark !== null) return { encoding: byteOrderMark.encoding, markLength: byteOrderMark.length };
  return { encoding: detectUtf16ByZeros(bytes) ?? 'utf-8', markLength: 0 };
}

/** Returns true if any byte is outside ASCII. Reads four bytes at a time. */
export function hasHighBytes(bytes: Uint8Array): boolean {
  let index = 0;
  while (index < bytes.length && ((bytes.byteOffset + index) & 3) !== 0) {
    if ((bytes[index++] as number) >= 128) return true;
  }
  if (index === bytes.length) return false;
  const int32Words = new Int32Array(bytes.buffer, bytes.byteOffset + index, (bytes.length - index) >> 2);
  for (let wordIndex = 0; wordIndex < int32Words.length; wordIndex++) {
    if (((int32Words[wordIndex] as number) & 0x80808080) !== 0) return true;
  }
  for (index += int32Words.length * 4; index < bytes.length; index++) {
    if ((bytes[index] as number) >= 128) return true;
  }
  return false;
}

/** Returns true if the bytes are valid UTF-8. Unless they are the text's last, a character may be cut off at their end. */
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
    strictUtf8Decoder.decode(bytes.subarray(0, end));
    return true;
  } catch {
    return false;
  }
}

const UNDEFINED_1252_BYTES = [0x81, 0x8d, 0x8f, 0x90, 0x9d];

/** Returns true if some bytes are undefined in Windows-1252. */
export const hasUndefined1252Byte = (bytes: Uint8Array): boolean =>
  UNDEFINED_1252_BYTES.some((byte) => bytes.includes(byte));

/** Returns the text before the first bytes that are invalid in the encoding, in the form of {@link toScannableBytes}. */
export function takeReadableBytes(bytes: Uint8Array, encoding: Encoding): Uint8Array {
  const decodeUntil = (end: number) => {
    const text = toScannableBytes(bytes.subarray(0, end), encoding, false);
    return text === null || (encoding === 'utf-8' && !isUtf8(text, false)) ? null : text;
  };
  let text: Uint8Array = new Uint8Array();
  for (let from = 0, to = bytes.length; from < to; ) {
    const middle = (from + to + 1) >> 1;
    const readableText = decodeUntil(middle);
    if (readableText === null) to = middle - 1;
    else {
      text = readableText;
      from = middle;
    }
  }
  return text;
}

/** Counts the line ends before `end`: each LF, CRLF and CR. */
export function countLineEnds(bytes: Uint8Array, end: number): number {
  let count = 0;
  for (let index = 0; index < end; index++) {
    if (bytes[index] === 10 || (bytes[index] === 13 && bytes[index + 1] !== 10)) count++;
  }
  return count;
}

/** Decodes a whole text: in the encoding of its byte order mark, else as UTF-8, else as Windows-1252. */
export function decodeWhole(bytes: Uint8Array): string {
  try {
    const { encoding } = findByteOrderMark(bytes) ?? { encoding: 'utf-8' };
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return createDecoder('windows-1252')(bytes, 0, bytes.length);
  }
}
