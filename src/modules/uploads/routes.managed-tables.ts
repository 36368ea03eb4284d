import { z } from 'zod';
import { quotaExceeded } from '../../db/failures.ts';
import { created, ok } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { toSentBody } from '../../http/sent-body.ts';
import { endpoint, listOf, viewList } from '../../http/surfaces/managed-tables.ts';
import { declareWaiting } from '../../http/waiting.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { storageUnavailable } from '../../platform/file-storage.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { databaseNotProvisioned } from '../managed-database/failures.ts';
import { tableBusy, tableLocked, tableNameTaken, tableNotFound } from '../managed-tables/failures.ts';
import {
  jobEnded,
  jobNotFound,
  malformedForm,
  noFiles,
  notMultipart,
  notUndoable,
  notWaitingConfirm,
  tooLarge,
  tooManyFiles,
  wrongFileType,
} from './failures.ts';
import { confirmationInput, EVOLVE_MODES, urlUploadInput } from './job.ts';
import { readingOptionsInput } from './reading-options.ts';
import {
  cancelUpload,
  confirmUpload,
  findJobArn,
  findJobArnToRead,
  getJob,
  listActiveJobs,
  readJobVersions,
  reanalyseUpload,
  requireConfirmableJob,
  startTableUpload,
  startUpload,
  startUploadFromUrl,
} from './service.ts';
import { listLoads, undoUpload } from './undo.ts';
import { loadView, uploadJobView, viewLoad, viewUploadJob } from './views.ts';

const uploadForm = z
  .object({
    files: z
      .array(z.string().meta({ format: 'binary' }))
      .min(1)
      .max(10),
  })
  .meta({
    description:
      'Repeat the field `files`, 1 to 10 times: `.csv`, `.xlsx`, `.xls` and `.zip` files of at most 100 MiB together. A proxy in front ' +
      'of the API may refuse bodies over 100 MB (about 95 MiB) with a 413 of its own.',
  });

/** The failures of a route that receives files. */
const formFailures = [
  databaseNotProvisioned,
  notMultipart,
  malformedForm,
  noFiles,
  tooManyFiles,
  tooLarge,
  wrongFileType,
  storageUnavailable,
];

