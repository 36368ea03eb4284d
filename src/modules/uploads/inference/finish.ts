import type { KnownType } from '../../../formats/records/record-facts.ts';
import { findFormName, HAS_EDGE_YEAR, HAS_FRACTION, HAS_OFFSET, HAS_SECONDS } from '../../../formats/values/forms.ts';
import { truncateText } from '../../../kernel/text.ts';
import type { TableColumnDefinition } from '../../../tenant-sql/columns.ts';
import {
  chooseDateForms,
  chooseDecimalForms,
  type Delimiters,
  inferType,
  inferTypeWithin,
  listForms,
} from './column-type.ts';
import { addCell, type ColumnState, type DecidingValue, getHints, makeColumn, mergeColumns } from './columns.ts';
import { countRows, decideFiles, type FileWithHeaderDecision, matchFields } from './files.ts';
import { listHeaderNames, matchTable } from './into-table.ts';
import { toTableName } from './names.ts';
import { isReadByPostgres, prepareReading } from './reading.ts';
import type { ColumnFormats, ColumnType, FoundColumn, Inference, InferredColumn, RowValue } from './schema.ts';
import { countSkippedLines } from './skipped-lines.ts';
import { type InferenceState, type KeptRow, MAX_SAMPLE_ROWS, makeBounds } from './state.ts';
import { toSampleValue } from './values.ts';
import { chooseWiderType, type WideningCandidate } from './widening.ts';

/** The maximum length of a column's display name, in UTF-16 units. */
const MAX_DISPLAY_NAME_LENGTH = 255;

/**
 * Decides the schema of the table that the files of one job form together, and how to read each file. Every state must be `done`.
 * @param tableColumns the columns of the existing table to load into; they become the schema's columns @param keyColumns the key of an
 * upsert into that table @param growth given where the load may add columns to the table, with the table's columns that do not
 * take all values @throws InferenceError `NO_ROWS` when no file has a row, `HEADERS_DIFFER` naming a file with other columns, and
 * for an existing table `NO_COLUMN_MATCHES`, `COLUMN_MISSING`
 */
export function finishInference(
  states: InferenceState[],
  tableColumns?: TableColumnDefinition[],
  keyColumns: readonly string[] | null = null,
  growth: TableGrowth | null = null,
): Inference {
  const files = decideFiles(states, tableColumns ? listHeaderNames(tableColumns) : []);
  const [first] = files as [FileWithHeaderDecision];
  const fieldIndexes = files.map((file) => matchFields(file, first));
  const decidedColumns = first.names.map((_, index) => decideColumn(files, fieldIndexes, index));
  const columns = decidedColumns.map(({ column }) => column);
  const formats = files.map((_, file) => decidedColumns.map((column) => column.formats[file] as ColumnFormats));

  const { dialect, encoding, fileName } = first.state;
  const tableMatch = tableColumns && matchTable(tableColumns, columns, fileName, keyColumns);
  const widenedColumns =
    (growth?.wideningCandidates &&
      tableMatch?.columns.flatMap((column) => chooseWiderType(column, growth.wideningCandidates ?? []) ?? [])) ??
    [];
  const proposedColumns = tableMatch?.columns.map((column) => {
    const type = widenedColumns.find(({ name }) => name === column.name)?.to ?? column.type;
    return { ...column, type };
  });
  const addedColumns = growth && tableMatch ? tableMatch.ignoredColumns : [];
  const { count, lines } = countSkippedLines(first);
  return {
    schema: {
      suggested_table_name: toTableName(fileName),
      columns: proposedColumns ?? columns,
      sample_rows: toSampleRows(
        files,
        fieldIndexes,
        proposedColumns ? [...proposedColumns, ...addedColumns] : columns,
        formats,
      ),
      total_row_count_estimate: files.reduce((sum, file) => sum + countRows(file), 0),
      dialect: {
        encoding: first.state.records?.encoding ?? encoding ?? 'utf-8',
        delimiter: first.state.records ? null : (dialect?.delimiter ?? ','),
        quote: first.state.records ? null : (dialect?.quote ?? null),
        header: first.header !== null,
        skipped_lines: count,
        skipped: lines,
        sheet: first.state.sheet?.name ?? null,
        sheets: first.state.sheet?.sheets ?? null,
      },
      ...(tableMatch && { ignored_columns: growth ? [] : tableMatch.ignoredColumns }),
      ...(growth && { new_columns: addedColumns }),
      ...(growth?.wideningCandidates && { changed_columns: widenedColumns }),
    },
    ...(tableMatch?.idColumn && { ids: tableMatch.idColumn.source_index as number }),
    found: decidedColumns.map(({ foundColumn }) => foundColumn),
    files: files.map((file, fileIndex) =>
      prepareReading(file, fieldIndexes[fileIndex] as number[], formats[fileIndex] as ColumnFormats[]),
    ),
  };
}

