import { beforeAll, describe, expect, it } from 'vitest';
import { aSalesDashboard, aShare, policy, regionsIn, regionsOf, someSales } from '../shares/support.ts';
import { createCaller } from '../support/api.ts';
import { aCompany, aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { aContext, aMember, anOutsider, CONTEXTS_PATH, dashboardGrant, inPortal } from './support.ts';

const PORTAL_PATH = '/api/v1/share-portal';
const UNKNOWN = '0'.repeat(24);

let company: Company;
let dashboard: { _id: string; slug: string; name: string };
let createdCount = 0;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  dashboard = (await aSalesDashboard(company)).dashboard;
});

const anAddress = () => `viewer-${++createdCount}@partner.test`;

/** A context that shows the dashboard under these policies, and a member of it, signed in. */
async function aViewer(...policies: unknown[]) {
  const email = anAddress();
  const context = await aContext(company, [dashboardGrant(dashboard._id, policies)], [email]);
  const { as } = await anOutsider(company, email);
  return { email, context, as, portal: inPortal(as, context.id, dashboard._id) };
}

const expectInvalid = ({ status, body }: { status: number; body: { error_code: string } }) =>
  expect([status, body.error_code]).toEqual([400, 'INVALID_CONTEXT_ID']);

describe('the portal', () => {
  it('lists the contexts and dashboards of a member', async () => {
    const { as, context, email } = await aViewer();
    const other = await aContext(company, [dashboardGrant(dashboard._id)], [email]);
    await aContext(company, [dashboardGrant(dashboard._id)]);
    const contexts = (await as.get(`${PORTAL_PATH}/contexts`)).body;
    expect(contexts).toMatchObject({ total: 2, page: 1, per_page: 20 });
    expect(contexts.records).toContainEqual({
      id: context.id,
      name: expect.any(String),
      slug: context.slug,
      description: '',
      context_id: context.id,
    });
    expect((await as.get(`${PORTAL_PATH}/${company.slug}/contexts`)).body).toEqual(contexts);
    const entry = (contextId: string) => ({
      id: dashboard._id,
      name: dashboard.name,
      slug: dashboard.slug,
      description: '',
      context_id: contextId,
    });
    const one = (await as.get(`${PORTAL_PATH}/dashboards?context_id=${context.id}`)).body;
    expect(one).toEqual({ total: 1, page: 1, per_page: 20, records: [entry(context.id)] });
    const all = (await as.get(`${PORTAL_PATH}/${company.slug}/dashboards`)).body;
    expect([all.total, all.records]).toEqual([2, expect.arrayContaining([entry(context.id), entry(other.id)])]);
    const second = (await as.get(`${PORTAL_PATH}/${company.slug}/dashboards?page=2&per_page=1`)).body;
    expect([second.total, second.records.length]).toEqual([2, 1]);
  });

  it('shows a dashboard, its options and its results, by id and by slugs', async () => {
    const { as, context, portal } = await aViewer();
    const bySlugs = `${PORTAL_PATH}/${company.slug}/dashboards/${dashboard.slug}`;
    const shown = await portal.get();
    expect([shown.status, shown.body]).toMatchObject([
      200,
      {
        id: dashboard._id,
        name: 'Overview',
        context_id: context.id,
        layout: [{}],
        filters: [{}, {}, {}],
        charts: [{}],
      },
    ]);
    expect((await as.get(`${bySlugs}?context_id=${context.id}`)).body).toEqual(shown.body);
    const options = await portal.options('regions', 'north');
    expect(options.body).toEqual({
      filter_slug: 'regions',
      options: [{ value: 'north', label: 'NORTH' }],
      source: 'dynamic',
    });
    const path = `${bySlugs}/filters/regions/options?context_id=${context.id}&search=north`;
    expect((await as.get(path)).body).toEqual(options.body);
    expect(regionsOf((await portal.execute({ regions: ['north'] })).body)).toEqual(['north']);
    const json = { context_id: context.id, parameters: { regions: ['east'] } };
    expect(regionsOf((await as.post(`${bySlugs}/execute`, { json })).body)).toEqual(['east']);
    expect(shown.headers.get('cache-control')).toBe('private, no-store');
  });

  it('accepts the console token of users who are members, by themselves or by a group', async () => {
    const context = await aContext(company, [dashboardGrant(dashboard._id)]);
    const user = await aUser(company);
    const portal = inPortal(user.as, context.id, dashboard._id);
    expectInvalid(await portal.execute());
    const member = await aMember(company.as, context.id, { member_type: 'internal_user', member_id: user.id });
    expect(regionsIn((await portal.execute()).body)).toHaveLength(6);
    expect((await user.as.get(`${PORTAL_PATH}/contexts`)).body.total).toBe(1);
    await company.as.delete(`${CONTEXTS_PATH}/${context.id}/members/${member.id}`);
    expectInvalid(await portal.execute());

    const name = `Analysts ${++createdCount}`;
    const json = { name, slug: `analysts-${createdCount}`, description: 'People who look at data' };
    const group = (await company.as.post('/v1/groups', { json })).body._id;
    await aMember(company.as, context.id, { member_type: 'group', member_id: group });
    expectInvalid(await portal.execute());
    await company.as.post(`/v1/users/${user.id}/groups`, { json: { group_ids: [group] } });
    expect((await portal.execute()).status).toBe(200);
    await company.as.delete(`/v1/users/${user.id}/groups`, { json: { group_ids: [group] } });
    expectInvalid(await portal.execute());
  });

  it('does not treat a user as the outsider with the same address', async () => {
    const user = await aUser(company);
    await aContext(company, [dashboardGrant(dashboard._id)], [user.email]);
    expect((await user.as.get(`${PORTAL_PATH}/contexts`)).body.total).toBe(0);
  });
});