export const uploadEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/upload',
      access: 'managed-tables:upload',
      operationId: 'uploadNewManagedTable',
      summary: 'Upload files for a new managed table',
      description:
        'Stores the files and queues a job that infers their schema. All files feed one table. Get the job with `wait` until it is `waiting_confirm`, then confirm it; unconfirmed jobs expire after 24 hours.',
      form: uploadForm,
      createdUnder: '/v1/managed-tables/upload-jobs',
      returns: created(z.object({ job_id: z.string(), status: z.literal('queued') })),
      fails: [...formFailures, quotaExceeded, ...tenantSqlFailures],
    },
    async ({ ctx, request }) => ({ job_id: await startUpload(ctx, toSentBody(request)), status: 'queued' as const }),
  ),

  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/{id}/upload',
      access: 'managed-tables:upload',
      operationId: 'uploadManagedTableFiles',
      summary: 'Upload files into a managed table',
      description:
        'Stores the files and queues a job, as for a new table; columns are matched by their headers, and the confirmation cannot change their types, unless `evolve` says so: then it adds the `new_columns` that it sends, and widens `changed_columns`, in the transaction that brings the rows. `append` adds the rows; `replace` also deletes all other rows at the same moment; `upsert` updates the rows with the same key, in the columns that the files have, and inserts the others. `upsert` uses a unique index on the key, or creates one, which counts towards the limit of the table. The job fails if the key is not unique in the table, or is empty or repeated in the files. Until the job ends, the table cannot be truncated, deleted, renamed or changed. `replace` and `upsert` also need `managed-tables:data-write`, and `evolve` `managed-tables:update`, here and at the confirmation.',
      form: uploadForm.extend({
        mode: z
          .enum(['append', 'replace', 'upsert'])
          .optional()
          .meta({ description: 'Anywhere in the form; `append` when not sent.' }),
        key: z.array(z.string()).min(1).max(4).optional().meta({
          description:
            'For `upsert`: repeat the field for each column of the key. `id` means the ids of the rows, as exports have them: a row whose id the table does not have fails the job. Anywhere in the form.',
        }),
        evolve: z.enum(EVOLVE_MODES).optional().meta({
          description:
            '`add` proposes columns of the files that the table lacks as new ones; `widen` besides a wider type for columns whose values do not fit. `none` when not sent. Anywhere in the form.',
        }),
      }),
      createdUnder: '/v1/managed-tables/upload-jobs',
      returns: created(z.object({ job_id: z.string(), status: z.literal('queued') })),
      fails: [tableNotFound, invalidInput, tableBusy, quotaExceeded, ...formFailures, ...tenantSqlFailures],
    },
    async ({ ctx, params, request }) => ({
      job_id: await startTableUpload(ctx, params.id, toSentBody(request)),
      status: 'queued' as const,
    }),
  ),

  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/upload-from-url',
      access: {
        decidedBy: '`managed-tables:upload` on the table of `table_id`, or on all where a new one is made',
        anyOf: ['managed-tables:upload'],
      },
      operationId: 'uploadManagedTableFromUrl',
      summary: 'Upload a file from an address',
      description:
        'Queues a job that fetches the file, up to 5 GiB, and goes on as one whose files were sent. Where the download is cut, it goes on by `Range` if the server has a strong `ETag`. Up to 5 redirects are followed, to public https addresses alone. A server that says nothing for 30 seconds, or sends less than 8 MiB in 5 minutes, is given up. The job fails with `SOURCE_UNREACHABLE`, `SOURCE_CHANGED` or `UPLOAD_TOO_LARGE`. Besides what forms take, it may be TSV; NDJSON or an array of objects in JSON, whose members are the columns; Parquet, whose types are kept; CSV, TSV, NDJSON and JSON also packed by gzip, up to 5 GiB unpacked. The address is kept encrypted until the file is there; `source_url` shows it without query and fragment.',
      body: urlUploadInput,
      createdUnder: '/v1/managed-tables/upload-jobs',
      returns: created(z.object({ job_id: z.string(), status: z.literal('queued') })),
      fails: [databaseNotProvisioned, tableNotFound, tableBusy, wrongFileType, quotaExceeded, ...tenantSqlFailures],
    },
    async ({ ctx, body }) => ({ job_id: await startUploadFromUrl(ctx, body), status: 'queued' as const }),
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
      returns: ok(z.object({ records: z.array(uploadJobView) })),
      fails: [...tenantSqlFailures],
    },
    async ({ ctx }) => ({ records: (await listActiveJobs(ctx)).map((job) => viewUploadJob(ctx, job)) }),
  ),

  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/upload-jobs/{jobId}',
      access: { action: 'managed-tables:list', on: findJobArnToRead },
      operationId: 'getUploadJob',
      summary: 'Get an upload job',
      description:
        'To be asked again until it waits for confirmation, when `inferred_schema` is there, and then until it is `done` or `failed`, when `error` says why.',
      returns: ok(uploadJobView),
      ...declareWaiting(readJobVersions),
      fails: [jobNotFound, ...tenantSqlFailures],
    },
    async ({ ctx, params }) => viewUploadJob(ctx, await getJob(ctx, params.jobId)),
  ),

  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/upload-jobs/{jobId}/analyze',
      access: { action: 'managed-tables:upload', on: findJobArn },
      operationId: 'analyzeUploadJob',
      summary: 'Analyze the files of an upload job again',
      description:
        'Reads all files of a job that waits for confirmation again, with what is said here; the rest is inferred. The job then waits again. If the files cannot be read so, it waits as before, with `inferred_schema.problem`. A member that none of the files has (a workbook has no delimiter, JSON and Parquet have none of these) is 422. To say `header: true` or `skip_lines`, or `delimiter`, `quote` or `sheet` without `header: false`, of files that somebody else sent also needs `managed-tables:data-read`, because names of columns are shown to all.',
      body: readingOptionsInput,
      returns: ok(z.object({ status: z.literal('queued') })),
      fails: [jobNotFound, notWaitingConfirm, invalidInput, ...tenantSqlFailures],
    },
    async ({ ctx, params, body }) => {
      await reanalyseUpload(ctx, params.jobId, body);
      return { status: 'queued' as const };
    },
  ),

  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/upload-jobs/{jobId}/confirm',
      access: { action: 'managed-tables:upload', on: findJobArn },
      operationId: 'confirmUploadJob',
      summary: 'Confirm an upload job',
      description:
        'Confirms the inferred schema and loads the rows. Columns may be renamed, retyped and left out. All rows are loaded or none: a value that does not fit fails the job, whose `error` names it.',
      body: confirmationInput,
      bodySourceField: 'inferred_schema',
      checkPath: (ctx, { jobId = '' }) => requireConfirmableJob(ctx, jobId),
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
      access: { action: 'managed-tables:upload', on: findJobArn },
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

  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/upload-jobs/{jobId}/undo',
      access: { action: 'managed-tables:upload', on: findJobArn },
      operationId: 'undoUploadJob',
      summary: 'Undo the load of an upload job',
      description:
        'Removes the rows that the load added, even if they were changed since. After `replace`, the rows from before come back, and rows that were added by hand since stay. A table that the load created is deleted, and can be restored. Columns that the load added or widened become as they were, unless a value that stays would be lost. Also needs `managed-tables:data-write`, and `managed-tables:update` where the load changed columns, or `managed-tables:delete` for a table that the load created. Possible within 30 days, and only for the last load of the table that is not undone.',
      returns: ok(z.object({ status: z.literal('undone'), removed: z.int(), restored: z.int() })),
      fails: [jobNotFound, notUndoable, quotaExceeded, tableLocked, tableBusy, ...tenantSqlFailures],
    },
    async ({ ctx, params }) => ({ status: 'undone' as const, ...(await undoUpload(ctx, params.jobId)) }),
  ),

  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/{id}/loads',
      access: 'managed-tables:list',
      operationId: 'listManagedTableLoads',
      summary: 'List the loads of a managed table',
      description: 'Loads of the last 30 days. Newest first.',
      query: makePageQuery('per_page'),
      returns: ok(listOf(loadView)),
      fails: [tableNotFound, ...tenantSqlFailures],
    },
    async ({ ctx, params, query: { page, per_page: perPage } }) =>
      viewList(await listLoads(ctx, params.id, { page, perPage }), viewLoad),
  ),
];
