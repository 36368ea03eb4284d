import { expect, inject } from 'vitest';
import type { Company } from '../support/companies.ts';
import type { ReceivedRequest } from '../support/webhook-receiver.ts';

export const ENDPOINTS_PATH = '/v1/webhook-endpoints';

export interface WebhookReceiver {
  key: string;
  url: string;
  readReceivedRequests(): Promise<
    (ReceivedRequest & { event: { type: string; timestamp: string; data: Record<string, unknown> } })[]
  >;
  setBehaviour(behaviour: string): Promise<void>;
}

let createdCount = 0;

/** Creates a receiver of webhooks with a behaviour that tests may change: see `test/support/webhook-receiver.ts`. */
export function createReceiver(behaviour = 'ok', at = inject('webhookReceiverUrl')): WebhookReceiver {
  const key = `${++createdCount}-${Math.random().toString(36).slice(2)}`;
  const receiverUrl = inject('webhookReceiverUrl');
  return {
    key,
    url: `${at}/${behaviour}/${key}`,
    async readReceivedRequests() {
      const receivedRequests = (await (await fetch(`${receiverUrl}/received/${key}`)).json()) as ReceivedRequest[];
      return receivedRequests.map((receivedRequest) => ({
        ...receivedRequest,
        event: JSON.parse(receivedRequest.body),
      }));
    },
    async setBehaviour(next) {
      await fetch(`${receiverUrl}/as/${key}`, { method: 'PUT', body: next });
    },
  };
}

/** Creates a webhook endpoint that sends to a receiver. */
export async function createEndpoint(
  company: Company,
  receiver: Pick<WebhookReceiver, 'url'>,
  event_types: string[] = ['*'],
) {
  const { status, body } = await company.as.post(ENDPOINTS_PATH, { json: { url: receiver.url, event_types } });
  expect(status).toBe(201);
  return body as { _id: string; secret: string };
}

/** Waits until a receiver has received the given number of events. @returns the events */
export async function waitForArrivals(receiver: WebhookReceiver, count = 1) {
  await expect.poll(async () => (await receiver.readReceivedRequests()).length).toBeGreaterThanOrEqual(count);
  return receiver.readReceivedRequests();
}
