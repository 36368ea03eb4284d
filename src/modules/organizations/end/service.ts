import { commitAccess, makeAffectedEverybody } from '../../../access/commit-access.ts';
import type { Context } from '../../../context.ts';
import { DAY_MS } from '../../../kernel/clock.ts';
import { formatIsoTimestamp } from '../../../kernel/fields.ts';
import type { Company } from '../../companies/service.ts';
import { signStatement } from '../../sign-in/service.ts';
import { certificateNotFound, erasureBegun, organizationDeleting, organizationNotDeleting } from '../failures.ts';
import { getOrganization } from '../service.ts';
import * as store from './store.ts';

export { eraseDueCompanies } from './erase.ts';

/**
 * The time after the erasure for which backups of the platform may hold data: D1's Time Travel and the history of Durable
 * Objects.
 */
const BACKUP_RETENTION_MS = 30 * DAY_MS;

/** The certificate of a company's erasure, which is all that remains of it. Times as in the API. */
export interface ErasureCertificate {
  organization_id: string;
  requested_at: string;
  completed_at: string;
  stores: { store: string; removed: number; at: string }[];
  backups_until: string;
}

/**
 * Suspends a company at once and schedules its erasure after a number of days. If called again, the earlier time counts. @returns
 * when its erasure begins, in milliseconds
 */
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
  if (company) return company;
  throw (await getOrganization(ctx, id)).deletesAt === null ? organizationNotDeleting() : erasureBegun();
}

/** Returns the signed certificate of an erased company: a JWS. */
export async function readCertificate(ctx: Context, id: string): Promise<string> {
  const [end] = await store.selectErasure(ctx.db, id);
  if (!end || end.completedAt === null) throw certificateNotFound();
  const { requestedAt, completedAt, stores } = end;
  const certificate: ErasureCertificate = {
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
