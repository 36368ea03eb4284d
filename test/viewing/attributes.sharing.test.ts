import { beforeAll, describe, expect, it } from 'vitest';
import {
  createEmbed,
  createSigningKey,
  hostToken,
  makeEmbed,
  makeEmbedRoutes,
  REVOCATION_PATH,
  readStatus,
  type SigningKey,
} from '../embeds/support.ts';
import { expectTypes } from '../share-activity/support.ts';
import { aContext, aMember, anOutsider, CONTEXTS_PATH, dashboardGrant, inPortal } from '../share-portal/support.ts';
import { aShare, linkOf, regionsOf, someSales } from '../shares/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { addToGroups, createConsoleGroup } from '../support/console.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import {
  aDashboard,
  aVisualization,
  DASHBOARDS_PATH,
  parameter,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

let company: Company;
let key: SigningKey;
let visualization: { _id: string };
let dashboard: { _id: string };
/** The same visualization, whose own parameter is decided by the attribute. */
let bound: { _id: string };
const SQL =
  'SELECT region, amount FROM sales WHERE region = ANY({{regions}}) [[AND amount >= {{least}}]] ORDER BY amount';
const byRegion = { slug: 'regions', label: 'Regions', kind: 'multi_select', viewer_attribute: 'region' };
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  key = await createSigningKey(company);
  const parameters = [parameter('regions', 'multi_select'), parameter('least', 'number')];
  visualization = await aVisualization(company.as, SQL, { parameters });
  bound = await aVisualization(company.as, SQL, { parameters: [byRegion, parameter('least', 'number')] });
  const options = { sql: 'SELECT DISTINCT region FROM sales WHERE region = ANY({{regions}}) ORDER BY 1' };
  dashboard = await aDashboard(company.as, [visualization], {
    filters: [byRegion, { slug: 'other', label: 'Other', kind: 'select', options }],
  });
});

const makeViewer = (id: string, region?: unknown) => ({ id, attributes: region === undefined ? {} : { region } });
const executeEmbed = async (of: unknown, more = {}) =>
  makeEmbedRoutes(
    'd',
    await createEmbed(company, 'dashboards', dashboard._id, { ...(of !== undefined && { viewer: of }), ...more }),
  );
const expectRegions = ({ status, body }: ApiResponse, regions: string[]) =>
  expect([status, body.results && regionsOf(body)]).toEqual([200, regions]);
const expectRefused = ({ status, body }: ApiResponse) =>
  expect([status, body.error_code]).toEqual([403, 'SHARE_FILTER_POLICY_VIOLATION']);

