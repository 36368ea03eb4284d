import { CONVERSION_ROOM, type Conversion, MISFIT, NULL, type ZoneEdges } from './conversion.ts';
import { conversionTo, convert } from './convert.ts';
import { decoderOf, utf8Of1252 } from './encoding.ts';
import { InferenceError, shown } from './errors.ts';
import { POINT } from './forms.ts';
import { type Fields, fieldText } from './records.ts';
import type { ColumnFormats, ColumnType, FileReading } from './schema.ts';
import { BARE, ESCAPED, QUOTED } from './special-field.ts';
import { type Decode, isBlank } from './types.ts';

/** A column as it is written for COPY. */
export interface WrittenColumn {
  name: string;
  type: ColumnType;
  nullable: boolean;
  /** The file's field. */
  field: number;
  formats: ColumnFormats;
  /** The value's bytes need no conversion and no quotes. */
  asIs: boolean;
}

/** The file, and the session's time zone where it is not UTC. */
interface Around {
  file: FileReading;
  zone: ZoneEdges | null;
}

const TAB = 9;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BACKSLASH = 92;

/** The letter after the backslash for bytes that COPY's text form escapes; 0 for all others. */
const ESCAPES = new Uint8Array(256);
ESCAPES[TAB] = 116;
ESCAPES[LINE_FEED] = 110;
ESCAPES[CARRIAGE_RETURN] = 114;
ESCAPES[BACKSLASH] = BACKSLASH;

const encoder = new TextEncoder();

/**
 * Writes records as COPY's text form in UTF-8 (tabs, `\N` for null). Bytes are copied where nothing changes. Not as
 * CSV: before version 18 Postgres ends the data at a line `\.`, also within quotes.
 */
export class CopyWriter {
  rows = 0;
  readonly #file: FileReading;
  readonly #columns: WrittenColumn[];
  readonly #bytes: Uint8Array;
  readonly #fields: Fields;
  readonly #decode: Decode;
  /** Quotes that stand doubled inside quotes, -1 where they are escaped otherwise. */
  readonly #doubled: number;
  readonly #latin: boolean;
  readonly #conversions: (Conversion | null)[];
  /** Those of a workbook's numbers, which have a point however the texts beside them are written; else the same. */
  readonly #ofNumbers: (Conversion | null)[];
  #out: Uint8Array;
  #at = 0;

  constructor({ file, zone }: Around, columns: WrittenColumn[], bytes: Uint8Array, fields: Fields) {
    this.#file = file;
    this.#columns = columns;
    this.#bytes = bytes;
    this.#fields = fields;
    this.#decode = decoderOf(file.encoding);
    const { quote, escape: escaping } = file.dialect;
    this.#doubled = quote !== null && escaping === 'doubled' ? quote.charCodeAt(0) : -1;
    this.#latin = file.encoding === 'windows-1252';
    this.#conversions = columns.map(({ type, formats }) =>
      type === 'text' ? null : conversionTo(type, formats, zone),
    );
    this.#ofNumbers =
      file.dialect.sheet === true
        ? this.#conversions.map((conversion) => conversion && { ...conversion, decimal: POINT })
        : this.#conversions;
    this.#out = new Uint8Array(bytes.length + (bytes.length >> 2) + 1024);
  }

  /** What was written so far. */
  data(): Uint8Array {
    return this.#out.subarray(0, this.#at);
  }

  /** Writes the record that the fields hold; nothing when none has a value. */
  write(line: number): void {
    if (!this.#hasValue()) return;
    const { starts, ends, count } = this.#fields;
    for (let index = 0; index < this.#columns.length; index++) {
      const column = this.#columns[index] as WrittenColumn;
      const { field } = column;
      const isBare = this.#fields.kinds[field] === BARE;
      const conversion = (isBare ? this.#ofNumbers : this.#conversions)[index] as Conversion | null;
      const start = starts[field] as number;
      const end = ends[field] as number;
      this.#reserve((end - start) * 3 + CONVERSION_ROOM);
      if (index > 0) this.#out[this.#at++] = TAB;
      if (field >= count || start === end) this.#null(column, line);
      else if (conversion === null) this.#text(field, start, end);
      else if (column.asIs) this.#copy(start, end);
      else this.#convert(column, conversion, start, end, line);
    }
    this.#out[this.#at++] = LINE_FEED;
    this.rows++;
  }

  #null(column: WrittenColumn, line: number): void {
    if (!column.nullable) throw doesNotFit(this.#file, column, line, '');
    this.#out[this.#at++] = BACKSLASH;
    this.#out[this.#at++] = 78;
  }

  #convert(column: WrittenColumn, conversion: Conversion, start: number, end: number, line: number): void {
    const written = convert(this.#out, this.#at, this.#bytes, start, end, conversion, this.#decode);
    if (written === NULL) this.#null(column, line);
    else if (written !== MISFIT) this.#at = written;
    else {
      const value = fieldText(this.#bytes, this.#fields, column.field, this.#file.dialect, this.#decode);
      throw doesNotFit(this.#file, column, line, value);
    }
  }

  #text(field: number, start: number, end: number): void {
    const kind = this.#fields.kinds[field];
    if (kind === BARE || kind === QUOTED) this.#escape(this.#bytes, start, end, -1, this.#latin);
    else if (kind === ESCAPED && this.#doubled >= 0) this.#escape(this.#bytes, start, end, this.#doubled, this.#latin);
    else {
      const value = fieldText(this.#bytes, this.#fields, field, this.#file.dialect, this.#decode);
      const bytes = encoder.encode(value);
      this.#reserve(bytes.length * 2 + CONVERSION_ROOM);
      this.#escape(bytes, 0, bytes.length, -1, false);
    }
  }

  #escape(bytes: Uint8Array, start: number, end: number, doubled: number, latin: boolean): void {
    const out = this.#out;
    let at = this.#at;
    for (let index = start; index < end; index++) {
      const byte = bytes[index] as number;
      const letter = ESCAPES[byte] as number;
      if (letter !== 0) {
        out[at++] = BACKSLASH;
        out[at++] = letter;
      } else if (latin && byte >= 128) {
        for (const piece of utf8Of1252(byte)) out[at++] = piece;
      } else {
        out[at++] = byte;
        if (byte === doubled && bytes[index + 1] === byte) index++;
      }
    }
    this.#at = at;
  }

  #copy(start: number, end: number): void {
    const out = this.#out;
    const bytes = this.#bytes;
    let at = this.#at;
    for (let index = start; index < end; index++) out[at++] = bytes[index] as number;
    this.#at = at;
  }

  #hasValue(): boolean {
    const { starts, ends, count } = this.#fields;
    for (let field = 0; field < count; field++) {
      if (!isBlank(this.#bytes, starts[field] as number, ends[field] as number, this.#decode)) return true;
    }
    return false;
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#out.length) return;
    const larger = new Uint8Array(this.#out.length * 2 + length);
    larger.set(this.data());
    this.#out = larger;
  }
}

function doesNotFit(file: FileReading, column: WrittenColumn, line: number, value: string): InferenceError {
  const message =
    value === ''
      ? `A coluna ${column.name} não aceita valores vazios, mas a linha ${line} de ${file.fileName} não tem valor.`
      : `O valor "${shown(value)}" da coluna ${column.name}, na linha ${line} de ${file.fileName}, não é do tipo ${column.type}.`;
  return new InferenceError('VALUE_DOES_NOT_FIT', message, {
    file: file.fileName,
    line,
    column: column.name,
    value: shown(value),
  });
}
