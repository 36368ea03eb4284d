import { z } from 'zod';
import type { RecordFacts } from '../../formats/records/facts.ts';
import type { SheetFacts } from '../../formats/workbook/choice.ts';
import { isTimeZone } from '../../kernel/time-zones.ts';
import type { Segment } from '../../platform/segments.ts';
import type { ColumnType } from '../../tenant-sql/columns.ts';
import { column, columnList } from '../managed-tables/service.ts';
import type { FileReading, FoundColumn, InferredSchema } from './inference/index.ts';
import type { StoredFile } from './receive.ts';

/** The status of a job; the first four are those of an active one. */
export type JobStatus = 'queued' | 'analisando' | 'waiting_confirm' | 'inserting' | 'done' | 'failed';

/** What the rows do to the table: create it, join its rows, replace them, or update those of the same key. */
export type UploadMode = 'create' | 'append' | 'replace' | 'upsert';

/** How a load may change the columns of its table: not, by new ones, or besides by wider types. */
export const EVOLVES = ['none', 'add', 'widen'] as const;

export type Evolve = (typeof EVOLVES)[number];

/** The progress of the present phase, in rows and bytes of all files. The total of rows is null until it is known. */
export interface JobProgress {
  rows_processed: number;
  rows_total: number | null;
  bytes_processed: number;
  bytes_total: number;
}

/** Why a job failed. `message` is a sentence in Portuguese; the rest says where, if there is a place. */
export interface JobError {
  code: string;
  message: string;
  file?: string;
  /** 1-based, where the record starts. */
  line?: number;
  /** The confirmed name. */
  column?: string;
  value?: string;
  /** Where a quota is in the way: which, how much it is, and how much was used. */
  quota?: string;
  limit?: number;
  use?: number;
}

/** A column as a person confirms it: its name, its type, and which column of the files it is. */
export const confirmedColumn = column
  .extend({
    source_index: z.number().int().nonnegative().nullable().optional().meta({
      description:
        'The `source_index` of the inferred column. Without it, the column is matched by its inferred name, or by its position if as many columns are confirmed as were inferred. Null for a column of an existing table that the files do not fill.',
    }),
  })
  .meta({ id: 'ConfirmedColumn' });

/** The body of a confirm. */
export const confirmation = z.object({
  display_name: z
    .string()
    .max(255)
    .optional()
    .meta({
      description: 'The name of the new table, as in creating one by hand. Ignored when the table exists.',
      examples: ['sales_2024'],
    }),
  columns: columnList(confirmedColumn),
  time_zone: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be an IANA time zone such as America/Sao_Paulo')
    .optional()
    .meta({ description: 'Zone of dates with time that carry no offset; UTC when not sent.' }),
});

export type Confirmation = z.output<typeof confirmation>;

/** The confirmed table, each column matched with one of the files. */
export interface ConfirmedSchema {
  display_name: string;
  columns: ConfirmedColumn[];
  time_zone: string | null;
  /** Which of the columns the load adds to the existing table, and what the types of others were; absent where it changes none. */
  evolution?: Evolution;
}

/** The columns that a load changes, by their names. */
export interface Evolution {
  added: string[];
  widened: { name: string; from: ColumnType }[];
}

/** `source_index` is null for a column of an existing table that the files do not fill. */
export type ConfirmedColumn = Omit<z.output<typeof confirmedColumn>, 'source_index'> & { source_index: number | null };

/** A text that is read for a job: an uploaded file, or what one was converted to. */
export interface Source {
  /** The name that people know it by. */
  name: string;
  /** Its pieces in R2, in their order. */
  segments: Segment[];
  size_bytes: number;
  /** The workbook's sheet that it was made of, with one line a row and typed values without quotes. */
  sheet: SheetFacts | null;
  /** What stands between its fields by its kind, where it has more than one; absent where that is found. */
  delimiter?: string;
  /** The records that it was made of; absent for other texts. */
  records?: RecordFacts;
}

/** What inference found out for the load. */
export interface Reading {
  /** The texts, in the order of their rows. */
  sources: Source[];
  /** How each of them is read. */
  files: FileReading[];
  /** Their columns. */
  found: FoundColumn[];
  /** Which of them holds the ids of rows, where an upsert knows rows by these. */
  ids?: number;
}

/** How many rows an upsert has inserted, updated, and found as they are in the files. */
export interface LoadResult {
  inserted: number;
  updated: number;
  unchanged: number;
}

/** An upload job as people see it. Timestamps are ISO 8601 in UTC. */
export interface UploadJob {
  id: string;
  companyId: string;
  userTableId: string | null;
  createdByUserId: string;
  files: StoredFile[];
  mode: UploadMode;
  evolve: Evolve;
  status: JobStatus;
  inferredSchema: InferredSchema | null;
  confirmedSchema: ConfirmedSchema | null;
  /** Null while queued. `phase` is the status. */
  progress: (JobProgress & { phase: JobStatus }) | null;
  error: JobError | null;
  /** The columns of the key of an upsert. */
  key: string[] | null;
  /** What an upsert came to. */
  result: LoadResult | null;
  /** When it was undone, and who by. */
  undoneAt: string | null;
  undoneBy: string | null;
  /** The address that the file is fetched from, without query and fragment; null where files were sent. */
  sourceUrl: string | null;
  createdAt: string;
  updatedAt: string;
}

/** A job with what only its work needs. */
export interface WorkedJob<State> extends UploadJob {
  /** How the files are read; null until inference has finished. */
  reading: Reading | null;
  /** Counted up with every change of the job. */
  step: number;
  /** How far the phase has come; null at its beginning. */
  state: State | null;
  /** Deliveries since the last progress, this one included. */
  attempts: number;
}