describe('the context_id of a portal request', () => {
  it('must be a context of the caller', async () => {
    const { as } = await aViewer();
    const stranger = await aContext(company, [dashboardGrant(dashboard._id)], [anAddress()]);
    const other = await aCompany();
    const foreign = await aContext(other);
    for (const id of ['', 'x', UNKNOWN, stranger.id, foreign.id, "' or true --"]) {
      const query = `context_id=${encodeURIComponent(id)}`;
      expectInvalid(await as.get(`${PORTAL_PATH}/dashboards?${query}`));
      expectInvalid(await as.get(`${PORTAL_PATH}/dashboards/${dashboard._id}?${query}`));
      expectInvalid(await as.get(`${PORTAL_PATH}/dashboards/${dashboard._id}/filters/regions/options?${query}`));
      expectInvalid(await as.post(`${PORTAL_PATH}/dashboards/${dashboard._id}/execute`, { json: { context_id: id } }));
    }
    expectInvalid(await as.get(`${PORTAL_PATH}/dashboards`));
    for (const context_id of [undefined, null, 1, {}, [stranger.id]]) {
      expectInvalid(await as.post(`${PORTAL_PATH}/dashboards/${dashboard._id}/execute`, { json: { context_id } }));
    }
  });

  it('opens only the dashboards of that context', async () => {
    const { as, context } = await aViewer();
    const { dashboard: hidden } = await aSalesDashboard(company, { name: 'Not shown' });
    for (const id of [hidden._id, UNKNOWN, 'x']) {
      const portal = inPortal(as, context.id, id);
      for (const { status, body } of [await portal.get(), await portal.options('regions'), await portal.execute()]) {
        expect([status, body.error_code]).toEqual([404, 'NOT_FOUND']);
      }
    }
    expect((await as.get(`${PORTAL_PATH}/${company.slug}/dashboards/not-shown?context_id=${context.id}`)).status).toBe(
      404,
    );
  });

  it('must be of the company whose slug the path names', async () => {
    const { as, context } = await aViewer();
    const other = await aCompany();
    for (const slug of [other.slug, 'no-such-company']) {
      expect((await as.get(`${PORTAL_PATH}/${slug}/contexts`)).status).toBe(404);
      expect((await as.get(`${PORTAL_PATH}/${slug}/dashboards`)).status).toBe(404);
      const path = `${PORTAL_PATH}/${slug}/dashboards/${dashboard.slug}`;
      expect((await as.get(`${path}?context_id=${context.id}`)).status).toBe(404);
      expect((await as.post(`${path}/execute`, { json: { context_id: context.id } })).status).toBe(404);
    }
  });
});

