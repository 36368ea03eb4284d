import { selectAdministrators } from '../../access/administrators.ts';
import type { CompanyContext, Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/clock.ts';
import {
  composeWebhookDisabledMail,
  type MailRequest,
  prepareMails,
  readMailedCompany,
  readRecipient,
  type SendingContext,
} from '../mails/service.ts';
import { deleteEventsWithoutEndpoint, selectCompaniesWithPendingEvents, selectEndpoint } from './store.ts';

export { collectEvents, deliverEvents } from './deliver.ts';
export { backfillAudit, streamLog } from './stream.ts';

/** The age at which the scheduled run delivers an event that was not delivered by the request that caused it. */
const UNDELIVERED_AFTER_MS = MINUTE_MS;
/** The maximum number of companies per scheduled run. */
const MAX_COMPANIES_PER_RUN = 100;

/** Queues the delivery of pending events in all active companies. For the scheduled run. */
export async function queueWaitingEvents(ctx: Context): Promise<void> {
  const createdBefore = ctx.now() - UNDELIVERED_AFTER_MS;
  const waitingCompanies = await selectCompaniesWithPendingEvents(ctx.db, createdBefore, MAX_COMPANIES_PER_RUN);
  await ctx.jobs.sendAll(waitingCompanies.map(({ companyId }) => ({ type: 'webhooks.tell', companyId }) as const));
  await deleteEventsWithoutEndpoint(ctx.db, ctx.now() - DAY_MS).run();
}

/** Mails the owner and the administrators that an endpoint was disabled. */
export async function mailEndpointDisabled(ctx: CompanyContext, endpointId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const [endpoint] = await selectEndpoint(ctx.db, companyId, endpointId);
  if (endpoint?.status !== 'disabled') return;
  const administrators = await selectAdministrators(ctx.db, companyId);
  const requests = administrators.map(({ email }) => ({
    kind: 'webhook_disabled' as const,
    companyId,
    email,
    about: endpointId,
  }));
  const mails = prepareMails(ctx, requests, mailWebhookDisabled);
  if (requests.length === 0) return;
  await commit(ctx.db, { requested: mails.statements });
  mails.send();
}

/** Mails an administrator that an endpoint is disabled, and why. */
export async function mailWebhookDisabled(
  ctx: SendingContext,
  { companyId, email, about }: MailRequest<'webhook_disabled'>,
): Promise<void> {
  const { user, company } = await readRecipient(ctx, { companyId, email });
  const [endpoint] = await selectEndpoint(ctx.db, companyId, about ?? '');
  if (!user || !company || !endpoint?.disabledReason) return;
  await ctx.sendToMailService(
    companyId,
    composeWebhookDisabledMail({
      to: email,
      name: user.name,
      company: await readMailedCompany(ctx, company),
      host: new URL(endpoint.url).host,
      reason: endpoint.disabledReason,
    }),
  );
}
