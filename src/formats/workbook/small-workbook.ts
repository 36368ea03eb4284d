import { convertToUtf8 } from '../xml/encoding.ts';
import { unpackWhole, type ZipSource } from '../zip/unpack.ts';
import { readRows } from './first-rows.ts';
import { WorkbookTooLarge } from './limits.ts';
import { NO_MERGES } from './merges.ts';
import { openWorkbook } from './parts.ts';
import { beginSheet, convertRows } from './sheet.ts';

/** Sheet of a small workbook: the texts of its fields, row by row. */
export interface SmallSheet {
  name: string;
  rows: string[][];
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
      const convertedRows = convertRows(workbook, NO_MERGES, state, xml.subarray(state.offset), true);
      state = convertedRows.state;
      countBytes(convertedRows.text.length);
      text += decoder.decode(convertedRows.text);
    }
    sheets.push({ name, rows: readRows(text) });
  }
  return sheets;
}
