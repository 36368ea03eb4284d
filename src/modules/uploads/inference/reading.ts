import { EOL_CR, EOL_CRLF, EOL_LF } from '../../../formats/csv/field.ts';
import type { Encoding } from '../../../formats/text/decode.ts';
import {
  DATES,
  DECIMAL_POINT,
  HAS_STRICT_TIME,
  HAS_WIDE_SPACE,
  INTEGER,
  ONE_ZERO,
  POINT_DECIMAL,
  T_F,
  TRUE_FALSE,
  Y_N,
  YES_NO,
  YMD_DATES,
} from '../../../formats/values/forms.ts';
import type { ColumnState } from './columns.ts';
import type { FileWithHeaderDecision } from './files.ts';
import type { ColumnFormats, ColumnType, FileReading } from './schema.ts';

const FORMS_READ_BY_POSTGRES = INTEGER | TRUE_FALSE | YES_NO | T_F | Y_N | ONE_ZERO | DATES;

/**
 * Tells whether Postgres's input functions read every value of a file's column as inference read it by its form, given a
 * `DateStyle` for the order of day and month, and FORCE_NULL for empty values. Postgres, too, skips ASCII spaces around a value;
 * a value of spaces alone is an error in Postgres and null here.
 */
export function isReadByPostgres(type: ColumnType, formMask: number, column: ColumnState): boolean {
  if (type === 'text') return true;
  if (column.blanks > 0 || (column.traits & HAS_WIDE_SPACE) !== 0) return false;
  if (type === 'datetime' && (formMask & YMD_DATES) === 0 && (column.traits & HAS_STRICT_TIME) !== 0) return false;
  // Integers among decimals, and decimals without groups, mean the same in every form that allows them.
  if (type === 'decimal')
    return (column.forms & (INTEGER | ((formMask & DECIMAL_POINT) === 0 ? 0 : POINT_DECIMAL))) !== 0;
  return (formMask & FORMS_READ_BY_POSTGRES) !== 0;
}

/** Prepares the data that the loader needs about a file with a decided header. */
export function prepareReading(file: FileWithHeaderDecision, fields: number[], formats: ColumnFormats[]): FileReading {
  const { state, firstDataRow } = file;
  const firstRecord = state.firstRow as NonNullable<typeof state.firstRow>;
  const start =
    firstDataRow !== null
      ? { offset: firstRecord.start, line: firstRecord.line }
      : (state.secondRow ?? { offset: firstRecord.end, line: firstRecord.line });
  return {
    fileName: state.fileName,
    encoding: state.encoding as Encoding,
    dialect: state.dialect as FileReading['dialect'],
    start,
    end: Math.max(state.end, start.offset, firstDataRow !== null ? firstRecord.end : 0),
    width: state.width,
    fields,
    formats,
    rows: state.rows + (firstDataRow === null ? 0 : 1),
    plain: isPlainForPostgres(file),
  };
}

/** Tells whether Postgres splits a file into the same records: a regular one, of an encoding it knows, with one kind of line end. */
function isPlainForPostgres({ state, firstDataRow, width }: FileWithHeaderDecision): boolean {
  const { lineEnds, encoding } = state;
  const hasOneLineEnd = lineEnds === 0 || lineEnds === EOL_LF || lineEnds === EOL_CRLF || lineEnds === EOL_CR;
  const isEncodingKnown = encoding === 'utf-8' || (encoding === 'windows-1252' && !state.undefinedBytes);
  const isFirstRowRegular = firstDataRow === null || (firstDataRow.width === state.width && !state.blankBeforeSecond);
  return isEncodingKnown && hasOneLineEnd && isFirstRowRegular && !state.irregular && width === state.width;
}
