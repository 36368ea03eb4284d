import { z } from 'zod';
import { DELIMITER_PATTERN } from '../../formats/csv/dialect.ts';
import { MAX_SHEET_NAME_LENGTH } from '../../formats/workbook/choice.ts';
import type { FieldProblem } from '../../kernel/failure.ts';
import type { JobError, Reading } from './job.ts';

/** The maximum number of lines before the table that a person may skip: no titles are longer. */
const MAX_SKIPPED_LINES = 1000;

/** The body of a reanalysis: the options for reading the files. Missing ones are inferred. */
export const readingOptionsInput = z.object({
  header: z.boolean().optional().meta({ description: 'Whether the first record holds the names of the columns.' }),
  delimiter: z
    .string()
    .regex(DELIMITER_PATTERN, 'must be a tab or one of ! # $ % & * , / : ; < = > ? @ ^ _ ` | ~')
    .optional()
    .meta({ description: 'What stands between the fields of text files.', examples: [';'] }),
  quote: z
    .enum(['"', "'"])
    .nullable()
    .optional()
    .meta({ description: 'What stands around fields of text files; null where quotes are characters like any other.' }),
  encoding: z
    .enum(['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'])
    .optional()
    .meta({ description: 'Of text files.' }),
  skip_lines: z.int().min(0).max(MAX_SKIPPED_LINES).optional().meta({
    description: 'So many lines at the beginning, and no others there, are neither header nor rows. Of a sheet: rows.',
  }),
  sheet: z
    .string()
    .min(1)
    .max(MAX_SHEET_NAME_LENGTH)
    .optional()
    .meta({ description: 'The name of the sheet to read, one of `dialect.sheets`, also a hidden one.' }),
});

/** The options that a person gave for reading a job's files. Plain data. */
export type ReadingOptions = z.output<typeof readingOptionsInput>;

/** A later analysis of a job, with options that a person gave. Its number is higher than those of all earlier analyses. */
export interface Reanalysis {
  number: number;
  said: ReadingOptions;
}

type OptionName = keyof ReadingOptions;

const TEXT_OPTIONS: OptionName[] = ['delimiter', 'quote', 'encoding'];
const LINE_OPTIONS: OptionName[] = ['header', 'skip_lines'];

/** Finds the problems of options that no file of the job takes: a workbook has no delimiter, a text no sheet. */
export function findOptionProblems(options: ReadingOptions, { sources }: Reading): FieldProblem[] {
  const hasTexts = sources.some(({ sheet, records }) => sheet === null && !records);
  const hasLines = sources.some(({ records }) => !records);
  const hasSheets = sources.some(({ sheet }) => sheet !== null && sheet.name !== null);
  const makeProblems = (members: OptionName[], message: string) =>
    members.filter((member) => options[member] !== undefined).map((field) => ({ field, message }));
  return [
    ...(hasLines
      ? []
      : makeProblems([...LINE_OPTIONS, ...TEXT_OPTIONS], 'is for text files and workbooks, and these are neither')),
    ...(hasTexts || !hasLines ? [] : makeProblems(TEXT_OPTIONS, 'is for text files, and these are workbooks')),
    ...(hasSheets ? [] : makeProblems(['sheet'], 'is for workbooks with named sheets, and these files have none')),
  ];
}

/** The options that may be to blame for each code of a failed reading, the likeliest first. */
const OPTIONS_BY_ERROR: Record<string, OptionName[]> = {
  DELIMITER_NOT_FOUND: ['delimiter'],
  SHEET_UNKNOWN: ['sheet'],
  UNREADABLE_BYTES: ['encoding'],
  NUL_BYTE: ['encoding'],
  UNCLOSED_QUOTE: ['quote', 'delimiter', 'skip_lines'],
  RECORD_TOO_LARGE: ['quote', 'skip_lines'],
  TOO_MANY_FIELDS: ['quote', 'delimiter', 'skip_lines', 'encoding'],
  TOO_MANY_COLUMNS: ['delimiter', 'quote', 'skip_lines', 'sheet'],
  NO_ROWS: ['sheet', 'skip_lines', 'encoding', 'header', 'quote', 'delimiter'],
  HEADERS_DIFFER: ['header', 'skip_lines', 'delimiter', 'sheet'],
  NO_COLUMN_MATCHES: ['header', 'skip_lines', 'delimiter', 'sheet'],
  COLUMN_MISSING: ['header', 'skip_lines', 'delimiter', 'sheet'],
};

/** Names the option to blame and says why in Portuguese, without text of any cell: a line that was declared a header may be a row. */
export function toOptionProblem({ said }: Reanalysis, { code, message, file }: JobError): FieldProblem {
  const members = (Object.keys(said) as OptionName[]).filter((member) => said[member] !== undefined);
  const field = OPTIONS_BY_ERROR[code]?.find((member) => members.includes(member)) ?? members[0] ?? 'files';
  const shownMessage =
    code === 'HEADERS_DIFFER' ? `As colunas do arquivo ${file} não são as mesmas do primeiro arquivo.` : message;
  return { field, message: shownMessage };
}
