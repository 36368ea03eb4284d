import { beforeAll, describe, expect, it, vi } from 'vitest';
import { later, resetClock } from '../support/clock.ts';
import { aCompany, aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { aShare, aSalesDashboard, linkOf, policy, regionsIn, regionsOf, someSales } from './support.ts';

let company: Company;
let id: string;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  id = (await aSalesDashboard(company)).dashboard._id;
});

describe('sharing a dashboard', () => {
  it('answers the share with its token, this once', async () => {
    const share = await aShare(company, id, {
      name: 'For partners',
      embed_options: { allowed_origins: ['https://partner.test'], hide_header: true },
      share_filter_policies: [policy('regions', 'selectable', ['north', 'south'])],
    });
    expect(share).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      dashboard_id: id,
      name: 'For partners',
      share_type: 'link',
      share_context_id: null,
      requires_auth: false,
      expires_at: null,
      embed_options: { allowed_origins: ['https://partner.test'], hide_header: true, hide_controls: false },
      share_filter_policies: [policy('regions', 'selectable', ['north', 'south'])],
      status: 'active',
      token: expect.stringMatching(/^[\w-]{43}$/),
      url: `https://api.test/p/${share.token}`,
      created_by: company.owner.id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      last_accessed_at: null,
      view_count: 0,
    });
    const { body } = await company.as.get(`/api/v1/dashboards/${id}/shares`);
    const listed = body.records.find((record: { id: string }) => record.id === share.id);
    expect(listed).toMatchObject({ name: 'For partners', status: 'active' });
    expect(JSON.stringify(body)).not.toContain(share.token);
  });

  it('opens it', async () => {
    const { token } = await aShare(company, id);
    const link = linkOf(token);
    const { body } = await link.resolve();
    expect(body).toMatchObject({ requires_auth: false, share_type: 'link', dashboard: { id, name: 'Overview' } });
    expect(regionsIn((await link.execute()).body)).toHaveLength(6);
  });
});
