import { and, eq } from 'drizzle-orm';
import type { ControlDb } from './client.ts';
import { companies } from './schema/companies.ts';
import { type DISABLED_REASONS, webhookEndpoints } from './schema/webhooks.ts';
import { byId } from './statements.ts';

/** An endpoint as far as sending needs it, and since when its company is suspended. */
export const selectEndpointToSendTo = (db: ControlDb, companyId: string, id: string) =>
  db
    .select({
      url: webhookEndpoints.url,
      status: webhookEndpoints.status,
      secrets: webhookEndpoints.secrets,
      suspendedAt: companies.suspendedAt,
    })
    .from(webhookEndpoints)
    .innerJoin(companies, eq(companies.id, webhookEndpoints.companyId))
    .where(byId(webhookEndpoints, companyId, id));

/** Disables an endpoint, unless it has another address by now, or does not send. A trigger has the administrators mailed. */
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
        byId(webhookEndpoints, companyId, endpointId),
        eq(webhookEndpoints.status, 'active'),
        eq(webhookEndpoints.url, url),
      ),
    )
    .run();
