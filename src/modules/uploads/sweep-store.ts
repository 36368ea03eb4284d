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

/** Jobs that have not ended, the longest silent first. */
export async function glanceAtActive(tx: TenantTx, companyId: string, limit: number): Promise<JobGlance[]> {
  const rows = await tx.query<GlanceRow>(
    `SELECT ${GLANCE} FROM console.upload_jobs WHERE company_id = $1 AND ${ACTIVE} ORDER BY updated_at LIMIT $2`,
    [companyId, limit],
  );
  return rows.map(glanceOf);
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

/** Names of tables in `console` that hold rows of a load, but of no job that has not ended. */
export async function orphanedStagings(tx: TenantTx): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = 'console' AND tablename ~ '^[0-9a-f]{24}$'
       AND NOT EXISTS (SELECT FROM console.upload_jobs AS job WHERE ${ACTIVE} AND job.state ->> 'table_id' = tablename)`,
  );
  return rows.map(({ name }) => name);
}
