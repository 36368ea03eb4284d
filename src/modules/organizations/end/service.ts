import { commitAccess, makeAffectedEverybody } from '../../../access/commit-access.ts';
import type { Context } from '../../../context.ts';
import { DAY_MS } from '../../../kernel/clock.ts';
import { formatIsoTimestamp } from '../../../kernel/fields.ts';
import type { Company } from '../../companies/service.ts';
import { signStatement } from '../../sign-in/service.ts';
import { resumeSenders } from '../../webhooks/service.ts';
import { certificateNotFound, erasureBegun, organizationDeleting, organizationNotDeleting } from '../failures.ts';
import { getOrganization } from '../service.ts';
import * as store from './store.ts';

export { eraseDueCompanies } from './erase.ts';

/** How long backups of the platform may hold data after the erasure: D1's Time Travel, and Durable Objects' history. */
const BACKUP_RETENTION_MS = 30 * DAY_MS;

/** Suspends a company and schedules its erasure: of several times the earliest counts. @returns when it begins, in milliseconds */
export async function endOrganization(ctx: Context, id: string, afterDays: number): Promise<number> {
  const organizationBefore = await getOrganization(ctx, id);
  const now = ctx.now();
  const { ending } = await commitAccess(ctx, makeAffectedEverybody(organizationBefore.id), {
    ending: store.scheduleDeletion(ctx.db, organizationBefore.id, now + afterDays * DAY_MS, now),
  });
  const [company] = ending;
  if (company?.deletesAt) return company.deletesAt;
  throw organizationDeleting((await getOrganization(ctx, id)).deletesAt ?? undefined);
}

/** Restores a company that is scheduled for deletion, if its erasure has not started. */
export async function restoreOrganization(ctx: Context, id: string): Promise<Company> {
  const organizationBefore = await getOrganization(ctx, id);
  const { restored } = await commitAccess(ctx, makeAffectedEverybody(organizationBefore.id), {
    restored: store.cancelDeletion(ctx.db, organizationBefore.id, ctx.now()),
  });
  const [company] = restored;
  if (company) {
    await resumeSenders(ctx, company.id);
    return company;
  }
  throw (await getOrganization(ctx, id)).deletesAt === null ? organizationNotDeleting() : erasureBegun();
}

/** Returns the signed certificate of an erased company, which is all that remains of it: a JWS. */
export async function readCertificate(ctx: Context, id: string): Promise<string> {
  const [end] = await store.selectErasure(ctx.db, id);
  if (!end || end.completedAt === null) throw certificateNotFound();
  const { requestedAt, completedAt, stores } = end;
  const certificate = {
    organization_id: id,
    requested_at: formatIsoTimestamp(requestedAt),
    completed_at: formatIsoTimestamp(completedAt),
    stores: Object.entries(stores).map(([name, { removed, at }]) => ({
      store: name,
      removed,
      at: formatIsoTimestamp(at ?? completedAt),
    })),
    backups_until: formatIsoTimestamp(completedAt + BACKUP_RETENTION_MS),
  };
  return signStatement(ctx, 'erasure-certificate', certificate);
}
