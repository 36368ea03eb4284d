import { MAX_COLUMNS } from '../../../tenant-sql/columns.ts';
import { InferenceError, noRows, tooManyColumns } from './errors.ts';
import { decideHeader, type HeaderDecision, measureUsedWidth, readHeaderCells } from './header.ts';
import { addTrailingRows } from './kept-rows.ts';
import { makeColumnNames } from './names.ts';
import type { InferenceState, KeptRow } from './state.ts';

export interface DecidedFile extends HeaderDecision {
  state: InferenceState;
  /** The number of columns, without those that come from trailing delimiters alone. */
  width: number;
  names: string[];
  /** The body's first record, if it is a row and not a header. */
  firstDataRow: KeptRow | null;
}

/**
 * Decides the header of each file of a job, in order.
 * @param known column names of the existing table that the files go into; empty for a new table
 * @throws InferenceError `NO_ROWS`
 */
export function decideFiles(states: InferenceState[], known: string[]): DecidedFile[] {
  const files = matchHeaders(states.map((state) => decideFile(state, known)));
  const [first] = files as [DecidedFile];
  if (files.every((file) => countRows(file) === 0)) throw noRows(first.state.fileName);
  return files;
}

function decideFile(state: InferenceState, known: string[]): DecidedFile {
  if (state.firstRow === null) throw noRows(state.fileName);
  // Under a header without other rows, what would be notes are the rows.
  if (state.rows === 0) addTrailingRows(state, state.trailing.length);
  if (state.records) return toDecidedFile(state, { header: state.records.names, above: false });
  if (state.said.header !== undefined) return decideAsGiven(state, state.said.header);
  // Names that were joined from merged cells are the header.
  const isJoined = state.sheet !== null && state.sheet.header !== null && isAtHeader(state, state.sheet.header);
  const file = toDecidedFile(state, isJoined ? { header: readHeaderCells(state), above: false } : decideHeader(state));
  return file.header === null ? (findTableHeader(state, known) ?? file) : file;
}

/** Decides the header as a person said. With one, the record above that names all columns but the first may be it. */
function decideAsGiven(state: InferenceState, header: boolean): DecidedFile {
  if (!header) return toDecidedFile(state, { header: null, above: false });
  const found = decideHeader(state);
  return toDecidedFile(state, found.above ? found : { header: readHeaderCells(state), above: false });
}

/** Whether the first record is the header joined from merged cells, which the reading options have not skipped. */
const isAtHeader = ({ said, firstRow }: InferenceState, header: number): boolean =>
  said.skip_lines === undefined || firstRow?.line === header;

/** A first record that consists of names of the table's columns is the header, whatever the values below look like. */
function findTableHeader(state: InferenceState, known: string[]): DecidedFile | undefined {
  const header = readHeaderCells(state);
  const named = header.filter((cell) => cell !== '');
  const isHeader = named.length > 0 && makeColumnNames(named).every((name) => known.includes(name));
  return isHeader ? toDecidedFile(state, { header, above: false }) : undefined;
}

function toDecidedFile(state: InferenceState, decision: HeaderDecision): DecidedFile {
  const { header, above } = decision;
  const width = measureUsedWidth(state, header);
  if (width > MAX_COLUMNS) throw tooManyColumns(state.fileName, width);
  const cells = Array.from({ length: width }, (_, index) => header?.[index] ?? '');
  // The names of records stand beside the text.
  const firstDataRow = header === null || above || state.records ? state.firstRow : null;
  return { ...decision, state, width, names: makeColumnNames(cells), firstDataRow };
}

/**
 * Decides headers that a file alone does not settle: a first record equal to another file's header is a header; a file
 * of one record is a row if other files have no header.
 */
function matchHeaders(files: DecidedFile[]): DecidedFile[] {
  if (files.length === 1 || files.some(({ state }) => state.said.header !== undefined)) return files;
  const named = files.find((file) => file.header !== null && file.state.rows > 0);
  if (named === undefined) {
    const headless = files.some((file) => file.header === null);
    return headless ? files.map(({ state }) => toDecidedFile(state, { header: null, above: false })) : files;
  }
  const names = sortNames(named);
  return files.map((file) => {
    if (file.header !== null) return file;
    const again = toDecidedFile(file.state, { header: readHeaderCells(file.state), above: false });
    return sortNames(again) === names ? again : file;
  });
}

function sortNames({ names }: DecidedFile): string {
  return [...names].sort().join('\n');
}

/** For each column of the first file, the index of its field in another file. */
export function matchFields(file: DecidedFile, first: DecidedFile): number[] {
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

/** Number of rows of the file, including the first record if it is a row. */
export function countRows(file: DecidedFile): number {
  return file.state.rows + (file.firstDataRow === null ? 0 : 1);
}
