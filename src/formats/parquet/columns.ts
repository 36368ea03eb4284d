import { assembleLists, assembleNested } from 'hyparquet/src/assemble.js';
import { Fields } from './fields.ts';
import type { Column } from './footer.ts';
import { addValue, type LeafPlace, type LeafReader } from './leaves.ts';
import { guarded, ParquetProblem } from './problem.ts';

/** The limits of a slice of a column that is made into texts at a time. */
export interface SliceLimits {
  rows: number;
  bytes: number;
}

/** Values of a nested column that are held as objects at a time, about; and the most of one row. */
const NESTED_VALUES = 2 ** 15;
const MAX_ROW_VALUES = 2 ** 20;

/** Reads a column of one group, as texts of some rows at a time. */
export abstract class ColumnReader {
  /** The texts of the rows that are read, and how many of them are taken. */
  protected readonly fields = new Fields();
  taken = 0;
  #counted = 0;

  /** The place of the next row that is not taken, in each leaf. */
  abstract get places(): LeafPlace[];

  /** Makes texts of the next rows. @throws ParquetProblem where there are none */
  protected abstract fill(limits: SliceLimits): Promise<void>;

  /** Returns the number of rows that can be taken. */
  async ready(limits: SliceLimits): Promise<number> {
    if (this.taken === this.fields.count) {
      await this.fill(limits);
      this.taken = 0;
      this.#counted = 0;
    }
    return this.fields.count - this.taken;
  }

