import { requireAction } from '../../access/requirements.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { commit, openControlDb, readOnce, readTogether } from '../../db/client.ts';
import { RESUME_AFTER_MS } from '../../db/job-leases.ts';
import type { DataFormat } from '../../db/schema/data-jobs.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { makeResourceArn } from '../../permissions/arn.ts';
import { selectCompany } from '../companies/service.ts';
import { chooseValues, readPublishedVisualization, requireEndpointNotDenied } from './execute.ts';
import { jobNotFound, tooManyJobs } from './failures.ts';
import { type DataJob, insertJob, selectJob, selectJobVersions } from './job-store.ts';

/** The maximum number of unfinished jobs of a company. */
const MAX_UNFINISHED_JOBS = 20;

/** The time for which a job and its result are kept. Milliseconds. */
export const JOB_RETENTION_MS = DAY_MS;

/** Queues a job that writes the result of an endpoint in the background. */
export async function createJob(
  ctx: PrincipalContext,
  slug: string,
  { parameters, format }: { parameters: Record<string, unknown>; format: DataFormat },
): Promise<DataJob> {
  const { endpoint, visualization } = await readPublishedVisualization(ctx, slug);
  const now = ctx.now();
  const record: DataJob = {
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    endpointId: endpoint.id,
    slug: endpoint.slug,
    visualizationId: visualization.id,
    format,
    values: [...chooseValues(visualization, parameters)],
    status: 'queued',
    attempt: 0,
    dueAt: now + RESUME_AFTER_MS,
    rowCount: null,
    bytes: null,
    pieces: null,
    error: null,
    createdAt: now,
    updatedAt: now,
  };
  const { inserted } = await commit(ctx.db, { inserted: insertJob(ctx.db, record, MAX_UNFINISHED_JOBS) });
  if (inserted.length === 0) throw tooManyJobs();
  await ctx.jobs.send({ type: 'data.write', companyId: record.companyId, jobId: record.id });
  return record;
}

const readJob = ({ db, actor: { companyId } }: PrincipalContext, id: string) =>
  readOnce(db, `job ${id}`, () => selectJob(db, companyId, id));

/** Returns the ARN of a job's endpoint; the ARN of all endpoints where there is no such job. */
export async function readJobArn(ctx: PrincipalContext, id: string): Promise<string> {
  const [job] = await readJob(ctx, id);
  return makeResourceArn('data_api:get_job', ctx.actor.companyId, job?.endpointId);
}

/** Returns a job, for a caller who may execute its endpoint, as the job's result is the response of an execution. */
export async function getJob(ctx: PrincipalContext, id: string): Promise<DataJob> {
  const [job] = ID_PATTERN.test(id) ? await readJob(ctx, id) : [];
  if (!job) throw jobNotFound();
  requireAction(ctx.actor, 'data_api:execute', job.endpointId);
  requireEndpointNotDenied(ctx, job);
  if (!isJobReadable(ctx, job)) throw jobNotFound();
  return job;
}

/** Returns a version for each of these jobs that differs after each change, read from the primary database. */
export async function readJobVersions(
  { bindings, actor: { companyId } }: CompanyContext,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await selectJobVersions(openControlDb(bindings.CONTROL_DB), companyId, ids);
  return new Map(rows.map(({ id, stamp }) => [id, stamp]));
}

/** Returns the job that a link opens, for any holder; from the primary database, as links are opened right after creation. */
export async function getLinkedJob(ctx: CompanyContext, id: string): Promise<DataJob> {
  const { companyId } = ctx.actor;
  const db = openControlDb(ctx.bindings.CONTROL_DB);
  const {
    company,
    job: [job],
  } = await readTogether(db, { company: selectCompany(db, companyId), job: selectJob(db, companyId, id) });
  for (const companyRow of company) requireActiveCompany(companyRow);
  if (job?.status !== 'succeeded' || !isJobReadable(ctx, job)) throw jobNotFound();
  return job;
}

const isJobReadable = ({ now }: CompanyContext, job: DataJob & { isPublished: boolean }): boolean =>
  job.isPublished && job.createdAt + JOB_RETENTION_MS > now();
