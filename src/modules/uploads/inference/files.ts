import { MAX_COLUMNS } from '../../../tenant-sql/columns.ts';
import { fileWithoutRows, InferenceError, tooManyColumns } from './errors.ts';
import { decideHeader, type HeaderDecision, measureUsedWidth, readHeaderCells } from './header.ts';
import { makeColumnNames } from './names.ts';
import { addTrailingRows } from './sample-rows.ts';
import type { InferenceState, KeptRow } from './state.ts';

export interface FileWithHeaderDecision extends HeaderDecision {
  state: InferenceState;
  /** The number of columns, without those that come only from trailing delimiters. */
  width: number;
  names: string[];
  /** The body's first record, if it is a row and not a header. */
  firstDataRow: KeptRow | null;
}

/**
 * Decides the header of each file of a job, in order. @param tableColumnNames column names of the existing table that the files
 * go into; empty for a new table @throws InferenceError `NO_ROWS`
 */
export function decideFiles(states: InferenceState[], tableColumnNames: string[]): FileWithHeaderDecision[] {
  const files = matchHeaders(states.map((state) => decideFile(state, tableColumnNames)));
  const [first] = files as [FileWithHeaderDecision];
  if (files.every((file) => countRows(file) === 0)) throw fileWithoutRows(first.state.fileName);
  return files;
}

function decideFile(state: InferenceState, tableColumnNames: string[]): FileWithHeaderDecision {
  if (state.firstRow === null) throw fileWithoutRows(state.fileName);
  // Under a header without other rows, what would be notes are the rows.
  if (state.rows === 0) addTrailingRows(state, state.trailing.length);
  if (state.records) return toDecidedFile(state, { header: state.records.names, isHeaderAbove: false });
  if (state.said.header !== undefined) return decideGivenHeader(state, state.said.header);
  // Names that were joined from merged cells are the header.
  const isJoined = state.sheet !== null && state.sheet.header !== null && isJoinedHeader(state, state.sheet.header);
  const file = toDecidedFile(
    state,
    isJoined ? { header: readHeaderCells(state), isHeaderAbove: false } : decideHeader(state),
  );
  return file.header === null ? (findTableHeader(state, tableColumnNames) ?? file) : file;
}

/**
 * Decides the header by the option of a person that says whether the file has one. The header is the first record, or the
 * record above that names all columns but the first.
 */
function decideGivenHeader(state: InferenceState, hasHeader: boolean): FileWithHeaderDecision {
  if (!hasHeader) return toDecidedFile(state, { header: null, isHeaderAbove: false });
  const inferredDecision = decideHeader(state);
  return toDecidedFile(
    state,
    inferredDecision.isHeaderAbove ? inferredDecision : { header: readHeaderCells(state), isHeaderAbove: false },
  );
}

/** Tells whether the first record is the header joined from merged cells: the reading options have not skipped it. */
const isJoinedHeader = ({ said, firstRow }: InferenceState, header: number): boolean =>
  said.skip_lines === undefined || firstRow?.line === header;

/** Decides that a first record of names of the table's columns is the header, whatever the values below look like. */
function findTableHeader(state: InferenceState, tableColumnNames: string[]): FileWithHeaderDecision | undefined {
  const header = readHeaderCells(state);
  const filledCells = header.filter((cell) => cell !== '');
  const unknownCells = filledCells.filter((cell) => !tableColumnNames.includes(cell));
  const isInTable = (cells: string[]) => makeColumnNames(cells).every((name) => tableColumnNames.includes(name));
  const isHeader =
    filledCells.length > 0 &&
    (isInTable(filledCells) || (new Set(filledCells).size === filledCells.length && isInTable(unknownCells)));
  return isHeader ? toDecidedFile(state, { header, isHeaderAbove: false }) : undefined;
}

function toDecidedFile(state: InferenceState, decision: HeaderDecision): FileWithHeaderDecision {
  const { header, isHeaderAbove } = decision;
  const width = measureUsedWidth(state, header);
  if (width > MAX_COLUMNS) throw tooManyColumns(state.fileName, width);
  const cells = Array.from({ length: width }, (_, index) => header?.[index] ?? '');
  // The names of records stand beside the text.
  const firstDataRow = header === null || isHeaderAbove || state.records ? state.firstRow : null;
  return { ...decision, state, width, names: makeColumnNames(cells), firstDataRow };
}

/**
 * Decides headers that a file alone does not settle: a first record equal to another file's header is a header; the record of a
 * file with only one is a row if other files have no header.
 */
function matchHeaders(files: FileWithHeaderDecision[]): FileWithHeaderDecision[] {
  if (files.length === 1 || files.some(({ state }) => state.said.header !== undefined)) return files;
  const fileWithHeader = files.find((file) => file.header !== null && file.state.rows > 0);
  if (fileWithHeader === undefined) {
    const isAnyHeadless = files.some((file) => file.header === null);
    return isAnyHeadless
      ? files.map(({ state }) => toDecidedFile(state, { header: null, isHeaderAbove: false }))
      : files;
  }
  const names = joinSortedNames(fileWithHeader);
  return files.map((file) => {
    if (file.header !== null) return file;
    const candidateFile = toDecidedFile(file.state, { header: readHeaderCells(file.state), isHeaderAbove: false });
    return joinSortedNames(candidateFile) === names ? candidateFile : file;
  });
}

function joinSortedNames({ names }: FileWithHeaderDecision): string {
  return [...names].sort().join('\n');
}

/**
 * Finds for each column of the first file the index of its field in another file. Equal headers go before equal names, which
 * are numbered in the order of each file; a header that is repeated more often in one of them says nothing. @throws InferenceError `HEADERS_DIFFER`
 */
export function matchFields(file: FileWithHeaderDecision, firstFile: FileWithHeaderDecision): number[] {
  const makeHeaderError = (column: string) =>
    new InferenceError(
      'HEADERS_DIFFER',
      `As colunas do arquivo ${file.state.fileName} não são as mesmas do arquivo ${firstFile.state.fileName}: ${column}.`,
      { file: file.state.fileName, line: file.state.firstRow?.line, column },
    );
  const extraName = file.names.find((name) => !firstFile.names.includes(name));
  if (extraName !== undefined) throw makeHeaderError(extraName);
  if ((file.header === null) !== (firstFile.header === null)) throw makeHeaderError(file.names[0] as string);
  const fieldIndexes = firstFile.names.map((name) => {
    const nameIndex = file.names.indexOf(name);
    if (nameIndex < 0) throw makeHeaderError(name);
    return nameIndex;
  });
  const header = file.header ?? [];
  const firstHeader = firstFile.header ?? [];
  const countCells = (cells: string[], cell: string) => cells.filter((otherCell) => otherCell === cell).length;
  for (const [index, cell] of firstHeader.entries()) {
    if (
      cell === '' ||
      firstHeader.indexOf(cell) !== index ||
      countCells(firstHeader, cell) !== countCells(header, cell)
    )
      continue;
    const cellIndex = header.indexOf(cell);
    fieldIndexes[fieldIndexes.indexOf(cellIndex)] = fieldIndexes[index] as number;
    fieldIndexes[index] = cellIndex;
  }
  return fieldIndexes;
}

/** Counts the rows of the file, including the first record if it is a row. */
export function countRows(file: FileWithHeaderDecision): number {
  return file.state.rows + (file.firstDataRow === null ? 0 : 1);
}
