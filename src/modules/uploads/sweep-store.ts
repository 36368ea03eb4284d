import type { TenantTx } from '../../tenant-sql/client.ts';
import type { JobStatus } from './job.ts';
import { ACTIVE } from './store.ts';

/** What the scheduled run needs to know of a job. Moments in milliseconds. */
export interface JobGlance {
  id: string;
  status: JobStatus;
  step: number;
  updatedAt: number;
}

const GLANCE = `id, status, step, (extract(epoch FROM updated_at) * 1000)::bigint AS updated_at`;

interface GlanceRow {
  id: string;
  status: JobStatus;
  step: number;
  updated_at: string;
}

const glanceOf = (row: GlanceRow): JobGlance => ({
  id: row.id,
  status: row.status,
  step: row.step,
  updatedAt: Number(row.updated_at),
});

/** What counts as silent: a job that waits for its confirm and did so at that moment, any other at that. ISO 8601. */
export interface SilentSince {
  waiting: string;
  working: string;
}

const MOMENT = `CASE status WHEN 'waiting_confirm' THEN $2::timestamptz ELSE $3::timestamptz END`;

/** Jobs that have not ended and fell silent, the longest silent first. */
export async function glanceAtSilent(
  tx: TenantTx,
  companyId: string,
  since: SilentSince,
  limit: number,
): Promise<JobGlance[]> {
  const rows = await tx.query<GlanceRow>(
    `SELECT ${GLANCE} FROM console.upload_jobs WHERE company_id = $1 AND ${ACTIVE} AND updated_at <= ${MOMENT}
     ORDER BY updated_at LIMIT $4`,
    [companyId, since.waiting, since.working, limit],
  );
  return rows.map(glanceOf);
}

/** How long until the next job counts as silent, in milliseconds from `since` on; null when none has not ended. */
export async function untilNextSilent(tx: TenantTx, companyId: string, since: SilentSince): Promise<number | null> {
  const [row] = await tx.query<{ left: string | null }>(
    `SELECT (extract(epoch FROM min(updated_at - ${MOMENT})) * 1000)::bigint AS left
     FROM console.upload_jobs WHERE company_id = $1 AND ${ACTIVE}`,
    [companyId, since.waiting, since.working],
  );
  return row?.left ? Number(row.left) : null;
}

/** The jobs of these ids, as far as they exist. */
export async function glanceAt(tx: TenantTx, companyId: string, ids: string[]): Promise<JobGlance[]> {
  const rows = await tx.query<GlanceRow>(
    `SELECT ${GLANCE} FROM console.upload_jobs WHERE company_id = $1 AND id = ANY($2::text[])`,
    [companyId, ids],
  );
  return rows.map(glanceOf);
}

/** Deletes up to `limit` jobs that ended at or before `until` (ISO 8601), and says when the next one did, in milliseconds. */
export async function deleteEnded(
  tx: TenantTx,
  companyId: string,
  until: string,
  limit: number,
): Promise<{ deleted: number; oldest: number | null }> {
  const ended = `company_id = $1 AND NOT (${ACTIVE})`;
  const deleted = await tx.execute(
    `DELETE FROM console.upload_jobs WHERE id IN (
       SELECT id FROM console.upload_jobs WHERE ${ended} AND updated_at <= $2 ORDER BY updated_at LIMIT $3)`,
    [companyId, until, limit],
  );
  const [row] = await tx.query<{ oldest: string | null }>(
    `SELECT (extract(epoch FROM min(updated_at)) * 1000)::bigint AS oldest FROM console.upload_jobs WHERE ${ended}`,
    [companyId],
  );
  return { deleted, oldest: row?.oldest ? Number(row.oldest) : null };
}

/**
 * Names of tables in `console` that hold rows of a load, but of no job that has not ended. The state is looked into as
 * text: what stands elsewhere in it (half a character of somebody's file) may be no JSON to Postgres.
 */
export async function orphanedStagings(tx: TenantTx): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = 'console' AND tablename ~ '^[0-9a-f]{24}$'
       AND NOT EXISTS (SELECT FROM console.upload_jobs AS job WHERE ${ACTIVE} AND position('"table_id":"' || tablename || '"' IN job.state::text) > 0)`,
  );
  return rows.map(({ name }) => name);
}
