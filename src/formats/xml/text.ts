/** Error thrown when the bytes are not XML as it occurs in workbooks. */
export class XmlUnreadable extends Error {}

const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
const CHARACTERS_BY_NAME: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Decodes the text between two offsets, with its references unchanged. */
export const sliceText = (bytes: Uint8Array, start: number, end: number): string =>
  decoder.decode(bytes.subarray(start, end));

/** Returns true if a text of ASCII characters stands between two offsets. */
export function hasTextAt(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let index = 0; index < text.length; index++) {
    if (bytes[start + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

/** Finds the offset of a text of ASCII characters from `from` on, or -1. */
export function findText(bytes: Uint8Array, searchedText: string, from: number): number {
  const firstCode = searchedText.charCodeAt(0);
  for (let at = bytes.indexOf(firstCode, from); at >= 0; at = bytes.indexOf(firstCode, at + 1)) {
    let index = 1;
    while (index < searchedText.length && bytes[at + index] === searchedText.charCodeAt(index)) index++;
    if (index === searchedText.length) return at;
  }
  return -1;
}

/** Decodes the text between two offsets, references included. */
export function decodeText(bytes: Uint8Array, start: number, end: number): string {
  const text = sliceText(bytes, start, end);
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi, (reference, decimal, hex, name) => {
    if (name !== undefined) return CHARACTERS_BY_NAME[name.toLowerCase()] ?? reference;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

/** Returns true if there is an `&` between two offsets, so that the text needs decoding. */
export function hasReference(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === 38) return true;
  return false;
}
