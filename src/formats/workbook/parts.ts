import { convertToUtf8 } from '../xml/encoding.ts';
import { CUT_TOKEN, EMPTY_TAG, OPEN_TAG, XmlReader } from '../xml/reader.ts';
import { XmlUnreadable } from '../xml/text.ts';
import { readDirectory, ZipDamaged, type ZipEntry } from '../zip/directory.ts';
import { unpackWhole, unpackZipEntry, type ZipSource } from '../zip/unpack.ts';
import { computeMaxXmlBytes, WorkbookTooLarge } from './limits.ts';
import { findBuiltinFormat, NUMBER_FORMAT, type NumberFormat, parseCustomFormat } from './number-format.ts';
import { SharedStrings } from './shared-strings.ts';
import { MAX_TEXTS_BYTES, type SharedTexts } from './texts.ts';

/** Data of a workbook apart from its sheets' rows. */
export interface Workbook {
  /** True if serial numbers of days count from 1904, as in old workbooks of macOS. */
  usesEpoch1904: boolean;
  /** Number format of each cell style. */
  formats: NumberFormat[];
  strings: SharedTexts;
  /** The worksheets in their order, hidden ones last. */
  sheets: PackedSheet[];
}

/** Worksheet that is still packed. */
export interface PackedSheet {
  name: string;
  isHidden: boolean;
  entry: ZipEntry;
}

/** Maximum size of the workbook, relations and styles parts, which take kilobytes in ordinary files. */
const MAX_PART_BYTES = 16 * 1024 * 1024;

/**
 * Opens an Excel workbook (ECMA-376, transitional or strict).
 * @param reserveMemory called before its texts are read, with the most bytes that they can take in memory
 * @throws ZipDamaged, XmlUnreadable, WorkbookTooLarge
 */
export async function openWorkbook(
  zip: ZipSource,
  size: number,
  reserveMemory: (bytes: number) => Promise<void>,
): Promise<Workbook> {
  const entries = new Map((await readDirectory(zip.read, size)).map((entry) => [normalizePath(entry.name), entry]));
  const readPart = async (path: string) => {
    const entry = entries.get(normalizePath(path));
    return entry && convertToUtf8(await unpackWhole(zip, entry, MAX_PART_BYTES));
  };
  const path = findMainPart(await readPart('_rels/.rels'));
  const mainPartBytes = await readPart(path);
  if (!mainPartBytes) throw new ZipDamaged();
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const relations = readRelations(await readPart(`${folder}_rels/${path.slice(folder.length)}.rels`), folder);
  const findTarget = (type: string) => [...relations.values()].find((relation) => relation.type === type)?.target ?? '';

  const { usesEpoch1904, sheets } = readWorkbook(mainPartBytes);
  const strings = new SharedStrings();
  const sharedEntry = entries.get(normalizePath(findTarget('sharedStrings')));
  if (sharedEntry && sharedEntry.size > computeMaxXmlBytes(size)) throw new WorkbookTooLarge();
  if (sharedEntry) {
    await reserveMemory(Math.min(MAX_TEXTS_BYTES, sharedEntry.size));
    await unpackZipEntry(zip, sharedEntry, (bytes) => strings.feedPiece(bytes));
    strings.end();
  }
  const styles = await readPart(findTarget('styles'));
  // Without its formats a date would be read as a number.
  if (!styles && findTarget('styles') !== '') throw new ZipDamaged();
  return {
    usesEpoch1904,
    formats: readFormats(styles),
    strings: strings.sharedTexts,
    sheets: sheets.flatMap(({ name, isHidden, relationId }) => {
      const sheetRelation = relations.get(relationId ?? '');
      // A sheet may be a chart.
      if (sheetRelation && sheetRelation.type !== 'worksheet') return [];
      const entry = sheetRelation && entries.get(normalizePath(sheetRelation.target));
      if (!entry) throw new ZipDamaged();
      return [{ name, isHidden, entry }];
    }),
  };
}

/** Normalizes the path of a part: some programs write other cases, a leading slash, or backslashes. */
const normalizePath = (path: string): string => path.replaceAll('\\', '/').replace(/^\/+/, '').toLowerCase();