describe('a viewer attribute', () => {
  it('decides the rows that the viewer of an embed sees, and is neither shown nor chosen by them', async () => {
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
    const sign = (of: unknown) => hostToken(key, { dashboard_id: dashboard._id, viewer: of });
    expectRegions(await makeEmbedRoutes('d', await sign(makeViewer('u1', ['south']))).execute(), ['south']);
    expectRegions(await makeEmbedRoutes('d', await sign(makeViewer('u2', 'north'))).execute(), ['north']);
    expectRefused(await makeEmbedRoutes('d', await sign(makeViewer('u3'))).execute());
    for (const wrong of [
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
      expect([wrong, await readStatus('d', await sign(wrong))]).toEqual([wrong, 401]);
    }
  });

  it('decides the rows that a member of a context sees, in whatever ways they are a member', async () => {
    const context = await aContext(company, [dashboardGrant(dashboard._id)]);
    const add = (json: Record<string, unknown>) => aMember(company.as, context.id, json);
    const made = await add({
      member_type: 'external_email',
      email: 'one@x.test',
      attributes: { region: ['north', 'east'] },
    });
    expect(made).toMatchObject({ attributes: { region: ['north', 'east'] } });
    expect(await add({ member_type: 'external_email', email: 'two@x.test' })).not.toHaveProperty('attributes');
    const [one, two] = [await anOutsider(company, 'one@x.test'), await anOutsider(company, 'two@x.test')];
    expectRegions(await inPortal(one.as, context.id, dashboard._id).execute(), ['east', 'north']);
    expectRefused(await inPortal(one.as, context.id, dashboard._id).execute({ regions: ['south'] }));
    expectRefused(await inPortal(two.as, context.id, dashboard._id).execute());
    const { body } = await company.as.get(`${CONTEXTS_PATH}/${context.id}/members`);
    expect(body.records.map(({ attributes }: { attributes: unknown }) => attributes)).toEqual([
      { region: ['north', 'east'] },
      undefined,
    ]);

    const group = await createConsoleGroup(company);
    const person = await aUser(company, { can: ['dashboards:get', 'visualizations:execute'] });
    await addToGroups(company, person.id, group._id);
    await add({ member_type: 'group', member_id: group._id, attributes: { region: ['north', 'south'] } });
    expectRegions(await inPortal(person.as, context.id, dashboard._id).execute(), ['north', 'south']);
    await add({ member_type: 'internal_user', member_id: person.id, attributes: { region: ['south', 'east'] } });
    expectRegions(await inPortal(person.as, context.id, dashboard._id).execute(), ['south']);
    // Inside the company it is a parameter as any other.
    const inside = (parameters: unknown) =>
      person.as.post(`${DASHBOARDS_PATH}/${dashboard._id}/execute`, { json: { parameters } });
    expectRegions(await inside({ regions: ['east', 'north'] }), ['east', 'north']);
    const alone = await person.as.post(`${VISUALIZATIONS_PATH}/${bound._id}/execute`, {
      json: { parameters: { regions: ['east'] } },
    });
    expect(alone.body.result.rows).toEqual([['east', 60]]);
  });

  it('is required: the viewer of a link, or of an embed without it, is refused the results', async () => {
    expectRefused(await linkOf((await aShare(company, dashboard._id)).token).execute());
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
    const regionsIn = ({ rows }: { rows: string[][] }) => [...new Set(rows.map(([region]) => region))];
    const alone = makeEmbedRoutes(
      'v',
      await createEmbed(company, 'visualizations', bound._id, { viewer: makeViewer('u1', 'south') }),
    );
    expect(regionsIn((await alone.execute()).body.result)).toEqual(['south']);
    expectRefused(await alone.execute({ regions: ['north'] }));
    const show = async (more: Record<string, unknown>) => {
      const made = await aDashboard(company.as, [bound, visualization], more);
      const token = await createEmbed(company, 'dashboards', made._id, { viewer: makeViewer('u1', ['south']) });
      return makeEmbedRoutes('d', token).execute();
    };
    const open = { slug: 'regions', label: 'Regions', kind: 'multi_select', default: ['north'] };
    for (const filters of [[], [open], [{ ...open, applies_to: [bound._id, visualization._id] }]]) {
      const { body } = await show({ filters });
      expect(body.results.map(regionsIn)).toEqual([['south'], ['south']]);
    }
    // A filter that is not for it leaves nothing to bind it by.
    const { body } = await show({ filters: [{ ...open, applies_to: [visualization._id] }] });
    expect(body.results[0].error.error_code).toBe('SHARE_FILTER_POLICY_VIOLATION');
    expect(regionsIn(body.results[1])).toEqual(['north']);
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
  ])('is refused when an embed is made: %s', async (_what, json, field) => {
    const { status, body } = await company.as.post(`/api/v1/embed/dashboards/${dashboard._id}`, { json });
    expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(JSON.stringify(body.details)).toContain(`"${field}"`);
  });

  it('is named by a slug in the parameter that it decides, which is no candidate for an embed', async () => {
    const { body } = await company.as.get(`${VISUALIZATIONS_PATH}/${bound._id}`);
    expect(body.parameters[0].viewer_attribute).toBe('region');
    expect(Object.keys(body.parameters[1])).not.toContain('viewer_attribute');
    for (const viewer_attribute of ['', 'No Slug', 7, null]) {
      const json = { name: 'X', sql: 'SELECT {{regions}}', parameters: [{ ...byRegion, viewer_attribute }] };
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
    const own = await aProvisionedCompany();
    await someSales(own);
    const shown = await aVisualization(own.as, 'SELECT region FROM sales');
    for (const id of ['anna', 'anna', 'bert']) {
      const { token } = await makeEmbed(own, 'visualizations', shown._id, { viewer: { id } });
      expect((await makeEmbedRoutes('v', token).execute()).status).toBe(200);
    }
    const events = await expectTypes(own, 'type=embed.executed', Array(3).fill('embed.executed'));
    expect(events.map(({ actor }) => actor)).toEqual(
      expect.arrayContaining(['anna', 'bert'].map((id) => ({ kind: 'viewer', id, email: null }))),
    );
    const { body } = await own.as.get('/api/v1/share-analytics');
    expect([body.unique_viewers, body.top.viewers]).toEqual([
      2,
      [
        { key: 'anna', label: 'anna', count: 2 },
        { key: 'bert', label: 'bert', count: 1 },
      ],
    ]);
  });

  it('loses all tokens when they are revoked by viewer id, whoever signed them, and no other viewer does', async () => {
    const made = (id: string) => createEmbed(company, 'dashboards', dashboard._id, { viewer: { id } });
    const now = Math.floor(Date.now() / 1000);
    const signed = (id: string) => hostToken(key, { dashboard_id: dashboard._id, viewer: { id }, iat: now - 5 });
    const [ended, left] = [
      [await made('leaver'), await signed('leaver')],
      [await made('stayer'), await signed('stayer'), await createEmbed(company, 'dashboards', dashboard._id)],
    ];
    expect((await company.as.post(REVOCATION_PATH, { json: { viewer_id: 'leaver' } })).status).toBe(204);
    for (const token of ended) expect(await readStatus('d', token)).toBe(401);
    for (const token of left) expect(await readStatus('d', token)).toBe(200);
    expect(await readStatus('d', await made('leaver'))).toBe(200);
  });
});
