import { concatBytes } from '../../kernel/bytes.ts';
import { XmlBytes } from '../xml/encoding.ts';
import type { Namespaces } from '../xml/namespaces.ts';
import { CDATA_TOKEN, CLOSE_TAG, CUT_TOKEN, EMPTY_TAG, OPEN_TAG, TEXT_TOKEN, XmlReader } from '../xml/reader.ts';
import { decodeText, findText, sliceText, XmlUnreadable } from '../xml/text.ts';
import { normalizeBoolean, normalizeIsoText } from './cell-types.ts';
import { formatNumber } from './cells.ts';
import {
  type ConvertedSheet,
  considerSheet,
  getChosenSheet,
  isTable,
  MAX_SHEET_NAME_LENGTH,
  NO_CHOICE,
  type SheetChoice,
  type SheetOutput,
  type SheetSource,
  SheetUnknown,
  toSheetNames,
} from './choice.ts';
import { computeMaxTextBytes, MAX_BYTES, MAX_COLUMNS, MAX_ROWS, WorkbookTooLarge } from './limits.ts';
import { EarlierColumnFound, MergedRows } from './merged-rows.ts';
import { MAX_HEADER_ROW, type Merge, NO_MERGES } from './merges.ts';
import { NUMBER_FORMAT, type NumberFormat, parseCustomFormat } from './number-format.ts';
import { SheetText } from './sheet-text.ts';

/** File of an XML Spreadsheet 2003 workbook. */
export interface XmlWorkbookFile<T> extends SheetSource<T> {
  /** Name of the requested sheet, if a person named one. */
  sheet?: string | undefined;
}

const BLOCK_BYTES = 256 * 1024;
/** Maximum size of a row, or of an element outside the sheets. */
const MAX_ELEMENT_BYTES = 8 * 1024 * 1024;
const MAX_STYLES = 65_536;
const MAX_MERGES = 10_000;
/** Maximum number of sheets with names that can be chosen. */
const MAX_SHEETS = 10_000;
/**
 * Maximum number of times that the conversion starts again because a value is further left than all before; after that,
 * column A is the first column.
 */
const MAX_SHIFTS = 5;
const SPREADSHEET_NAMESPACE = 'urn:schemas-microsoft-com:office:spreadsheet';

/**
 * Converts the sheet of a workbook of XML Spreadsheet 2003 that is its table (choice.ts) to text, in the format of
 * `RowWriter`.
 * @returns null when no sheet has rows
 * @throws XmlUnreadable, WorkbookTooLarge, SheetUnknown
 */
export async function convertXmlWorkbook<T>(file: XmlWorkbookFile<T>): Promise<ConvertedSheet<T> | null> {
  if (file.size > MAX_BYTES / 8) throw new WorkbookTooLarge();
  const firstColumns = new Map<number, number>();
  for (let shiftCount = 0; ; shiftCount++) {
    const conversion = new XmlConversion(file, firstColumns, shiftCount < MAX_SHIFTS ? null : 0);
    try {
      return await conversion.convert();
    } catch (error) {
      if (!(error instanceof EarlierColumnFound)) throw error;
      firstColumns.set(conversion.sheetNumber, error.column);
    }
  }
}

/** Names of the nested elements, by nesting level. */
const LEVEL_NAMES = ['Workbook', 'Worksheet', 'Table'];