interface Relation {
  /** Last word of the relation's type URI: `worksheet`, `styles`. */
  type: string;
  target: string;
}

function findMainPart(bytes: Uint8Array | undefined): string {
  const relations = [...readRelations(bytes, '').values()];
  return relations.find(({ type }) => type === 'officeDocument')?.target ?? 'xl/workbook.xml';
}

function readRelations(bytes: Uint8Array | undefined, folder: string): Map<string, Relation> {
  const relations = new Map<string, Relation>();
  readTags(bytes, 'Relationships', (reader) => {
    if (!reader.isElement('Relationship')) return;
    const type = reader.readAttribute('Type') ?? '';
    const target = reader.readAttribute('Target') ?? '';
    const path = target.startsWith('/') ? target : resolvePath(folder + target);
    relations.set(reader.readAttribute('Id') ?? '', { type: type.slice(type.lastIndexOf('/') + 1), target: path });
  });
  return relations;
}

/** Resolves `.` and `..` in a path. */
function resolvePath(path: string): string {
  const parts: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') parts.pop();
    else if (segment !== '.') parts.push(segment);
  }
  return parts.join('/');
}

/** Sheet as the workbook lists it. */
interface SheetEntry {
  name: string;
  relationId: string | undefined;
  isHidden: boolean;
}

function readWorkbook(bytes: Uint8Array): { usesEpoch1904: boolean; sheets: SheetEntry[] } {
  let usesEpoch1904 = false;
  const sheets: SheetEntry[] = [];
  let isComplete = false;
  readTags(bytes, 'workbook', (reader) => {
    isComplete ||= reader.isElement('sheets');
    if (reader.isElement('workbookPr')) usesEpoch1904 = /^(?:1|true|on)$/.test(reader.readAttribute('date1904') ?? '');
    if (reader.isElement('sheet')) {
      const relation = reader.getValue('/relationships', 'id');
      const isHidden = (reader.readAttribute('state') ?? 'visible') !== 'visible';
      sheets.push({ name: reader.readAttribute('name') ?? '', relationId: relation, isHidden });
    }
  });
  if (!isComplete) throw new XmlUnreadable('a workbook without sheets');
  return { usesEpoch1904, sheets: sheets.sort((a, b) => Number(a.isHidden) - Number(b.isHidden)) };
}

/** Reads the number format of each cell style (`cellXfs`). */
function readFormats(bytes: Uint8Array | undefined): NumberFormat[] {
  const customFormats = new Map<number, NumberFormat>();
  const formats: NumberFormat[] = [];
  let isInCells = false;
  readTags(bytes, 'styleSheet', (reader, isOpen) => {
    if (reader.isElement('numFmt'))
      customFormats.set(
        Number(reader.readAttribute('numFmtId')),
        parseCustomFormat(reader.readAttribute('formatCode') ?? ''),
      );
    else if (reader.isElement('cellXfs')) isInCells = isOpen;
    else if (reader.isElement('cellStyles') || reader.isElement('dxfs')) isInCells = false;
    else if (isInCells && reader.isElement('xf')) {
      const id = Number(reader.readAttribute('numFmtId') ?? 0);
      formats.push(customFormats.get(id) ?? findBuiltinFormat(id) ?? NUMBER_FORMAT);
    }
  });
  return formats;
}

/** Reads each tag of a part. @throws XmlUnreadable when its root is not `root`, or it does not end with its last tag */
function readTags(
  bytes: Uint8Array | undefined,
  root: string,
  onTag: (reader: XmlReader, isOpen: boolean) => void,
): void {
  if (!bytes) return;
  const reader = new XmlReader(bytes);
  let isRoot = false;
  for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken()) {
    if (token !== OPEN_TAG && token !== EMPTY_TAG) continue;
    isRoot ||= reader.isElement(root);
    if (!isRoot) break;
    onTag(reader, token === OPEN_TAG);
  }
  if (!isRoot) throw new XmlUnreadable('a part without its element');
  if (bytes.indexOf(60, reader.at) >= 0) throw new XmlUnreadable('a part that is cut off');
}
