import type { PrincipalContext } from '../../context.ts';
import type { Page } from '../../db/page.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { Delivery, DeliveryStatus } from '../../objects/webhook-sender.ts';
import { toDeliveryInput } from './deliver.ts';
import { AUDIT_RECORDS_TYPE, findEventType } from './event-types.ts';
import { deliveryNotFound, endpointNotActive, noAuditStream } from './failures.ts';
import { callSender, type Endpoint, getEndpoint } from './service.ts';

/** Lists a page of the deliveries to an endpoint in the last 30 days, the newest first. */
export async function listDeliveries(
  ctx: PrincipalContext,
  endpointId: string,
  filter: { status?: DeliveryStatus | undefined; eventType?: string | undefined },
  pageRequest: { page: number; perPage: number },
): Promise<Page<Delivery>> {
  await getEndpoint(ctx, endpointId);
  const { total, records } = await callSender(
    ctx,
    endpointId,
    async (sender) => await sender.list(filter, pageRequest),
  );
  return { total, records: records as Delivery[], ...pageRequest };
}

export async function getDelivery(
  ctx: PrincipalContext,
  endpointId: string,
  id: string,
): Promise<Delivery & { body: string }> {
  await getEndpoint(ctx, endpointId);
  const foundDelivery = ID_PATTERN.test(id)
    ? await callSender(ctx, endpointId, async (sender) => await sender.get(id))
    : null;
  if (!foundDelivery) throw deliveryNotFound();
  return foundDelivery as Delivery & { body: string };
}

/** Sends a delivery again, whether it succeeded, failed or is pending. */
export async function resendDelivery(ctx: PrincipalContext, endpointId: string, id: string): Promise<void> {
  await requireActiveEndpoint(ctx, endpointId);
  const isFound = ID_PATTERN.test(id) && (await callSender(ctx, endpointId, async (sender) => await sender.resend(id)));
  if (!isFound) throw deliveryNotFound();
}

/** Sends the deliveries again that have failed since a time (ms). @returns how many */
export async function resendFailedDeliveries(
  ctx: PrincipalContext,
  endpointId: string,
  failedSince: number,
): Promise<number> {
  await requireActiveEndpoint(ctx, endpointId);
  return callSender(ctx, endpointId, async (sender) => await sender.resendFailed(failedSince));
}

/** Sends an example event to an endpoint. @returns the id of the delivery */
export async function sendTestEvent(ctx: PrincipalContext, endpointId: string, type: string): Promise<string> {
  const { companyId } = await requireActiveEndpoint(ctx, endpointId);
  const example = { id: ctx.newId(), type, at: ctx.now(), data: findEventType(type).example };
  const [id] = await callSender(ctx, endpointId, async (sender) =>
    sender.take({ companyId, endpointId }, [toDeliveryInput(example)]),
  );
  return id as string;
}

/** Queues the stored audit records between two times (ms); they are sent after all other events, the newest first. */
export async function queueBackfill(
  ctx: PrincipalContext,
  endpointId: string,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const { companyId, eventTypes } = await requireActiveEndpoint(ctx, endpointId);
  if (!eventTypes.includes(AUDIT_RECORDS_TYPE)) throw noAuditStream();
  await ctx.jobs.send({ type: 'webhooks.backfill', companyId, endpointId, backfillId: ctx.newId(), from, to });
}

async function requireActiveEndpoint(ctx: PrincipalContext, id: string): Promise<Endpoint> {
  const endpoint = await getEndpoint(ctx, id);
  if (endpoint.status !== 'active') throw endpointNotActive();
  return endpoint;
}
