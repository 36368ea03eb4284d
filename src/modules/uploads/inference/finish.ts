import { type ColumnState, foldCell, mergeColumns, newColumn } from './columns.ts';
import { sampleValue } from './convert.ts';
import { InferenceError } from './errors.ts';
import {
  BLANK,
  BOOLEANS,
  COMMA,
  COMMA_GROUPS,
  DATES,
  DECIMALS,
  formName,
  INTEGER,
  POINT,
  SAW_FRACTION,
  SAW_OFFSET,
  SAW_SECONDS,
  SAW_TIME,
} from './forms.ts';
import { decideHeader, type HeaderDecision, headerCells, typedForms, usedWidth } from './header.ts';
import { columnNames, tableName } from './names.ts';
import { isReadByPostgres, readingOf } from './reading.ts';
import { takeTrailing } from './rows.ts';
import type { ColumnFormats, ColumnType, Inference, InferredColumn, RowValue } from './schema.ts';
import { boundsOf, type InferenceState, type KeptRow, SAMPLE_ROWS } from './state.ts';

/** A file whose header is decided. */
export interface DecidedFile extends HeaderDecision {
  state: InferenceState;
  /** Columns that are one: without those that only trailing delimiters make. */
  width: number;
  names: string[];
  /** The body's first record when it is a row. */
  rowOne: KeptRow | null;
}

/**
 * The schema of the table that the files of one job make together, and how to read them. Every state must be `done`.
 * @throws InferenceError `NO_ROWS` when no file has a row, `HEADERS_DIFFER` naming the file whose columns are others
 */
export function finish(states: InferenceState[]): Inference {
  const files = matchHeaders(states.map(decideFile));
  const [first] = files as [DecidedFile];
  if (files.every((file) => rowsOf(file) === 0)) throw noRows(first.state.fileName);
  const places = files.map((file) => placesIn(file, first));
  const bounds = boundsOf(first.width);
  const semicolons = files.every((file) => file.state.dialect?.delimiter === ';');

  const columns: InferredColumn[] = [];
  const formats: ColumnFormats[] = [];
  for (let index = 0; index < first.width; index++) {
    const merged = files
      .map((file, number) => columnOf(file, (places[number] as number[])[index] as number))
      .reduce((all, next) => mergeColumns(all, next, bounds.samples));
    const displayName = first.header?.[index] || (first.names[index] as string);
    const { type, form } = typeOf(merged, displayName, semicolons);
    const isText = type === 'text';
    const nulls = merged.nulls + (isText ? 0 : merged.blanks);
    columns.push({
      name: first.names[index] as string,
      display_name: displayName,
      type,
      nullable: nulls > 0,
      source_index: index,
      evidence: {
        format: formatOf(type, form, merged.saw),
        nulls,
        distinct_sample: merged.sample,
        counter_example: counterExample(type, merged),
      },
    });
    formats.push({
      decimal: formName(decimalForm(merged.decimals, semicolons)),
      date: formName(merged.dates),
      asIs: isReadByPostgres(type, form, merged),
    });
  }
  const { dialect, encoding, skippedLines, trailing } = first.state;
  return {
    schema: {
      suggested_table_name: tableName(first.state.fileName),
      columns,
      sample_rows: sampleRows(files, places, columns, formats),
      total_row_count_estimate: files.reduce((sum, file) => sum + rowsOf(file), 0),
      dialect: {
        encoding: encoding ?? 'utf-8',
        delimiter: dialect?.delimiter ?? ',',
        quote: dialect?.quote ?? '"',
        header: first.header !== null,
        skipped_lines: skippedLines - (first.above ? 1 : 0) + trailing.length,
      },
    },
    files: files.map((file, number) => readingOf(file, places[number] as number[], formats)),
  };
}

function decideFile(state: InferenceState): DecidedFile {
  if (state.firstRow === null) throw noRows(state.fileName);
  settleTrailing(state);
  const decision = decideHeader(state);
  return decided(state, decision);
}

function decided(state: InferenceState, decision: HeaderDecision): DecidedFile {
  const { header, above } = decision;
  const width = usedWidth(state, header);
  const cells = Array.from({ length: width }, (_, index) => header?.[index] ?? '');
  const rowOne = header === null || above ? state.firstRow : null;
  return { ...decision, state, width, names: columnNames(cells), rowOne };
}

/** Of the records held back at the end, those below a blank line, or below the last that is a row, are footnotes. */
function settleTrailing(state: InferenceState): void {
  const { trailing } = state;
  const apart = trailing.findIndex((row) => row.blankBefore);
  const lastRow = trailing.findLastIndex((row) => !isFootnote(state, row));
  const rows = apart < 0 ? lastRow + 1 : Math.min(apart, lastRow + 1);
  // A header over nothing but such records is the header of rows.
  takeTrailing(state, state.rows === 0 && rows === 0 ? trailing.length : rows);
}

/**
 * A last record with a single value is a note, unless it is as wide as a row and may be one: its value stands where no
 * note does, or is a key of the first column with all else empty, or the table has such rows elsewhere too.
 */
