import type { AnswerOf, PathOf } from './client.ts';
import type { CompanyExport, DataJob, KnowledgeJob, UploadJob } from './generated/routes.ts';

/** A job as the API answers it, or the id of a job of the Data API or of an export of the company. */
export type Job = UploadJob | KnowledgeJob | { job_id: string } | { export_id: string };

/** The job that is answered for one: that of the Data API, and an export, are shown by more than their ids. */
export type JobOf<J extends Job> = J extends { files: unknown }
  ? UploadJob
  : J extends { request_id: unknown }
    ? KnowledgeJob
    : J extends { export_id: unknown }
      ? CompanyExport
      : DataJob;

/** The paths that show a job. */
export type JobPathOf = {
  [P in PathOf<'GET'>]: AnswerOf<'GET', P> extends UploadJob | KnowledgeJob | DataJob | CompanyExport ? P : never;
}[PathOf<'GET'>];

export interface WaitOptions<J> {
  /** Called with the job as it was found, each time that it was looked at. */
  onProgress?: ((job: J) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** The statuses of jobs that run. One that waits for a person is not waited for: somebody has to confirm it. */
const RUNS = ['queued', 'analisando', 'inserting', 'running'];

export const runs = (job: unknown): boolean => RUNS.includes((Object(job) as { status: string }).status);

/** The time that the API may keep its answer until a job has another version than the one that is known. Seconds. */
const WAIT_S = 20;
/** The pause between two looks at a job (ms); longer each time where jobs have no versions. */
const PAUSE_MS = 300;
const MAX_PAUSE_MS = 5_000;

/** A look at a job, and the pause since the look before. */
export interface Look {
  pause: number;
  input: { query?: { wait: number }; ifNoneMatch?: string };
}

/** `version` is that of the answer before, if it has one. */
export const nextLook = (version: string | undefined, pause: number): Look =>
  version === undefined
    ? { pause: Math.min(Math.max(PAUSE_MS, pause * 1.5), MAX_PAUSE_MS), input: {} }
    : { pause: PAUSE_MS, input: { query: { wait: WAIT_S }, ifNoneMatch: version } };

const KNOWLEDGE_PATH = '/api/v1/domain-knowledge';
const OF_KNOWLEDGE: Record<KnowledgeJob['type'], string> = {
  enrichment: `${KNOWLEDGE_PATH}/jobs/{id}`,
  concept_generation: `${KNOWLEDGE_PATH}/concepts/generation/jobs/{id}`,
  ontology_generation: `${KNOWLEDGE_PATH}/ontology/generation/jobs/{id}`,
};

/** The path that shows a job, and its parameters. */
export function jobPath(job: Job): [path: string, params: Record<string, string>] {
  if ('export_id' in job) return ['/v1/company/exports/{export_id}', { export_id: job.export_id }];
  if ('job_id' in job) return ['/data/jobs/{job_id}', { job_id: job.job_id }];
  if ('files' in job) return ['/v1/managed-tables/upload-jobs/{jobId}', { jobId: job._id }];
  return [OF_KNOWLEDGE[job.type], { id: job._id }];
}