/** The changes that a load may make to the columns of its table. */
export interface TableGrowth {
  /** The columns that perhaps cannot hold all values; null if the load may not widen columns. */
  wideningCandidates: readonly WideningCandidate[] | null;
}

/** Decides a column of the first file: one type for all files, and the formats by which each file's values are read. */
function decideColumn(
  files: FileWithHeaderDecision[],
  fieldIndexes: number[][],
  index: number,
): { column: InferredColumn; foundColumn: FoundColumn; formats: ColumnFormats[] } {
  const [first] = files as [FileWithHeaderDecision];
  const findFieldIndex = (fileIndex: number) => (fieldIndexes[fileIndex] as number[])[index] as number;
  const states = files.map((file, fileIndex) => getColumn(file, findFieldIndex(fileIndex)));
  const { maxSamples } = makeBounds(first.width);
  const mergedState = states.reduce((mergedColumn, columnState) => mergeColumns(mergedColumn, columnState, maxSamples));
  const name = first.names[index] as string;
  const displayName = truncateText(first.header?.[index] || name, MAX_DISPLAY_NAME_LENGTH);
  const declaredType = chooseKnownType(
    files.map(({ state }, fileIndex) => state.records?.types?.[findFieldIndex(fileIndex)]),
  );
  const type = declaredType ? inferTypeWithin(declaredType, states) : inferType(states, displayName);
  const count = (sum: number, { state }: FileWithHeaderDecision, fileIndex: number) =>
    sum + (state.records?.notNumbers?.[findFieldIndex(fileIndex)] ?? 0);
  const notNumbers = files.reduce(count, 0) || undefined;
  // In a file of one column nothing delimits.
  const delimiters = files.map(({ state, width }) => (width === 1 ? null : (state.dialect?.delimiter ?? ',')));
  const formMasks = listForms(type, states, delimiters);
  const nullCount = mergedState.nulls + (type === 'text' ? 0 : mergedState.blanks);
  const formsInUse = formMasks.filter((_, file) => states[file]?.first !== null);
  return {
    column: {
      name,
      display_name: displayName,
      type,
      nullable: true,
      source_index: index,
      evidence: {
        format: describeFormat(type, formsInUse.length > 0 ? formsInUse : formMasks, mergedState.traits),
        nulls: nullCount,
        distinct_sample: mergedState.sample,
        counter_example: findCounterExample(type, states, displayName),
        ...(notNumbers !== undefined && { not_numbers: notNumbers }),
      },
    },
    foundColumn: { type, nullable: nullCount > 0 },
    formats: inferFormats(type, formMasks, states, delimiters),
  };
}

/** Chooses the type that files declare for a column: text if any declares text, another type only if all declare that one. */
function chooseKnownType(declaredTypes: (KnownType | undefined)[]): KnownType | undefined {
  if (declaredTypes.includes('text')) return 'text';
  return new Set(declaredTypes).size === 1 ? declaredTypes[0] : undefined;
}

