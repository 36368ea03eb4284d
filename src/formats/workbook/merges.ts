import type { Namespaces } from '../xml/namespaces.ts';
import { CLOSE_TAG, CUT_TOKEN, EMPTY_TAG, OPEN_TAG, XmlReader } from '../xml/reader.ts';
import { readColumn } from './cells.ts';
import { MAX_COLUMNS, MAX_ROWS } from './limits.ts';

/** Merged cell: rows from 1, columns from 0, both ends included. */
export interface Merge {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

/** Merged cells that the conversion uses. */
export interface Merges {
  /** Merged cells that begin in the first rows, where headers are. */
  headerMerges: Merge[];
  /** Last row in which a cell is repeated, by the cell's {@link makeCellKey}. */
  lastRowsByCell: Map<number, number>;
}

/** Merged cell to be repeated: the text of its field, and the last row in which it is written. */
export interface Fill {
  column: number;
  /** The last row in which the text is written. */
  until: number;
  text: string;
}

/** Last row that is searched for headers. */
export const MAX_HEADER_ROW = 60;

/** Makes a number of a cell's row from 1 and column from 0. */
export const makeCellKey = (row: number, column: number): number => row * MAX_COLUMNS + column;

/** Merged cells of a sheet that has none. */
export const NO_MERGES: Merges = { headerMerges: [], lastRowsByCell: new Map() };

/** Decoder that makes one character of each byte, so that indexes in the text are offsets in the bytes. */
const byteDecoder = new TextDecoder('latin1');

/**
 * Finds the offset of the list of merged cells, whatever its prefix, in a piece of a sheet's XML behind which there is none.
 * Only tags count, as the words also stand in attributes: a link may lead to a sheet named `mergeCells`.
 * @returns null when the rows end in the piece, so that the sheet has no such list; -1 when it may stand before the piece
 */
export function findMerges(piece: Uint8Array): number | null {
  const text = byteDecoder.decode(piece);
  const at = text.search(/<(?:[^<>\s/:]*:)?mergeCells[\s/>]/);
  return at < 0 && /<\/(?:[^<>\s/:]*:)?sheetData\s*>/.test(text) ? null : at;
}

/** Merged cells of a piece of a sheet's XML. */
export interface MergesOfPiece {
  /** The merged cells that the conversion uses: those in the first rows, and those of several rows. */
  merges: Merge[];
  /** Namespaces of prefixes where the piece ends. */
  names: Namespaces;
  /** Offset in this piece at which the next piece begins. */
  nextOffset: number;
  /** True if the list of merged cells ends in the piece. */
  isEnd: boolean;
}

/** Reads the merged cells from a piece of a sheet's XML that begins with the list of them, or where the piece before ended. */
export function readMerges(piece: Uint8Array, names: Namespaces): MergesOfPiece {
  const merges: Merge[] = [];
  const reader = new XmlReader(piece, names);
  for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken()) {
    const isEnd = (token === CLOSE_TAG || token === EMPTY_TAG) && reader.isElement('mergeCells');
    if (isEnd) return { merges, names: reader.names, nextOffset: reader.at, isEnd };
    if ((token !== OPEN_TAG && token !== EMPTY_TAG) || !reader.isElement('mergeCell')) continue;
    const merge = parseMerge(reader.readAttribute('ref') ?? '');
    // Reports merge cells of each of their rows, which changes nothing below the header.
    if (merge && (merge.top <= MAX_HEADER_ROW || merge.bottom > merge.top)) merges.push(merge);
  }
  return { merges, names: reader.names, nextOffset: reader.at, isEnd: false };
}

/** Selects the merged cells that the conversion uses: none if some overlap, which Excel calls damaged and drops. */
export function selectUsefulMerges(allMerges: Merge[]): Merges {
  const merges = allMerges
    .filter(({ top, bottom, left, right }) => top >= 1 && bottom <= MAX_ROWS && left >= 0 && right < MAX_COLUMNS)
    .filter(({ top, bottom, left, right }) => top <= bottom && left <= right)
    .sort((a, b) => a.top - b.top);
  if (haveOverlaps(merges)) return NO_MERGES;
  return {
    headerMerges: merges.filter(({ top }) => top <= MAX_HEADER_ROW),
    lastRowsByCell: new Map(
      merges.filter(({ top, bottom }) => bottom > top).map(({ top, left, bottom }) => [makeCellKey(top, left), bottom]),
    ),
  };
}

/** Returns true if merged cells, sorted by their tops, overlap: in the first rows anywhere, below only in the repeated column. */
function haveOverlaps(merges: Merge[]): boolean {
  if (merges.length < 2) return false;
  const coveredCells = new Uint8Array(MAX_HEADER_ROW * MAX_COLUMNS);
  const lastRows = new Int32Array(MAX_COLUMNS);
  for (const { top, bottom, left, right } of merges) {
    if ((lastRows[left] as number) >= top) return true;
    lastRows[left] = bottom;
    for (let row = top; row <= Math.min(bottom, MAX_HEADER_ROW); row++) {
      const cells = coveredCells.subarray((row - 1) * MAX_COLUMNS + left, (row - 1) * MAX_COLUMNS + right + 1);
      if (cells.includes(1)) return true;
      cells.fill(1);
    }
  }
  return false;
}

const encoder = new TextEncoder();

function parseMerge(reference: string): Merge | null {
  const matchedParts = /^\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})$/i.exec(reference);
  if (!matchedParts) return null;
  const [, left = '', top, right = '', bottom] = matchedParts;
  const parseColumn = (letters: string) => readColumn(encoder.encode(letters), 0, letters.length);
  return { top: Number(top), bottom: Number(bottom), left: parseColumn(left), right: parseColumn(right) };
}