  /** Takes a number of rows. @returns how many of their values are no numbers among numbers */
  take(rows: number): number {
    const { notNumbers } = this.fields;
    const before = this.#counted;
    this.taken += rows;
    while ((notNumbers[this.#counted] ?? Number.POSITIVE_INFINITY) < this.taken) this.#counted++;
    return this.#counted - before;
  }

  get texts(): Fields {
    return this.fields;
  }
}

/** A column with one value a row. */
export class FlatReader extends ColumnReader {
  readonly #reader: LeafReader;
  /** The place of the first row of the slice; where the page after its page begins, once that is read to its end. */
  #place: LeafPlace;
  #next: LeafPlace;

  constructor(reader: LeafReader, place: LeafPlace) {
    super();
    this.#reader = reader;
    this.#place = place;
    this.#next = place;
  }

  get places(): LeafPlace[] {
    if (this.taken === this.fields.count) return [this.#next];
    return [{ offset: this.#place.offset, skip: this.#place.skip + this.taken }];
  }

  protected async fill({ rows, bytes }: SliceLimits): Promise<void> {
    const { fields } = this;
    fields.clear();
    let { offset, skip } = this.#next;
    for (;;) {
      const found = await this.#reader.page(offset);
      if (!found) throw new ParquetProblem('damaged', this.#reader.column);
      const { page } = found;
      if (skip >= page.count) {
        offset = found.next;
        skip -= page.count;
        continue;
      }
      const until = Math.min(page.count, skip + rows);
      const texts = page.byDictionary && page.values.length > 0 ? await this.#reader.texts() : null;
      const end = this.#add(page.definitions, page.values, texts, skip, until, bytes);
      this.#place = { offset: found.offset, skip };
      this.#next = end === page.count ? { offset: found.next, skip: 0 } : { offset: found.offset, skip: end };
      this.#reader.release();
      return;
    }
  }

  /** @returns the row after the last that was added */
  #add(
    definitions: ArrayLike<number>,
    values: ArrayLike<unknown>,
    texts: Fields | null,
    from: number,
    until: number,
    bytes: number,
  ): number {
    const { fields } = this;
    const { leaf, column } = this.#reader;
    const hasNulls = definitions.length > 0;
    let at = 0;
    if (hasNulls) for (let row = 0; row < from; row++) at += definitions[row] === leaf.defined ? 1 : 0;
    else at = from;
    const notNumbers = new Set(texts?.notNumbers);
    for (let row = from; row < until; row++) {
      if (hasNulls && definitions[row] !== leaf.defined) fields.null();
      else if (texts) {
        const index = Number(values[at++]);
        if (!(index < texts.count)) throw new ParquetProblem('damaged', column);
        if (notNumbers.has(index)) fields.notNumbers.push(fields.count);
        fields.copy(texts, index);
      } else if (at < values.length) addValue(fields, leaf, values[at++]);
      else throw new ParquetProblem('damaged', column);
      if (fields.length > bytes) return row + 1;
    }
    return until;
  }
}

/** The levels and values of some rows of a leaf. */
interface LeafRows {
  definitions: number[];
  repetitions: number[];
  values: unknown[];
  /** For each row, where it begins among the levels, and its place. */
  starts: number[];
  places: LeafPlace[];
  /** The place of the row after these. */
  next: LeafPlace;
}

/** A column of lists, maps or groups, whose values become JSON. */
export class NestedReader extends ColumnReader {
  readonly #column: Column;
  readonly #readers: LeafReader[];
  /** The place of each row of the slice, in each leaf, and of the row after them. */
  #places: LeafPlace[][] = [];
  #next: LeafPlace[];

  constructor(column: Column, readers: LeafReader[], places: LeafPlace[]) {
    super();
    this.#column = column;
    this.#readers = readers;
    this.#next = places;
  }

  get places(): LeafPlace[] {
    return this.taken === this.fields.count ? this.#next : this.#places.map((rows) => rows[this.taken] as LeafPlace);
  }

  protected async fill({ rows: most }: SliceLimits): Promise<void> {
    const { name, tree } = this.#column;
    let rows = most;
    const leaves: LeafRows[] = [];
    for (const [index, reader] of this.#readers.entries()) {
      const read = await readRows(reader, this.#next[index] as LeafPlace, rows);
      rows = Math.min(rows, read.places.length);
      leaves.push(read);
    }
    if (rows === 0) throw new ParquetProblem('damaged', name);
    const values = guarded(() => {
      const data = new Map<string, ArrayLike<unknown>>();
      for (const [index, { leaf }] of this.#readers.entries()) {
        const { definitions, repetitions, values } = firstRows(leaves[index] as LeafRows, rows, leaf.defined);
        const path = leaf.path.slice(1).map(({ element }) => element.name);
        data.set(path.join('.'), assembleLists([], definitions, repetitions, values, leaf.path));
      }
      if (tree.children.length > 0) assembleNested(data as never, tree, {} as never);
      return data.get(tree.element.name);
    }, name);
    if (values?.length !== rows) throw new ParquetProblem('damaged', name);
    this.#places = leaves.map(({ places }) => places);
    this.#next = leaves.map(({ places, next }) => places[rows] ?? next);
    this.fields.clear();
    for (let row = 0; row < rows; row++) {
      const value = values[row];
      if (value === null || value === undefined) this.fields.null();
      else
        this.fields.add(
          guarded(() => toJson(value), name),
          true,
        );
    }
  }
}

/** Reads the levels and values of at most a number of rows of a leaf, and of at least one. */
async function readRows(reader: LeafReader, from: LeafPlace, most: number): Promise<LeafRows> {
  const { leaf, column } = reader;
  const found: LeafRows = { definitions: [], repetitions: [], values: [], starts: [], places: [], next: from };
  let { offset, skip } = from;
  for (;;) {
    const read = await reader.page(offset);
    if (!read) {
      found.next = { offset: reader.chunk.end, skip: 0 };
      return found;
    }
    const { page } = read;
    const values = page.byDictionary && page.values.length > 0 ? await reader.dictionary() : null;
    let begun = 0;
    let at = 0;
    for (let level = 0; level < page.count; level++) {
      const definition = page.definitions.length > 0 ? (page.definitions[level] as number) : leaf.defined;
      const repetition = page.repetitions.length > 0 ? (page.repetitions[level] as number) : 0;
      const isFilled = definition === leaf.defined;
      if (repetition === 0) {
        begun++;
        const isEnough = found.places.length === most || found.definitions.length > NESTED_VALUES;
        if (begun > skip && isEnough && found.places.length > 0) {
          found.next = { offset: read.offset, skip: begun - 1 };
          reader.forget();
          return found;
        }
        if (begun > skip) {
          found.starts.push(found.definitions.length);
          found.places.push({ offset: read.offset, skip: begun - 1 });
        }
      }
      // What goes on from a row before belongs to that.
      if (found.places.length > 0) {
        if (found.definitions.length > MAX_ROW_VALUES) throw new ParquetProblem('row_too_long', column);
        found.definitions.push(definition);
        found.repetitions.push(repetition);
        if (isFilled) found.values.push(jsonValue(reader, values ? values[Number(page.values[at])] : page.values[at]));
      }
      if (isFilled) at++;
    }
    skip = Math.max(0, skip - begun);
    offset = read.next;
  }
}

/** The first of the rows. */
function firstRows({ definitions, repetitions, values, starts }: LeafRows, rows: number, defined: number) {
  const end = starts[rows] ?? definitions.length;
  const own = definitions.slice(0, end);
  return {
    definitions: own,
    repetitions: repetitions.slice(0, end),
    values: values.slice(0, own.filter((definition) => definition === defined).length),
  };
}

/** The digits of a number, or a boolean, as JSON has them. */
class Literal {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  toString(): string {
    return this.#text;
  }
}

function jsonValue({ leaf, column }: LeafReader, value: unknown): string | Literal | null {
  if (value === undefined) throw new ParquetProblem('damaged', column);
  const { quoted, type, text } = leaf.values;
  const shown = text(value);
  if (shown === null) return null;
  return quoted || type === 'date' || type === 'datetime' ? shown : new Literal(shown);
}

/** The JSON of a value. */
function toJson(value: unknown): string {
  if (value instanceof Literal) return value.toString();
  if (Array.isArray(value)) return `[${value.map(toJson).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${toJson(member)}`)
    .join()}}`;
}
