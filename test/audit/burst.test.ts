import { expect, it, vi } from 'vitest';
import { readRecords } from '../support/log.ts';
import { signed } from '../support/signed.ts';
import { aCompany } from '../support/worlds.ts';

const REQUESTS = 2000;
const BATCH_SIZE = 50;

it('the audit trail has every request of a burst of 2,000', async () => {
  const company = await aCompany();
  const ids = new Set<string>();
  for (let sent = 0; sent < REQUESTS; sent += BATCH_SIZE) {
    const answers = await Promise.all(Array.from({ length: BATCH_SIZE }, () => company.as.get('/v1/auth/me')));
    for (const { headers } of answers) ids.add(headers.get('x-correlation-id') as string);
  }
  expect(ids.size).toBe(REQUESTS);

  const query = `principal_id=${company.owner.id}`;
  await vi.waitFor(
    async () => {
      const { body } = await signed(company.apiKey).get(`/admin/audit-events?${query}&quantity=1`);
      expect(body.total).toBe(REQUESTS);
    },
    { timeout: 30_000, interval: 500 },
  );
  const records = await readRecords('audit', company.id, { values: { principalId: company.owner.id } });
  expect(new Set(records.map(({ correlationId }) => correlationId))).toEqual(ids);
}, 120_000);
