import { CopyText } from '../../../formats/copy/text.ts';
import { BACKSLASHED_FIELD, ESCAPED_FIELD, QUOTED_FIELD, UNQUOTED_FIELD } from '../../../formats/csv/field.ts';
import { type Fields, readFieldText, removeBackslashes } from '../../../formats/csv/records.ts';
import { createDecoder, type Decode } from '../../../formats/text/decode.ts';
import { isBlank } from '../../../formats/values/classify.ts';
import { type Conversion, MAX_EXTRA_BYTES, MISFIT_RESULT, NULL_RESULT } from '../../../formats/values/conversion.ts';
import { convertValue } from '../../../formats/values/convert.ts';
import { POINT_DECIMAL } from '../../../formats/values/forms.ts';
import { ROW_ID_COLUMN } from '../upsert-sql.ts';
import { cutValue, InferenceError } from './errors.ts';
import type { LoadPlan } from './load.ts';
import type { ColumnFormats, ColumnType, FileReading } from './schema.ts';
import { makeConversion } from './values.ts';

export interface WrittenColumn {
  name: string;
  type: ColumnType;
  nullable: boolean;
  /** The index of the column's field in the file. */
  fieldIndex: number;
  formats: ColumnFormats;
  /** True if the value's bytes need neither conversion nor escaping. */
  isVerbatim: boolean;
}

/** A callback for a value that does not fit its column, with the line on which its record starts. */
export type OnMisfit = (column: WrittenColumn, line: number, readValue: () => string) => void;

/** The number of bytes of rows after which a chunk ends: rows with few of many columns are far longer than in the file. */
const MAX_CHUNK_BYTES = 8 * 1024 * 1024;

/** Writes the records of a file as rows for COPY. Values that need no conversion are copied as bytes. */
export class CopyWriter {
  rowCount = 0;
  readonly #file: FileReading;
  readonly #columns: WrittenColumn[];
  readonly #bytes: Uint8Array;
  readonly #fields: Fields;
  readonly #decode: Decode;
  /** The quote character where doubling escapes it within quotes; -1 if quotes are escaped otherwise. */
  readonly #doubledQuote: number;
  readonly #is1252: boolean;
  readonly #conversions: (Conversion | null)[];
  /** The conversions of unquoted values: in a sheet these are numbers with a decimal point, whatever the texts use. */
  readonly #bareConversions: (Conversion | null)[];
  readonly #out: CopyText;
  readonly #onMisfit: OnMisfit | undefined;

