import { expect, it, vi } from 'vitest';
import type { ApiResponse } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';

const company = await createOwnedCompany();

const EVENTS_PATH = '/v1/audit-events';
const events = (query: Record<string, string>, as = company.as): Promise<ApiResponse> =>
  as.get(`${EVENTS_PATH}?${new URLSearchParams(query)}`);

/** Waits until a query finds the given number of records, and returns them. */
const waitForEvents = (query: Record<string, string>, count: number) =>
  vi.waitFor(
    async () => {
      const body = await expectSuccess(events(query));
      expect(body.total).toBe(count);
      return body;
    },
    { timeout: 15_000, interval: 100 },
  );

it('the audit trail on the console has the records of the organization API, with the field names of the console', async () => {
  const { headers } = await company.as.get('/v1/users');
  const query = { correlation_id: headers.get('x-correlation-id') as string };
  const { total, quantity, records } = await waitForEvents(query, 1);
  const of = await expectSuccess(
    createSignedCaller(company.apiKey).get(`/admin/audit-events?${new URLSearchParams(query)}`),
  );
  const { id, organization_id, ...rest } = of.results[0];
  expect([total, quantity, records]).toEqual([1, 1, [{ _id: id, company_id: organization_id, ...rest }]]);
  expect(records[0]).toMatchObject({ route: '/v1/users', action: 'users:list', principal_id: company.owner.id });
});