/** Infers the formats of each file's values: the decided form, or hints for the case that the type is changed to number or date. */
function inferFormats(
  type: ColumnType,
  formMasks: number[],
  states: ColumnState[],
  delimiters: Delimiters,
): ColumnFormats[] {
  const hints = states.map(getHints);
  const isTimestamp = type === 'date' || type === 'datetime';
  const decimals =
    type === 'decimal'
      ? formMasks
      : chooseDecimalForms(
          hints.map((hint) => hint.decimals),
          delimiters,
        );
  const dates = isTimestamp ? formMasks : chooseDateForms(hints.map((hint) => hint.dates));
  return states.map((column, file) => ({
    decimal: findFormName(decimals[file] as number),
    date: findFormName(dates[file] as number),
    asIs: isReadByPostgres(type, formMasks[file] as number, column),
    ...((column.traits & HAS_EDGE_YEAR) !== 0 && { edge: true as const }),
  }));
}

/** Returns the column's state over all rows of the file, including the first record if it is a row. */
function getColumn(file: FileWithHeaderDecision, fieldIndex: number): ColumnState {
  const laterRowsColumn = file.state.columns[fieldIndex] as ColumnState;
  if (file.firstDataRow === null) return laterRowsColumn;
  const { maxSamples } = makeBounds(file.state.width);
  const firstRowColumn = makeColumn();
  const cell = file.firstDataRow.cells.find(([field]) => field === fieldIndex);
  if (cell === undefined) firstRowColumn.nulls++;
  else addCell(firstRowColumn, cell, file.firstDataRow.line, maxSamples);
  return mergeColumns(firstRowColumn, laterRowsColumn, maxSamples);
}

/** Describes the format by name; by several names if the files differ. */
function describeFormat(type: ColumnType, formMasks: number[], traitMask: number): string {
  const seconds = (traitMask & HAS_SECONDS) === 0 ? '' : (traitMask & HAS_FRACTION) === 0 ? ':ss' : ':ss.f';
  const time = type === 'datetime' ? ` hh:mm${seconds}${(traitMask & HAS_OFFSET) === 0 ? '' : '±hh:mm'}` : '';
  return [...new Set(formMasks.map((formMask) => `${findFormName(formMask)}${time}`))].join(' | ');
}

function findCounterExample(type: ColumnType, columns: ColumnState[], header: string): DecidingValue | null {
  const findFirstValue = (decidingValue: 'notInteger' | 'withTime') =>
    columns.find((column) => column[decidingValue] !== null)?.[decidingValue] ?? null;
  if (type === 'decimal') return findFirstValue('notInteger');
  if (type === 'datetime') return findFirstValue('withTime');
  if (type !== 'text') return null;
  const filledColumns = columns.filter(({ first }) => first !== null);
  const textColumn = filledColumns.find((_, file) => inferType(filledColumns.slice(0, file + 1), header) === 'text');
  return textColumn
    ? (textColumn.notTyped ??
        (textColumn === filledColumns[0] ? textColumn.first : (textColumn.narrowed ?? textColumn.first)))
    : null;
}

function toSampleRows(
  files: FileWithHeaderDecision[],
  fieldIndexes: number[][],
  columns: InferredColumn[],
  formats: ColumnFormats[][],
): Record<string, RowValue>[] {
  const rows = files.flatMap((file, fileIndex) => {
    const firstRows = file.firstDataRow === null ? [] : [spreadCells(file.firstDataRow)];
    return [...firstRows, ...file.state.sampleRows].map((row) => ({
      cells: (fieldIndexes[fileIndex] as number[]).map((fieldIndex) => row[fieldIndex] ?? ''),
      formats: formats[fileIndex] as ColumnFormats[],
    }));
  });
  return rows
    .slice(0, MAX_SAMPLE_ROWS)
    .map((row) =>
      Object.fromEntries(
        columns.map(({ name, type, source_index: source }) => [
          name,
          source === null
            ? null
            : toSampleValue(row.cells[source] as string, type, row.formats[source] as ColumnFormats),
        ]),
      ),
    );
}

function spreadCells(row: KeptRow): string[] {
  const cells: string[] = [];
  for (const [field, text] of row.cells) cells[field] = text;
  return cells;
}