  /** @param onMisfit makes the writing a trial: values are only checked, nothing is written, and no value throws */
  constructor(
    { file, zone }: Pick<LoadPlan, 'file' | 'zone'>,
    columns: WrittenColumn[],
    bytes: Uint8Array,
    fields: Fields,
    onMisfit?: OnMisfit,
  ) {
    this.#onMisfit = onMisfit;
    this.#file = file;
    this.#columns = columns;
    this.#bytes = bytes;
    this.#fields = fields;
    this.#decode = createDecoder(file.encoding);
    const { quote, escape: escaping } = file.dialect;
    this.#doubledQuote = quote !== null && escaping === 'doubled' ? quote.charCodeAt(0) : -1;
    this.#is1252 = file.encoding === 'windows-1252';
    this.#conversions = columns.map(({ type, formats }) =>
      type === 'text' ? null : makeConversion(type, formats, zone),
    );
    this.#bareConversions =
      file.dialect.sheet === true
        ? this.#conversions.map((conversion) => conversion && { ...conversion, decimalForms: POINT_DECIMAL })
        : this.#conversions;
    this.#out = new CopyText(bytes.length + (bytes.length >> 2) + 1024);
  }

  getBytes(): Uint8Array {
    return this.#out.getBytes();
  }

  /** Whether the chunk ends with the last row. */
  get isFull(): boolean {
    return this.#out.length > MAX_CHUNK_BYTES;
  }

  /**
   * Writes the current record if it is a row. A record without any value is a row only in a text that was converted from JSON
   * or Parquet records, unless it is a blank line.
   */
  writeRow(line: number): void {
    if (!this.#isRow()) return;
    const { starts, ends, fieldCount } = this.#fields;
    for (let index = 0; index < this.#columns.length; index++) {
      const column = this.#columns[index] as WrittenColumn;
      const { fieldIndex } = column;
      const isBare = this.#fields.quotingKinds[fieldIndex] === UNQUOTED_FIELD;
      const conversion = (isBare ? this.#bareConversions : this.#conversions)[index] as Conversion | null;
      const start = starts[fieldIndex] as number;
      const end = ends[fieldIndex] as number;
      if (index > 0) this.#out.endValue();
      if (fieldIndex >= fieldCount || start === end) this.#writeNull(column, line);
      else if (conversion === null) this.#writeText(fieldIndex, start, end);
      else if (this.#fields.quotingKinds[fieldIndex] === BACKSLASHED_FIELD) {
        const bytes = removeBackslashes(this.#bytes, start, end, this.#file.dialect);
        this.#convert(column, conversion, bytes, 0, bytes.length, line);
      } else if (column.isVerbatim) this.#out.appendBytes(this.#bytes, start, end);
      else this.#convert(column, conversion, this.#bytes, start, end, line);
    }
    this.#out.endRow();
    if (this.#onMisfit) this.#out.length = 0;
    this.rowCount++;
  }

  #writeNull(column: WrittenColumn, line: number): void {
    if (!column.nullable) throw buildMisfitError(this.#file, column, line, '');
    this.#out.writeNull();
  }

  #convert(
    column: WrittenColumn,
    conversion: Conversion,
    bytes: Uint8Array,
    start: number,
    end: number,
    line: number,
  ): void {
    const output = this.#out;
    // A letter of Windows-1252 takes up to three bytes in UTF-8.
    output.reserveBytes((end - start) * (this.#is1252 ? 3 : 1) + MAX_EXTRA_BYTES);
    const length = convertValue(output.bytes, output.length, bytes, start, end, conversion, this.#decode);
    if (length === NULL_RESULT) this.#writeNull(column, line);
    else if (length !== MISFIT_RESULT) output.length = length;
    else {
      const readValue = () =>
        readFieldText(this.#bytes, this.#fields, column.fieldIndex, this.#file.dialect, this.#decode);
      if (!this.#onMisfit) throw buildMisfitError(this.#file, column, line, readValue());
      this.#onMisfit(column, line, readValue);
    }
  }

  #writeText(field: number, start: number, end: number): void {
    const quoting = this.#fields.quotingKinds[field];
    if (quoting === UNQUOTED_FIELD || quoting === QUOTED_FIELD)
      this.#out.writeEscaped(this.#bytes, start, end, -1, this.#is1252);
    else if (quoting === ESCAPED_FIELD && this.#doubledQuote >= 0) {
      this.#out.writeEscaped(this.#bytes, start, end, this.#doubledQuote, this.#is1252);
    } else this.#out.writeText(readFieldText(this.#bytes, this.#fields, field, this.#file.dialect, this.#decode));
  }

  #isRow(): boolean {
    const { starts, ends, quotingKinds, fieldCount } = this.#fields;
    if (this.#file.dialect.records === true && (fieldCount > 1 || quotingKinds[0] !== UNQUOTED_FIELD)) return true;
    for (let field = 0; field < fieldCount; field++) {
      if (!isBlank(this.#bytes, starts[field] as number, ends[field] as number, this.#decode)) return true;
    }
    return false;
  }
}

function buildMisfitError(file: FileReading, column: WrittenColumn, line: number, value: string): InferenceError {
  const name = column.name === ROW_ID_COLUMN ? 'id' : column.name;
  const message =
    value === ''
      ? `A coluna ${name} não aceita valores vazios, mas a linha ${line} de ${file.fileName} não tem valor.`
      : `O valor "${cutValue(value)}" da coluna ${name}, na linha ${line} de ${file.fileName}, não é do tipo ${column.type}.`;
  return new InferenceError('VALUE_DOES_NOT_FIT', message, {
    file: file.fileName,
    line,
    column: name,
    value: cutValue(value),
  });
}
