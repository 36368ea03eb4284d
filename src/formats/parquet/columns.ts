import type { SchemaTree } from 'hyparquet';
import { assembleLists, assembleNested } from 'hyparquet/src/assemble.js';
import { isMapLike } from 'hyparquet/src/schema.js';
import { MAX_ROW_BYTES } from '../records/writer.ts';
import { ColumnTexts } from './fields.ts';
import type { Column } from './footer.ts';
import { addValue, type LeafPosition, type LeafReader } from './leaves.ts';
import { callParquetLibrary, ParquetProblem } from './problem.ts';

/** Limits of a slice of a column that is converted to texts at a time. */
export interface SliceLimits {
  maxRows: number;
  maxBytes: number;
}

/** Approximate number of values of a nested column that are held as objects at a time, of each leaf and of all leaves. */
const MAX_LEAF_VALUES = 2 ** 15;
const MAX_COLUMN_VALUES = 2 ** 17;
const MAX_ROW_VALUES = 2 ** 20;
/**
 * Bytes that each leaf of a nested column may read for a slice even where its share is less: the shorter a slice, the more often
 * pages are read again.
 */
const MIN_LEAF_BYTES = 64 * 1024;
/** Bytes that such leaves may read together. They leave room for the last row of each. */
const MAX_MIN_LEAVES_BYTES = MAX_ROW_BYTES / 2;
/**
 * Name of the member that holds a map's entries until they are written. No column's member has this name: the names of those
 * are JSON texts, in quotes.
 */
const MAP_ENTRIES = 'entries';

/** Reads a column of one row group, as the texts of some rows at a time. */
export abstract class ColumnReader {
  /** Texts of the rows that were read. */
  readonly texts = new ColumnTexts();
  /** Number of the rows that were read and taken. */
  takenCount = 0;
  #counted = 0;

  /** Position of the next row that is not taken, in each leaf. */
  abstract get places(): LeafPosition[];

  /** Converts the next rows to texts. @throws ParquetProblem if there are none */
  protected abstract readRows(limits: SliceLimits): Promise<void>;

  /** Returns the number of rows that can be taken. */
  async countReadyRows(limits: SliceLimits): Promise<number> {
    if (this.takenCount === this.texts.textCount) {
      await this.readRows(limits);
      this.takenCount = 0;
      this.#counted = 0;
    }
    return this.texts.textCount - this.takenCount;
  }

