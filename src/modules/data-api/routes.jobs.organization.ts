import { z } from 'zod';
import type { ServiceAccountActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import { DATA_FORMATS, DATA_JOB_STATUSES } from '../../db/schema/data-jobs.ts';
import { accepted, createEndpointFunction, ok, raw } from '../../http/endpoint.ts';
import { declareWaiting } from '../../http/waiting.ts';
import { formatIsoTimestamp, timestampSchema } from '../../kernel/fields.ts';
import { MEDIA_TYPES } from '../../kernel/files.ts';
import { executionInput } from '../../sql-templates/fields.ts';
import { readEndpointArn, readPublishedVisualization } from './execute.ts';
import { endpointNotFound, jobNotFound, tooManyJobs } from './failures.ts';
import { createJob, getJob, readJobArn, readJobVersions } from './job-service.ts';
import { createResultLink, downloadResult, type ResultViewer } from './link.ts';

const endpoint = createEndpointFunction<ServiceAccountActor, ResultViewer>();

const status = z.enum(DATA_JOB_STATUSES);

const jobView = z
  .object({
    job_id: z.string(),
    status,
    row_count: z.int().nullable(),
    bytes: z.int().nullable(),
    url: z
      .string()
      .nullable()
      .meta({ description: 'A link to download the result without a credential; each request returns a new one.' }),
    error: z.string().nullable().meta({ description: 'Why the job failed.' }),
    expires_at: timestampSchema.nullable().meta({ description: 'When `url` stops working.' }),
  })
  .meta({ id: 'DataJob' });

export const dataJobEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/data/{slug}/jobs',
      access: { action: 'data_api:execute', on: readEndpointArn },
      credential: 'machine',
      operationId: 'createDataJob',
      summary: 'Create a job of the Data API',
      description:
        'Writes the result of an endpoint to a file in the background: up to 10,000,000 rows, 5 GiB and 10 minutes; a larger one fails. Jobs and results are deleted after a day.',
      body: executionInput.extend({ format: z.enum(DATA_FORMATS).default('json') }),
      exactNumbers: true,
      checkPath: (ctx, { slug = '' }) => readPublishedVisualization(ctx, slug),
      returns: accepted(z.object({ job_id: z.string(), status })),
      fails: [endpointNotFound, tooManyJobs],
    },
    async ({ ctx, params, body }) => {
      const job = await createJob(ctx, params.slug, body);
      return { job_id: job.id, status: job.status };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/data/jobs/{job_id}',
      access: { action: 'data_api:get_job', on: readJobArn },
      credential: 'machine',
      operationId: 'getDataJob',
      summary: 'Get a job of the Data API',
      description:
        'For those who may execute its endpoint, while that is active. Otherwise neither the job nor a link to its result is found.',
      returns: ok(jobView),
      ...declareWaiting(readJobVersions, 'url', 'expires_at'),
      fails: [jobNotFound],
    },
    async ({ ctx, params }) => {
      const job = await getJob(ctx, params.job_id);
      const link = job.status === 'succeeded' ? await createResultLink(ctx, job) : null;
      return {
        job_id: job.id,
        status: job.status,
        row_count: job.rowCount,
        bytes: job.bytes,
        url: link?.url ?? null,
        error: job.error,
        expires_at: link && formatIsoTimestamp(link.expiresAt),
      };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/data/results/{token}',
      access: { token: 'data-result' },
      operationId: 'downloadDataResult',
      summary: 'Download the result of a job of the Data API',
      description:
        'The link is the `url` of a job that succeeded. It needs no other credential, is good until the `expires_at` beside it, and answers 404 once the endpoint is inactive or deleted.',
      returns: raw(
        200,
        'The result, in the format that the job was created with.',
        ...DATA_FORMATS.map((format) => MEDIA_TYPES[format]),
      ),
      fails: [jobNotFound, invalidToken],
    },
    ({ ctx }) => downloadResult(ctx),
  ),
];
