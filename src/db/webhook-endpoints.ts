import { and, eq } from 'drizzle-orm';
import type { ControlDb } from './client.ts';
import { companies } from './schema/companies.ts';
import { type DISABLED_REASONS, webhookEndpoints } from './schema/webhooks.ts';
import { matchesId } from './statements.ts';

/** Selects the fields of an endpoint that sending needs, and the time of its company's suspension. */
export const selectSendingEndpoint = (db: ControlDb, companyId: string, id: string) =>
  db
    .select({
      url: webhookEndpoints.url,
      status: webhookEndpoints.status,
      secrets: webhookEndpoints.secrets,
      suspendedAt: companies.suspendedAt,
    })
    .from(webhookEndpoints)
    .innerJoin(companies, eq(companies.id, webhookEndpoints.companyId))
    .where(matchesId(webhookEndpoints, companyId, id));

/** Disables an endpoint if it is active and still has this address. A trigger mails the administrators. */
export const disableEndpoint = (
  db: ControlDb,
  { companyId, endpointId, url }: { companyId: string; endpointId: string; url: string },
  reason: (typeof DISABLED_REASONS)[number],
  now: number,
) =>
  db
    .update(webhookEndpoints)
    .set({ status: 'disabled', disabledReason: reason, updatedAt: now })
    .where(
      and(
        matchesId(webhookEndpoints, companyId, endpointId),
        eq(webhookEndpoints.status, 'active'),
        eq(webhookEndpoints.url, url),
      ),
    )
    .run();