function isFootnote(state: InferenceState, row: KeptRow): boolean {
  if (row.width < state.width) return true;
  if (state.width === 2 || state.sparseRows > 0) return false;
  const [field, text, forms] = row.cells.find((cell) => cell[2] !== BLANK) as KeptRow['cells'][number];
  if (field !== 0) return false;
  const typed = typedForms(state.columns[0] as ColumnState, '');
  return typed === 0 ? /\s/.test(text.trim()) : (forms & typed) === 0;
}

/**
 * What one file cannot tell the others may: a first record that says what another file's header says is a header too;
 * a file of one record beside files without headers is a row.
 */
function matchHeaders(files: DecidedFile[]): DecidedFile[] {
  if (files.length === 1) return files;
  const named = files.find((file) => file.header !== null && file.state.rows > 0);
  if (named === undefined) {
    const headless = files.some((file) => file.header === null);
    return headless ? files.map(({ state }) => decided(state, { header: null, above: false })) : files;
  }
  const names = sortedNames(named);
  return files.map((file) => {
    if (file.header !== null) return file;
    const again = decided(file.state, { header: headerCells(file.state), above: false });
    return sortedNames(again) === names ? again : file;
  });
}

function sortedNames({ names }: DecidedFile): string {
  return [...names].sort().join('\n');
}

/** For each column of the first file its field in another. */
function placesIn(file: DecidedFile, first: DecidedFile): number[] {
  const differ = (column: string) =>
    new InferenceError(
      'HEADERS_DIFFER',
      `As colunas do arquivo ${file.state.fileName} não são as mesmas do arquivo ${first.state.fileName}: ${column}.`,
      { file: file.state.fileName, line: file.state.firstRow?.line, column },
    );
  const extra = file.names.find((name) => !first.names.includes(name));
  if (extra !== undefined) throw differ(extra);
  if ((file.header === null) !== (first.header === null)) throw differ(file.names[0] as string);
  return first.names.map((name) => {
    const place = file.names.indexOf(name);
    if (place < 0) throw differ(name);
    return place;
  });
}

function rowsOf(file: DecidedFile): number {
  return file.state.rows + (file.rowOne === null ? 0 : 1);
}

/** The column over all rows of the file, the first record included when it is one. */
function columnOf(file: DecidedFile, place: number): ColumnState {
  const rest = file.state.columns[place] as ColumnState;
  if (file.rowOne === null) return rest;
  const { samples } = boundsOf(file.state.width);
  const one = newColumn();
  const cell = file.rowOne.cells.find(([field]) => field === place);
  if (cell === undefined) one.nulls++;
  else foldCell(one, cell, file.rowOne.line, samples);
  return mergeColumns(one, rest, samples);
}

function typeOf(column: ColumnState, header: string, semicolons: boolean): { type: ColumnType; form: number } {
  const forms = typedForms(column, header);
  if (forms === 0) return { type: 'text', form: 0 };
  if ((forms & BOOLEANS) !== 0) return { type: 'boolean', form: forms };
  if ((forms & INTEGER) !== 0) return { type: 'integer', form: INTEGER };
  if ((forms & DECIMALS) !== 0) return { type: 'decimal', form: decimalForm(forms, semicolons) };
  return { type: (column.saw & SAW_TIME) !== 0 ? 'datetime' : 'date', form: forms & DATES };
}

/** `1,234` alone is grouped, but a decimal comma where semicolons part the fields. */
function decimalForm(forms: number, semicolons: boolean): number {
  const ambiguous = (forms & POINT) === 0 && (forms & COMMA) !== 0 && (forms & COMMA_GROUPS) !== 0;
  return ambiguous ? (semicolons ? COMMA : COMMA_GROUPS) : forms & DECIMALS;
}

function formatOf(type: ColumnType, form: number, saw: number): string {
  const name = formName(form);
  if (type !== 'datetime') return name;
  const seconds = (saw & SAW_SECONDS) === 0 ? '' : (saw & SAW_FRACTION) === 0 ? ':ss' : ':ss.f';
  return `${name} hh:mm${seconds}${(saw & SAW_OFFSET) === 0 ? '' : '±hh:mm'}`;
}

function counterExample(type: ColumnType, column: ColumnState) {
  if (type === 'text') return column.notTyped ?? column.first;
  if (type === 'decimal') return column.notInteger;
  return type === 'datetime' ? column.withTime : null;
}

function sampleRows(
  files: DecidedFile[],
  places: number[][],
  columns: InferredColumn[],
  formats: ColumnFormats[],
): Record<string, RowValue>[] {
  const rows = files.flatMap((file, number) => {
    const one = file.rowOne === null ? [] : [cellsByField(file.rowOne)];
    return [...one, ...file.state.sampleRows].map((row) =>
      (places[number] as number[]).map((place) => row[place] ?? ''),
    );
  });
  return rows
    .slice(0, SAMPLE_ROWS)
    .map((row) =>
      Object.fromEntries(
        columns.map(({ name, type }, index) => [
          name,
          sampleValue(row[index] as string, type, formats[index] as ColumnFormats),
        ]),
      ),
    );
}

function cellsByField(row: KeptRow): string[] {
  const cells: string[] = [];
  for (const [field, text] of row.cells) cells[field] = text;
  return cells;
}

function noRows(file: string): InferenceError {
  return new InferenceError('NO_ROWS', `O arquivo ${file} não tem nenhuma linha de dados.`, { file });
}
