import { csvLine } from '../../formats/csv/write.ts';
import type { Cell, ResultColumn } from '../../tenant-sql/user-sql.ts';

/** What a result may be written as, with its media type. */
export const RESULT_FORMATS = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
} as const;

export type ResultFormat = keyof typeof RESULT_FORMATS;
export const FORMAT_NAMES = Object.keys(RESULT_FORMATS) as [ResultFormat, ...ResultFormat[]];

/** Writes a result piece by piece: `begin`, then `rows` as often as there are any, then `end`. */
export interface ResultWriter {
  begin(columns: readonly ResultColumn[]): string;
  rows(rows: readonly Cell[][]): string;
  /** @param facts what JSON tells besides columns and rows */
  end(facts: Record<string, unknown>): string;
}

/** The writer of one result. */
export const resultWriter = (format: ResultFormat): ResultWriter => WRITERS[format]();

const WRITERS: Record<ResultFormat, () => ResultWriter> = {
  json() {
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
  },
  ndjson() {
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
  },
  csv() {
    return {
      begin: (columns) => csvLine(columns.map(({ name }) => name)),
      rows: (rows) => rows.map((row) => csvLine(row.map((cell) => String(cell ?? '')))).join(''),
      end: () => '',
    };
  },
};

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
