/** What a file's first bytes say it is, whatever its name does. */
export type Content = 'zip' | 'old' | 'text' | 'unknown';

const OLE = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/** Excel's present format is a zip file, its old ones lie in an OLE container or, the oldest, begin with a BOF record. */
export function contentOf(head: Uint8Array): Content {
  if (head[0] === 0x50 && head[1] === 0x4b && (head[2] === 3 || head[2] === 5)) return 'zip';
  if (isContainer(head)) return 'old';
  if (head[0] === 9 && [0, 2, 4, 8].includes(head[1] ?? -1) && head[3] === 0) return 'old';
  return isText(head) ? 'text' : 'unknown';
}

/** Whether an OLE container begins so. */
export const isContainer = (head: Uint8Array): boolean => OLE.every((byte, index) => head[index] === byte);

/** Control characters are in no text, unless it is UTF-16. */
function isText(head: Uint8Array): boolean {
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  return isUtf16 || !head.some((byte) => byte < 9 || (byte > 13 && byte < 27));
}
