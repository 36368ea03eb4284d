import { BLANK } from '../../../formats/values/forms.ts';
import { MAX_COLUMNS } from '../../../tenant-sql/columns.ts';
import type { ColumnState } from './columns.ts';
import { InferenceError, tooManyColumns } from './errors.ts';
import { decideHeader, type HeaderDecision, headerCells, typedForms, usedWidth } from './header.ts';
import { columnNames } from './names.ts';
import { takeTrailing } from './rows.ts';
import type { InferenceState, KeptRow } from './state.ts';

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
 * The files of one job with their headers decided, in order.
 * @param known names of the columns of the table that they go into, where it exists
 * @throws InferenceError `NO_ROWS`
 */
export function decideFiles(states: InferenceState[], known: string[]): DecidedFile[] {
  const files = matchHeaders(states.map((state) => decideFile(state, known)));
  const [first] = files as [DecidedFile];
  if (files.every((file) => rowsOf(file) === 0)) throw noRows(first.state.fileName);
  return files;
}

function decideFile(state: InferenceState, known: string[]): DecidedFile {
  if (state.firstRow === null) throw noRows(state.fileName);
  settleTrailing(state);
  const file = decided(state, decideHeader(state));
  return file.header === null ? (headerOfTable(state, known) ?? file) : file;
}

/** A first record of nothing but names of the table's columns is their header, whatever the values below look like. */
function headerOfTable(state: InferenceState, known: string[]): DecidedFile | undefined {
  const header = headerCells(state);
  const named = header.filter((cell) => cell !== '');
  const isHeader = named.length > 0 && columnNames(named).every((name) => known.includes(name));
  return isHeader ? decided(state, { header, above: false }) : undefined;
}

function decided(state: InferenceState, decision: HeaderDecision): DecidedFile {
  const { header, above } = decision;
  const width = usedWidth(state, header);
  if (width > MAX_COLUMNS) throw tooManyColumns(state.fileName, width);
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
export function fieldsIn(file: DecidedFile, first: DecidedFile): number[] {
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

/** Rows of the file, the first record included when it is one. */
export function rowsOf(file: DecidedFile): number {
  return file.state.rows + (file.rowOne === null ? 0 : 1);
}

function noRows(file: string): InferenceError {
  return new InferenceError('NO_ROWS', `O arquivo ${file} não tem nenhuma linha de dados.`, { file });
}
