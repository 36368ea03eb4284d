import { strFromU8, unzipSync, zipSync } from 'fflate';
import readWorkbook from 'read-excel-file/node';
import { Parser } from 'saxen';
import { ACCEPTED_FILE_TYPES, badFile } from './failures.ts';

/** Most that the parts of an Office file may hold when unpacked: a small archive can claim to hold a lot. */
const MAX_UNPACKED_BYTES = 20 * 1024 * 1024;

/** The parts of a Word document that hold what it says, in the order in which it is read. */
const WORD_PARTS = ['word/document.xml', 'word/footnotes.xml', 'word/endnotes.xml'] as const;

/**
 * The text of a file, by the ending of its name.
 * @throws Failure invalid, naming `file`, for what cannot be read as what its name says
 */
export async function textOfDocument(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const text = await reader(name)(bytes);
  if (text.trim() === '') throw badFile('holds no text');
  return text;
}

/** Whether a file's name says that it can be read. */
export const isAccepted = (name: string): boolean =>
  ACCEPTED_FILE_TYPES.some((ending) => name.toLowerCase().endsWith(ending));

function reader(name: string): (bytes: Uint8Array<ArrayBuffer>) => string | Promise<string> {
  if (/\.docx$/i.test(name)) return textOfWord;
  return /\.xlsx$/i.test(name) ? textOfWorkbook : plainText;
}

const BOMS = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: 'utf-8' },
  { bytes: [0xff, 0xfe], encoding: 'utf-16le' },
  { bytes: [0xfe, 0xff], encoding: 'utf-16be' },
];

/** Text in the encoding that its first bytes name, else UTF-8, else what Windows writes in the West. */
function plainText(bytes: Uint8Array): string {
  const bom = BOMS.find((mark) => mark.bytes.every((byte, index) => bytes[index] === byte));
  const text = decoded(bytes, bom?.encoding ?? 'utf-8') ?? decoded(bytes, 'windows-1252') ?? '';
  if (text.includes('\0')) throw badFile('is no text');
  return text;
}

function decoded(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The parts of an Office file that are XML. Their sizes are those that the archive claims, and nothing more is unpacked. */
function unpacked(bytes: Uint8Array, wanted: (name: string) => boolean): Record<string, Uint8Array<ArrayBuffer>> {
  let size = 0;
  let parts: ReturnType<typeof unzipSync>;
  try {
    parts = unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        if (!wanted(name)) return false;
        size += originalSize;
        return size <= MAX_UNPACKED_BYTES;
      },
    });
  } catch {
    throw badFile('is damaged, or not what its name says');
  }
  if (size > MAX_UNPACKED_BYTES) throw badFile(`holds more than ${MAX_UNPACKED_BYTES} bytes when unpacked`);
  return parts as Record<string, Uint8Array<ArrayBuffer>>;
}

/** Paragraphs, cells and notes of a Word document, a line each. */
function textOfWord(bytes: Uint8Array): string {
  const parts = unpacked(bytes, (name) => WORD_PARTS.some((part) => part === name));
  if (!parts[WORD_PARTS[0]]) throw badFile('is not a Word document');
  return WORD_PARTS.map((part) => (parts[part] ? textOfWordPart(strFromU8(parts[part])) : ''))
    .join('')
    .replaceAll(/\n{3,}/g, '\n\n');
}

function textOfWordPart(xml: string): string {
  const pieces: string[] = [];
  let inText = false;
  // What older programs show of a drawing is there a second time.
  let fallbacks = 0;
  const parser = new Parser();
  parser.on('openTag', (element) => {
    if (element === 'mc:Fallback') fallbacks += 1;
    if (fallbacks > 0) return;
    if (element === 'w:t') inText = true;
    else if (element === 'w:tab') pieces.push('\t');
    else if (element === 'w:br' || element === 'w:cr') pieces.push('\n');
  });
  parser.on('closeTag', (element) => {
    if (element === 'mc:Fallback') fallbacks -= 1;
    else if (element === 'w:t') inText = false;
    else if (element === 'w:p' && fallbacks === 0) pieces.push('\n');
  });
  parser.on('text', (text, decodeEntities) => {
    if (inText) pieces.push(decodeEntities(text));
  });
  parser.on('error', () => {
    throw badFile('is damaged, or not what its name says');
  });
  parser.parse(xml);
  return pieces.join('');
}

/** Every sheet of a workbook: its name, then a line for each row. */
async function textOfWorkbook(bytes: Uint8Array): Promise<string> {
  // Packed anew, without compression, so that what the reader unpacks is known to be no larger.
  const parts = unpacked(bytes, (name) => name.endsWith('.xml') || name.endsWith('.rels'));
  const sheets = await readWorkbook(Buffer.from(zipSync(parts, { level: 0 }))).catch(() => {
    throw badFile('is damaged, or not what its name says');
  });
  return sheets
    .map(({ sheet, data }) => [sheet, ...data.map((row) => row.map(cellText).join('\t'))].join('\n'))
    .join('\n\n');
}

const cellText = (cell: unknown): string => {
  if (cell === null || cell === undefined) return '';
  return cell instanceof Date ? cell.toISOString() : String(cell);
};
