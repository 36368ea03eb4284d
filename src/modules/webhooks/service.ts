import { findListDenials } from '../../access/denials.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import type { Page } from '../../db/page.ts';
import type { SigningSecret } from '../../db/schema/webhooks.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { findUrlProblem } from '../../kernel/public-address.ts';
import type { LogKind } from '../../logs/log.ts';
import { makeSecretContext, type WebhookSender } from '../../objects/webhook-sender.ts';
import { encrypt, getNewestPrefix, reencrypt } from '../../platform/cipher.ts';
import { logError } from '../../platform/log.ts';
import { callObject } from '../../platform/objects.ts';
import { createWebhookSecret } from '../../platform/webhooks.ts';
import { AUDIT_RECORDS_TYPE, isShareEventType } from './event-types.ts';
import { endpointNotFound, tooManyEndpoints } from './failures.ts';
import {
  deleteEndpoint as deleteRow,
  type Endpoint,
  type EndpointChanges,
  insertEndpoint,
  readEndpoints,
  replaceSecrets,
  selectEndpoint,
  selectEndpointsUnderOlderKey,
  selectSubscribedEndpoints,
  updateEndpoint,
} from './store.ts';

export type { Endpoint };

/** The maximum number of endpoints of a company. */
const MAX_ENDPOINTS = 20;
/** The time for which a replaced secret still signs deliveries, beside the new one. */
const FORMER_SECRET_LIFETIME_MS = DAY_MS;
/** The maximum number of secrets with which an endpoint's deliveries are signed; beyond it the oldest are dropped. */
const MAX_SECRETS = 10;

/** The fields of an endpoint that people set. */
export type EndpointInput = Pick<Endpoint, 'url' | 'description' | 'eventTypes' | 'status'>;

export const listEndpoints = (
  ctx: PrincipalContext,
  pageRequest: { page: number; perPage: number },
): Promise<Page<Endpoint>> =>
  readEndpoints(ctx.db, ctx.actor.companyId, findListDenials(ctx.actor, 'webhook_endpoint'), {
    ...pageRequest,
    descending: true,
  });

export async function getEndpoint(ctx: PrincipalContext, id: string): Promise<Endpoint> {
  const [endpoint] = await selectEndpoint(ctx.db, ctx.actor.companyId, id);
  if (!endpoint) throw endpointNotFound();
  return endpoint;
}

/** Creates an endpoint. The secret is returned only here. */
export async function createEndpoint(
  ctx: PrincipalContext,
  input: EndpointInput,
): Promise<{ endpoint: Endpoint; secret: string }> {
  requireAllowedUrl(ctx, input.url);
  const now = ctx.now();
  const id = ctx.newId();
  const secret = createWebhookSecret();
  const endpoint: Endpoint = {
    ...input,
    id,
    companyId: ctx.actor.companyId,
    disabledReason: null,
    // Events from before its creation may not be handed out yet: they are none of its own.
    pauses: [{ from: 0, to: input.status === 'active' ? now : null }],
    secrets: [await encryptSecret(ctx, id, secret)],
    createdAt: now,
    updatedAt: now,
  };
  await followLog(ctx, endpoint);
  const { made } = await commit(ctx.db, { made: insertEndpoint(ctx.db, endpoint, MAX_ENDPOINTS) });
  if (made.length === 0) throw tooManyEndpoints(MAX_ENDPOINTS);
  await followLog(ctx, endpoint);
  return { endpoint, secret };
}

/** Changes the fields that are given. Reactivating an endpoint resets its count of failures. */
export async function changeEndpoint(
  ctx: PrincipalContext,
  id: string,
  input: Partial<EndpointInput>,
): Promise<Endpoint> {
  if (input.url !== undefined) requireAllowedUrl(ctx, input.url);
  const currentEndpoint = await getEndpoint(ctx, id);
  const { status, ...rest } = input;
  if (status === 'disabled' && currentEndpoint.status !== 'disabled') {
    throw invalidInput([{ field: 'status', message: 'must be active or paused' }]);
  }
  const isStatusSet = status !== undefined && status !== 'disabled';
  const changes: EndpointChanges = { ...rest, ...(isStatusSet && { status, disabledReason: null }) };
  await followLog(ctx, { ...currentEndpoint, ...changes });
  const { former, updated } = await commit(ctx.db, {
    // Read again: the sender may have disabled the endpoint meanwhile.
    former: selectEndpoint(ctx.db, ctx.actor.companyId, id),
    updated: updateEndpoint(ctx.db, ctx.actor.companyId, id, changes, ctx.now()),
  });
  const [endpoint] = updated;
  if (!endpoint) throw endpointNotFound();
  const isResumed = former[0]?.status !== 'active' && endpoint.status === 'active';
  await notifySender(ctx, id, (sender) => sender.changed({ resumed: isResumed }));
  await followLog(ctx, endpoint);
  return endpoint;
}

