import { concatBytes } from '../../kernel/bytes.ts';
import { XmlBytes } from '../xml/encoding.ts';
import type { Namespaces } from '../xml/namespaces.ts';
import { CDATA, CLOSE, CUT, EMPTY, OPEN, TEXT, XmlReader } from '../xml/reader.ts';
import { decodeText, indexOf, sliceText, XmlUnreadable } from '../xml/text.ts';
import type { ReadRange } from '../zip/directory.ts';
import { isoText } from './cell-types.ts';
import { formatNumber } from './cells.ts';
import {
  type Choice,
  type Converted,
  considerSheet,
  getChosenSheet,
  isTable,
  MAX_SHEET_NAME,
  NO_CHOICE,
  type SheetOutput,
  SheetUnknown,
  toNames,
} from './choice.ts';
import { computeMaxTextBytes, MAX_BYTES, MAX_COLUMNS, MAX_ROWS, WorkbookTooLarge } from './limits.ts';
import { EarlierColumnFound, MergedRows } from './merged-rows.ts';
import { MAX_HEADER_ROW, type Merge } from './merges.ts';
import { customFormat, NUMBER, type NumberFormat } from './number-format.ts';
import { SheetText } from './sheet-text.ts';

/** A workbook of XML Spreadsheet 2003, and where the texts of its sheets go. */
export interface XmlWorkbookFile<T> {
  size: number;
  read: ReadRange;
  /** The name of the sheet that is wanted, where a person said it. */
  sheet?: string | undefined;
  begin(): SheetOutput<T>;
}

const BLOCK_BYTES = 256 * 1024;
/** The longest row, or element beside the sheets. */
const MAX_ELEMENT_BYTES = 8 * 1024 * 1024;
const MAX_STYLES = 65_536;
const MAX_MERGES = 10_000;
/** More of them have no names that can be said. */
const MAX_SHEETS = 10_000;
/** How often a value may be found further left. A sheet begins at its leftmost value; after these, at column A. */
const MAX_SHIFTS = 5;
const SPREADSHEET = 'urn:schemas-microsoft-com:office:spreadsheet';

/**
 * Converts the sheet of a workbook of XML Spreadsheet 2003 that is its table (choice.ts) to text, in the format of
 * `RowWriter`.
 * @returns null when no sheet has rows
 * @throws XmlUnreadable, WorkbookTooLarge, SheetUnknown
 */
export async function convertXmlWorkbook<T>(file: XmlWorkbookFile<T>): Promise<Converted<T> | null> {
  if (file.size > MAX_BYTES / 8) throw new WorkbookTooLarge();
  const firsts = new Map<number, number>();
  for (let shifts = 0; ; shifts++) {
    const conversion = new Conversion(file, firsts, shifts < MAX_SHIFTS ? null : 0);
    try {
      return await conversion.run();
    } catch (error) {
      if (!(error instanceof EarlierColumnFound)) throw error;
      firsts.set(conversion.sheet, error.column);
    }
  }
}

/** The names of the nested elements, by nesting level. */
const LEVELS = ['Workbook', 'Worksheet', 'Table'];

class Conversion<T> {
  /** The place of the sheet that is being read. */
  sheet = -1;
  readonly #file: XmlWorkbookFile<T>;
  readonly #firsts: Map<number, number>;
  readonly #usualFirst: number | null;
  /** The namespaces of prefixes at each level that is open. */
  readonly #open: Namespaces[] = [];
  readonly #styles = new Map<string, NumberFormat>();
  #prefix = 'ss';
  #epoch1904 = false;
  #isOver = false;
  #written = 0;
  #rest: Uint8Array = new Uint8Array();
  #current: OpenSheet<T> | null = null;
  /** The names of the sheets so far, and the sheet that is the table, once it is known: then only names are read. */
  readonly #names: string[] = [];
  #found: Converted<T> | null = null;
  readonly #seen: { hidden: boolean; result: Converted<T>; counts: { filled: number; narrow: number } }[] = [];

  constructor(file: XmlWorkbookFile<T>, firsts: Map<number, number>, usualFirst: number | null) {
    this.#file = file;
    this.#firsts = firsts;
    this.#usualFirst = usualFirst;
  }

