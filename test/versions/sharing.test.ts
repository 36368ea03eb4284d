import { describe, expect, it, vi } from 'vitest';
import { createShare } from '../shares/support.ts';
import { callApi } from '../support/api.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { expectSuccess } from '../support/signed.ts';
import { postDashboard } from '../visualizations/support.ts';
import { describeVersions } from './describe-versions.ts';
import { SHARING_KINDS } from './kinds.ts';

describeVersions(SHARING_KINDS);

describe('the version (ETag) of a shared record', () => {
  it('is the version of the share context when its grants are replaced', async () => {
    const { as } = await createOwnedCompany();
    const path = `/api/v1/share-contexts/${(await expectSuccess(as.post('/api/v1/share-contexts', { json: { name: 'Circle' } }))).id}`;
    const grants = [{ target_type: 'dashboard', target_id: (await postDashboard(as, []))._id }];
    const tag = (await as.get(path)).headers.get('etag') as string;
    const replaceGrants = () => as.put(`${path}/grants`, { json: { grants }, headers: { 'If-Match': tag } });
    expect((await replaceGrants()).status).toBe(200);
    expect((await replaceGrants()).status).toBe(412);
    await expectSuccess(
      as.post(`${path}/members`, { json: { member_type: 'external_email', email: 'one@more.test' } }),
    );
    const tagAfterGrants = (await as.get(path)).headers.get('etag');
    expect(tagAfterGrants).not.toBe(tag);
    await expectSuccess(
      as.post(`${path}/members`, { json: { member_type: 'external_email', email: 'and@another.test' } }),
    );
    expect((await as.get(path)).headers.get('etag')).toBe(tagAfterGrants);
  });

  it('does not change when a share is viewed', async () => {
    const company = await createProvisionedCompany();
    const { id, token } = await createShare(company, (await postDashboard(company.as, []))._id);
    const path = `/api/v1/dashboard-shares/${id}`;
    const tag = (await company.as.get(path)).headers.get('etag');
    await expectSuccess(callApi('POST', `/api/v1/public/shares/${token}/execute`, { json: {} }));
    await vi.waitFor(
      async () => {
        const { body, headers } = await company.as.get(path);
        expect([body.view_count, typeof body.last_accessed_at, headers.get('etag')]).toEqual([1, 'string', tag]);
      },
      { timeout: 15_000, interval: 100 },
    );
  });
});
