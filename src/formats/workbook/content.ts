/** What a file contains according to its first bytes, whatever its name says. */
export type Content = 'zip' | 'biff' | 'text' | 'unknown';

const OLE = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/**
 * Excel's current format is a zip file; its older ones lie in an OLE container or, the oldest, begin with a BOF record.
 */
export function contentOf(head: Uint8Array): Content {
  if (head[0] === 0x50 && head[1] === 0x4b && (head[2] === 3 || head[2] === 5)) return 'zip';
  if (isContainer(head)) return 'biff';
  if (head[0] === 9 && [0, 2, 4, 8].includes(head[1] ?? -1) && head[3] === 0) return 'biff';
  return isText(head) ? 'text' : 'unknown';
}

/** Whether the bytes begin an OLE container. */
export const isContainer = (head: Uint8Array): boolean => OLE.every((byte, index) => head[index] === byte);

/** Text has no control characters, unless it is UTF-16. */
function isText(head: Uint8Array): boolean {
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  return isUtf16 || !head.some((byte) => byte < 9 || (byte > 13 && byte < 27));
}