class XmlConversion<T> {
  /** Number of the sheet that is being read. */
  sheetNumber = -1;
  readonly #file: XmlWorkbookFile<T>;
  readonly #firstColumns: Map<number, number>;
  readonly #usualFirstColumn: number | null;
  /** Namespaces of prefixes at each open level. */
  readonly #openNamespaces: Namespaces[] = [];
  readonly #styles = new Map<string, NumberFormat>();
  #prefix = 'ss';
  #usesEpoch1904 = false;
  #isOver = false;
  #writtenBytes = 0;
  #rest: Uint8Array = new Uint8Array();
  #currentSheet: OpenSheet<T> | null = null;
  /** Names of the sheets so far. */
  readonly #names: string[] = [];
  /** Sheet that is the workbook's table, once known: then only the names of further sheets are read. */
  #foundSheet: ConvertedSheet<T> | null = null;
  readonly #seenSheets: {
    isHidden: boolean;
    result: ConvertedSheet<T>;
    counts: { filledRowCount: number; narrowRowCount: number };
  }[] = [];

  constructor(file: XmlWorkbookFile<T>, firstColumns: Map<number, number>, usualFirstColumn: number | null) {
    this.#file = file;
    this.#firstColumns = firstColumns;
    this.#usualFirstColumn = usualFirstColumn;
  }

  async convert(): Promise<ConvertedSheet<T> | null> {
    const { read, size } = this.#file;
    const xmlBytes = new XmlBytes({ mayBeWestern: true });
    for (let at = 0; at < size && !this.#isOver; ) {
      const piece = await read(at, Math.min(BLOCK_BYTES, size - at));
      if (piece.length === 0) break;
      at += piece.length;
      try {
        await this.#feed(xmlBytes.convertPiece(piece));
      } catch (error) {
        // What stands behind the table need not be whole.
        if (this.#foundSheet) break;
        throw error;
      }
    }
    if (this.#foundSheet) return this.#addSheetNames(this.#foundSheet);
    await this.#feed(xmlBytes.endDocument());
    if (!this.#isOver) throw new XmlUnreadable('a workbook that is cut off');
    if (this.#file.sheet !== undefined && !this.#names.includes(this.#file.sheet)) throw new SheetUnknown();
    const choice = this.#chooseSheet();
    return choice && this.#addSheetNames(choice);
  }

  #addSheetNames({ text, sheet }: ConvertedSheet<T>): ConvertedSheet<T> {
    return { text, sheet: { ...sheet, ...toSheetNames(this.#names) } };
  }

  /** Chooses a sheet. Hidden sheets count only where none is visible. */
  #chooseSheet(): ConvertedSheet<T> | null {
    const visibleSheets = this.#seenSheets.filter(({ isHidden }) => !isHidden);
    let choice: SheetChoice<ConvertedSheet<T>> = NO_CHOICE;
    for (const { result, counts } of visibleSheets.length > 0 ? visibleSheets : this.#seenSheets) {
      if (isTable(counts)) return result;
      choice = considerSheet(choice, counts, result);
    }
    return getChosenSheet(choice);
  }

  async #feed(piece: Uint8Array): Promise<void> {
    const bytes = concatBytes([this.#rest, piece]);
    const reader = new XmlReader(bytes, this.#openNamespaces.at(-1));
    let doneBytes = 0;
    for (let token = reader.readNextToken(); token !== CUT_TOKEN && !this.#isOver; token = reader.readNextToken()) {
      if (token === CLOSE_TAG) await this.#closeElement();
      else if ((token === OPEN_TAG || token === EMPTY_TAG) && !this.#readElement(reader, token === OPEN_TAG, doneBytes))
        break;
      doneBytes = reader.at;
      if (this.#currentSheet?.text.isFull) await this.#currentSheet.flush();
    }
    this.#rest = bytes.slice(doneBytes);
    if (this.#rest.length > MAX_ELEMENT_BYTES) throw new WorkbookTooLarge();
  }

  /** Reads the element whose tag was just read. @returns false when the bytes end before the element does */
  #readElement(reader: XmlReader, isOpen: boolean, from: number): boolean {
    const level = this.#openNamespaces.length;
    if (reader.isElement(LEVEL_NAMES[level] ?? '')) {
      if (isOpen) this.#enterElement(reader, level);
      return true;
    }
    if (level === 0) throw new XmlUnreadable('no workbook');
    if (level === 3 && reader.isElement('Row')) return this.#readRow(reader, isOpen);
    if (!isOpen) return true;
    if (level === 1 && reader.isElement('Styles')) return this.#readStyles(reader);
    if (!skipElement(reader)) return false;
    // What Excel keeps for itself is in namespaces of its own.
    const containsMark = (searchedText: string) => {
      const at = findText(reader.bytes, searchedText, from);
      return at >= 0 && at < reader.at;
    };
    if (level === 1 && containsMark('Date1904/>')) this.#usesEpoch1904 = true;
    if (level === 2 && this.#currentSheet && (containsMark('>SheetHidden<') || containsMark('>SheetVeryHidden<')))
      this.#currentSheet.isHidden = true;
    return true;
  }

  #enterElement(reader: XmlReader, level: number): void {
    const { names } = reader;
    this.#openNamespaces.push(names);
    if (level === 0) {
      if (names.own !== SPREADSHEET_NAMESPACE) throw new XmlUnreadable('no workbook');
      this.#prefix =
        names.bound.find(({ prefix, uri }) => prefix !== '' && uri === SPREADSHEET_NAMESPACE)?.prefix ?? 'ss';
    } else if (level === 1) {
      this.sheetNumber += 1;
      const name = this.#readAttribute(reader, 'Name') ?? '';
      const isRequested = this.#file.sheet === undefined || (name === this.#file.sheet && !this.#names.includes(name));
      if (this.#names.length < MAX_SHEETS) this.#names.push(name.length > MAX_SHEET_NAME_LENGTH ? '' : name);
      if (this.#foundSheet || !isRequested) return;
      const firstColumn = this.#firstColumns.get(this.sheetNumber) ?? this.#usualFirstColumn;
      this.#currentSheet = new OpenSheet(name, firstColumn, this.#file.beginText(), (bytes) => {
        this.#writtenBytes += bytes;
        if (this.#writtenBytes > computeMaxTextBytes(this.#file.size)) throw new WorkbookTooLarge();
      });
    }
  }

  async #closeElement(): Promise<void> {
    this.#openNamespaces.pop();
    if (this.#openNamespaces.length === 0) this.#isOver = true;
    if (this.#openNamespaces.length !== 1 || !this.#currentSheet) return;
    const { isHidden, text } = this.#currentSheet;
    const result = await this.#currentSheet.end();
    this.#currentSheet = null;
    if (text.rowCounts.filledRowCount === 0) return;
    this.#seenSheets.push({ isHidden, result, counts: text.rowCounts });
    if (this.#file.sheet !== undefined || (!isHidden && isTable(text.rowCounts))) this.#foundSheet = result;
  }

  #readStyles(reader: XmlReader): boolean {
    let id = '';
    for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken()) {
      if (token === CLOSE_TAG && reader.isElement('Styles')) return true;
      if (token !== OPEN_TAG && token !== EMPTY_TAG) continue;
      if (reader.isElement('Style')) id = this.#readAttribute(reader, 'ID') ?? '';
      else if (reader.isElement('NumberFormat'))
        this.#styles.set(id, findFormat(this.#readAttribute(reader, 'Format') ?? ''));
      if (this.#styles.size > MAX_STYLES) throw new WorkbookTooLarge();
    }
    return false;
  }

  #readAttribute(reader: XmlReader, name: string): string | undefined {
    return reader.readAttribute(`${this.#prefix}:${name}`) ?? reader.readAttribute(name);
  }

  #readRow(reader: XmlReader, isOpen: boolean): boolean {
    const sheet = this.#currentSheet;
    if (!sheet) return !isOpen || skipElement(reader);
    const row = this.#readIndex(reader, sheet.row);
    const rowSpan = Number(this.#readAttribute(reader, 'Span') ?? 0) || 0;
    if (row > MAX_ROWS || rowSpan > MAX_ROWS) throw new XmlUnreadable('rows out of order');
    if (isOpen) {
      // The cells are collected first: none is written of a row that the bytes cut off.
      const cells = this.#readCells(reader);
      if (!cells) return false;
      sheet.write(row, cells);
    }
    sheet.row = row + rowSpan;
    return true;
  }

  /** Reads the position of a row or cell, from 1; a row or cell without one follows the previous row or cell. */
  #readIndex(reader: XmlReader, previousIndex: number): number {
    const writtenIndex = this.#readAttribute(reader, 'Index');
    if (writtenIndex === undefined) return previousIndex + 1;
    const index = /^\d{1,7}$/.test(writtenIndex) ? Number(writtenIndex) : 0;
    if (index <= previousIndex) throw new XmlUnreadable('cells out of order');
    return index;
  }

  #readCells(reader: XmlReader): Cell[] | null {
    const cells: Cell[] = [];
    let columnPosition = 0;
    for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken()) {
      if (token === CLOSE_TAG && reader.isElement('Row')) return cells;
      if ((token !== OPEN_TAG && token !== EMPTY_TAG) || !reader.isElement('Cell')) continue;
      columnPosition = this.#readIndex(reader, columnPosition);
      const mergeAcross = parseSpan(this.#readAttribute(reader, 'MergeAcross'));
      const mergeDown = parseSpan(this.#readAttribute(reader, 'MergeDown'));
      const style = this.#styles.get(this.#readAttribute(reader, 'StyleID') ?? '') ?? NUMBER_FORMAT;
      if (columnPosition + mergeAcross > MAX_COLUMNS) throw new XmlUnreadable('cells out of order');
      const value = token === OPEN_TAG ? this.#readCellValue(reader, style) : EMPTY_VALUE;
      if (!value) return null;
      cells.push({ column: columnPosition - 1, columnSpan: mergeAcross, rowSpan: mergeDown, ...value });
      columnPosition += mergeAcross;
    }
    return null;
  }

  /** Reads the cell to its end; null when the bytes end before the cell does. */
  #readCellValue(reader: XmlReader, style: NumberFormat): CellValue | null {
    let type = '';
    let text = '';
    let isData = false;
    for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken()) {
      if (token === CLOSE_TAG && reader.isElement('Cell')) return this.#toValue(type, text, style);
      // Those that follow are of comments.
      if ((token === OPEN_TAG || token === EMPTY_TAG) && type === '' && reader.isElement('Data')) {
        type = this.#readAttribute(reader, 'Type') ?? 'String';
        isData = token === OPEN_TAG;
      } else if (token === CLOSE_TAG && reader.isElement('Data')) isData = false;
      else if (isData && token === TEXT_TOKEN) text += decodeText(reader.bytes, reader.start, reader.end);
      else if (isData && token === CDATA_TOKEN) text += sliceText(reader.bytes, reader.start, reader.end);
    }
    return null;
  }

  #toValue(type: string, text: string, style: NumberFormat): CellValue {
    switch (type) {
      case 'Number': {
        const formattedNumber = formatNumber(text, style, this.#usesEpoch1904);
        return {
          text: formattedNumber ?? text.trim(),
          isText: formattedNumber === null || style.kind === 'code' || style.kind === 'span',
        };
      }
      case 'DateTime': {
        const formattedMoment = formatMoment(text, style);
        return { text: formattedMoment ?? text, isText: formattedMoment === null };
      }
      case 'Boolean':
        return toBooleanValue(text);
      case 'Error':
        return EMPTY_VALUE;
      default:
        return { text: text.replaceAll('\0', '').toWellFormed(), isText: true };
    }
  }
}

interface CellValue {
  text: string;
  isText: boolean;
}

/** Cell: its column from 0, and the number of further columns and rows that it spans. */
interface Cell extends CellValue {
  column: number;
  columnSpan: number;
  rowSpan: number;
}

const EMPTY_VALUE: CellValue = { text: '', isText: true };

function toBooleanValue(text: string): CellValue {
  const word = normalizeBoolean(text);
  return { text: word ?? text.trim(), isText: word === null };
}

/** Sheet whose rows are being written. */
class OpenSheet<T> {
  isHidden = false;
  /** Number of the last row that was read. */
  row = 0;
  readonly text: SheetText;
  readonly #name: string;
  readonly #output: SheetOutput<T>;
  readonly #merges: Merge[] = [];
  #firstColumn: number | null;
  #rows: MergedRows | null = null;

  constructor(name: string, firstColumn: number | null, output: SheetOutput<T>, onWrite: (bytes: number) => void) {
    this.#name = name;
    this.#firstColumn = firstColumn;
    this.#output = output;
    this.text = new SheetText((text) => {
      onWrite(text.length);
      return output.write(text);
    });
  }

  write(row: number, cells: Cell[]): void {
    const filledCell = cells.find(({ text }) => text !== '');
    if (!filledCell) return;
    this.#firstColumn ??= filledCell.column;
    this.#rows ??= new MergedRows(this.text.writer, NO_MERGES, this.#firstColumn);
    this.#rows.beginRow(row);
    for (const cell of cells) this.#writeCell(this.#rows, row, cell);
    this.#rows.endRow();
  }

  #writeCell(rows: MergedRows, row: number, { column, columnSpan, rowSpan, text, isText }: Cell): void {
    const bottom = row + rowSpan;
    if (row <= MAX_HEADER_ROW && columnSpan + rowSpan > 0 && this.#merges.length < MAX_MERGES) {
      this.#merges.push({ top: row, bottom, left: column, right: column + columnSpan });
    }
    if (text === '' || !rows.moveToColumn(column)) return;
    if (isText) this.text.writer.writeQuotedText(text);
    else this.text.writer.writeUnquotedText(text);
    rows.endMergedCell(column, bottom);
  }

  flush(): Promise<void> {
    return this.text.flush(this.#merges, this.#firstColumn ?? 0);
  }

  async end(): Promise<ConvertedSheet<T>> {
    await this.flush();
    return { text: await this.#output.end(), sheet: this.text.makeFacts(this.#name) };
  }
}

/** Skips the element whose tag was just read. @returns false when the bytes end before the element does */
function skipElement(reader: XmlReader): boolean {
  for (let depth = 1; depth > 0; ) {
    const token = reader.readNextToken();
    if (token === CUT_TOKEN) return false;
    if (token === OPEN_TAG) depth += 1;
    else if (token === CLOSE_TAG) depth -= 1;
  }
  return true;
}

const parseSpan = (attribute: string | undefined): number =>
  /^\d{1,7}$/.test(attribute ?? '') ? Number(attribute) : 0;

/** Number formats by the names that the file format has for them. */
const FORMATS_BY_NAME: Record<string, NumberFormat> = {
  'General Date': { kind: 'datetime' },
  'Long Date': { kind: 'date' },
  'Medium Date': { kind: 'date' },
  'Short Date': { kind: 'date' },
  'Long Time': { kind: 'time' },
  'Medium Time': { kind: 'time' },
  'Short Time': { kind: 'time' },
};
const NUMBER_NAME_PATTERN =
  /^(?:(?:Euro )?Currency|Fixed|Standard|Percent|Scientific|General Number|Yes\/No|True\/False|On\/Off)$/;

const findFormat = (code: string): NumberFormat =>
  NUMBER_NAME_PATTERN.test(code) ? NUMBER_FORMAT : (FORMATS_BY_NAME[code] ?? parseCustomFormat(code));

/**
 * Formats a moment by its number format; without a format, a moment at midnight becomes a day. Null for a text that is
 * no moment.
 */
function formatMoment(text: string, style: NumberFormat): string | null {
  const [, time] = /^\s*\d{4}-\d\d-\d\dT(\d\d:\d\d(?::\d\d)?)(?:\.\d*)?Z?\s*$/.exec(text) ?? [];
  if (style.kind === 'time' && time) return time;
  return normalizeIsoText(
    text,
    style.kind === 'date' || (style.kind === 'number' && /T00:00(?::00(?:\.0*)?)?Z?\s*$/.test(text)),
  );
}
