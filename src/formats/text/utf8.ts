import { concatBytes } from '../../kernel/bytes.ts';
import { type Encoding, swapUnits, toUtf8Bytes } from './decode.ts';
import { hasHighBytes } from './detect.ts';

/**
 * Function that converts the next piece of a text to UTF-8, up to its last complete character. @throws TypeError for invalid
 * bytes
 */
export type Recode = (piece: Uint8Array, isLast: boolean) => Uint8Array;

const encoder = new TextEncoder();

/** Creates a function that converts a text of an encoding, without its byte order mark, to UTF-8 piece by piece. */
export function createRecoder(encoding: Encoding): Recode {
  if (encoding === 'utf-8') return createUtf8Check();
  return encoding === 'windows-1252' ? recode1252 : createUtf16Recoder(encoding === 'utf-16be');
}

/** Creates a function that passes the bytes on, and refuses bytes that are not UTF-8. */
function createUtf8Check(): Recode {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let isOpen = false;
  return (piece, isLast) => {
    // Nearly all pieces of sheets are ASCII, which needs no check.
    if (isOpen || isLast || hasHighBytes(piece)) decoder.decode(piece, { stream: !isLast });
    if (piece.length > 0) isOpen = (piece.at(-1) as number) >= 0x80;
    return piece;
  };
}

function createUtf16Recoder(isBigEndian: boolean): Recode {
  const decoder = new TextDecoder('utf-16le', { fatal: true, ignoreBOM: true });
  let leftoverBytes = new Uint8Array();
  return (piece, isLast) => {
    const allBytes = concatBytes([leftoverBytes, piece]);
    const length = isLast ? allBytes.length : allBytes.length & ~1;
    leftoverBytes = allBytes.slice(length);
    const units = allBytes.subarray(0, length);
    if (isBigEndian) swapUnits(units);
    return encoder.encode(decoder.decode(units, { stream: !isLast }));
  };
}

function recode1252(piece: Uint8Array): Uint8Array {
  const outputBytes = new Uint8Array(piece.length * 3);
  let length = 0;
  for (const byte of piece) {
    if (byte < 0x80) outputBytes[length++] = byte;
    else for (const utf8Byte of toUtf8Bytes(byte)) outputBytes[length++] = utf8Byte;
  }
  return outputBytes.subarray(0, length);
}

/** Returns true if an encoding's name in a document means Windows-1252; Latin-1 is read as a subset of it. */
export const isWesternName = (name: string): boolean =>
  /^(?:iso-?8859-?1|latin-?1|windows-?1252|cp-?1252)$/.test(name.toLowerCase());
