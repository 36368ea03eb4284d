import { csvLine } from '../../formats/csv/write.ts';
import { withoutFormula } from '../../formats/formulas.ts';
import { MAX_CELL_TEXT, WorkbookWriter } from '../../formats/workbook/write.ts';
import { isTooLong, toWrittenCell } from '../../formats/workbook/written-cells.ts';
import { invalid } from '../../kernel/failure.ts';
import type { Cell, ResultColumn, UserSqlResult } from '../../tenant-sql/user-sql.ts';

/** The formats in which a result can be written. */
export type ResultFormat = 'json' | 'ndjson' | 'csv' | 'xlsx';

/** The options of writing a result. */
export interface WritingOptions {
  format: ResultFormat;
  /** The name of a workbook's sheet. */
  title?: string;
  /** Whether a spreadsheet must take no text for a formula. */
  safe?: boolean;
}

/** Writes a result piece by piece: `begin`, then `rows` as often as there are any, then `end`. */
export interface ResultWriter {
  begin(columns: readonly ResultColumn[]): Uint8Array;
  rows(rows: readonly Cell[][]): Uint8Array;
  /** @param facts further members of JSON beside columns and rows */
  end(facts: Record<string, unknown>): Uint8Array;
}

/** A result writer whose output is text. */
type TextWriter = { [Part in keyof ResultWriter]: (...given: Parameters<ResultWriter[Part]>) => string };

/** The writer of one result. */
export const resultWriter = ({ format, title = 'Result', safe = false }: WritingOptions): ResultWriter =>
  WRITERS[format](safe, title);

const WRITERS: Record<ResultFormat, (safe: boolean, title: string) => ResultWriter> = {
  json: () => encoded(jsonWriter()),
  ndjson: () => encoded(linesWriter()),
  csv: (safe) => encoded(csvWriter(safe)),
  xlsx: workbookWriter,
};

/** The rows that are written at once, so that no result is held twice. */
const ROWS_PER_BATCH = 500;

/** A result as a file, written as it is taken. A result that cannot be written is refused before anything is. */
export function resultFile(
  written: WritingOptions,
  { columns, rows }: UserSqlResult,
  facts: Record<string, unknown> = {},
): ReadableStream<Uint8Array> {
  if (written.format === 'xlsx') requireCells(columns, rows, written.safe);
  const pieces = splitPieces(resultWriter(written), columns, rows, facts);
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
  for (let at = 0; at < rows.length; at += ROWS_PER_BATCH) yield writer.rows(rows.slice(at, at + ROWS_PER_BATCH));
  yield writer.end(facts);
}

function requireCells(columns: readonly ResultColumn[], rows: readonly Cell[][], safe = false): void {
  const at = columns.findIndex(({ type }, index) =>
    rows.some((row) => isTooLong(toWrittenCell(row[index] ?? null, type, safe))),
  );
  if (at < 0) return;
  const message = `cannot be xlsx: "${columns[at]?.name}" has a text of more than ${MAX_CELL_TEXT} characters, which no cell can hold`;
  throw invalid([{ field: 'format', message }]);
}

const encoder = new TextEncoder();

const encoded = ({ begin, rows, end }: TextWriter): ResultWriter => ({
  begin: (columns) => encoder.encode(begin(columns)),
  rows: (some) => encoder.encode(rows(some)),
  end: (facts) => encoder.encode(end(facts)),
});

function jsonWriter(): TextWriter {
  let separator = '';
  return {
    begin: (columns) => `{"columns":${JSON.stringify(columns)},"rows":[`,
    rows(rows) {
      if (rows.length === 0) return '';
      const text = separator + JSON.stringify(rows).slice(1, -1);
      separator = ',';
      return text;
    },
    end: (facts) => `],${JSON.stringify(facts).slice(1)}`,
  };
}

function linesWriter(): TextWriter {
  let names: string[] = [];
  return {
    begin(columns) {
      names = uniqueNames(columns).map((name) => JSON.stringify(name));
      return '';
    },
    rows: (rows) =>
      rows.map((row) => `{${row.map((cell, at) => `${names[at]}:${JSON.stringify(cell)}`).join()}}\n`).join(''),
    end: () => '',
  };
}

function csvWriter(safe: boolean): TextWriter {
  let isText: boolean[] = [];
  const field = (cell: Cell, at: number) =>
    safe && isText[at] ? withoutFormula(String(cell ?? '')) : String(cell ?? '');
  return {
    begin(columns) {
      isText = columns.map(({ type }) => type === 'text');
      return csvLine(columns.map(({ name }) => (safe ? withoutFormula(name) : name)));
    },
    rows: (rows) => rows.map((row) => csvLine(row.map(field))).join(''),
    end: () => '',
  };
}

function workbookWriter(safe: boolean, title: string): ResultWriter {
  let book: WorkbookWriter;
  let types: string[] = [];
  return {
    begin(columns) {
      types = columns.map(({ type }) => type);
      book = new WorkbookWriter(
        title,
        columns.map(({ name }) => (safe ? withoutFormula(name) : name)),
      );
      return book.write();
    },
    rows: (rows) =>
      book.write(rows.map((row) => row.map((cell, at) => toWrittenCell(cell, types[at] as string, safe)))),
    end: () => book.end(),
  };
}

/** SQL may name two columns alike; the members of an object cannot be: `total`, `total_2`. */
function uniqueNames(columns: readonly ResultColumn[]): string[] {
  const taken = new Set<string>();
  return columns.map(({ name }) => {
    let free = name;
    for (let count = 2; taken.has(free); count += 1) free = `${name}_${count}`;
    taken.add(free);
    return free;
  });
}
