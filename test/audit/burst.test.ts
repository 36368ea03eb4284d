import { expect, it, vi } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { readRecords } from '../support/log.ts';
import { createSignedCaller } from '../support/signed.ts';

const REQUEST_COUNT = 500;
const BATCH_SIZE = 50;

it('the audit trail has a record of every request of a burst of 500', async () => {
  const company = await createOwnedCompany();
  const ids = new Set<string>();
  for (let sentCount = 0; sentCount < REQUEST_COUNT; sentCount += BATCH_SIZE) {
    const answers = await Promise.all(Array.from({ length: BATCH_SIZE }, () => company.as.get('/v1/auth/me')));
    for (const { headers } of answers) ids.add(headers.get('x-correlation-id') as string);
  }
  expect(ids.size).toBe(REQUEST_COUNT);

  const query = `principal_id=${company.owner.id}`;
  await vi.waitFor(
    async () => {
      const { body } = await createSignedCaller(company.apiKey).get(`/admin/audit-events?${query}&quantity=1`);
      expect(body.total).toBe(REQUEST_COUNT);
    },
    { timeout: 30_000, interval: 500 },
  );
  const records = await readRecords('audit', company.id, { values: { principalId: company.owner.id } });
  expect(new Set(records.map(({ correlationId }) => correlationId))).toEqual(ids);
}, 120_000);
