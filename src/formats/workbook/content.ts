import { createDecoder, toScannableBytes } from '../text/decode.ts';
import { guessEncoding } from '../text/detect.ts';

/** Content type of a file by its first bytes. `sheets` is XML Spreadsheet 2003, `mhtml` a page with its parts in one file. */
export type ContentType = 'zip' | 'biff' | 'text' | 'html' | 'mhtml' | 'sheets' | 'xml' | 'json' | 'unknown';

const OLE_SIGNATURE = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/**
 * Detects the content type. Workbooks are zip files, OLE containers or BOF records; some programs also give HTML or XML
 * the name of a workbook.
 */
export function detectContent(head: Uint8Array): ContentType {
  if (head[0] === 0x50 && head[1] === 0x4b && (head[2] === 3 || head[2] === 5)) return 'zip';
  if (isContainer(head)) return 'biff';
  if (head[0] === 9 && [0, 2, 4, 8].includes(head[1] ?? -1) && head[3] === 0) return 'biff';
  const { encoding, markLength } = guessEncoding(head);
  const bytes = toScannableBytes(head.subarray(markLength, head.length & ~1), encoding, false);
  if (bytes === null || !isText(bytes)) return 'unknown';
  return detectTextContent(createDecoder('windows-1252')(bytes, 0, bytes.length).trimStart());
}

/** Returns true if the bytes begin an OLE container. */
export const isContainer = (head: Uint8Array): boolean => OLE_SIGNATURE.every((byte, index) => head[index] === byte);

/** Returns true for a text: it may hold control characters, but neither NUL nor many of them. */
function isText(head: Uint8Array): boolean {
  const controlCount = head.filter((byte) => byte < 9 || (byte > 13 && byte < 27)).length;
  return !head.includes(0) && controlCount <= Math.max(5, head.length / 20);
}

const JSON_START_PATTERN = /^(?:\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}\s*$)|\[\s*(?:[[{"]|\]\s*$))/;
const PROLOG_PATTERN = /^(?:<\?[^>]*>|<!--[\s\S]*?-->|<!doctype[^>]*>)\s*/i;
const ROOT_PATTERN = /^<(?:([a-z_][\w.-]*):)?([a-z_][\w.-]*)(?=[\s/>])([^<>]*)>?/i;
/** Pattern of the first elements of HTML without a declaration. */
const HTML_PATTERN =
  /^(?:html|head|body|table|thead|tbody|tr|meta|title|link|style|script|div|center|font|form|p|br|span|pre|h[1-6])$/;
const SPREADSHEET_NAMESPACE = 'urn:schemas-microsoft-com:office:spreadsheet';

/** Pattern of the fields that a message begins with; a field may continue in indented lines. */
const MESSAGE_PATTERN = /^(?:[\w-]+:[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*(?:\r?\n|$))+/;

function isMhtml(text: string): boolean {
  const [fields = ''] = MESSAGE_PATTERN.exec(text) ?? [];
  return /^mime-version:/im.test(fields) && /^content-type:\s*multipart\//im.test(fields);
}

/**
 * Detects the kind of a text by its beginning. A line of names such as `<DATE>,<OPEN>`, which some programs write, is
 * not HTML.
 */
function detectTextContent(text: string): ContentType {
  if (JSON_START_PATTERN.test(text)) return 'json';
  if (!text.startsWith('<')) return isMhtml(text) ? 'mhtml' : 'text';
  let remainingText = text;
  while (PROLOG_PATTERN.test(remainingText)) remainingText = remainingText.replace(PROLOG_PATTERN, '');
  const [tag = '', , name = '', attributes = ''] = ROOT_PATTERN.exec(remainingText) ?? [];
  const textAfterTag = remainingText.slice(tag.length);
  const isDeclared = remainingText !== text;
  if (tag === '' || (!isDeclared && /^[,;|\t]/.test(textAfterTag))) return isDeclared ? 'xml' : 'text';
  if (HTML_PATTERN.test(name.toLowerCase())) return 'html';
  if (name === 'Workbook' && attributes.includes(SPREADSHEET_NAMESPACE)) return 'sheets';
  return isDeclared || attributes.includes('xmlns') || /^\s*</.test(textAfterTag) ? 'xml' : 'text';
}
