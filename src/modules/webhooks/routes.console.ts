import { z } from 'zod';
import { concurrentChange } from '../../db/failures.ts';
import { accepted, created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { toBodyFields } from '../../http/wire.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { formatIsoTimestamp, isoMillisecondsSchema } from '../../kernel/fields.ts';
import { DELIVERY_STATUSES } from '../../objects/webhook-sender.ts';
import {
  getDelivery,
  listDeliveries,
  queueBackfill,
  resendDelivery,
  resendFailedDeliveries,
  sendTestEvent,
} from './deliveries.ts';
import { EVENT_TYPES } from './event-types.ts';
import { deliveryNotFound, endpointNotActive, endpointNotFound, noAuditStream, tooManyEndpoints } from './failures.ts';
import {
  changeEndpoint,
  createEndpoint,
  type EndpointInput,
  getEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
} from './service.ts';
import {
  createdEndpointView,
  deliveryView,
  deliveryWithBodyView,
  endpointChangesInput,
  endpointView,
  eventTypeNameField,
  eventTypeView,
  newEndpointInput,
  rotatedSecretView,
  viewDelivery,
  viewEndpoint,
  viewEventType,
} from './views.ts';

const UPDATE_ACCESS = { access: 'webhooks:update', only: 'administrators' } as const;

const timeRangeFields = {
  from: isoMillisecondsSchema.meta({ description: 'The earliest time, included.' }),
  to: isoMillisecondsSchema.meta({ description: 'The latest time, included.' }),
};

/** The response with all event types, which is always the same; cached once an isolate has built it. */
let eventTypesResponse: { records: z.input<typeof eventTypeView>[] } | undefined;

/** The routes of webhook endpoints, the URLs of a company's programs to which events are sent, and of their deliveries. */
export const consoleWebhookEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/webhook-event-types',
      access: 'webhooks:list',
      operationId: 'listWebhookEventTypes',
      summary: 'List the types of webhook events',
      description: 'All that webhook endpoints can be told, each with the schema of what is sent.',
      returns: ok(z.object({ records: z.array(eventTypeView) })),
      fails: [],
    },
    () => {
      eventTypesResponse ??= { records: EVENT_TYPES.map(viewEventType) };
      return eventTypesResponse;
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/webhook-endpoints',
      access: 'webhooks:list',
      operationId: 'listWebhookEndpoints',
      summary: 'List webhook endpoints',
      description: 'Newest first; a company has at most 20. Their secrets were shown when they were made.',
      query: makePageQuery('per_page'),
      returns: ok(makeListSchema(endpointView)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage } }) =>
      viewList(await listEndpoints(ctx, { page, perPage }), viewEndpoint),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/webhook-endpoints',
      access: 'webhooks:create',
      only: 'administrators',
      operationId: 'createWebhookEndpoint',
      summary: 'Create a webhook endpoint',
      description:
        'It is sent what happens from now on, signed as Standard Webhooks says: a POST of `{ type, timestamp, data }` with `webhook-id`, `webhook-timestamp` and `webhook-signature`. A 2xx within 15 seconds is delivered; 410 disables the endpoint; all else is tried again for three days. An event may come twice, under the same id, and in any order.',
      body: newEndpointInput,
      returns: created(createdEndpointView),
      fails: [tooManyEndpoints],
    },
    async ({ ctx, body }) => {
      const { endpoint: createdEndpoint, secret } = await createEndpoint(ctx, toBodyFields(body));
      return { ...viewEndpoint(createdEndpoint), secret };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/webhook-endpoints/{id}',
      access: 'webhooks:get',
      operationId: 'getWebhookEndpoint',
      summary: 'Get a webhook endpoint',
      description: 'Where it is, what it is told, and whether it was disabled.',
      returns: ok(endpointView),
      versionDeclaration: declareVersion(),
      fails: [endpointNotFound],
    },
    async ({ ctx, params }) => viewEndpoint(await getEndpoint(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/webhook-endpoints/{id}',
      ...UPDATE_ACCESS,
      operationId: 'updateWebhookEndpoint',
      summary: 'Update a webhook endpoint',
      description:
        'Changes only the fields that are sent. What waits for a further try goes to the new address; while it is paused nothing is sent.',
      body: endpointChangesInput,
      returns: ok(endpointView),
      fails: [endpointNotFound],
    },
    async ({ ctx, params, body }) =>
      viewEndpoint(await changeEndpoint(ctx, params.id, toBodyFields(body) as Partial<EndpointInput>)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/webhook-endpoints/{id}',
      access: 'webhooks:delete',
      only: 'administrators',
      operationId: 'deleteWebhookEndpoint',
      summary: 'Delete a webhook endpoint',
      description: 'With its deliveries; what waits for a further try is not sent.',
      returns: noContent,
      fails: [endpointNotFound],
    },
    ({ ctx, params }) => removeEndpoint(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/webhook-endpoints/{id}/rotate-secret',
      ...UPDATE_ACCESS,
      operationId: 'rotateWebhookSecret',
      summary: 'Rotate the secret of a webhook endpoint',
      description:
        'Requests are signed with the new secret and, for 24 hours, with the one before as well. Up to ten secrets sign at once: of more, the oldest stop.',
      returns: ok(rotatedSecretView),
      fails: [endpointNotFound, concurrentChange],
    },
    async ({ ctx, params }) => {
      const { secret, formerExpiresAt } = await rotateSecret(ctx, params.id);
      return { secret, former_until: formatIsoTimestamp(formerExpiresAt) };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/webhook-endpoints/{id}/deliveries',
      ...UPDATE_ACCESS,
      operationId: 'listWebhookDeliveries',
      summary: 'List the deliveries of a webhook endpoint',
      description: 'What it was sent in the last 30 days, and each try. Newest first.',
      query: makePageQuery('per_page').extend({
        status: z.enum(DELIVERY_STATUSES).optional(),
        event_type: eventTypeNameField.optional(),
      }),
      returns: ok(makeListSchema(deliveryView)),
      fails: [endpointNotFound],
    },
    async ({ ctx, params, query: { page, per_page: perPage, status, event_type: eventType } }) =>
      viewList(await listDeliveries(ctx, params.id, { status, eventType }, { page, perPage }), viewDelivery),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/webhook-endpoints/{id}/deliveries/{delivery_id}',
      ...UPDATE_ACCESS,
      operationId: 'getWebhookDelivery',
      summary: 'Get a delivery of a webhook endpoint',
      description: 'With the body that is sent at each try.',
      returns: ok(deliveryWithBodyView),
      fails: [endpointNotFound, deliveryNotFound],
    },
    async ({ ctx, params }) => {
      const delivery = await getDelivery(ctx, params.id, params.delivery_id);
      return { ...viewDelivery(delivery), body: delivery.body };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/webhook-endpoints/{id}/deliveries/{delivery_id}/resend',
      ...UPDATE_ACCESS,
      operationId: 'sendWebhookDelivery',
      summary: 'Send a delivery of a webhook endpoint again',
      description: 'At once, under the same `webhook-id`, with all further tries.',
      returns: accepted(z.object({ delivery_id: z.string() })),
      fails: [endpointNotFound, deliveryNotFound, endpointNotActive],
    },
    async ({ ctx, params }) => {
      await resendDelivery(ctx, params.id, params.delivery_id);
      return { delivery_id: params.delivery_id };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/webhook-endpoints/{id}/resend-failed',
      ...UPDATE_ACCESS,
      operationId: 'sendFailedWebhookDeliveries',
      summary: 'Send the failed deliveries of a webhook endpoint again',
      description: 'Those that were first to be sent at `since` or later, and whose tries have ended.',
      body: z.object({ since: isoMillisecondsSchema }),
      returns: accepted(z.object({ count: z.int() })),
      fails: [endpointNotFound, endpointNotActive],
    },
    async ({ ctx, params, body }) => ({ count: await resendFailedDeliveries(ctx, params.id, body.since) }),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/webhook-endpoints/{id}/test',
      ...UPDATE_ACCESS,
      operationId: 'sendWebhookTest',
      summary: 'Send a test event to a webhook endpoint',
      description: 'Sends an example of an event, whether or not the endpoint gets that type otherwise.',
      body: z.object({ event_type: eventTypeNameField }),
      returns: accepted(z.object({ delivery_id: z.string() })),
      fails: [endpointNotFound, endpointNotActive],
    },
    async ({ ctx, params, body }) => ({ delivery_id: await sendTestEvent(ctx, params.id, body.event_type) }),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/webhook-endpoints/{id}/backfill',
      ...UPDATE_ACCESS,
      operationId: 'sendAuditTrail',
      summary: 'Send the past audit trail to a webhook endpoint',
      description:
        'Sends what is kept of a time, archived days included, in batches as `audit.records`: the newest first, and after all else that is to be sent.',
      body: z.object(timeRangeFields),
      returns: accepted(z.object({ status: z.literal('queued') })),
      fails: [endpointNotFound, endpointNotActive, noAuditStream],
    },
    async ({ ctx, params, body }) => {
      if (body.from > body.to) throw invalidInput([{ field: 'from', message: 'must not be after `to`' }]);
      await queueBackfill(ctx, params.id, body);
      return { status: 'queued' as const };
    },
  ),
];
