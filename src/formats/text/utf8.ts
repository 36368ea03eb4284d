import { concatBytes } from '../../kernel/bytes.ts';
import { type Encoding, utf8Of1252 } from './decode.ts';
import { hasHighBytes } from './detect.ts';

/** Turns the next piece of a text into UTF-8, as far as its characters are whole. @throws TypeError for wrong bytes */
export type Recode = (piece: Uint8Array, isLast: boolean) => Uint8Array;

const encoder = new TextEncoder();

/** Turns a text in an encoding, without its byte order mark, into UTF-8, piece by piece. */
export function createRecoder(encoding: Encoding): Recode {
  if (encoding === 'utf-8') return fromUtf8();
  return encoding === 'windows-1252' ? from1252 : fromUtf16(encoding === 'utf-16be');
}

/** Passes the bytes on, and refuses those that are not UTF-8. */
function fromUtf8(): Recode {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let isOpen = false;
  return (piece, isLast) => {
    // Nearly all pieces of sheets are ASCII, which needs no check.
    if (isOpen || isLast || hasHighBytes(piece)) decoder.decode(piece, { stream: !isLast });
    if (piece.length > 0) isOpen = (piece.at(-1) as number) >= 0x80;
    return piece;
  };
}

function fromUtf16(isBigEndian: boolean): Recode {
  const decoder = new TextDecoder('utf-16le', { fatal: true, ignoreBOM: true });
  let odd = new Uint8Array();
  return (piece, isLast) => {
    const all = concatBytes([odd, piece]);
    const length = isLast ? all.length : all.length & ~1;
    odd = all.slice(length);
    const units = all.subarray(0, length);
    if (isBigEndian) {
      for (let at = 0; at + 1 < length; at += 2) {
        const high = units[at] as number;
        units[at] = units[at + 1] as number;
        units[at + 1] = high;
      }
    }
    return encoder.encode(decoder.decode(units, { stream: !isLast }));
  };
}

function from1252(piece: Uint8Array): Uint8Array {
  const out = new Uint8Array(piece.length * 3);
  let length = 0;
  for (const byte of piece) {
    if (byte < 0x80) out[length++] = byte;
    else for (const part of utf8Of1252(byte)) out[length++] = part;
  }
  return out.subarray(0, length);
}

/** Whether an encoding's name in a document means Windows-1252; Latin-1 is read as a subset of it. */
export const isWestern = (name: string): boolean =>
  /^(?:iso-?8859-?1|latin-?1|windows-?1252|cp-?1252)$/.test(name.toLowerCase());
