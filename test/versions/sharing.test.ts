import { describe, expect, it, vi } from 'vitest';
import { aShare } from '../shares/support.ts';
import { call } from '../support/api.ts';
import { must } from '../support/signed.ts';
import { aCompany, aProvisionedCompany } from '../support/worlds.ts';
import { aDashboard } from '../visualizations/support.ts';
import { describeVersions } from './held.ts';
import { SHARING_KINDS } from './kinds.ts';

describeVersions(SHARING_KINDS);

describe('the version (ETag) of a shared record', () => {
  it('is that of the share context when its grants are replaced', async () => {
    const { as } = await aCompany();
    const path = `/api/v1/share-contexts/${(await must(as.post('/api/v1/share-contexts', { json: { name: 'Circle' } }))).id}`;
    const grants = [{ target_type: 'dashboard', target_id: (await aDashboard(as, []))._id }];
    const tag = (await as.get(path)).headers.get('etag') as string;
    const replace = () => as.put(`${path}/grants`, { json: { grants }, headers: { 'If-Match': tag } });
    expect((await replace()).status).toBe(200);
    expect((await replace()).status).toBe(412);
    await must(as.post(`${path}/members`, { json: { member_type: 'external_email', email: 'one@more.test' } }));
    const granted = (await as.get(path)).headers.get('etag');
    expect(granted).not.toBe(tag);
    await must(as.post(`${path}/members`, { json: { member_type: 'external_email', email: 'and@another.test' } }));
    expect((await as.get(path)).headers.get('etag')).toBe(granted);
  });

  it('does not change when a share is viewed', async () => {
    const company = await aProvisionedCompany();
    const { id, token } = await aShare(company, (await aDashboard(company.as, []))._id);
    const path = `/api/v1/dashboard-shares/${id}`;
    const tag = (await company.as.get(path)).headers.get('etag');
    await must(call('POST', `/api/v1/public/shares/${token}/execute`, { json: {} }));
    await vi.waitFor(
      async () => {
        const { body, headers } = await company.as.get(path);
        expect([body.view_count, typeof body.last_accessed_at, headers.get('etag')]).toEqual([1, 'string', tag]);
      },
      { timeout: 15_000, interval: 100 },
    );
  });
});
