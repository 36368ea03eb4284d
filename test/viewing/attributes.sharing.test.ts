import { describe, expect, it } from 'vitest';
import {
  createEmbedClient,
  createEmbedRecord,
  createEmbedToken,
  createSigningKey,
  hostToken,
  REVOCATION_PATH,
  readStatus,
} from '../embeds/support.ts';
import { expectTypes } from '../share-activity/support.ts';
import {
  addContextMember,
  CONTEXTS_PATH,
  createPortalClient,
  createShareContext,
  makeDashboardGrant,
  signInOutsider,
} from '../share-portal/support.ts';
import { createSalesTable, createShare, createShareClient, listDistinctRegions } from '../shares/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { addToGroups, createConsoleGroup } from '../support/console.ts';
import {
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

const REGIONS_SQL =
  'SELECT region, amount FROM sales WHERE region = ANY({{regions}}) [[AND amount >= {{least}}]] ORDER BY amount';
const regionFilter = { slug: 'regions', label: 'Regions', kind: 'multi_select', viewer_attribute: 'region' };
const company = await createProvisionedCompany();
await createSalesTable(company);
const key = await createSigningKey(company);
const parameters = [makeParameter('regions', 'multi_select'), makeParameter('least', 'number')];
const visualization: { _id: string } = await postVisualization(company.as, REGIONS_SQL, { parameters });
/** A visualization of the same rows whose own parameter is set from the attribute. */
const boundVisualization: { _id: string } = await postVisualization(company.as, REGIONS_SQL, {
  parameters: [regionFilter, makeParameter('least', 'number')],
});
const options = { sql: 'SELECT DISTINCT region FROM sales WHERE region = ANY({{regions}}) ORDER BY 1' };
const dashboard: { _id: string } = await postDashboard(company.as, [visualization], {
  filters: [regionFilter, { slug: 'other', label: 'Other', kind: 'select', options }],
});

const makeViewer = (id: string, region?: unknown) => ({ id, attributes: region === undefined ? {} : { region } });
const executeEmbed = async (of: unknown, embedOptions = {}) =>
  createEmbedClient(
    'd',
    await createEmbedToken(company, 'dashboards', dashboard._id, {
      ...(of !== undefined && { viewer: of }),
      ...embedOptions,
    }),
  );
const expectRegions = ({ status, body }: ApiResponse, regions: string[]) =>
  expect([status, body.results && listDistinctRegions(body)]).toEqual([200, regions]);
const expectRefused = ({ status, body }: ApiResponse) =>
  expect([status, body.error_code]).toEqual([403, 'SHARE_FILTER_POLICY_VIOLATION']);

describe('a viewer attribute', () => {
  it('decides the rows that the viewer of an embed sees; the attribute is neither shown to the viewer nor chosen by the viewer', async () => {
    const embed = await executeEmbed(makeViewer('u1', ['north', 'south']), { allowed_params: ['least', 'other'] });
    expectRegions(await embed.execute(), ['north', 'south']);
    expectRegions(await (await executeEmbed(makeViewer('u2', 'east'))).execute(), ['east']);
    const { body } = await embed.info();
    expect(body.dashboard.filters.map(({ slug }: { slug: string }) => slug)).toEqual(['other', 'least']);
    expect(JSON.stringify(body)).not.toMatch(/region|north/);
    for (const parameters of [{ regions: ['east'] }, { regions: ['north'] }, { regions: null }, { region: ['east'] }]) {
      expectRefused(await embed.execute(parameters));
    }
    expect((await embed.options('regions')).body.error_code).toBe('FILTER_DISABLED_BY_POLICY');
    expect((await embed.options('other')).body.options.map(({ value }: { value: string }) => value)).toEqual([
      'north',
      'south',
    ]);
  });

  it('decides the rows that the viewer of a token signed by a host sees', async () => {
    const signToken = (of: unknown) => hostToken(key, { dashboard_id: dashboard._id, viewer: of });
    expectRegions(await createEmbedClient('d', await signToken(makeViewer('u1', ['south']))).execute(), ['south']);
    expectRegions(await createEmbedClient('d', await signToken(makeViewer('u2', 'north'))).execute(), ['north']);
    expectRefused(await createEmbedClient('d', await signToken(makeViewer('u3'))).execute());
    for (const wrongViewer of [
      {},
      'u1',
      { id: 7 },
      { id: '' },
      { id: 'x'.repeat(201) },
      { id: 'u', attributes: [] },
      makeViewer('u', { eq: 'north' }),
      makeViewer('u', [['north']]),
      makeViewer('u', null),
      makeViewer('u', 'x'.repeat(1001)),
      { id: 'u', attributes: { 'No Slug': 'x' } },
      makeViewer(
        'u',
        Array.from({ length: 1_001 }, () => 1),
      ),
    ]) {
      expect([wrongViewer, await readStatus('d', await signToken(wrongViewer))]).toEqual([wrongViewer, 401]);
    }
  });

  it('decides the rows that a member of a context sees, however they are a member', async () => {
    const context = await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
    const addMember = (json: Record<string, unknown>) => addContextMember(company.as, context.id, json);
    const createdMember = await addMember({
      member_type: 'external_email',
      email: 'one@x.test',
      attributes: { region: ['north', 'east'] },
    });
    expect(createdMember).toMatchObject({ attributes: { region: ['north', 'east'] } });
    expect(await addMember({ member_type: 'external_email', email: 'two@x.test' })).not.toHaveProperty('attributes');
    const [one, two] = [await signInOutsider(company, 'one@x.test'), await signInOutsider(company, 'two@x.test')];
    expectRegions(await createPortalClient(one.as, context.id, dashboard._id).execute(), ['east', 'north']);
    expectRefused(await createPortalClient(one.as, context.id, dashboard._id).execute({ regions: ['south'] }));
    expectRefused(await createPortalClient(two.as, context.id, dashboard._id).execute());
    const { body } = await company.as.get(`${CONTEXTS_PATH}/${context.id}/members`);
    expect(body.records.map(({ attributes }: { attributes: unknown }) => attributes)).toEqual([
      { region: ['north', 'east'] },
      undefined,
    ]);

    const group = await createConsoleGroup(company);
    const person = await createAllowedUser(company, { can: ['dashboards:get', 'visualizations:execute'] });
    await addToGroups(company, person.id, group._id);
    await addMember({ member_type: 'group', member_id: group._id, attributes: { region: ['north', 'south'] } });
    expectRegions(await createPortalClient(person.as, context.id, dashboard._id).execute(), ['north', 'south']);
    await addMember({ member_type: 'internal_user', member_id: person.id, attributes: { region: ['south', 'east'] } });
    expectRegions(await createPortalClient(person.as, context.id, dashboard._id).execute(), ['south']);
    // Inside the company it is a parameter as any other.
    const executeInside = (parameters: unknown) =>
      person.as.post(`${DASHBOARDS_PATH}/${dashboard._id}/execute`, { json: { parameters } });
    expectRegions(await executeInside({ regions: ['east', 'north'] }), ['east', 'north']);
    const standaloneExecution = await person.as.post(`${VISUALIZATIONS_PATH}/${boundVisualization._id}/execute`, {
      json: { parameters: { regions: ['east'] } },
    });
    expect(standaloneExecution.body.result.rows).toEqual([['east', 60]]);
  });

  it('is required: the viewer of a link, or of an embed without the attribute, is refused the results', async () => {
    expectRefused(await createShareClient((await createShare(company, dashboard._id)).token).execute());
    for (const of of [
      undefined,
      makeViewer('u1'),
      makeViewer('u1', []),
      makeViewer('u1', ''),
      { id: 'u1', attributes: { regions: ['north'] } },
    ]) {
      const embed = await executeEmbed(of);
      expectRefused(await embed.execute());
      expect((await embed.info()).status).toBe(200);
    }
  });

  it('decides the parameter of a visualization, embedded by itself and on a dashboard', async () => {
    const listRegions = ({ rows }: { rows: string[][] }) => [...new Set(rows.map(([region]) => region))];
    const standaloneEmbed = createEmbedClient(
      'v',
      await createEmbedToken(company, 'visualizations', boundVisualization._id, { viewer: makeViewer('u1', 'south') }),
    );
    expect(listRegions((await standaloneEmbed.execute()).body.result)).toEqual(['south']);
    expectRefused(await standaloneEmbed.execute({ regions: ['north'] }));
    const executeDashboard = async (dashboardFields: Record<string, unknown>) => {
      const createdDashboard = await postDashboard(company.as, [boundVisualization, visualization], dashboardFields);
      const token = await createEmbedToken(company, 'dashboards', createdDashboard._id, {
        viewer: makeViewer('u1', ['south']),
      });
      return createEmbedClient('d', token).execute();
    };
    const openFilter = { slug: 'regions', label: 'Regions', kind: 'multi_select', default: ['north'] };
    for (const filters of [
      [],
      [openFilter],
      [{ ...openFilter, applies_to: [boundVisualization._id, visualization._id] }],
    ]) {
      const { body } = await executeDashboard({ filters });
      expect(body.results.map(listRegions)).toEqual([['south'], ['south']]);
    }
    // A filter that is not for it leaves nothing to bind it by.
    const { body } = await executeDashboard({ filters: [{ ...openFilter, applies_to: [visualization._id] }] });
    expect(body.results[0].error.error_code).toBe('SHARE_FILTER_POLICY_VIOLATION');
    expect(listRegions(body.results[1])).toEqual(['north']);
  });

  it.each([
    ['a fixed value of its filter', { fixed_params: { regions: ['north'] } }, 'fixed_params.regions'],
    ['its filter among the allowed', { allowed_params: ['regions'] }, 'allowed_params.0'],
    ['a viewer without an id', { viewer: { attributes: {} } }, 'viewer.id'],
    ['a viewer’s attributes that are a list', { viewer: { id: 'u', attributes: [] } }, 'viewer.attributes'],
    ['an attribute that is an object', { viewer: makeViewer('u', { a: 1 }) }, 'viewer.attributes.region'],
    ['an attribute that is null', { viewer: makeViewer('u', null) }, 'viewer.attributes.region'],
    ['a list of lists', { viewer: makeViewer('u', [['a']]) }, 'viewer.attributes.region'],
    [
      'ten thousand values',
      {
        viewer: makeViewer(
          'u',
          Array.from({ length: 10_000 }, (_, n) => n),
        ),
      },
      'viewer.attributes.region',
    ],
    [
      'more values than fit into a URL',
      {
        viewer: makeViewer(
          'u',
          Array.from({ length: 900 }, (_, n) => `value ${n}`),
        ),
      },
      'viewer.attributes',
    ],
    ['a name that is no slug', { viewer: { id: 'u', attributes: { 'a b': 1 } } }, 'viewer.attributes.a b'],
  ])('is refused when an embed is created: %s', async (_what, json, field) => {
    const { status, body } = await company.as.post(`/api/v1/embed/dashboards/${dashboard._id}`, { json });
    expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(JSON.stringify(body.details)).toContain(`"${field}"`);
  });

  it('has a slug as its name, and the parameter that it decides is not offered as a candidate for embeds', async () => {
    const { body } = await company.as.get(`${VISUALIZATIONS_PATH}/${boundVisualization._id}`);
    expect(body.parameters[0].viewer_attribute).toBe('region');
    expect(Object.keys(body.parameters[1])).not.toContain('viewer_attribute');
    for (const viewer_attribute of ['', 'No Slug', 7, null]) {
      const json = { name: 'X', sql: 'SELECT {{regions}}', parameters: [{ ...regionFilter, viewer_attribute }] };
      expect((await company.as.post(VISUALIZATIONS_PATH, { json })).status).toBe(422);
    }
    const { body: candidates } = await company.as.get(`/api/v1/dashboards/${dashboard._id}/embed-parameter-candidates`);
    expect(candidates.records.map(({ slug }: { slug: string }) => slug)).toEqual(['other', 'least']);
  });

  it('is part of the cache key: no viewer gets the cached rows of another', async () => {
    for (let round = 0; round < 2; round++) {
      for (const region of ['north', 'south', 'east']) {
        const embed = await executeEmbed(makeViewer('the same', region));
        const answer = await embed.execute();
        expectRegions(answer, [region]);
        if (round > 0) expect(answer.body.results[0].cached).toBe(true);
      }
    }
  });
});

describe('a viewer of embeds', () => {
  it('is named by id in events and analytics', async () => {
    const ownCompany = await createProvisionedCompany();
    await createSalesTable(ownCompany);
    const shownChart = await postVisualization(ownCompany.as, 'SELECT region FROM sales');
    for (const id of ['anna', 'anna', 'bert']) {
      const { token } = await createEmbedRecord(ownCompany, 'visualizations', shownChart._id, { viewer: { id } });
      expect((await createEmbedClient('v', token).execute()).status).toBe(200);
    }
    const events = await expectTypes(ownCompany, 'type=embed.executed', Array(3).fill('embed.executed'));
    expect(events.map(({ actor }) => actor)).toEqual(
      expect.arrayContaining(['anna', 'bert'].map((id) => ({ kind: 'viewer', id, email: null }))),
    );
    const { body } = await ownCompany.as.get('/api/v1/share-analytics');
    expect([body.unique_viewers, body.top.viewers]).toEqual([
      2,
      [
        { key: 'anna', label: 'anna', count: 2 },
        { key: 'bert', label: 'bert', count: 1 },
      ],
    ]);
  });

  it('loses all tokens when they are revoked by viewer id, whoever signed them, and no other viewer loses any', async () => {
    const createViewerEmbed = (id: string) =>
      createEmbedToken(company, 'dashboards', dashboard._id, { viewer: { id } });
    const now = Math.floor(Date.now() / 1000);
    const signViewerToken = (id: string) =>
      hostToken(key, { dashboard_id: dashboard._id, viewer: { id }, iat: now - 5 });
    const [ended, left] = [
      [await createViewerEmbed('leaver'), await signViewerToken('leaver')],
      [
        await createViewerEmbed('stayer'),
        await signViewerToken('stayer'),
        await createEmbedToken(company, 'dashboards', dashboard._id),
      ],
    ];
    expect((await company.as.post(REVOCATION_PATH, { json: { viewer_id: 'leaver' } })).status).toBe(204);
    for (const token of ended) expect(await readStatus('d', token)).toBe(401);
    for (const token of left) expect(await readStatus('d', token)).toBe(200);
    expect(await readStatus('d', await createViewerEmbed('leaver'))).toBe(200);
  });
});
