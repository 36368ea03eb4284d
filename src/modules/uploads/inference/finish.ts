import { type ColumnState, foldCell, mergeColumns, newColumn } from './columns.ts';
import { sampleValue } from './convert.ts';
import { type DecidedFile, decideFiles, placesIn, rowsOf } from './files.ts';
import {
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
import { typedForms } from './header.ts';
import { matchTable, namesOf, type TableColumn } from './into-table.ts';
import { tableName } from './names.ts';
import { isReadByPostgres, readingOf } from './reading.ts';
import type { ColumnFormats, ColumnType, Inference, InferredColumn, RowValue } from './schema.ts';
import { boundsOf, type InferenceState, type KeptRow, SAMPLE_ROWS } from './state.ts';

/**
 * The schema of the table that the files of one job make together, and how to read them. Every state must be `done`.
 * @param into the columns of the table that the files go into, where it exists: they are the schema's then
 * @throws InferenceError `NO_ROWS` when no file has a row, `HEADERS_DIFFER` naming the file whose columns are others,
 *   and where the table exists `NO_COLUMN_MATCHES`, `COLUMN_MISSING`
 */
export function finish(states: InferenceState[], into?: TableColumn[]): Inference {
  const files = decideFiles(states, into ? namesOf(into) : []);
  const [first] = files as [DecidedFile];
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
  const { dialect, encoding, fileName, skippedLines, trailing } = first.state;
  const matched = into && matchTable(into, columns, fileName);
  return {
    schema: {
      suggested_table_name: tableName(fileName),
      columns: matched?.columns ?? columns,
      sample_rows: sampleRows(files, places, matched?.columns ?? columns, formats),
      total_row_count_estimate: files.reduce((sum, file) => sum + rowsOf(file), 0),
      dialect: {
        encoding: encoding ?? 'utf-8',
        delimiter: dialect?.delimiter ?? ',',
        quote: dialect?.quote ?? '"',
        header: first.header !== null,
        skipped_lines: skippedLines - (first.above ? 1 : 0) + trailing.length,
      },
      ...(matched && { ignored_columns: matched.ignored }),
    },
    found: columns.map(({ type, nullable }) => ({ type, nullable })),
    files: files.map((file, number) => readingOf(file, places[number] as number[], formats)),
  };
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
        columns.map(({ name, type, source_index: source }) => [
          name,
          source === null ? null : sampleValue(row[source] as string, type, formats[source] as ColumnFormats),
        ]),
      ),
    );
}

function cellsByField(row: KeptRow): string[] {
  const cells: string[] = [];
  for (const [field, text] of row.cells) cells[field] = text;
  return cells;
}
