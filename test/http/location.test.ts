import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { createSignedCaller } from '../support/signed.ts';

describe('the answer 201', () => {
  it('has a Location from which the resource can be read, even if it was created at another path', async () => {
    const company = await createOwnedCompany();
    const organization = createSignedCaller(company.apiKey);
    const description = 'Long enough to be one.';
    const document = {
      version: '2024-01-01',
      statements: [{ effect: 'Allow', actions: ['users:list'], resources: ['*'] }],
    };
    const policy = await company.as.post('/v1/policies', { json: { name: 'Located', document } });
    const creations = [
      [await organization.post('/accounts', { json: { name: 'Located' } }), organization],
      [policy, company.as],
      [await company.as.post(`/v1/policies/${policy.body._id}/clone`, { json: { name: 'Copy' } }), company.as],
      [await company.as.post('/v1/users/invite', { json: { email: 'located@example.test' } }), company.as],
      [await company.as.post('/v1/groups', { json: { name: 'Located', slug: 'located', description } }), company.as],
    ] as const;
    for (const [{ status, headers, body }, reader] of creations) {
      expect(status).toBe(201);
      const foundAnswer = await reader.get(headers.get('location') as string);
      expect(foundAnswer.status).toBe(200);
      expect(foundAnswer.body._id ?? foundAnswer.body.id).toBe(body._id ?? body.id);
    }
  });

  it('has no Location when no route reads the single resource', async () => {
    const company = await createOwnedCompany();
    const organization = createSignedCaller(company.apiKey);
    const { body: list } = await organization.get('/service-accounts');
    const key = await organization.post(`/service-accounts/${list.results[0].id}/keys`, { json: {} });
    expect([key.status, key.headers.get('location')]).toEqual([201, null]);
  });
});
