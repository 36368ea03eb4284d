import { z } from 'zod';
import { created, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/managed-tables.ts';
import { invalid } from '../../kernel/failure.ts';
import { timestamp } from '../../kernel/fields.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { notProvisioned } from '../managed-database/failures.ts';
import { tableBusy, tableNameTaken, tableNotFound } from '../managed-tables/failures.ts';
import {
  jobEnded,
  jobNotFound,
  malformedForm,
  noFiles,
  notMultipart,
  notWaitingConfirm,
  tooLarge,
  tooManyFiles,
  wrongFileType,
} from './failures.ts';
import { confirmation, confirmedColumn, type UploadJob } from './job.ts';
import { activeJobs, cancelUpload, confirmUpload, getJob, startTableUpload, startUpload } from './service.ts';

const status = z.enum(['queued', 'analisando', 'waiting_confirm', 'inserting', 'done', 'failed']);

const uploadForm = z
  .object({
    files: z
      .array(z.string().meta({ format: 'binary' }))
      .min(1)
      .max(10),
  })
  .meta({
    description:
      'Repeat the field `files`, 1 to 10 times: `.csv`, `.xlsx`, `.xls` and `.zip` files of 100 MiB together. Where the API ' +
      'is in a zone on the plan Free or Pro, Cloudflare refuses bodies over 100 MB (some 95 MiB) before, with a 413 of its own.',
  });

const cell = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const inferredColumn = z
  .object({
    name: z.string(),
    display_name: z.string().meta({ description: 'The header as written, up to 255 characters.' }),
    type: z.enum(['text', 'integer', 'decimal', 'boolean', 'date', 'datetime']),
    nullable: z
      .boolean()
      .meta({ description: 'True: later files may have gaps. `evidence.nulls` counts those of this one.' }),
    source_index: z
      .int()
      .nullable()
      .meta({ description: '0-based position in the files; null for a column of the existing table that they lack.' }),
    evidence: z.object({
      format: z.string().meta({
        description: 'How the values are written; where files differ, each way after ` | `.',
        examples: ['1.234,56', 'd/m/yyyy'],
      }),
      nulls: z.int(),
      distinct_sample: z.array(z.string()),
      counter_example: z
        .object({ value: z.string(), line: z.int() })
        .nullable()
        .meta({ description: 'The first value that forced the wider type.' }),
    }),
  })
  .meta({ id: 'InferredColumn' });

const jobRecord = z
  .object({
    _id: z.string(),
    company_id: z.string(),
    user_table_id: z.string().nullable().meta({ description: 'The table, once it exists.' }),
    files: z.array(
      z.object({ original_name: z.string(), storage_path: z.string(), size_bytes: z.int(), mime_type: z.string() }),
    ),
    mode: z.enum(['create', 'append', 'replace']),
    status,
    inferred_schema: z
      .object({
        suggested_table_name: z.string(),
        columns: z.array(inferredColumn),
        sample_rows: z.array(z.record(z.string(), cell)).meta({ description: 'The first rows, up to 20, typed.' }),
        total_row_count_estimate: z.int().meta({ description: 'Exact: every row was read.' }),
        ignored_columns: z.array(inferredColumn).optional().meta({
          description:
            'Columns of the files that match none of the existing table. A confirm may match them with others.',
        }),
        dialect: z.object({
          encoding: z.string(),
          delimiter: z.string(),
          quote: z.string().nullable().meta({ description: 'Null where quotes are characters like any other.' }),
          header: z.boolean(),
          skipped_lines: z.int().meta({ description: 'Lines of titles and notes, which are not rows.' }),
          skipped: z
            .array(z.object({ line: z.int(), text: z.string() }))
            .meta({ description: 'The first 20 of them.' }),
        }),
      })
      .nullable(),
    confirmed_schema: z
      .object({ display_name: z.string(), columns: z.array(confirmedColumn), time_zone: z.string().nullable() })
      .nullable(),
    progress: z
      .object({
        phase: status,
        rows_processed: z.int(),
        rows_total: z.int().nullable(),
        bytes_processed: z.int(),
        bytes_total: z.int(),
      })
      .nullable()
      .meta({ description: 'Null while queued.' }),
    error: z
      .object({
        code: z.string().meta({ examples: ['VALUE_DOES_NOT_FIT', 'NO_ROWS', 'CANCELLED', 'EXPIRED'] }),
        message: z.string().meta({ description: 'A sentence in Portuguese.' }),
        file: z.string().optional(),
        line: z.int().optional().meta({ description: '1-based, where the record starts.' }),
        column: z.string().optional(),
        value: z.string().optional(),
      })
      .nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'UploadJob' });

const view = (job: UploadJob): z.input<typeof jobRecord> => ({
  _id: job.id,
  company_id: job.companyId,
  user_table_id: job.userTableId,
  files: job.files,
  mode: job.mode,
  status: job.status,
  inferred_schema: job.inferredSchema,
  confirmed_schema: job.confirmedSchema,
  progress: job.progress,
  error: job.error,
  created_at: job.createdAt,
  updated_at: job.updatedAt,
});

/** What a route that receives files can answer. */
const formFailures = [notProvisioned, notMultipart, malformedForm, noFiles, tooManyFiles, tooLarge, wrongFileType];

export const uploadEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/upload',
      access: 'managed-tables:upload',
      operationId: 'uploadNewTable',
      summary: 'Upload files for a new table',
      description:
        'Stores the files and queues a job that infers their schema. All files feed one table. Poll the job until it is `waiting_confirm`, then confirm it; unconfirmed jobs expire after 24 hours.',
      form: uploadForm,
      madeUnder: '/v1/managed-tables/upload-jobs',
      returns: created(z.object({ job_id: z.string(), status: z.literal('queued') })),
      fails: [...formFailures, ...tenantSqlFailures],
    },
    async ({ ctx, request }) => ({ job_id: await startUpload(ctx, request), status: 'queued' as const }),
  ),

  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/{id}/upload',
      access: 'managed-tables:upload',
      operationId: 'uploadIntoTable',
      summary: 'Upload files into a table',
      description:
        'The same for an existing table: columns are matched by their headers, and the confirm must not change types. `append` adds the rows; `replace` deletes all others in the same moment. Until the job ends, the table can be neither truncated, deleted, renamed nor changed.',
      form: uploadForm.extend({
        mode: z
          .enum(['append', 'replace'])
          .optional()
          .meta({ description: 'Anywhere in the form; `append` when not sent.' }),
      }),
      madeUnder: '/v1/managed-tables/upload-jobs',
      returns: created(z.object({ job_id: z.string(), status: z.literal('queued') })),
      fails: [tableNotFound, invalid, tableBusy, ...formFailures, ...tenantSqlFailures],
    },
    async ({ ctx, params, request }) => ({
      job_id: await startTableUpload(ctx, params.id, request),
      status: 'queued' as const,
    }),
  ),

  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/upload-jobs/active',
      access: 'managed-tables:list',
      operationId: 'listActiveUploadJobs',
      summary: 'List active upload jobs',
      description:
        'Those that have not ended, newest first, up to 500, without the jobs of tables that the caller is denied.',
      returns: ok(z.object({ records: z.array(jobRecord) })),
      fails: [...tenantSqlFailures],
    },
    async ({ ctx }) => ({ records: (await activeJobs(ctx)).map(view) }),
  ),

  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/upload-jobs/{jobId}',
      access: 'managed-tables:list',
      operationId: 'getUploadJob',
      summary: 'Get an upload job',
      returns: ok(jobRecord),
      fails: [jobNotFound, ...tenantSqlFailures],
    },
    async ({ ctx, params }) => view(await getJob(ctx, params.jobId)),
  ),

  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/upload-jobs/{jobId}/confirm',
      access: 'managed-tables:upload',
      operationId: 'confirmUploadJob',
      summary: 'Confirm an upload job',
      description:
        'Confirms the inferred schema and loads the rows. Columns may be renamed, retyped and left out. All rows are loaded or none: a value that does not fit fails the job, whose `error` names it.',
      body: confirmation,
      returns: ok(z.object({ status: z.literal('inserting') })),
      fails: [jobNotFound, notWaitingConfirm, tableNotFound, tableNameTaken, ...tenantSqlFailures],
    },
    async ({ ctx, params, body }) => {
      await confirmUpload(ctx, params.jobId, body);
      return { status: 'inserting' as const };
    },
  ),

  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/upload-jobs/{jobId}/cancel',
      access: 'managed-tables:upload',
      operationId: 'cancelUploadJob',
      summary: 'Cancel an upload job',
      description: 'Fails a job that has not ended, with `error.code` `CANCELLED`; no table and no rows of it remain.',
      returns: ok(z.object({ status: z.literal('failed') })),
      fails: [jobNotFound, jobEnded, tableBusy, ...tenantSqlFailures],
    },
    async ({ ctx, params }) => {
      await cancelUpload(ctx, params.jobId);
      return { status: 'failed' as const };
    },
  ),
];
