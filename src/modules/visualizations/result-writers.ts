import { formatCsvLine } from '../../formats/csv/write.ts';
import { escapeFormula } from '../../formats/formulas.ts';
import { MAX_CELL_CHARACTERS, WorkbookWriter } from '../../formats/workbook/write.ts';
import { isTooLong, toWrittenCell } from '../../formats/workbook/written-cells.ts';
import { invalidInput } from '../../kernel/failure.ts';
import type { Cell, ResultColumn, UserSqlResult } from '../../tenant-sql/user-sql.ts';

/** The formats in which a result can be written. */
export type ResultFormat = 'json' | 'ndjson' | 'csv' | 'xlsx';

/** The options of writing a result. */
export interface WritingOptions {
  format: ResultFormat;
  /** The name of a workbook's sheet. */
  title?: string;
  /** Whether texts are escaped so that no spreadsheet takes one for a formula. */
  escapesFormulas?: boolean;
}

/** A writer of a result, piece by piece: `begin`, then `writeRows` for each batch of rows, then `end`. */
export interface ResultWriter {
  begin(columns: readonly ResultColumn[]): Uint8Array;
  writeRows(rows: readonly Cell[][]): Uint8Array;
  /** Writes the end of the result. @param facts further members of the JSON beside columns and rows */
  end(facts: Record<string, unknown>): Uint8Array;
}

/** A result writer whose output is text. */
type TextWriter = { [Part in keyof ResultWriter]: (...args: Parameters<ResultWriter[Part]>) => string };

/** Creates the writer of one result. */
export const createResultWriter = ({
  format,
  title = 'Result',
  escapesFormulas = false,
}: WritingOptions): ResultWriter => WRITER_FACTORIES[format](escapesFormulas, title);

const WRITER_FACTORIES: Record<ResultFormat, (escapesFormulas: boolean, title: string) => ResultWriter> = {
  json: () => toResultWriter(createJsonWriter()),
  ndjson: () => toResultWriter(createLinesWriter()),
  csv: (escapesFormulas) => toResultWriter(createCsvWriter(escapesFormulas)),
  xlsx: createWorkbookWriter,
};

/** The number of rows that are written at a time, so that no result is held in memory twice. */
const ROWS_PER_BATCH = 500;

/**
 * Writes a result as a file, piece by piece as it is read. A result that the format cannot hold is rejected before anything is
 * written.
 */
export function writeResultFile(
  options: WritingOptions,
  { columns, rows }: UserSqlResult,
  facts: Record<string, unknown> = {},
): ReadableStream<Uint8Array> {
  if (options.format === 'xlsx') requireFittingCells(columns, rows, options.escapesFormulas);
  const pieces = splitPieces(createResultWriter(options), columns, rows, facts);
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const { value, done } = pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

function* splitPieces(
  writer: ResultWriter,
  columns: readonly ResultColumn[],
  rows: readonly Cell[][],
  facts: Record<string, unknown>,
): Generator<Uint8Array, void> {
  yield writer.begin(columns);
  for (let at = 0; at < rows.length; at += ROWS_PER_BATCH) yield writer.writeRows(rows.slice(at, at + ROWS_PER_BATCH));
  yield writer.end(facts);
}

function requireFittingCells(columns: readonly ResultColumn[], rows: readonly Cell[][], escapesFormulas = false): void {
  const at = columns.findIndex(({ type }, index) =>
    rows.some((row) => isTooLong(toWrittenCell(row[index] ?? null, type, escapesFormulas))),
  );
  if (at < 0) return;
  const message = `cannot be xlsx: "${columns[at]?.name}" has a text of more than ${MAX_CELL_CHARACTERS} characters, which no cell can hold`;
  throw invalidInput([{ field: 'format', message }]);
}

const encoder = new TextEncoder();

const toResultWriter = ({ begin, writeRows, end }: TextWriter): ResultWriter => ({
  begin: (columns) => encoder.encode(begin(columns)),
  writeRows: (rowBatch) => encoder.encode(writeRows(rowBatch)),
  end: (facts) => encoder.encode(end(facts)),
});

function createJsonWriter(): TextWriter {
  let separator = '';
  return {
    begin: (columns) => `{"columns":${JSON.stringify(columns)},"rows":[`,
    writeRows(rows) {
      if (rows.length === 0) return '';
      const text = separator + JSON.stringify(rows).slice(1, -1);
      separator = ',';
      return text;
    },
    end: (facts) => `],${JSON.stringify(facts).slice(1)}`,
  };
}

function createLinesWriter(): TextWriter {
  let names: string[] = [];
  return {
    begin(columns) {
      names = makeUniqueNames(columns).map((name) => JSON.stringify(name));
      return '';
    },
    writeRows: (rows) =>
      rows.map((row) => `{${row.map((cell, at) => `${names[at]}:${JSON.stringify(cell)}`).join()}}\n`).join(''),
    end: () => '',
  };
}

function createCsvWriter(escapesFormulas: boolean): TextWriter {
  let isText: boolean[] = [];
  const formatField = (cell: Cell, at: number) =>
    escapesFormulas && isText[at] ? escapeFormula(String(cell ?? '')) : String(cell ?? '');
  return {
    begin(columns) {
      isText = columns.map(({ type }) => type === 'text');
      return formatCsvLine(columns.map(({ name }) => (escapesFormulas ? escapeFormula(name) : name)));
    },
    writeRows: (rows) => rows.map((row) => formatCsvLine(row.map(formatField))).join(''),
    end: () => '',
  };
}

function createWorkbookWriter(escapesFormulas: boolean, title: string): ResultWriter {
  let workbook: WorkbookWriter;
  let types: string[] = [];
  return {
    begin(columns) {
      types = columns.map(({ type }) => type);
      workbook = new WorkbookWriter(
        title,
        columns.map(({ name }) => (escapesFormulas ? escapeFormula(name) : name)),
      );
      return workbook.writeRows();
    },
    writeRows: (rows) =>
      workbook.writeRows(
        rows.map((row) => row.map((cell, at) => toWrittenCell(cell, types[at] as string, escapesFormulas))),
      ),
    end: () => workbook.endFile(),
  };
}

/** Makes unique names: SQL may give two columns the same name, but members of an object cannot have one: `total`, `total_2`. */
function makeUniqueNames(columns: readonly ResultColumn[]): string[] {
  const takenNames = new Set<string>();
  return columns.map(({ name }) => {
    let freeName = name;
    for (let count = 2; takenNames.has(freeName); count += 1) freeName = `${name}_${count}`;
    takenNames.add(freeName);
    return freeName;
  });
}
