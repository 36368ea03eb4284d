import { createDecoder, scannableBytes } from '../text/decode.ts';
import { guessEncoding } from '../text/detect.ts';

/** What a file is by its first bytes. `sheets` is XML Spreadsheet 2003, `mhtml` a page with its parts in one file. */
export type Content = 'zip' | 'biff' | 'text' | 'html' | 'mhtml' | 'sheets' | 'xml' | 'json' | 'unknown';

const OLE = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/** Workbooks are zip files, once OLE containers or BOF records. Programs also write HTML or XML under their names. */
export function detectContent(head: Uint8Array): Content {
  if (head[0] === 0x50 && head[1] === 0x4b && (head[2] === 3 || head[2] === 5)) return 'zip';
  if (isContainer(head)) return 'biff';
  if (head[0] === 9 && [0, 2, 4, 8].includes(head[1] ?? -1) && head[3] === 0) return 'biff';
  const { encoding, markLength } = guessEncoding(head);
  const bytes = scannableBytes(head.subarray(markLength, head.length & ~1), encoding, false);
  if (bytes === null || !isText(bytes)) return 'unknown';
  return detectTextContent(createDecoder('windows-1252')(bytes, 0, bytes.length).trimStart());
}

/** Whether the bytes begin an OLE container. */
export const isContainer = (head: Uint8Array): boolean => OLE.every((byte, index) => head[index] === byte);

/** A text may hold control characters, but neither NUL nor many of them. */
function isText(head: Uint8Array): boolean {
  const controls = head.filter((byte) => byte < 9 || (byte > 13 && byte < 27)).length;
  return !head.includes(0) && controls <= Math.max(5, head.length / 20);
}

const JSON_BEGINS = /^(?:\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}\s*$)|\[\s*(?:[[{"]|\]\s*$))/;
const PROLOG = /^(?:<\?[^>]*>|<!--[\s\S]*?-->|<!doctype[^>]*>)\s*/i;
const ROOT = /^<(?:([a-z_][\w.-]*):)?([a-z_][\w.-]*)(?=[\s/>])([^<>]*)>?/i;
/** The first elements of HTML without a declaration. */
const HTML =
  /^(?:html|head|body|table|thead|tbody|tr|meta|title|link|style|script|div|center|font|form|p|br|span|pre|h[1-6])$/;
const SPREADSHEET = 'urn:schemas-microsoft-com:office:spreadsheet';

/** The fields that a message begins with; one may go on in indented lines. */
const MESSAGE = /^(?:[\w-]+:[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*(?:\r?\n|$))+/;

function isMhtml(text: string): boolean {
  const [fields = ''] = MESSAGE.exec(text) ?? [];
  return /^mime-version:/im.test(fields) && /^content-type:\s*multipart\//im.test(fields);
}

/** The kind of a text by its beginning. `<DATE>,<OPEN>` is a line of names that some programs write. */
function detectTextContent(text: string): Content {
  if (JSON_BEGINS.test(text)) return 'json';
  if (!text.startsWith('<')) return isMhtml(text) ? 'mhtml' : 'text';
  let rest = text;
  while (PROLOG.test(rest)) rest = rest.replace(PROLOG, '');
  const [tag = '', , name = '', attributes = ''] = ROOT.exec(rest) ?? [];
  const after = rest.slice(tag.length);
  const isDeclared = rest !== text;
  if (tag === '' || (!isDeclared && /^[,;|\t]/.test(after))) return isDeclared ? 'xml' : 'text';
  if (HTML.test(name.toLowerCase())) return 'html';
  if (name === 'Workbook' && attributes.includes(SPREADSHEET)) return 'sheets';
  return isDeclared || attributes.includes('xmlns') || /^\s*</.test(after) ? 'xml' : 'text';
}
