import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';

/** Type of a column's values in a file, and in `ParquetValue`. */
export type ParquetType = 'text' | 'integer' | 'boolean' | 'date' | 'datetime' | { scale: number };

export interface ParquetColumn {
  name: string;
  type: ParquetType;
  nullable: boolean;
}

/** Value of a cell: whole numbers, microseconds of UTC since 1970 and decimals without their point as bigint; days as number. */
export type ParquetValue = string | bigint | number | boolean | null;

/** Digits of a decimal: as many as all readers support. */
export const DECIMAL_DIGITS = 38;
const DECIMAL_BYTES = 16;
/**
 * Maximum number of parts (Parquet's column chunks) of a file, each a column of some rows. Each part's position takes some 500
 * bytes until the end.
 */
export const MAX_PARTS = 50_000;
/** Number of parts (column chunks) after which further rows had better go into another file. */
const PREFERRED_MAX_PARTS = 10_000;

/** Writes a Parquet file, some rows at a time: each call returns the bytes that are ready. */
export class ParquetFile {
  readonly #bytes = new DrainableBytes();
  readonly #columns: readonly ParquetColumn[];
  readonly #file: ParquetWriter;
  #parts = 0;

  constructor(columns: readonly ParquetColumn[]) {
    this.#columns = columns;
    const root: SchemaElement = { name: 'root', num_children: columns.length };
    // Its bounds of texts are in the order of UTF-16, which is not that of the format.
    this.#file = new ParquetWriter({
      writer: this.#bytes,
      schema: [root, ...columns.map(toSchemaElement)],
      statistics: false,
    });
  }

  /** True if further rows had better go into another file. */
  get isFull(): boolean {
    return this.#parts >= PREFERRED_MAX_PARTS;
  }

  /** Writes the beginning of the file, or more rows as one group: the values of each column. */
  writeRowGroup(values: ParquetValue[][] = []): Uint8Array<ArrayBuffer> {
    const rows = values[0]?.length ?? 0;
    if (rows > 0) {
      this.#parts += this.#columns.length;
      if (this.#parts > MAX_PARTS) throw new Error(`the file has more than ${MAX_PARTS} parts`);
      const columnData = this.#columns.map(({ name }, at) => ({ name, data: values[at] as ParquetValue[] }));
      this.#file.write({ columnData, rowGroupSize: rows });
    }
    return this.#bytes.drain();
  }

  /** Writes the end of the file. */
  endFile(): Uint8Array<ArrayBuffer> {
    this.#file.finish();
    return this.#bytes.drain();
  }
}

/** A byte buffer that is emptied after each write, while its offset continues to count. */
class DrainableBytes extends ByteWriter {
  drain(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.buffer.slice(0, this.index));
    this.index = 0;
    return bytes;
  }
}

const SCHEMA_ELEMENTS = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  integer: { type: 'INT64' },
  boolean: { type: 'BOOLEAN' },
  date: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
  datetime: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
} as const;

function toSchemaElement({ name, type, nullable }: ParquetColumn): SchemaElement {
  const repetition_type = nullable ? 'OPTIONAL' : 'REQUIRED';
  if (typeof type === 'string') return { name, repetition_type, ...SCHEMA_ELEMENTS[type] };
  const decimal = { precision: DECIMAL_DIGITS, scale: type.scale };
  return {
    name,
    repetition_type,
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: DECIMAL_BYTES,
    converted_type: 'DECIMAL',
    logical_type: { type: 'DECIMAL', ...decimal },
    ...decimal,
  };
}
