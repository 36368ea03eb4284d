import { expect, inject } from 'vitest';
import type { Received } from '../support/webhook-receiver.ts';
import type { Company } from '../support/worlds.ts';

export const ENDPOINTS_PATH = '/v1/webhook-endpoints';

export interface Receiver {
  key: string;
  url: string;
  received(): Promise<(Received & { event: { type: string; timestamp: string; data: Record<string, unknown> } })[]>;
  behave(behaviour: string): Promise<void>;
}

let createdCount = 0;

/** A place where webhooks arrive, which behaves as it is told: see `test/support/webhook-receiver.ts`. */
export function createReceiver(behaviour = 'ok', at = inject('webhookReceiverUrl')): Receiver {
  createdCount += 1;
  const key = `${createdCount}-${Math.random().toString(36).slice(2)}`;
  const base = inject('webhookReceiverUrl');
  return {
    key,
    url: `${at}/${behaviour}/${key}`,
    async received() {
      const found = (await (await fetch(`${base}/received/${key}`)).json()) as Received[];
      return found.map((each) => ({ ...each, event: JSON.parse(each.body) }));
    },
    async behave(next) {
      await fetch(`${base}/as/${key}`, { method: 'PUT', body: next });
    },
  };
}

/** An endpoint at a receiver. */
export async function createEndpoint(company: Company, receiver: Pick<Receiver, 'url'>, event_types: string[] = ['*']) {
  const { status, body } = await company.as.post(ENDPOINTS_PATH, { json: { url: receiver.url, event_types } });
  expect(status).toBe(201);
  return body as { _id: string; secret: string };
}

/** Waits until so many have come. */
export async function waitForArrivals(receiver: Receiver, count = 1) {
  await expect.poll(async () => (await receiver.received()).length).toBeGreaterThanOrEqual(count);
  return receiver.received();
}
