import { ColumnTexts } from './fields.ts';
import type { ColumnChunk, Leaf, ReadBytes } from './footer.ts';
import {
  checkHeader,
  MAX_PAGE_BYTES,
  type Page,
  readDictionary,
  readHeader,
  readPage,
  type SizedHeader,
} from './pages.ts';
import { ParquetProblem } from './problem.ts';

/** A position in a leaf column: the offset of a page in the file, and the number of rows starting in that page to skip. */
export interface LeafPosition {
  offset: number;
  /** Number of rows to skip that start in the page. */
  skippedRowCount: number;
}

/** A page of values, its offset and that of the following page. */
export interface FoundPage {
  readPage: Page;
  offset: number;
  nextOffset: number;
  /** Approximate number of bytes that it needs in memory. */
  byteCount: number;
}

/** Bytes that the readers of a row group hold together. */
export interface LeafMemory {
  dictionaryBytes: number;
  pageBytes: number;
}

/** Maximum number of bytes of held dictionaries: further ones are read again for each page. */
const MAX_DICTIONARY_BYTES = 12 * 1024 * 1024;
/** Maximum number of bytes of held pages: further ones are read again for each slice. */
const MAX_HELD_PAGE_BYTES = 8 * 1024 * 1024;
/** Approximate number of bytes that a value of some bytes needs beside those. */
const VALUE_OBJECT_BYTES = 100;

/** Usual maximum size of a page header. */
const HEADER_BYTES = 1024;
const MAX_HEADER_BYTES = 1024 * 1024;

interface SizedValues {
  values: ArrayLike<unknown>;
  /** Approximate number of bytes that they need in memory. */
  byteCount: number;
}

const estimateBytes = (values: ArrayLike<unknown>, itemBytes: number): number =>
  ArrayBuffer.isView(values) ? values.byteLength : values.length * itemBytes;

/** Reads the pages of a leaf in one row group. */
export class LeafReader {
  readonly leaf: Leaf;
  readonly chunk: ColumnChunk;
  readonly columnName: string;
  readonly #read: ReadBytes;
  readonly #windowBytes: number;
  readonly #memory: LeafMemory;
  #bytes: Uint8Array = new Uint8Array();
  #bytesStart = 0;
  /** The page that is kept for the next slice. */
  #page: FoundPage | null = null;
  /** Values of the dictionary; null until they were requested. */
  #values: SizedValues | null = null;
  /** Texts of the dictionary; null until they were requested. */
  #texts: ColumnTexts | null = null;

  /**
   * @param windowBytes the approximate number of bytes that are read at a time
   * @param memory the bytes that all readers of the group hold together
   */
  constructor(
    read: ReadBytes,
    leaf: Leaf,
    chunk: ColumnChunk,
    columnName: string,
    windowBytes: number,
    memory: LeafMemory,
  ) {
    this.#memory = memory;
    this.#read = read;
    this.leaf = leaf;
    this.chunk = chunk;
    this.columnName = columnName;
    this.#windowBytes = windowBytes;
  }

