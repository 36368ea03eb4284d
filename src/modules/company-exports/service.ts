import type { CompanyContext } from '../../context.ts';
import { commit, openControlDb } from '../../db/client.ts';
import { RESUME_AFTER_MS } from '../../db/job-leases.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { exportNotFound } from './failures.ts';
import {
  type CompanyExport,
  insertExport,
  markRequestedByOperator,
  selectExport,
  selectExportVersions,
  selectUnfinishedExport,
} from './store.ts';

export type { CompanyExport };

/** The time for which an ended export is kept, with its archive. Milliseconds. */
export const EXPORT_RETENTION_MS = DAY_MS;

/**
 * Starts an export of the company in the background, or returns the unfinished one, whoever requested it, as its content is the
 * same. An export that the operator has requested, too, continues while the company is suspended.
 */
export async function startExport(
  ctx: CompanyContext,
  { forOperator }: { forOperator: boolean },
): Promise<CompanyExport> {
  const { companyId } = ctx.actor;
  const now = ctx.now();
  const record: CompanyExport = {
    id: ctx.newId(),
    companyId,
    forOperator,
    status: 'queued',
    attempt: 0,
    tries: 0,
    checkpoint: null,
    dueAt: now + RESUME_AFTER_MS,
    bytes: null,
    error: null,
    expiresAt: null,
    createdAt: now,
    updatedAt: now,
  };
  const {
    underWay: [found],
  } = await commit(ctx.db, {
    inserted: insertExport(ctx.db, record),
    joined: forOperator ? [markRequestedByOperator(ctx.db, companyId)] : [],
    underWay: selectUnfinishedExport(ctx.db, companyId),
  });
  const unfinishedExport = found ?? record;
  // A message about one that is being worked on does nothing.
  await ctx.jobs.send({ type: 'company.export', companyId, exportId: unfinishedExport.id });
  return unfinishedExport;
}

/** Returns an export of the company. @throws exportNotFound, also for an expired one */
export async function getExport(ctx: CompanyContext, id: string): Promise<CompanyExport> {
  const [found] = ID_PATTERN.test(id) ? await selectExport(ctx.db, ctx.actor.companyId, id) : [];
  if (!found || (found.expiresAt ?? Number.POSITIVE_INFINITY) <= ctx.now()) throw exportNotFound();
  return found;
}

/** Returns a version for each of these exports that differs after each change, read from the primary database. */
export async function readExportVersions(
  { bindings, actor: { companyId } }: CompanyContext,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await selectExportVersions(openControlDb(bindings.CONTROL_DB), companyId, ids);
  return new Map(rows.map(({ id, stamp }) => [id, stamp]));
}
