import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { makeGroupInput } from '../support/console.ts';
import { createEndpoint, createReceiver, ENDPOINTS_PATH, waitForArrivals } from './support.ts';

const company = await createOwnedCompany();

describe('a webhook endpoint', () => {
  it('is created, read, listed, changed and deleted', async () => {
    const receiver = createReceiver();
    const endpointInput = { url: receiver.url, description: 'Ours', event_types: ['group.created'], status: 'active' };
    const { status, body, headers } = await company.as.post(ENDPOINTS_PATH, { json: endpointInput });
    expect(status).toBe(201);
    const { secret, ...endpoint } = body;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(endpoint).toEqual({
      ...endpointInput,
      _id: expect.stringMatching(/^[a-f0-9]{24}$/),
      disabled_reason: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const path = `${ENDPOINTS_PATH}/${endpoint._id}`;
    expect(headers.get('location')).toBe(path);
    expect((await company.as.get(path)).body).toEqual(endpoint);
    expect((await company.as.get(ENDPOINTS_PATH)).body.records).toContainEqual(endpoint);
    const changedEndpoint = await company.as.put(path, { json: { ...endpoint, description: 'Yours' } });
    expect([changedEndpoint.status, changedEndpoint.body.description]).toEqual([200, 'Yours']);
    expect((await company.as.delete(path)).status).toBe(204);
    expect((await company.as.get(path)).status).toBe(404);
  });

  it('is sent events that the official library can verify', async () => {
    const receiver = createReceiver();
    const { secret } = await createEndpoint(company, receiver);
    const group = (await company.as.post('/v1/groups', { json: makeGroupInput() })).body;
    const [first] = await waitForArrivals(receiver);
    expect(first?.event).toEqual({ type: 'group.created', timestamp: expect.any(String), data: group });
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers ?? {})).toEqual(first?.event);
    expect(() => new Webhook(`whsec_${btoa('another')}`).verify(first?.body ?? '', first?.headers ?? {})).toThrow();
  });
});