  async run(): Promise<Converted<T> | null> {
    const { read, size } = this.#file;
    const utf8 = new XmlBytes({ western: true });
    for (let at = 0; at < size && !this.#isOver; ) {
      const piece = await read(at, Math.min(BLOCK_BYTES, size - at));
      if (piece.length === 0) break;
      at += piece.length;
      try {
        await this.#feed(utf8.feed(piece));
      } catch (error) {
        // What stands behind the table need not be whole.
        if (this.#found) break;
        throw error;
      }
    }
    if (this.#found) return this.#named(this.#found);
    await this.#feed(utf8.end());
    if (!this.#isOver) throw new XmlUnreadable('a workbook that is cut off');
    if (this.#file.sheet !== undefined && !this.#names.includes(this.#file.sheet)) throw new SheetUnknown();
    const choice = this.#choice();
    return choice && this.#named(choice);
  }

  #named({ text, sheet }: Converted<T>): Converted<T> {
    return { text, sheet: { ...sheet, ...toNames(this.#names) } };
  }

  /** Chooses a sheet. Hidden sheets count only where none is visible. */
  #choice(): Converted<T> | null {
    const shown = this.#seen.filter(({ hidden }) => !hidden);
    let choice: Choice<Converted<T>> = NO_CHOICE;
    for (const { result, counts } of shown.length > 0 ? shown : this.#seen) {
      if (isTable(counts)) return result;
      choice = considerSheet(choice, counts, result);
    }
    return getChosenSheet(choice);
  }

  async #feed(piece: Uint8Array): Promise<void> {
    const bytes = concatBytes([this.#rest, piece]);
    const reader = new XmlReader(bytes, { names: this.#open.at(-1) ?? null });
    let done = 0;
    for (let token = reader.next(); token !== CUT && !this.#isOver; token = reader.next()) {
      if (token === CLOSE) await this.#close();
      else if ((token === OPEN || token === EMPTY) && !this.#element(reader, token === OPEN, done)) break;
      done = reader.at;
      if (this.#current?.text.isFull) await this.#current.flush();
    }
    this.#rest = bytes.slice(done);
    if (this.#rest.length > MAX_ELEMENT_BYTES) throw new WorkbookTooLarge();
  }

  /** Reads the element whose tag was just read; false when the bytes end before it does. */
  #element(reader: XmlReader, isOpen: boolean, from: number): boolean {
    const level = this.#open.length;
    if (reader.is(LEVELS[level] ?? '')) {
      if (isOpen) this.#enter(reader, level);
      return true;
    }
    if (level === 0) throw new XmlUnreadable('no workbook');
    if (level === 3 && reader.is('Row')) return this.#row(reader, isOpen);
    if (!isOpen) return true;
    if (level === 1 && reader.is('Styles')) return this.#readStyles(reader);
    if (!passed(reader)) return false;
    // What Excel keeps for itself is in namespaces of its own.
    const holds = (mark: string) => {
      const at = indexOf(reader.bytes, mark, from);
      return at >= 0 && at < reader.at;
    };
    if (level === 1 && holds('Date1904/>')) this.#epoch1904 = true;
    if (level === 2 && this.#current && (holds('>SheetHidden<') || holds('>SheetVeryHidden<')))
      this.#current.hidden = true;
    return true;
  }

  #enter(reader: XmlReader, level: number): void {
    const { names } = reader;
    this.#open.push(names);
    if (level === 0) {
      if (names.own !== SPREADSHEET) throw new XmlUnreadable('no workbook');
      this.#prefix = names.bound.find(({ prefix, uri }) => prefix !== '' && uri === SPREADSHEET)?.prefix ?? 'ss';
    } else if (level === 1) {
      this.sheet += 1;
      const name = this.#value(reader, 'Name') ?? '';
      const isWanted = this.#file.sheet === undefined || (name === this.#file.sheet && !this.#names.includes(name));
      if (this.#names.length < MAX_SHEETS) this.#names.push(name.length > MAX_SHEET_NAME ? '' : name);
      if (this.#found || !isWanted) return;
      const first = this.#firsts.get(this.sheet) ?? this.#usualFirst;
      this.#current = new OpenSheet(name, first, this.#file.begin(), (bytes) => {
        this.#written += bytes;
        if (this.#written > computeMaxTextBytes(this.#file.size)) throw new WorkbookTooLarge();
      });
    }
  }

  async #close(): Promise<void> {
    this.#open.pop();
    if (this.#open.length === 0) this.#isOver = true;
    if (this.#open.length !== 1 || !this.#current) return;
    const { hidden, text } = this.#current;
    const result = await this.#current.end();
    this.#current = null;
    if (text.counts.filled === 0) return;
    this.#seen.push({ hidden, result, counts: text.counts });
    if (this.#file.sheet !== undefined || (!hidden && isTable(text.counts))) this.#found = result;
  }

  #readStyles(reader: XmlReader): boolean {
    let id = '';
    for (let token = reader.next(); token !== CUT; token = reader.next()) {
      if (token === CLOSE && reader.is('Styles')) return true;
      if (token !== OPEN && token !== EMPTY) continue;
      if (reader.is('Style')) id = this.#value(reader, 'ID') ?? '';
      else if (reader.is('NumberFormat')) this.#styles.set(id, findFormat(this.#value(reader, 'Format') ?? ''));
      if (this.#styles.size > MAX_STYLES) throw new WorkbookTooLarge();
    }
    return false;
  }

  #value(reader: XmlReader, name: string): string | undefined {
    return reader.value(`${this.#prefix}:${name}`) ?? reader.value(name);
  }

  #row(reader: XmlReader, isOpen: boolean): boolean {
    const sheet = this.#current;
    if (!sheet) return !isOpen || passed(reader);
    const row = this.#index(reader, sheet.row);
    const span = Number(this.#value(reader, 'Span') ?? 0) || 0;
    if (row > MAX_ROWS || span > MAX_ROWS) throw new XmlUnreadable('rows out of order');
    if (isOpen) {
      // The cells are collected first: none is written of a row that the bytes cut off.
      const cells = this.#cells(reader);
      if (!cells) return false;
      sheet.write(row, cells);
    }
    sheet.row = row + span;
    return true;
  }

  /** The place of a row or cell, from 1, behind another. */
  #index(reader: XmlReader, before: number): number {
    const written = this.#value(reader, 'Index');
    if (written === undefined) return before + 1;
    const index = /^\d{1,7}$/.test(written) ? Number(written) : 0;
    if (index <= before) throw new XmlUnreadable('cells out of order');
    return index;
  }

  #cells(reader: XmlReader): Cell[] | null {
    const cells: Cell[] = [];
    let place = 0;
    for (let token = reader.next(); token !== CUT; token = reader.next()) {
      if (token === CLOSE && reader.is('Row')) return cells;
      if ((token !== OPEN && token !== EMPTY) || !reader.is('Cell')) continue;
      place = this.#index(reader, place);
      const across = parseSpan(this.#value(reader, 'MergeAcross'));
      const down = parseSpan(this.#value(reader, 'MergeDown'));
      const style = this.#styles.get(this.#value(reader, 'StyleID') ?? '') ?? NUMBER;
      if (place + across > MAX_COLUMNS) throw new XmlUnreadable('cells out of order');
      const value = token === OPEN ? this.#data(reader, style) : NOTHING;
      if (!value) return null;
      cells.push({ column: place - 1, across, down, ...value });
      place += across;
    }
    return null;
  }

  /** Reads the cell to its end; null when the bytes end before. */
  #data(reader: XmlReader, style: NumberFormat): Value | null {
    let type = '';
    let text = '';
    let isData = false;
    for (let token = reader.next(); token !== CUT; token = reader.next()) {
      if (token === CLOSE && reader.is('Cell')) return this.#toValue(type, text, style);
      // Those that follow are of comments.
      if ((token === OPEN || token === EMPTY) && type === '' && reader.is('Data')) {
        type = this.#value(reader, 'Type') ?? 'String';
        isData = token === OPEN;
      } else if (token === CLOSE && reader.is('Data')) isData = false;
      else if (isData && token === TEXT) text += decodeText(reader.bytes, reader.start, reader.end);
      else if (isData && token === CDATA) text += sliceText(reader.bytes, reader.start, reader.end);
    }
    return null;
  }

  #toValue(type: string, text: string, style: NumberFormat): Value {
    switch (type) {
      case 'Number': {
        const number = formatNumber(text, style, this.#epoch1904);
        return {
          text: number ?? text.trim(),
          isText: number === null || style.kind === 'code' || style.kind === 'span',
        };
      }
      case 'DateTime': {
        const shown = momentText(text, style);
        return { text: shown ?? text, isText: shown === null };
      }
      case 'Boolean':
        return { text: /^\s*(?:1|true)\s*$/i.test(text) ? 'true' : 'false', isText: false };
      case 'Error':
        return NOTHING;
      default:
        return { text: text.replaceAll('\0', '').toWellFormed(), isText: true };
    }
  }
}

interface Value {
  text: string;
  isText: boolean;
}

/** A cell: its column from 0, and over how many more columns and rows it goes. */
interface Cell extends Value {
  column: number;
  across: number;
  down: number;
}

const NOTHING: Value = { text: '', isText: true };

/** A sheet whose rows are being written. */
class OpenSheet<T> {
  hidden = false;
  /** The last row that was read. */
  row = 0;
  readonly text: SheetText;
  readonly #name: string;
  readonly #output: SheetOutput<T>;
  readonly #merges: Merge[] = [];
  #first: number | null;
  #rows: MergedRows | null = null;

  constructor(name: string, first: number | null, output: SheetOutput<T>, onWrite: (bytes: number) => void) {
    this.#name = name;
    this.#first = first;
    this.#output = output;
    this.text = new SheetText((text) => {
      onWrite(text.length);
      return output.write(text);
    });
  }

  write(row: number, cells: Cell[]): void {
    const filled = cells.find(({ text }) => text !== '');
    if (!filled) return;
    this.#first ??= filled.column;
    this.#rows ??= new MergedRows(this.text.writer, { headers: [], down: new Map() }, this.#first);
    this.#rows.begin(row);
    for (const cell of cells) this.#cell(this.#rows, row, cell);
    this.#rows.end();
  }

  #cell(rows: MergedRows, row: number, { column, across, down, text, isText }: Cell): void {
    const bottom = row + down;
    if (row <= MAX_HEADER_ROW && across + down > 0 && this.#merges.length < MAX_MERGES) {
      this.#merges.push({ top: row, bottom, left: column, right: column + across });
    }
    if (text === '' || !rows.goTo(column)) return;
    if (isText) this.text.writer.writeQuotedText(text);
    else this.text.writer.writeBareText(text);
    rows.endCellUntil(column, bottom);
  }

  flush(): Promise<void> {
    return this.text.flush(this.#merges, this.#first ?? 0);
  }

  async end(): Promise<Converted<T>> {
    await this.flush();
    return { text: await this.#output.end(), sheet: this.text.facts(this.#name) };
  }
}

/** Passes over the element whose tag was just read; false when the bytes end before it does. */
function passed(reader: XmlReader): boolean {
  for (let depth = 1; depth > 0; ) {
    const token = reader.next();
    if (token === CUT) return false;
    if (token === OPEN) depth += 1;
    else if (token === CLOSE) depth -= 1;
  }
  return true;
}

const parseSpan = (written: string | undefined): number => (/^\d{1,7}$/.test(written ?? '') ? Number(written) : 0);

/** Formats that the format has names for. */
const NAMED: Record<string, NumberFormat> = {
  'General Date': { kind: 'datetime' },
  'Long Date': { kind: 'date' },
  'Medium Date': { kind: 'date' },
  'Short Date': { kind: 'date' },
  'Long Time': { kind: 'time' },
  'Medium Time': { kind: 'time' },
  'Short Time': { kind: 'time' },
  Currency: NUMBER,
  'Euro Currency': NUMBER,
  Fixed: NUMBER,
  Standard: NUMBER,
  Percent: NUMBER,
  Scientific: NUMBER,
  'General Number': NUMBER,
  'Yes/No': NUMBER,
  'True/False': NUMBER,
  'On/Off': NUMBER,
};

const findFormat = (code: string): NumberFormat => NAMED[code] ?? customFormat(code);

/** A moment as its format shows it: without one, midnight is a day. Null for a text that is no moment. */
function momentText(text: string, style: NumberFormat): string | null {
  const [, time] = /^\s*\d{4}-\d\d-\d\dT(\d\d:\d\d(?::\d\d)?)(?:\.\d*)?Z?\s*$/.exec(text) ?? [];
  if (style.kind === 'time' && time) return time;
  return isoText(
    text,
    style.kind === 'date' || (style.kind === 'number' && /T00:00(?::00(?:\.0*)?)?Z?\s*$/.test(text)),
  );
}
