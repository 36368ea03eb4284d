import { utf8Xml } from '../xml/encoding.ts';
import { CUT, EMPTY, OPEN, XmlReader } from '../xml/reader.ts';
import { XmlUnreadable } from '../xml/text.ts';
import { readDirectory, ZipDamaged, type ZipEntry } from '../zip/directory.ts';
import { unpack, unpackWhole, type ZipSource } from '../zip/unpack.ts';
import { computeMaxXmlBytes, WorkbookTooLarge } from './limits.ts';
import { builtinFormat, customFormat, NUMBER, type NumberFormat } from './number-format.ts';
import { SharedStrings } from './shared-strings.ts';
import { MAX_TEXTS_BYTES, type Texts } from './texts.ts';

/** The data of a workbook besides its sheets' rows. */
export interface Workbook {
  /** Serial numbers of days count from 1904, as in old workbooks of macOS. */
  epoch1904: boolean;
  /** The number format of each cell style. */
  formats: NumberFormat[];
  strings: Texts;
  /** The worksheets in their order, hidden ones last. */
  sheets: Sheet[];
}

/** A worksheet that is still packed. */
export interface Sheet {
  name: string;
  hidden: boolean;
  entry: ZipEntry;
}

/** Workbook, relations and styles take kilobytes in ordinary files. */
const MAX_PART_BYTES = 16 * 1024 * 1024;

/**
 * Opens an Excel workbook (ECMA-376, transitional or strict).
 * @param reserve called before its texts are read, with the most bytes that they can take in memory
 * @throws ZipDamaged, XmlUnreadable, WorkbookTooLarge
 */
export async function openWorkbook(
  zip: ZipSource,
  size: number,
  reserve: (bytes: number) => Promise<void>,
): Promise<Workbook> {
  const entries = new Map((await readDirectory(zip.read, size)).map((entry) => [normalized(entry.name), entry]));
  const part = async (path: string) => {
    const entry = entries.get(normalized(path));
    return entry && utf8Xml(await unpackWhole(zip, entry, MAX_PART_BYTES));
  };
  const path = mainPart(await part('_rels/.rels'));
  const main = await part(path);
  if (!main) throw new ZipDamaged();
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const relations = readRelations(await part(`${folder}_rels/${path.slice(folder.length)}.rels`), folder);
  const target = (type: string) => [...relations.values()].find((relation) => relation.type === type)?.target ?? '';

  const { epoch1904, sheets } = readWorkbook(main);
  const strings = new SharedStrings();
  const shared = entries.get(normalized(target('sharedStrings')));
  if (shared && shared.size > computeMaxXmlBytes(size)) throw new WorkbookTooLarge();
  if (shared) {
    await reserve(Math.min(MAX_TEXTS_BYTES, shared.size));
    await unpack(zip, shared, (bytes) => strings.feed(bytes));
    strings.end();
  }
  const styles = await part(target('styles'));
  // Without its formats a date would be read as a number.
  if (!styles && target('styles') !== '') throw new ZipDamaged();
  return {
    epoch1904,
    formats: readFormats(styles),
    strings: strings.texts,
    sheets: sheets.flatMap(({ name, hidden, relation }) => {
      const found = relations.get(relation ?? '');
      // A sheet may be a chart.
      if (found && found.type !== 'worksheet') return [];
      const entry = found && entries.get(normalized(found.target));
      if (!entry) throw new ZipDamaged();
      return [{ name, hidden, entry }];
    }),
  };
}

/** The path of a part in one spelling: some programs write other cases, a leading slash, or backslashes. */
const normalized = (path: string): string => path.replaceAll('\\', '/').replace(/^\/+/, '').toLowerCase();

interface Relation {
  /** The last word of its URI: `worksheet`, `styles`. */
  type: string;
  target: string;
}

function mainPart(bytes: Uint8Array | undefined): string {
  const relations = [...readRelations(bytes, '').values()];
  return relations.find(({ type }) => type === 'officeDocument')?.target ?? 'xl/workbook.xml';
}

function readRelations(bytes: Uint8Array | undefined, folder: string): Map<string, Relation> {
  const relations = new Map<string, Relation>();
  eachTag(bytes, 'Relationships', (reader) => {
    if (!reader.is('Relationship')) return;
    const type = reader.value('Type') ?? '';
    const target = reader.value('Target') ?? '';
    const path = target.startsWith('/') ? target : resolved(folder + target);
    relations.set(reader.value('Id') ?? '', { type: type.slice(type.lastIndexOf('/') + 1), target: path });
  });
  return relations;
}

/** A path without `.` and `..`. */
function resolved(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** A sheet as the workbook lists it. */
interface SheetEntry {
  name: string;
  relation: string | undefined;
  hidden: boolean;
}

function readWorkbook(bytes: Uint8Array): { epoch1904: boolean; sheets: SheetEntry[] } {
  let epoch1904 = false;
  const sheets: SheetEntry[] = [];
  let isWhole = false;
  eachTag(bytes, 'workbook', (reader) => {
    isWhole ||= reader.is('sheets');
    if (reader.is('workbookPr')) epoch1904 = /^(?:1|true|on)$/.test(reader.value('date1904') ?? '');
    if (reader.is('sheet')) {
      const relation = reader.getValue('/relationships', 'id');
      const hidden = (reader.value('state') ?? 'visible') !== 'visible';
      sheets.push({ name: reader.value('name') ?? '', relation, hidden });
    }
  });
  if (!isWhole) throw new XmlUnreadable('a workbook without sheets');
  return { epoch1904, sheets: sheets.sort((a, b) => Number(a.hidden) - Number(b.hidden)) };
}

/** Reads the number format of each cell style (`cellXfs`). */
function readFormats(bytes: Uint8Array | undefined): NumberFormat[] {
  const custom = new Map<number, NumberFormat>();
  const formats: NumberFormat[] = [];
  let inCells = false;
  eachTag(bytes, 'styleSheet', (reader, isOpen) => {
    if (reader.is('numFmt'))
      custom.set(Number(reader.value('numFmtId')), customFormat(reader.value('formatCode') ?? ''));
    else if (reader.is('cellXfs')) inCells = isOpen;
    else if (reader.is('cellStyles') || reader.is('dxfs')) inCells = false;
    else if (inCells && reader.is('xf')) {
      const id = Number(reader.value('numFmtId') ?? 0);
      formats.push(custom.get(id) ?? builtinFormat(id) ?? NUMBER);
    }
  });
  return formats;
}

/** @throws XmlUnreadable when the part is another than `root`, or does not end with its last tag */
function eachTag(
  bytes: Uint8Array | undefined,
  root: string,
  onTag: (reader: XmlReader, isOpen: boolean) => void,
): void {
  if (!bytes) return;
  const reader = new XmlReader(bytes);
  let isRoot = false;
  for (let token = reader.next(); token !== CUT; token = reader.next()) {
    if (token !== OPEN && token !== EMPTY) continue;
    isRoot ||= reader.is(root);
    if (!isRoot) break;
    onTag(reader, token === OPEN);
  }
  if (!isRoot) throw new XmlUnreadable('a part without its element');
  if (bytes.indexOf(60, reader.at) >= 0) throw new XmlUnreadable('a part that is cut off');
}
