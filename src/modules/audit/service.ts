import type { Context, PrincipalContext } from '../../context.ts';
import { openAuditDb } from '../../db/audit.ts';
import type { Page } from '../../db/page.ts';
import { auditEvents } from '../../db/schema/audit/audit-records.ts';
import type { AuditRecord } from '../../kernel/audit-record.ts';
import { archiveOld } from './archive.ts';
import { type AuditEvent, type AuditFilter, insertRecords, readEvents } from './store.ts';

export type { AuditEvent, AuditFilter };
export { archiveOld };

/** Stores records in one statement; those that are there already are left as they are. */
export async function keepAuditRecords(database: D1Database, records: AuditRecord[]): Promise<void> {
  if (records.length > 0) await insertRecords(openAuditDb(database), records);
}

/** A page of the requests of the caller's company, the newest first. */
export async function listAuditEvents(
  ctx: PrincipalContext,
  filter: AuditFilter,
  page: number,
  perPage: number,
): Promise<Page<AuditEvent & { companyId: string }>> {
  const { companyId } = ctx.actor;
  const found = await readEvents(openAuditDb(ctx.bindings.AUDIT_DB), companyId, filter, page, perPage);
  return { ...found, records: found.records.map((event) => ({ ...event, companyId })) };
}

/** The scheduled run's part: moves records that are older than is kept to R2. */
export const archiveOldRecords = (ctx: Context): Promise<number> => archiveOld(ctx, auditEvents, 'audit-events');
