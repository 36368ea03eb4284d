import { defineFailure, defineNotFoundFailure } from '../../kernel/failure.ts';

export const endpointNotFound = defineNotFoundFailure('webhook_endpoint');

export const deliveryNotFound = defineNotFoundFailure('webhook_delivery');

export const tooManyEndpoints = defineFailure('webhook_endpoint.limit', 'conflict', {
  message: 'The company has the maximum number of webhook endpoints. Delete one first.',
  detail: (maxEndpoints: number) => ({
    message: `A company can have at most ${maxEndpoints} webhook endpoints. Delete one first.`,
  }),
  console: 'WEBHOOK_ENDPOINT_LIMIT',
});

export const endpointNotActive = defineFailure('webhook_endpoint.not_active', 'conflict', {
  message: 'The webhook endpoint is paused or disabled. Set its status to active first.',
  console: 'WEBHOOK_ENDPOINT_NOT_ACTIVE',
});

export const noAuditStream = defineFailure('webhook_endpoint.no_audit_stream', 'conflict', {
  message: 'The webhook endpoint does not get the audit trail. Add audit.records to its event types first.',
  console: 'WEBHOOK_ENDPOINT_WITHOUT_AUDIT',
});
