import { describe, expect, it } from 'vitest';
import {
  createSalesDashboard,
  createSalesTable,
  createShare,
  listDistinctRegions,
  listRegions,
  makePolicy,
} from '../shares/support.ts';
import { createCaller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import {
  addContextMember,
  CONTEXTS_PATH,
  createPortalClient,
  createShareContext,
  makeDashboardGrant,
  signInOutsider,
} from './support.ts';

const PORTAL_PATH = '/api/v1/share-portal';
const UNKNOWN_ID = '0'.repeat(24);

let createdCount = 0;
const company = await createProvisionedCompany();
await createSalesTable(company);
const dashboard = (await createSalesDashboard(company)).dashboard;

const makeAddress = () => `viewer-${++createdCount}@partner.test`;

/** Creates a context that shows the dashboard under these policies, and a signed-in member of it. */
async function createViewer(...policies: unknown[]) {
  const email = makeAddress();
  const context = await createShareContext(company, [makeDashboardGrant(dashboard._id, policies)], [email]);
  const { as } = await signInOutsider(company, email);
  return { email, context, as, portal: createPortalClient(as, context.id, dashboard._id) };
}

const expectInvalidAnswer = ({ status, body }: { status: number; body: { error_code: string } }) =>
  expect([status, body.error_code]).toEqual([400, 'INVALID_CONTEXT_ID']);

describe('the portal', () => {
  it('lists the contexts and dashboards of a member', async () => {
    const { as, context, email } = await createViewer();
    const other = await createShareContext(company, [makeDashboardGrant(dashboard._id)], [email]);
    await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
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
    const makeEntry = (contextId: string) => ({
      id: dashboard._id,
      name: dashboard.name,
      slug: dashboard.slug,
      description: '',
      context_id: contextId,
    });
    const contextListing = (await as.get(`${PORTAL_PATH}/dashboards?context_id=${context.id}`)).body;
    expect(contextListing).toEqual({ total: 1, page: 1, per_page: 20, records: [makeEntry(context.id)] });
    const companyListing = (await as.get(`${PORTAL_PATH}/${company.slug}/dashboards`)).body;
    expect([companyListing.total, companyListing.records]).toEqual([
      2,
      expect.arrayContaining([makeEntry(context.id), makeEntry(other.id)]),
    ]);
    const secondPage = (await as.get(`${PORTAL_PATH}/${company.slug}/dashboards?page=2&per_page=1`)).body;
    expect([secondPage.total, secondPage.records.length]).toEqual([2, 1]);
  });

  it('shows a dashboard, its options and its results, by id and by slugs', async () => {
    const { as, context, portal } = await createViewer();
    const slugPath = `${PORTAL_PATH}/${company.slug}/dashboards/${dashboard.slug}`;
    const shownDashboard = await portal.get();
    expect([shownDashboard.status, shownDashboard.body]).toMatchObject([
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
    expect((await as.get(`${slugPath}?context_id=${context.id}`)).body).toEqual(shownDashboard.body);
    const options = await portal.options('regions', 'north');
    expect(options.body).toEqual({
      filter_slug: 'regions',
      options: [{ value: 'north', label: 'NORTH' }],
      source: 'dynamic',
    });
    const path = `${slugPath}/filters/regions/options?context_id=${context.id}&search=north`;
    expect((await as.get(path)).body).toEqual(options.body);
    expect(listDistinctRegions((await portal.execute({ regions: ['north'] })).body)).toEqual(['north']);
    const json = { context_id: context.id, parameters: { regions: ['east'] } };
    expect(listDistinctRegions((await as.post(`${slugPath}/execute`, { json })).body)).toEqual(['east']);
    expect(shownDashboard.headers.get('cache-control')).toBe('private, no-store');
  });

  it('accepts the console token of users who are members, by themselves or by a group', async () => {
    const context = await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
    const user = await createAllowedUser(company);
    const portal = createPortalClient(user.as, context.id, dashboard._id);
    expectInvalidAnswer(await portal.execute());
    const member = await addContextMember(company.as, context.id, { member_type: 'internal_user', member_id: user.id });
    expect(listRegions((await portal.execute()).body)).toHaveLength(6);
    expect((await user.as.get(`${PORTAL_PATH}/contexts`)).body.total).toBe(1);
    await company.as.delete(`${CONTEXTS_PATH}/${context.id}/members/${member.id}`);
    expectInvalidAnswer(await portal.execute());

    const name = `Analysts ${++createdCount}`;
    const json = { name, slug: `analysts-${createdCount}`, description: 'People who look at data' };
    const group = (await company.as.post('/v1/groups', { json })).body._id;
    await addContextMember(company.as, context.id, { member_type: 'group', member_id: group });
    expectInvalidAnswer(await portal.execute());
    await company.as.post(`/v1/users/${user.id}/groups`, { json: { group_ids: [group] } });
    expect((await portal.execute()).status).toBe(200);
    await company.as.delete(`/v1/users/${user.id}/groups`, { json: { group_ids: [group] } });
    expectInvalidAnswer(await portal.execute());
  });

  it('does not treat a user as the outsider with the same address', async () => {
    const user = await createAllowedUser(company);
    await createShareContext(company, [makeDashboardGrant(dashboard._id)], [user.email]);
    expect((await user.as.get(`${PORTAL_PATH}/contexts`)).body.total).toBe(0);
  });
});

describe('the context_id of a portal request', () => {
  it('must be a context of the caller', async () => {
    const { as } = await createViewer();
    const foreignMemberContext = await createShareContext(
      company,
      [makeDashboardGrant(dashboard._id)],
      [makeAddress()],
    );
    const other = await createOwnedCompany();
    const foreignContext = await createShareContext(other);
    for (const id of ['', 'x', UNKNOWN_ID, foreignMemberContext.id, foreignContext.id, "' or true --"]) {
      const query = `context_id=${encodeURIComponent(id)}`;
      expectInvalidAnswer(await as.get(`${PORTAL_PATH}/dashboards?${query}`));
      expectInvalidAnswer(await as.get(`${PORTAL_PATH}/dashboards/${dashboard._id}?${query}`));
      expectInvalidAnswer(await as.get(`${PORTAL_PATH}/dashboards/${dashboard._id}/filters/regions/options?${query}`));
      expectInvalidAnswer(
        await as.post(`${PORTAL_PATH}/dashboards/${dashboard._id}/execute`, { json: { context_id: id } }),
      );
    }
    expectInvalidAnswer(await as.get(`${PORTAL_PATH}/dashboards`));
    for (const context_id of [undefined, null, 1, {}, [foreignMemberContext.id]]) {
      expectInvalidAnswer(
        await as.post(`${PORTAL_PATH}/dashboards/${dashboard._id}/execute`, { json: { context_id } }),
      );
    }
  });

  it('opens only the dashboards of that context', async () => {
    const { as, context } = await createViewer();
    const { dashboard: hiddenDashboard } = await createSalesDashboard(company, { name: 'Not shown' });
    for (const id of [hiddenDashboard._id, UNKNOWN_ID, 'x']) {
      const portal = createPortalClient(as, context.id, id);
      for (const { status, body } of [await portal.get(), await portal.options('regions'), await portal.execute()]) {
        expect([status, body.error_code]).toEqual([404, 'NOT_FOUND']);
      }
    }
    expect((await as.get(`${PORTAL_PATH}/${company.slug}/dashboards/not-shown?context_id=${context.id}`)).status).toBe(
      404,
    );
  });

  it('must be of the company whose slug the path names', async () => {
    const { as, context } = await createViewer();
    const other = await createOwnedCompany();
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
    const { portal } = await createViewer(makePolicy('regions', 'selectable', ['north', 'east']));
    expect(listDistinctRegions((await portal.execute()).body)).toEqual(['east', 'north']);
    expect((await portal.execute({ regions: ['south'] })).body.error_code).toBe('SHARE_FILTER_POLICY_VIOLATION');
    expect((await portal.options('regions')).body.source).toBe('policy');
  });

  it('is restricted by every active share of that context and dashboard', async () => {
    const { portal, context } = await createViewer(makePolicy('regions', 'selectable', ['north', 'south']));
    const createNarrowShare = (values: string[], otherFields: Record<string, unknown> = {}) =>
      createShare(company, dashboard._id, {
        share_context_id: context.id,
        share_filter_policies: [makePolicy('regions', 'selectable', values)],
        ...otherFields,
      });
    const first = await createNarrowShare(['south', 'east']);
    expect(listDistinctRegions((await portal.execute()).body)).toEqual(['south']);
    expect((await portal.execute({ regions: ['north'] })).status).toBe(403);
    expect((await portal.execute({ regions: ['east'] })).status).toBe(403);
    expect((await portal.options('regions')).body.options).toEqual([{ value: 'south', label: 'SOUTH' }]);

    // Nothing is left: no row, whatever is asked.
    const secondShare = await createNarrowShare(['east']);
    expect(listRegions((await portal.execute()).body)).toEqual([]);
    expect((await portal.options('regions')).body.options).toEqual([]);

    // A share of another context, or without one, narrows nothing.
    const otherContext = await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
    await createNarrowShare(['east'], { share_context_id: otherContext.id });
    await company.as.delete(`/api/v1/dashboard-shares/${secondShare.id}`);
    expect(listDistinctRegions((await portal.execute()).body)).toEqual(['south']);
    await company.as.delete(`/api/v1/dashboard-shares/${first.id}`);
    expect(listDistinctRegions((await portal.execute()).body)).toEqual(['north', 'south']);
  });

  it('has no filters that a share locks or hides', async () => {
    const { portal, context } = await createViewer();
    const share = await createShare(company, dashboard._id, {
      share_context_id: context.id,
      share_filter_policies: [makePolicy('regions', 'locked', ['east']), makePolicy('region', 'hidden', [], 'select')],
    });
    const filters = (await portal.get()).body.filters.map(({ slug }: { slug: string }) => slug);
    expect(filters).toEqual(['days']);
    expect(listDistinctRegions((await portal.execute()).body)).toEqual(['east']);
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
    const { as, context, portal } = await createViewer();
    expect((await portal.execute()).status).toBe(200);
    await company.as.delete(`${CONTEXTS_PATH}/${context.id}/members/${context.members[0]?.id}`);
    for (const answer of [await portal.get(), await portal.options('regions'), await portal.execute()]) {
      expectInvalidAnswer(answer);
    }
    expect((await as.get(`${PORTAL_PATH}/contexts`)).body.records).toEqual([]);
    expect((await as.get(`${PORTAL_PATH}/${company.slug}/dashboards`)).body.records).toEqual([]);
  });

  it('shows nothing under a removed grant', async () => {
    const { as, context, portal } = await createViewer();
    expect((await portal.execute()).status).toBe(200);
    await company.as.put(`${CONTEXTS_PATH}/${context.id}/grants`, { json: { grants: [] } });
    expect((await portal.execute()).status).toBe(404);
    expect((await as.get(`${PORTAL_PATH}/dashboards?context_id=${context.id}`)).body.records).toEqual([]);
  });

  it('is restricted by added policies', async () => {
    const { context, portal } = await createViewer();
    expect(listRegions((await portal.execute()).body)).toHaveLength(6);
    const grants = [makeDashboardGrant(dashboard._id, [makePolicy('regions', 'locked', ['north'])])];
    await company.as.put(`${CONTEXTS_PATH}/${context.id}/grants`, { json: { grants } });
    expect(listDistinctRegions((await portal.execute()).body)).toEqual(['north']);
  });

  it('is answered 404 for a deleted context', async () => {
    const { context, portal } = await createViewer();
    await company.as.delete(`${CONTEXTS_PATH}/${context.id}`);
    expectInvalidAnswer(await portal.execute());
  });

  it('is answered 404 for a deleted dashboard', async () => {
    const { dashboard: shortLivedDashboard } = await createSalesDashboard(company, { name: 'Short-lived' });
    const { as, context } = await createViewer();
    const grants = [makeDashboardGrant(shortLivedDashboard._id)];
    await company.as.put(`${CONTEXTS_PATH}/${context.id}/grants`, { json: { grants } });
    expect((await createPortalClient(as, context.id, shortLivedDashboard._id).execute()).status).toBe(200);
    await company.as.delete(`/v1/dashboards/${shortLivedDashboard._id}`);
    expect((await createPortalClient(as, context.id, shortLivedDashboard._id).execute()).status).toBe(404);
    expect((await as.get(`${PORTAL_PATH}/dashboards?context_id=${context.id}`)).body.total).toBe(0);
  });
});

describe('a table that was dropped', () => {
  it('makes its visualization fail without saying why', async () => {
    const other = await createProvisionedCompany();
    const table = await createSalesTable(other);
    const { dashboard: shownDashboard } = await createSalesDashboard(other, { cache_seconds: 0 });
    const email = makeAddress();
    const context = await createShareContext(other, [makeDashboardGrant(shownDashboard._id)], [email]);
    const { as } = await signInOutsider(other, email);
    const portal = createPortalClient(as, context.id, shownDashboard._id);
    expect(listRegions((await portal.execute()).body)).toHaveLength(6);
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

  it('in a company without a database has the error code of a failed query', async () => {
    const other = await createOwnedCompany();
    const { dashboard: shownDashboard } = await createSalesDashboard(other);
    const email = makeAddress();
    const context = await createShareContext(other, [makeDashboardGrant(shownDashboard._id)], [email]);
    const { as } = await signInOutsider(other, email);
    const { status, body } = await createPortalClient(as, context.id, shownDashboard._id).execute();
    expect([status, body.error_code]).toEqual([422, 'DB_QUERY_ERROR']);
  });
});

it('the rate limits of the portal are counted for an outsider apart from the company', async () => {
  const { as } = await createViewer();
  const limitedEnv = { env: { RATE_LIMIT_TOKEN_PER_MINUTE: '2', RATE_LIMIT_ORGANIZATION_PER_MINUTE: '1' } };
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await as.get(`${PORTAL_PATH}/contexts`, limitedEnv)).status);
  expect(statuses).toEqual([200, 200, 429]);
  expect((await createCaller(company.token).get('/v1/auth/me')).status).toBe(200);
});