  /** Reads the page of values at an offset, or the next page of values after it; null at the end. */
  async readPage(from: number): Promise<FoundPage | null> {
    if (this.#page?.offset === from) return this.#page;
    this.#freePage();
    for (let offset = from; offset < this.chunk.end; ) {
      const { header, byteCount } = await this.#readHeader(offset);
      const body = offset + byteCount;
      const nextOffset = body + header.compressed_page_size;
      if (nextOffset > this.chunk.end) throw new ParquetProblem('damaged', this.columnName);
      if (header.type === 'DATA_PAGE' || header.type === 'DATA_PAGE_V2') {
        const bytes = await this.#readBytes(body, header.compressed_page_size);
        const page = readPage(bytes, header, this.leaf, this.chunk.codec, this.columnName);
        const levelBytes = 8 * (page.definitionLevels.length + page.repetitionLevels.length);
        const valueBytes = estimateBytes(page.values, page.usesDictionary ? 8 : VALUE_OBJECT_BYTES);
        const pageBytes = header.uncompressed_page_size + levelBytes + valueBytes;
        return { readPage: page, offset, nextOffset, byteCount: pageBytes };
      }
      offset = nextOffset;
    }
    return null;
  }

  /** Keeps a page, in which the next slice begins, unless too many bytes are held. */
  keepPage(page: FoundPage): void {
    if (page === this.#page || this.#memory.pageBytes + page.byteCount > MAX_HELD_PAGE_BYTES) return;
    this.#freePage();
    this.#page = page;
    this.#memory.pageBytes += page.byteCount;
  }

  #freePage(): void {
    this.#memory.pageBytes -= this.#page?.byteCount ?? 0;
    this.#page = null;
  }

  /** Frees the dictionary if too many bytes are held. */
  freeExcess(): void {
    if (this.#memory.dictionaryBytes <= MAX_DICTIONARY_BYTES) return;
    this.#memory.dictionaryBytes -= (this.#values?.byteCount ?? 0) + (this.#texts?.size ?? 0);
    this.#values = null;
    this.#texts = null;
  }

  /** Reads the values of the dictionary, which is the first page. */
  async readDictionaryValues(): Promise<ArrayLike<unknown>> {
    if (this.#values) return this.#values.values;
    this.#values = await this.#readDictionary();
    this.#memory.dictionaryBytes += this.#values.byteCount;
    return this.#values.values;
  }

  /** Makes the texts of the dictionary. */
  async readTexts(): Promise<ColumnTexts> {
    if (this.#texts) return this.#texts;
    const { values } = await this.#readDictionary();
    const texts = new ColumnTexts();
    for (let index = 0; index < values.length; index++) addValue(texts, this.leaf, values[index]);
    this.#texts = texts;
    this.#memory.dictionaryBytes += texts.size;
    return texts;
  }

  async #readDictionary(): Promise<SizedValues> {
    const { header, byteCount } = await this.#readHeader(this.chunk.start);
    if (header.type !== 'DICTIONARY_PAGE') throw new ParquetProblem('damaged', this.columnName);
    const bytes = await this.#readBytes(this.chunk.start + byteCount, header.compressed_page_size);
    const values = readDictionary(bytes, header, this.leaf, this.chunk.codec, this.columnName);
    return { values, byteCount: header.uncompressed_page_size + estimateBytes(values, VALUE_OBJECT_BYTES) };
  }

  async #readHeader(offset: number): Promise<SizedHeader> {
    for (let length = HEADER_BYTES; ; length *= 8) {
      const bytes = await this.#readBytes(offset, length);
      try {
        const foundHeader = readHeader(bytes);
        checkHeader(foundHeader.header, this.columnName);
        return foundHeader;
      } catch (error) {
        if (error instanceof ParquetProblem) throw error;
        const isEverythingRead = offset + bytes.length >= this.chunk.end || length >= MAX_HEADER_BYTES;
        if (isEverythingRead) throw new ParquetProblem('damaged', this.columnName);
      }
    }
  }

  /** Reads a number of bytes from an offset on, fewer at the end of the chunk. */
  async #readBytes(offset: number, length: number): Promise<Uint8Array> {
    const end = Math.min(offset + length, this.chunk.end);
    if (offset < this.#bytesStart || end > this.#bytesStart + this.#bytes.length) {
      const maxLength = Math.min(
        Math.max(length, this.#windowBytes),
        this.chunk.end - offset,
        MAX_PAGE_BYTES + MAX_HEADER_BYTES,
      );
      const bytes = await this.#read(offset, maxLength);
      if (bytes.length < end - offset) throw new ParquetProblem('damaged', this.columnName);
      // A large page is not kept.
      if (maxLength > this.#windowBytes) return bytes.subarray(0, end - offset);
      this.#bytes = bytes;
      this.#bytesStart = offset;
    }
    return this.#bytes.subarray(offset - this.#bytesStart, end - this.#bytesStart);
  }
}

/** Adds the text of a value as it is stored in the file. */
export function addValue(fields: ColumnTexts, { valueFormatter }: Leaf, value: unknown): void {
  const text = valueFormatter.formatValue(value);
  if (text !== null) {
    fields.addText(text, valueFormatter.isQuoted);
    return;
  }
  fields.notNumberIndexes.push(fields.textCount);
  fields.addNull();
}