  /** Takes a number of rows. @returns how many of their values are no numbers (NaN, infinities) in a numeric column */
  takeRows(rowCount: number): number {
    const { notNumberIndexes } = this.texts;
    const countedBefore = this.#counted;
    this.takenCount += rowCount;
    while ((notNumberIndexes[this.#counted] ?? Number.POSITIVE_INFINITY) < this.takenCount) this.#counted++;
    return this.#counted - countedBefore;
  }
}

/** Reads a column with one value a row. */
export class FlatReader extends ColumnReader {
  readonly #reader: LeafReader;
  /** Position of the slice's first row. */
  #place: LeafPosition;
  /** Position of the row after the slice: in the same page, or at the beginning of the next page. */
  #next: LeafPosition;

  constructor(reader: LeafReader, position: LeafPosition) {
    super();
    this.#reader = reader;
    this.#place = position;
    this.#next = position;
  }

  get places(): LeafPosition[] {
    if (this.takenCount === this.texts.textCount) return [this.#next];
    return [{ offset: this.#place.offset, skippedRowCount: this.#place.skippedRowCount + this.takenCount }];
  }

  protected async readRows({ maxRows, maxBytes }: SliceLimits): Promise<void> {
    this.texts.clear();
    let { offset, skippedRowCount: skip } = this.#next;
    for (;;) {
      const foundPage = await this.#reader.readPage(offset);
      if (!foundPage) throw new ParquetProblem('damaged', this.#reader.columnName);
      const { readPage: page } = foundPage;
      if (skip >= page.levelCount) {
        offset = foundPage.nextOffset;
        skip -= page.levelCount;
        continue;
      }
      const endRow = Math.min(page.levelCount, skip + maxRows);
      const texts = page.usesDictionary && page.values.length > 0 ? await this.#reader.readTexts() : null;
      const end = this.#addRows(page.definitionLevels, page.values, texts, skip, endRow, maxBytes);
      this.#place = { offset: foundPage.offset, skippedRowCount: skip };
      this.#next =
        end === page.levelCount
          ? { offset: foundPage.nextOffset, skippedRowCount: 0 }
          : { offset: foundPage.offset, skippedRowCount: end };
      this.#reader.freeExcess();
      return;
    }
  }

  /** Adds rows to the texts. @returns the row after the last that was added */
  #addRows(
    definitionLevels: ArrayLike<number>,
    values: ArrayLike<unknown>,
    texts: ColumnTexts | null,
    from: number,
    endRow: number,
    maxBytes: number,
  ): number {
    const { texts: columnTexts } = this;
    const { leaf, columnName } = this.#reader;
    const hasNulls = definitionLevels.length > 0;
    let at = 0;
    if (hasNulls) for (let row = 0; row < from; row++) at += definitionLevels[row] === leaf.valueLevel ? 1 : 0;
    else at = from;
    const notNumbers = new Set(texts?.notNumberIndexes);
    for (let row = from; row < endRow; row++) {
      if (hasNulls && definitionLevels[row] !== leaf.valueLevel) columnTexts.addNull();
      else if (texts) {
        const index = Number(values[at++]);
        if (!(index < texts.textCount)) throw new ParquetProblem('damaged', columnName);
        if (notNumbers.has(index)) columnTexts.notNumberIndexes.push(columnTexts.textCount);
        columnTexts.copyText(texts, index);
      } else if (at < values.length) addValue(columnTexts, leaf, values[at++]);
      else throw new ParquetProblem('damaged', columnName);
      if (columnTexts.length > maxBytes) return row + 1;
    }
    return endRow;
  }
}

/** Position of a row, and where in its page it starts. */
interface RowPosition extends LeafPosition {
  level: number;
  valueIndex: number;
}

/** Levels and values of some rows of a leaf. */
interface LeafRows {
  definitionLevels: number[];
  repetitionLevels: number[];
  values: unknown[];
  /** For each row, the index at which its levels start in `definitionLevels` and `repetitionLevels`. */
  rowStarts: number[];
  /** For each row, where it starts in the leaf: its page, and the number of rows to skip there. */
  rowPositions: RowPosition[];
  /** Position of the row after these rows. */
  nextPosition: LeafPosition | RowPosition;
}

/** Reads a column of lists, maps or groups, whose values become JSON. */
export class NestedReader extends ColumnReader {
  readonly #column: Column;
  readonly #assemblyTree: SchemaTree;
  /** Path of each leaf in the assembly tree. */
  readonly #leafPaths: string[];
  readonly #readers: LeafReader[];
  /** For each leaf, the position of each row of the slice. */
  #places: RowPosition[][] = [];
  /** Number of rows that are read at most for the next slice: many more than the last one held would be read in vain. */
  #maxRows = Number.POSITIVE_INFINITY;
  /** For each leaf, the position of the row after the slice. */
  #next: (LeafPosition | RowPosition)[];

  constructor(column: Column, readers: LeafReader[], positions: LeafPosition[]) {
    super();
    this.#column = column;
    this.#assemblyTree = toAssemblyTree(column.tree);
    this.#leafPaths = listLeafPaths(this.#assemblyTree);
    this.#readers = readers;
    this.#next = positions;
  }

  get places(): LeafPosition[] {
    return this.takenCount === this.texts.textCount
      ? this.#next
      : this.#places.map((rows) => rows[this.takenCount] as LeafPosition);
  }

  protected async readRows(limits: SliceLimits): Promise<void> {
    const { name } = this.#column;
    const tree = this.#assemblyTree;
    // Long rows are read one by one.
    const leaves = (await this.#readLeaves(limits)) ?? (await this.#readLeaves({ maxRows: 1, maxBytes: 0 }));
    if (!leaves) throw new ParquetProblem('row_too_long', name);
    const rows = Math.min(...leaves.map(({ rowPositions }) => rowPositions.length));
    if (rows === 0) throw new ParquetProblem('damaged', name);
    const values = callParquetLibrary(() => {
      const data = new Map<string, ArrayLike<unknown>>();
      for (const [index, { leaf }] of this.#readers.entries()) {
        const { definitions, repetitions, values } = takeFirstRows(leaves[index] as LeafRows, rows, leaf.valueLevel);
        data.set(this.#leafPaths[index] as string, assembleLists([], definitions, repetitions, values, leaf.path));
      }
      if (tree.children.length > 0) assembleNested(data as never, tree, {} as never);
      return data.get(tree.element.name);
    }, name);
    if (values?.length !== rows) throw new ParquetProblem('damaged', name);
    this.texts.clear();
    // The names of members, which each row repeats, may be longer than its values.
    for (let row = 0; row < rows && this.texts.length <= limits.maxBytes; row++) {
      const value = values[row];
      if (value === null || value === undefined) this.texts.addNull();
      else
        this.texts.addText(
          callParquetLibrary(() => toJson(value, new JsonLength()), name),
          true,
        );
    }
    this.#maxRows = 2 * this.texts.textCount;
    this.#places = leaves.map(({ rowPositions }) => rowPositions);
    this.#next = leaves.map(({ rowPositions, nextPosition }) => rowPositions[this.texts.textCount] ?? nextPosition);
  }

  /** Reads the next rows of all leaves. @returns null if the texts of their values exceed `maxBytes` by more than a record's */
  async #readLeaves({ maxRows, maxBytes }: SliceLimits): Promise<LeafRows[] | null> {
    const leaves: LeafRows[] = [];
    const room = { bytes: maxBytes + MAX_ROW_BYTES };
    const leafCount = this.#readers.length;
    const leafBytes = Math.max(maxBytes, Math.min(MIN_LEAF_BYTES * leafCount, MAX_MIN_LEAVES_BYTES)) / leafCount;
    const maxValues = Math.min(MAX_LEAF_VALUES, MAX_COLUMN_VALUES / leafCount);
    let rows = Math.min(maxRows, this.#maxRows);
    for (const [index, reader] of this.#readers.entries()) {
      const limits = { maxRows: rows, maxBytes: leafBytes, maxValues };
      const leafRows = await readRows(reader, this.#next[index] as LeafPosition, limits, room);
      if (!leafRows) return null;
      rows = Math.min(rows, leafRows.rowPositions.length);
      leaves.push(leafRows);
    }
    return leaves;
  }
}

/**
 * Reads the levels and values of at most a number of rows of a leaf, and of at least one.
 * @returns null if the texts of the values need more than `room`, which they take up
 */
async function readRows(
  reader: LeafReader,
  from: LeafPosition | RowPosition,
  { maxRows, maxBytes, maxValues }: SliceLimits & { maxValues: number },
  room: { bytes: number },
): Promise<LeafRows | null> {
  const { leaf, columnName } = reader;
  const foundRows: LeafRows = {
    definitionLevels: [],
    repetitionLevels: [],
    values: [],
    rowStarts: [],
    rowPositions: [],
    nextPosition: from,
  };
  const minRoomBytes = room.bytes - maxBytes;
  let { offset, skippedRowCount: skip } = from;
  for (;;) {
    const pageResult = await reader.readPage(offset);
    if (!pageResult) {
      foundRows.nextPosition = { offset: reader.chunk.end, skippedRowCount: 0 };
      reader.freeExcess();
      return foundRows;
    }
    const { readPage: page } = pageResult;
    const values = page.usesDictionary && page.values.length > 0 ? await reader.readDictionaryValues() : null;
    // The rows before the first one are not counted again.
    const start = 'level' in from && pageResult.offset === from.offset ? from : null;
    let startedRowCount = start?.skippedRowCount ?? 0;
    let at = start?.valueIndex ?? 0;
    for (let level = start?.level ?? 0; level < page.levelCount; level++) {
      const definitionLevel =
        page.definitionLevels.length > 0 ? (page.definitionLevels[level] as number) : leaf.valueLevel;
      const repetitionLevel = page.repetitionLevels.length > 0 ? (page.repetitionLevels[level] as number) : 0;
      const isFilled = definitionLevel === leaf.valueLevel;
      if (repetitionLevel === 0) {
        startedRowCount++;
        const hasEnoughRows =
          foundRows.rowPositions.length === maxRows ||
          foundRows.definitionLevels.length > maxValues ||
          room.bytes < minRoomBytes;
        if (startedRowCount > skip && hasEnoughRows && foundRows.rowPositions.length > 0) {
          foundRows.nextPosition = {
            offset: pageResult.offset,
            skippedRowCount: startedRowCount - 1,
            level,
            valueIndex: at,
          };
          reader.keepPage(pageResult);
          reader.freeExcess();
          return foundRows;
        }
        if (startedRowCount > skip) {
          foundRows.rowStarts.push(foundRows.definitionLevels.length);
          foundRows.rowPositions.push({
            offset: pageResult.offset,
            skippedRowCount: startedRowCount - 1,
            level,
            valueIndex: at,
          });
        }
      }
      // What goes on from a row before belongs to that.
      if (foundRows.rowPositions.length > 0) {
        if (foundRows.definitionLevels.length > MAX_ROW_VALUES) throw new ParquetProblem('row_too_long', columnName);
        foundRows.definitionLevels.push(definitionLevel);
        foundRows.repetitionLevels.push(repetitionLevel);
        if (isFilled) {
          const value = toJsonValue(reader, values ? values[Number(page.values[at])] : page.values[at]);
          room.bytes -= value?.length ?? 0;
          if (room.bytes < 0) return null;
          foundRows.values.push(value);
        }
      }
      if (isFilled) at++;
    }
    skip = Math.max(0, skip - startedRowCount);
    offset = pageResult.nextOffset;
  }
}

/** Returns the levels and values of the first rows. */
function takeFirstRows(
  { definitionLevels, repetitionLevels, values, rowStarts }: LeafRows,
  rowCount: number,
  definedLevel: number,
) {
  const end = rowStarts[rowCount] ?? definitionLevels.length;
  const rowDefinitions = definitionLevels.slice(0, end);
  return {
    definitions: rowDefinitions,
    repetitions: repetitionLevels.slice(0, end),
    values: values.slice(0, rowDefinitions.filter((definition) => definition === definedLevel).length),
  };
}

/** Text of a number or a boolean, written to JSON without quotes. */
class JsonLiteral {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  get length(): number {
    return this.#text.length;
  }
  toString(): string {
    return this.#text;
  }
}

/** Number of characters of a row's JSON, its punctuation aside. */
class JsonLength {
  #length = 0;
  /** Counts a text and returns it. @throws ParquetProblem if the row is too long for a record */
  count(text: string): string {
    this.#length += text.length;
    if (this.#length > MAX_ROW_BYTES) throw new ParquetProblem('row_too_long');
    return text;
  }
}

function toJsonValue({ leaf, columnName }: LeafReader, value: unknown): string | JsonLiteral | null {
  if (value === undefined) throw new ParquetProblem('damaged', columnName);
  const { isQuoted, type, formatValue } = leaf.valueFormatter;
  const valueText = formatValue(value);
  if (valueText === null) return null;
  return isQuoted || type === 'date' || type === 'datetime' ? valueText : new JsonLiteral(valueText);
}

/**
 * Returns the tree that hyparquet assembles values by: it makes an object of each group and each map, with names and keys as
 * they are, so that a member `__proto__` and a map's keys that are no texts would be lost. Here the names are JSON texts, and
 * maps are groups of entries.
 */
function toAssemblyTree(
  tree: SchemaTree,
  parentPath: string[] = [],
  name: string = JSON.stringify(tree.element.name),
): SchemaTree {
  const path = [...parentPath, name];
  const isMap = isMapLike(tree);
  const { converted_type, logical_type, ...element } = tree.element;
  return {
    ...tree,
    element: { ...element, name, ...(!isMap && converted_type && { converted_type }) },
    path,
    children: tree.children.map((child) => toAssemblyTree(child, path, isMap ? MAP_ENTRIES : undefined)),
  };
}

/** Lists the paths of a tree's leaves, as hyparquet writes them. */
const listLeafPaths = ({ element, path, children }: SchemaTree): string[] =>
  element.type === undefined ? children.flatMap(listLeafPaths) : [path.join('.')];

/** Writes a value, assembled by {@link toAssemblyTree}, as JSON. @param length counts the whole row */
function toJson(value: unknown, length: JsonLength): string {
  if (value instanceof JsonLiteral) return length.count(value.toString());
  if (Array.isArray(value)) return `[${value.map((item) => toJson(item, length)).join()}]`;
  if (typeof value !== 'object' || value === null) return length.count(JSON.stringify(value ?? null));
  if (MAP_ENTRIES in value)
    return toJsonMap(
      (value[MAP_ENTRIES] as object[]).map((entry) => Object.values(entry)),
      length,
    );
  return `{${Object.entries(value)
    .map(([name, member]) => `${length.count(name)}:${toJson(member, length)}`)
    .join()}}`;
}

/** Writes a map as a JSON object, or as a list of its entries where the keys are no texts or scalars, or one is there twice. */
function toJsonMap(entries: unknown[][], length: JsonLength): string {
  const names = entries.map(([key]) => (typeof key === 'string' || key instanceof JsonLiteral ? String(key) : null));
  const isObject = !names.includes(null) && new Set(names).size === names.length;
  if (isObject)
    return `{${entries.map(([, value], index) => `${length.count(JSON.stringify(names[index]))}:${toJson(value, length)}`).join()}}`;
  return `[${entries.map(([key, value]) => `{"key":${toJson(key, length)},"value":${toJson(value, length)}}`).join()}]`;
}
