import type { AnswerOf, PathOf } from './client.ts';
import type { CompanyExport, DataJob, KnowledgeJob, UploadJob } from './generated/routes.ts';

/** Job as the API answers it, or the id of a job of the Data API or of an export of the company. */
export type Job = UploadJob | KnowledgeJob | { job_id: string } | { export_id: string };

/**
 * Type of a job with all its fields, for a job or an id: the answers that start a Data API job or an export contain
 * only an id.
 */
export type JobOf<J extends Job> = J extends { files: unknown }
  ? UploadJob
  : J extends { request_id: unknown }
    ? KnowledgeJob
    : J extends { export_id: unknown }
      ? CompanyExport
      : DataJob;

/** Paths that answer a job. */
export type JobPathOf = {
  [P in PathOf<'GET'>]: AnswerOf<'GET', P> extends UploadJob | KnowledgeJob | DataJob | CompanyExport ? P : never;
}[PathOf<'GET'>];

export interface WaitOptions<J> {
  /** Called with the current job each time the job was read. */
  onProgress?: ((job: J) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Statuses of running jobs. A job that waits for a person counts as finished: somebody has to confirm it. */
const RUNNING_STATUSES = ['queued', 'analisando', 'inserting', 'running'];

export const isRunning = (job: unknown): boolean =>
  RUNNING_STATUSES.includes((Object(job) as { status: string }).status);

/** Seconds for which the API may delay its answer until the version of a job differs from the known version. */
const LONG_POLL_SECONDS = 20;
/** Pause between two reads of a job (ms); it grows for jobs without versions. */
const PAUSE_MS = 300;
const MAX_PAUSE_MS = 5_000;

/** Next read of a job, and the pause before it (ms). */
export interface JobRead {
  pauseMs: number;
  input: { query?: { wait: number }; ifNoneMatch?: string };
}

/** Plans the next read of a job. `version` is the version in the previous answer, if it has one. */
export const planNextRead = (version: string | undefined, pauseMs: number): JobRead =>
  version === undefined
    ? { pauseMs: Math.min(Math.max(PAUSE_MS, pauseMs * 1.5), MAX_PAUSE_MS), input: {} }
    : { pauseMs: PAUSE_MS, input: { query: { wait: LONG_POLL_SECONDS }, ifNoneMatch: version } };

const KNOWLEDGE_PATH = '/api/v1/domain-knowledge';
const KNOWLEDGE_JOB_PATHS: Record<KnowledgeJob['type'], string> = {
  enrichment: `${KNOWLEDGE_PATH}/jobs/{id}`,
  concept_generation: `${KNOWLEDGE_PATH}/concepts/generation/jobs/{id}`,
  ontology_generation: `${KNOWLEDGE_PATH}/ontology/generation/jobs/{id}`,
};

/** Returns the path that answers a job, and its parameters. */
export function findJobPath(job: Job): [path: string, params: Record<string, string>] {
  if ('export_id' in job) return ['/v1/company/exports/{export_id}', { export_id: job.export_id }];
  if ('job_id' in job) return ['/data/jobs/{job_id}', { job_id: job.job_id }];
  if ('files' in job) return ['/v1/managed-tables/upload-jobs/{jobId}', { jobId: job._id }];
  return [KNOWLEDGE_JOB_PATHS[job.type], { id: job._id }];
}
