import { strFromU8, unzipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { WorkbookWriter, type WrittenCell } from '../../../src/formats/workbook/write.ts';
import { concatBytes } from '../../../src/kernel/bytes.ts';
import {
  listChildElements,
  parseXml,
  readAttribute,
  type XmlElement,
} from '../../../src/modules/single-sign-on/saml-xml.ts';

/** Writes a workbook, and returns the root element of one of its parts. */
function writePart(path: string, header: string[], ...batches: WrittenCell[][][]): XmlElement {
  const book = new WorkbookWriter('Vendas', header);
  const files = unzipSync(concatBytes([...batches.map((rows) => book.writeRows(rows)), book.endFile()]));
  return parseXml(strFromU8(files[path] as Uint8Array));
}

/** Writes a workbook, and returns the name of its sheet. */
function writeSheetName(name: string): string | null {
  const files = unzipSync(concatBytes([new WorkbookWriter(name, ['a']).endFile()]));
  const workbook = parseXml(strFromU8(files['xl/workbook.xml'] as Uint8Array));
  const [sheet] = listChildElements(listChildElements(workbook)[0] as XmlElement);
  return readAttribute(sheet as XmlElement, 'name');
}

const listAttributes = (elements: XmlElement[], name: string) =>
  elements.map((element) => readAttribute(element, name));

describe('a written workbook', () => {
  it.each([
    ['Vendas', 'Vendas'],
    ["'a/b'", 'a b'],
    ["''Vendas''", 'Vendas'],
    [" 'Vendas' ", 'Vendas'],
    ['', 'Sheet1'],
    ['x'.repeat(40), 'x'.repeat(31)],
    ['😀'.repeat(16), '😀'.repeat(15)],
    ['History', 'History_'],
    [' HISTORY ', 'HISTORY_'],
    ['Historys', 'Historys'],
  ])('of the title %s has a sheet with a name that Excel accepts: %s', (title, name) => {
    expect(writeSheetName(title)).toBe(name);
  });

  it('says of each row and cell where it stands, and leaves cells without a value out', () => {
    const header = Array.from({ length: 703 }, (_, at) => `c${at}`);
    const cells: WrittenCell[] = header.map(() => null);
    const makeRow = (more: Record<number, WrittenCell>) => Object.assign([...cells], more);
    const sheet = writePart(
      'xl/worksheets/sheet1.xml',
      header,
      [makeRow({ 0: 'x', 25: 1.5 })],
      [makeRow({ 26: true }), makeRow({}), makeRow({ 702: 1 })],
    );
    const [first, ...rows] = listChildElements(listChildElements(sheet)[0] as XmlElement);
    const names = listAttributes(listChildElements(first as XmlElement), 'r');
    expect([names[0], names[25], names[26], names[701], names[702]]).toEqual(['A1', 'Z1', 'AA1', 'ZZ1', 'AAA1']);
    expect(new Set(names).size).toBe(703);
    expect(listAttributes(rows, 'r')).toEqual(['2', '3', '4', '5']);
    expect(rows.map((listedRow) => listAttributes(listChildElements(listedRow), 'r'))).toEqual([
      ['A2', 'Z2'],
      ['AA3'],
      [],
      ['AAA5'],
    ]);
  });

  it('has the styles that strict readers require: the two standard fills, and references to existing entries only', () => {
    const styles = writePart('xl/styles.xml', ['a']);
    const lists = Object.fromEntries(
      listChildElements(styles).map((list) => [list.localName, listChildElements(list)]),
    );
    // The order is that of the schema.
    expect(Object.keys(lists)).toEqual([
      'numFmts',
      'fonts',
      'fills',
      'borders',
      'cellStyleXfs',
      'cellXfs',
      'cellStyles',
    ]);
    for (const list of listChildElements(styles))
      expect(readAttribute(list, 'count')).toBe(`${listChildElements(list).length}`);
    const {
      numFmts = [],
      fonts = [],
      fills = [],
      borders = [],
      cellStyleXfs = [],
      cellXfs = [],
      cellStyles = [],
    } = lists;
    expect(fills.map((fill) => listAttributes(listChildElements(fill), 'patternType'))).toEqual([
      ['none'],
      ['gray125'],
    ]);
    const formats = ['0', ...listAttributes(numFmts, 'numFmtId')];
    expect(listAttributes(cellXfs, 'numFmtId')).toEqual(formats);
    for (const style of [...cellStyleXfs, ...cellXfs]) {
      const referencedLists = Object.entries({ fontId: fonts, fillId: fills, borderId: borders });
      for (const [name, list] of referencedLists) expect(list[Number(readAttribute(style, name) ?? -1)]).toBeDefined();
    }
    for (const style of [...cellXfs, ...cellStyles]) expect(readAttribute(style, 'xfId')).toBe('0');
    expect(listAttributes(cellStyles, 'name')).toEqual(['Normal']);
  });
});
