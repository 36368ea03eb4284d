import { z } from 'zod';
import type { RecordFacts } from '../../formats/records/record-facts.ts';
import type { SheetFacts } from '../../formats/workbook/choice.ts';
import { isTimeZone } from '../../kernel/time-zones.ts';
import type { Segment } from '../../platform/segments.ts';
import type { ColumnType } from '../../tenant-sql/columns.ts';
import { column, makeColumnListSchema } from '../managed-tables/service.ts';
import type { FileReading, FoundColumn, InferredSchema } from './inference/index.ts';
import { ACCEPTED_EXTENSIONS } from './kinds.ts';
import type { StoredFile } from './receive.ts';

/** The status of a job; the first four statuses are those of an active job. */
export type JobStatus = 'queued' | 'analisando' | 'waiting_confirm' | 'inserting' | 'done' | 'failed';

/** The way in which rows enter the table: a new table, rows added, replaced, or updated by their key. */
export type UploadMode = 'create' | 'append' | 'replace' | 'upsert';

/** The changes that a load may make to its table's columns: none, new columns, or also wider types. */
export const EVOLVE_MODES = ['none', 'add', 'widen'] as const;

export type EvolveMode = (typeof EVOLVE_MODES)[number];

/** The progress of the current phase, in rows and bytes of all files. The total of rows is null until it is known. */
export interface JobProgress {
  rows_processed: number;
  rows_total: number | null;
  bytes_processed: number;
  bytes_total: number;
}

/** The reason why a job failed. `message` is a sentence in Portuguese; other fields give the place, where there is one. */
export interface JobError {
  code: string;
  message: string;
  file?: string;
  /** The 1-based line on which the record starts. */
  line?: number;
  /** The confirmed name of the column. */
  column?: string;
  value?: string;
  /** The name of the exceeded quota, with its `limit` and its `use`; absent for other errors. */
  quota?: string;
  limit?: number;
  use?: number;
}

/** A column that a person confirms: its name, its type, and its column of the files. */
export const confirmedColumnInput = column
  .extend({
    source_index: z.number().int().nonnegative().nullable().optional().meta({
      description:
        'The `source_index` of the inferred column. Without it, the column is matched by its inferred name, or by its position if as many columns are confirmed as were inferred. Null for a column of an existing table that the files do not fill.',
    }),
  })
  .meta({ id: 'ConfirmedColumn' });

/** The body of a confirmation. */
export const confirmationInput = z.object({
  display_name: z
    .string()
    .max(255)
    .optional()
    .meta({
      description: 'The name of the new table, as in creating one by hand. Ignored when the table exists.',
      examples: ['sales_2024'],
    }),
  columns: makeColumnListSchema(confirmedColumnInput),
  time_zone: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be an IANA time zone such as America/Sao_Paulo')
    .optional()
    .meta({ description: 'Zone of dates with time that carry no offset; UTC when not sent.' }),
});

export type Confirmation = z.output<typeof confirmationInput>;

/** The body of an upload from a URL. */
export const urlUploadInput = z.object({
  url: z
    .string()
    .max(4096)
    .meta({
      format: 'uri',
      description: 'An https address on a public host, without a user name or password.',
      examples: ['https://files.example.com/sales.csv'],
    }),
  filename: z
    .string()
    .max(1024)
    .optional()
    .meta({
      description: `With one of the extensions ${ACCEPTED_EXTENSIONS.map((type) => `\`${type}\``).join(', ')}. When not sent, the path of the address says it, else \`Content-Disposition\` or \`Content-Type\` of the answer.`,
      examples: ['sales.csv'],
    }),
  table_id: z
    .string()
    .max(64)
    .optional()
    .meta({ description: 'The table that the rows go into; a new one when not sent.' }),
  mode: z.enum(['append', 'replace', 'upsert']).optional().meta({
    description:
      'For an existing table: `append` when not sent. `replace` and `upsert` need `managed-tables:data-write` too.',
  }),
  key: z
    .array(z.string().max(64))
    .min(1)
    .max(4)
    .optional()
    .meta({ description: 'For `upsert`: the columns of the key; `id` for the ids of the rows.' }),
  evolve: z.enum(EVOLVE_MODES).optional().meta({
    description:
      'For an existing table: whether the load may change its columns, as in uploading files into it. Other than `none` needs `managed-tables:update` too.',
  }),
});

export type UrlUpload = z.output<typeof urlUploadInput>;

/** The confirmed table, each column matched with one of the files. */
export interface ConfirmedSchema {
  display_name: string;
  columns: ConfirmedColumn[];
  time_zone: string | null;
  /** The columns that the load adds to the existing table, and the former types of those it widens; absent for none. */
  evolution?: PlannedEvolution;
}

/** The columns that a load changes, by their names. */
export interface PlannedEvolution {
  added: string[];
  widened: { name: string; from: ColumnType }[];
}

/** A confirmed column; `source_index` is null for a column of an existing table that the files do not fill. */
export type ConfirmedColumn = Omit<z.output<typeof confirmedColumnInput>, 'source_index'> & {
  source_index: number | null;
};

/** A text that is read for a job: an uploaded file, or the result of converting one. */
export interface Source {
  /** The name that users see. */
  name: string;
  /** The text's pieces in R2, in their order. */
  segments: Segment[];
  size_bytes: number;
  /** The sheet that the text was converted from, one line a row, typed values without quotes; null for other texts. */
  sheet: SheetFacts | null;
  /** The usual delimiter of the kind of file; absent where the delimiter is inferred. */
  delimiter?: string;
  /** The records that the text was converted from; absent for other texts. */
  records?: RecordFacts;
}

/** The results of inference that the load needs. */
export interface Reading {
  /** The texts, in the order of their rows. */
  sources: Source[];
  /** The reading of each text. */
  files: FileReading[];
  /** The data of each column of the texts. */
  found: FoundColumn[];
  /** The position of the column of row ids, where an upsert finds rows by their ids. */
  ids?: number;
}

/** The numbers of rows that an upsert inserted, updated, and left unchanged. */
export interface LoadResult {
  inserted: number;
  updated: number;
  unchanged: number;
}

/** An upload job in the form that users see. Timestamps are ISO 8601 in UTC. */
export interface UploadJob {
  id: string;
  companyId: string;
  userTableId: string | null;
  createdByUserId: string;
  files: StoredFile[];
  mode: UploadMode;
  evolve: EvolveMode;
  status: JobStatus;
  inferredSchema: InferredSchema | null;
  confirmedSchema: ConfirmedSchema | null;
  /** Null while queued. `phase` is the status. */
  progress: (JobProgress & { phase: JobStatus }) | null;
  error: JobError | null;
  /** The columns of the key of an upsert. */
  key: string[] | null;
  /** The numbers of rows of an upsert. */
  result: LoadResult | null;
  /** The time when the load was undone; null while it was not. */
  undoneAt: string | null;
  /** The id of the user who undid the load. */
  undoneBy: string | null;
  /** The URL that the file is fetched from, without query and fragment; null where files were sent. */
  sourceUrl: string | null;
  createdAt: string;
  updatedAt: string;
}

/** A job with the fields that only its work needs. */
export interface WorkedJob<State> extends UploadJob {
  /** The results of inference for the load; null until inference has finished. */
  reading: Reading | null;
  /** A counter that every change of the job increases. */
  stepNumber: number;
  /** The progress of the phase; null at its beginning. */
  state: State | null;
  /** The number of message deliveries since the last progress, the current one included. */
  attempts: number;
}