export async function removeEndpoint(ctx: PrincipalContext, id: string): Promise<void> {
  const { deleted } = await commit(ctx.db, { deleted: deleteRow(ctx.db, ctx.actor.companyId, id) });
  if (deleted.length === 0) throw endpointNotFound();
  await notifySender(ctx, id, (sender) => sender.end());
}

/** Creates a new secret. The former secret still signs deliveries for 24 hours. */
export async function rotateSecret(
  ctx: PrincipalContext,
  id: string,
): Promise<{ secret: string; formerExpiresAt: number }> {
  return retryOnConcurrentChange(async () => {
    const endpoint = await getEndpoint(ctx, id);
    const now = ctx.now();
    const secret = createWebhookSecret();
    const formerSecrets = endpoint.secrets.map(({ secret: text, until }) => ({
      secret: text,
      until: until ?? now + FORMER_SECRET_LIFETIME_MS,
    }));
    const newSecrets = [
      await encryptSecret(ctx, id, secret),
      ...formerSecrets.filter(({ until }) => until > now),
    ].slice(0, MAX_SECRETS);
    const { replaced } = await commit(ctx.db, { replaced: replaceSecrets(ctx.db, endpoint, newSecrets, now) });
    if (replaced.length === 0) return undefined;
    await notifySender(ctx, id, (sender) => sender.changed({ resumed: false }));
    return { secret, formerExpiresAt: now + FORMER_SECRET_LIFETIME_MS };
  });
}

const encryptSecret = async (ctx: Context, id: string, secret: string): Promise<SigningSecret> => ({
  secret: await encrypt(ctx.config.ENCRYPTION_KEYS, secret, makeSecretContext(id)),
  until: null,
});

function requireAllowedUrl(ctx: Context, url: string): void {
  const problem = findUrlProblem(url, ctx.config.ALLOW_PRIVATE_ISSUERS);
  if (problem !== null) throw invalidInput([{ field: 'url', message: problem }]);
}

/** Calls the `WebhookSender` object of an endpoint. */
export const callSender = <T>(
  { bindings }: Pick<Context, 'bindings'>,
  endpointId: string,
  call: (sender: DurableObjectStub<WebhookSender>) => Promise<T>,
): Promise<T> => callObject(bindings.WEBHOOK_SENDER, endpointId, call);

/** Notifies the sender of a committed change. It also checks before it sends: nothing is lost if it is unreachable. */
async function notifySender(
  ctx: Context,
  id: string,
  notify: (sender: DurableObjectStub<WebhookSender>) => Promise<void>,
): Promise<void> {
  await callSender(ctx, id, notify).catch((error) => logError('webhook_sender_not_told', error, { endpoint_id: id }));
}

/**
 * Restarts the count of failures of a company's endpoints at the end of its suspension: a sender with nothing to send did not
 * notice the suspension.
 */
export async function resumeSenders(ctx: Context, companyId: string): Promise<void> {
  const endpoints = await selectSubscribedEndpoints(ctx.db, companyId);
  await Promise.all(endpoints.map(({ id }) => notifySender(ctx, id, (sender) => sender.changed({ resumed: true }))));
}

/** Lists the kinds of log records that an endpoint with these event types gets. */
export const listLogKinds = (eventTypes: readonly string[]): LogKind[] => [
  ...(eventTypes.includes(AUDIT_RECORDS_TYPE) ? (['audit'] as const) : []),
  ...(eventTypes.some((type) => type === '*' || isShareEventType(type)) ? (['share'] as const) : []),
];

/**
 * Makes the company's log report new records that the endpoint subscribes to. Called before the commit, so that the log reports
 * to every stored endpoint, and again after the commit, as a concurrent run that did not yet see the endpoint may have stopped
 * the reports.
 */
async function followLog(ctx: PrincipalContext, { eventTypes, status, companyId }: Endpoint): Promise<void> {
  const kinds = listLogKinds(eventTypes);
  if (status !== 'active' || kinds.length === 0) return;
  await callObject(ctx.bindings.COMPANY_LOG, companyId, async (log) => {
    await log.follow(companyId, kinds);
  });
}

/** The number of endpoints whose secrets one scheduled run encrypts again. */
const BATCH_SIZE = 100;

/** Encrypts secrets again under the newest key. For the scheduled run. @returns of how many endpoints */
export async function reencryptWebhookSecrets(ctx: Context): Promise<number> {
  const keys = ctx.config.ENCRYPTION_KEYS;
  const outdatedEndpoints = await selectEndpointsUnderOlderKey(ctx.db, getNewestPrefix(keys), BATCH_SIZE);
  const replaceStatements = [];
  for (const endpoint of outdatedEndpoints) {
    const renewedSecrets = endpoint.secrets.map(async ({ secret, until }) => ({
      secret: await reencrypt(keys, secret, makeSecretContext(endpoint.id)),
      until,
    }));
    replaceStatements.push(replaceSecrets(ctx.db, endpoint, await Promise.all(renewedSecrets)));
  }
  if (replaceStatements.length > 0) await commit(ctx.db, { replaced: replaceStatements });
  return replaceStatements.length;
}