describe('the dashboard that a member sees in the portal', () => {
  it('is restricted by the policies of the grant', async () => {
    const { portal } = await aViewer(policy('regions', 'selectable', ['north', 'east']));
    expect(regionsOf((await portal.execute()).body)).toEqual(['east', 'north']);
    expect((await portal.execute({ regions: ['south'] })).body.error_code).toBe('SHARE_FILTER_POLICY_VIOLATION');
    expect((await portal.options('regions')).body.source).toBe('policy');
  });

  it('is restricted by every active share of that context and dashboard', async () => {
    const { portal, context } = await aViewer(policy('regions', 'selectable', ['north', 'south']));
    const narrowing = (values: string[], more: Record<string, unknown> = {}) =>
      aShare(company, dashboard._id, {
        share_context_id: context.id,
        share_filter_policies: [policy('regions', 'selectable', values)],
        ...more,
      });
    const first = await narrowing(['south', 'east']);
    expect(regionsOf((await portal.execute()).body)).toEqual(['south']);
    expect((await portal.execute({ regions: ['north'] })).status).toBe(403);
    expect((await portal.execute({ regions: ['east'] })).status).toBe(403);
    expect((await portal.options('regions')).body.options).toEqual([{ value: 'south', label: 'SOUTH' }]);

    // Nothing is left: no row, whatever is asked.
    const second = await narrowing(['east']);
    expect(regionsIn((await portal.execute()).body)).toEqual([]);
    expect((await portal.options('regions')).body.options).toEqual([]);

    // A share of another context, or without one, narrows nothing.
    const elsewhere = await aContext(company, [dashboardGrant(dashboard._id)]);
    await narrowing(['east'], { share_context_id: elsewhere.id });
    await company.as.delete(`/api/v1/dashboard-shares/${second.id}`);
    expect(regionsOf((await portal.execute()).body)).toEqual(['south']);
    await company.as.delete(`/api/v1/dashboard-shares/${first.id}`);
    expect(regionsOf((await portal.execute()).body)).toEqual(['north', 'south']);
  });

  it('has no filters that a share locks or hides', async () => {
    const { portal, context } = await aViewer();
    const share = await aShare(company, dashboard._id, {
      share_context_id: context.id,
      share_filter_policies: [policy('regions', 'locked', ['east']), policy('region', 'hidden', [], 'select')],
    });
    const filters = (await portal.get()).body.filters.map(({ slug }: { slug: string }) => slug);
    expect(filters).toEqual(['days']);
    expect(regionsOf((await portal.execute()).body)).toEqual(['east']);
    for (const slug of ['regions', 'region']) {
      expect((await portal.options(slug)).body.error_code).toBe('FILTER_DISABLED_BY_POLICY');
      expect((await portal.execute({ [slug]: 'east' })).body.error_code).toBe('SHARE_FILTER_POLICY_VIOLATION');
    }
    await company.as.delete(`/api/v1/dashboard-shares/${share.id}`);
    expect((await portal.execute({ region: 'north' })).status).toBe(200);
  });
});

