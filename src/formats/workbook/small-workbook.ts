import { convertToUtf8 } from '../xml/encoding.ts';
import { unpackWhole, type ZipSource } from '../zip/unpack.ts';
import { WorkbookTooLarge } from './limits.ts';
import { NO_MERGES } from './merges.ts';
import { openWorkbook } from './parts.ts';
import { beginSheet, convertRows } from './sheet.ts';

const QUOTE = 34;
const COMMA = 44;
const TAB = 9;

/** Sheet of a small workbook: a line of text for each row, with tabs between its fields up to its last value. */
export interface SmallSheet {
  name: string;
  text: string;
}

/**
 * Reads every sheet of a small workbook in memory, with values as Excel displays them.
 * @param limit bytes of all sheets and shared texts unpacked, and of all their text
 * @throws ZipDamaged, XmlUnreadable, WorkbookTooLarge
 */
export async function readSmallWorkbook(zip: ZipSource, size: number, limit: number): Promise<SmallSheet[]> {
  let remainingBytes = limit;
  const countBytes = (bytes: number) => {
    remainingBytes -= bytes;
    if (remainingBytes < 0) throw new WorkbookTooLarge();
  };
  const workbook = await openWorkbook(zip, size, async (bytes) => countBytes(bytes));
  const decoder = new TextDecoder();
  const sheets: SmallSheet[] = [];
  for (const { name, entry } of workbook.sheets) {
    countBytes(entry.size);
    const xml = convertToUtf8(await unpackWhole(zip, entry, limit));
    let text = '';
    for (let state = beginSheet(0); !state.done; ) {
      // One value far to the right would widen every row below to thousands of fields.
      const convertedRows = convertRows(workbook, NO_MERGES, state, xml.subarray(state.offset), true, false);
      state = convertedRows.state;
      countBytes(convertedRows.text.length);
      text += decoder.decode(separateByTabs(convertedRows.text));
    }
    sheets.push({ name, text });
  }
  return sheets;
}

/** Replaces the commas and quotes of whole rows by tabs, in place: a list of fields would take many times the text's size. */
function separateByTabs(text: Uint8Array): Uint8Array {
  let length = 0;
  let isInQuotes = false;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number;
    if (byte !== QUOTE) text[length++] = byte === COMMA && !isInQuotes ? TAB : byte;
    // Two quotes within quotes are one.
    else if (isInQuotes && text[at + 1] === QUOTE) text[length++] = text[at++] as number;
    else isInQuotes = !isInQuotes;
  }
  return text.subarray(0, length);
}
