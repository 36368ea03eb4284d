import { decodeWhole } from '../../../formats/text/detect.ts';
import { WorkbookTooLarge } from '../../../formats/workbook/limits.ts';
import { readSmallWorkbook } from '../../../formats/workbook/small-workbook.ts';
import {
  CDATA_TOKEN,
  CLOSE_TAG,
  CUT_TOKEN,
  EMPTY_TAG,
  OPEN_TAG,
  TEXT_TOKEN,
  XmlReader,
} from '../../../formats/xml/reader.ts';
import { decodeText, XmlUnreadable } from '../../../formats/xml/text.ts';
import { readDirectory, ZipDamaged, ZipTooLarge } from '../../../formats/zip/directory.ts';
import { createZipSource, unpackWhole } from '../../../formats/zip/unpack.ts';
import { ACCEPTED_FILE_TYPES, makeFileFailure } from './failures.ts';

/** The maximum unpacked size of an Office file's parts in bytes: a small archive can claim to hold a lot. */
const MAX_UNPACKED_BYTES = 20 * 1024 * 1024;

/** The parts of a Word document that contain its text, in reading order. */
const DOCX_TEXT_PARTS = ['word/document.xml', 'word/footnotes.xml', 'word/endnotes.xml'] as const;

/** Extracts the text of a file, read according to its extension. */
export async function extractText(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const read = /\.docx$/i.test(name) ? readWordText : /\.xlsx$/i.test(name) ? readWorkbookText : decodePlainText;
  const text = await read(bytes);
  if (text.trim() === '') throw makeFileFailure('holds no text');
  return text;
}

/** Tells whether a file can be read, judging by its name. */
export const isAcceptedFileName = (name: string): boolean =>
  ACCEPTED_FILE_TYPES.some((extension) => name.toLowerCase().endsWith(extension));

function decodePlainText(bytes: Uint8Array): string {
  const text = decodeWhole(bytes);
  if (text.includes('\0')) throw makeFileFailure('is not a text file');
  return text;
}

/** Awaits the reading of an Office file. @throws makeFileFailure where it is damaged, of another format, or too large */
async function readOfficeFile<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof WorkbookTooLarge || error instanceof ZipTooLarge) {
      throw makeFileFailure(`holds more than ${MAX_UNPACKED_BYTES} bytes when unpacked`);
    }
    if (error instanceof ZipDamaged || error instanceof XmlUnreadable) {
      throw makeFileFailure('is damaged, or not what its name says');
    }
    throw error;
  }
}

/** Returns the paragraphs, cells and notes of a Word document, a line each. */
async function readWordText(bytes: Uint8Array): Promise<string> {
  const texts = await readOfficeFile(unpackWordParts(bytes));
  if (texts[0] === undefined) throw makeFileFailure('is not a Word document');
  return texts.join('').replaceAll(/\n{3,}/g, '\n\n');
}

/** Returns the XML texts of the document's parts; undefined for a part that it lacks. */
async function unpackWordParts(bytes: Uint8Array): Promise<(string | undefined)[]> {
  const zip = createZipSource(bytes);
  const entries = new Map((await readDirectory(zip.read, bytes.length)).map((entry) => [entry.name, entry]));
  const texts: (string | undefined)[] = [];
  let remainingBytes = MAX_UNPACKED_BYTES;
  for (const part of DOCX_TEXT_PARTS) {
    const entry = entries.get(part);
    remainingBytes -= entry?.size ?? 0;
    if (remainingBytes < 0) throw new ZipTooLarge();
    texts.push(entry && readWordPartText(await unpackWhole(zip, entry, MAX_UNPACKED_BYTES)));
  }
  return texts;
}

function readWordPartText(xml: Uint8Array): string {
  const pieces: string[] = [];
  let isInText = false;
  // What older programs show of a drawing is there a second time.
  const reader = new XmlReader(xml, null, 'Fallback');
  for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken()) {
    if (token === TEXT_TOKEN || token === CDATA_TOKEN) {
      if (isInText)
        pieces.push(
          token === TEXT_TOKEN
            ? decodeText(xml, reader.start, reader.end)
            : decodePlainText(xml.subarray(reader.start, reader.end)),
        );
    } else if (reader.isElement('t')) isInText = token === OPEN_TAG;
    else if (token !== CLOSE_TAG && reader.isElement('tab')) pieces.push('\t');
    else if (token !== CLOSE_TAG && (reader.isElement('br') || reader.isElement('cr'))) pieces.push('\n');
    else if ((token === CLOSE_TAG || token === EMPTY_TAG) && reader.isElement('p')) pieces.push('\n');
  }
  if (xml.indexOf(60, reader.at) >= 0) throw new XmlUnreadable('a part that is cut off');
  return pieces.join('');
}

/** Returns every sheet of a workbook: its name, then a line for each row. */
async function readWorkbookText(bytes: Uint8Array): Promise<string> {
  const sheets = await readOfficeFile(readSmallWorkbook(createZipSource(bytes), bytes.length, MAX_UNPACKED_BYTES));
  return sheets
    .map(({ name, text }) => `${name}\n${text}`)
    .join('\n')
    .slice(0, -1);
}