describe('the next portal request after a change', () => {
  it('shows nothing to a removed member', async () => {
    const { as, context, portal } = await aViewer();
    expect((await portal.execute()).status).toBe(200);
    await company.as.delete(`${CONTEXTS_PATH}/${context.id}/members/${context.members[0]?.id}`);
    for (const answer of [await portal.get(), await portal.options('regions'), await portal.execute()]) {
      expectInvalid(answer);
    }
    expect((await as.get(`${PORTAL_PATH}/contexts`)).body.records).toEqual([]);
    expect((await as.get(`${PORTAL_PATH}/${company.slug}/dashboards`)).body.records).toEqual([]);
  });

  it('shows nothing under a removed grant', async () => {
    const { as, context, portal } = await aViewer();
    expect((await portal.execute()).status).toBe(200);
    await company.as.put(`${CONTEXTS_PATH}/${context.id}/grants`, { json: { grants: [] } });
    expect((await portal.execute()).status).toBe(404);
    expect((await as.get(`${PORTAL_PATH}/dashboards?context_id=${context.id}`)).body.records).toEqual([]);
  });

  it('is restricted by added policies', async () => {
    const { context, portal } = await aViewer();
    expect(regionsIn((await portal.execute()).body)).toHaveLength(6);
    const grants = [dashboardGrant(dashboard._id, [policy('regions', 'locked', ['north'])])];
    await company.as.put(`${CONTEXTS_PATH}/${context.id}/grants`, { json: { grants } });
    expect(regionsOf((await portal.execute()).body)).toEqual(['north']);
  });

  it('is answered 404 for a deleted context', async () => {
    const { context, portal } = await aViewer();
    await company.as.delete(`${CONTEXTS_PATH}/${context.id}`);
    expectInvalid(await portal.execute());
  });

  it('is answered 404 for a deleted dashboard', async () => {
    const { dashboard: short } = await aSalesDashboard(company, { name: 'Short-lived' });
    const { as, context } = await aViewer();
    const grants = [dashboardGrant(short._id)];
    await company.as.put(`${CONTEXTS_PATH}/${context.id}/grants`, { json: { grants } });
    expect((await inPortal(as, context.id, short._id).execute()).status).toBe(200);
    await company.as.delete(`/v1/dashboards/${short._id}`);
    expect((await inPortal(as, context.id, short._id).execute()).status).toBe(404);
    expect((await as.get(`${PORTAL_PATH}/dashboards?context_id=${context.id}`)).body.total).toBe(0);
  });
});

describe('a table that was dropped', () => {
  it('makes its visualization fail without saying why', async () => {
    const other = await aProvisionedCompany();
    const table = await someSales(other);
    const { dashboard: shown } = await aSalesDashboard(other, { cache_seconds: 0 });
    const email = anAddress();
    const context = await aContext(other, [dashboardGrant(shown._id)], [email]);
    const { as } = await anOutsider(other, email);
    const portal = inPortal(as, context.id, shown._id);
    expect(regionsIn((await portal.execute()).body)).toHaveLength(6);
    await other.as.delete(`/v1/managed-tables/${table}`);
    const { status, body } = await portal.execute();
    expect([status, body.results[0].error]).toEqual([
      200,
      { error_code: 'DB_QUERY_ERROR', message: 'The query failed.' },
    ]);
    expect((await portal.options('regions')).body).toEqual({
      error_code: 'DB_QUERY_ERROR',
      message: 'The query failed.',
    });
  });

  it('has the error code of a company without a database', async () => {
    const other = await aCompany();
    const { dashboard: shown } = await aSalesDashboard(other);
    const email = anAddress();
    const context = await aContext(other, [dashboardGrant(shown._id)], [email]);
    const { as } = await anOutsider(other, email);
    const { status, body } = await inPortal(as, context.id, shown._id).execute();
    expect([status, body.error_code]).toEqual([422, 'DB_QUERY_ERROR']);
  });
});

describe('the rate limits of the portal', () => {
  it('are counted for an outsider apart from the company', async () => {
    const { as } = await aViewer();
    const limited = { env: { RATE_LIMIT_TOKEN_PER_MINUTE: '2', RATE_LIMIT_ORGANIZATION_PER_MINUTE: '1' } };
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await as.get(`${PORTAL_PATH}/contexts`, limited)).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await createCaller(company.token).get('/v1/auth/me')).status).toBe(200);
  });
});
