import { beforeAll, describe, expect, it } from 'vitest';
import { createEmbed, createSigningKey, SIGNING_KEYS_PATH } from '../embeds/support.ts';
import { aContext, aMember, CONTEXTS_PATH, dashboardGrant, inPortal } from '../share-portal/support.ts';
import { aShare, someSales } from '../shares/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { createRivalEnv } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import {
  aDashboard,
  aVisualization,
  DASHBOARDS_PATH,
  parameter,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

let company: Company;
let secret: { _id: string };
let open: { _id: string };
let dashboard: { _id: string };
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  secret = await aVisualization(company.as, 'SELECT region FROM sales ORDER BY 1', { name: 'Secret' });
  open = await aVisualization(company.as, 'SELECT count(*) FROM sales', { name: 'Open' });
  dashboard = await aDashboard(company.as, [secret, open]);
});

const ALL_ACTIONS = ['dashboards:*', 'visualizations:*'];

/** Somebody who may do everything with dashboards and visualizations, but is denied this with one of them. */
const createDeniedUser = (...denied: string[]) =>
  aUser(company, {
    can: ALL_ACTIONS,
    denied,
    deniedOn: [`arn:svc:visualizations::${company.id}:visualization/${secret._id}`],
  });
const createDashboardOf = (...visualizations: { _id: string }[]) =>
  visualizations.map(({ _id }, y) => ({ visualization_id: _id, x: 0, y, w: 4, h: 3 }));
/** What each result shows: rows, or the code of its error. */
const readResults = ({ body }: ApiResponse) =>
  body.results.map(
    (result: { rows?: unknown; error?: { error_code: string } }) => result.error?.error_code ?? result.rows,
  );
const expectForbidden = ({ status, body }: ApiResponse) =>
  expect([status, body.error_code ?? body.error]).toEqual([403, 'FORBIDDEN']);

describe('a Deny on a visualization', () => {
  it('applies when a dashboard with it is executed, and fails no other widget', async () => {
    const { as } = await createDeniedUser('visualizations:execute');
    expectForbidden(await as.post(`${VISUALIZATIONS_PATH}/${secret._id}/execute`, { json: {} }));
    const answer = await as.post(`${DASHBOARDS_PATH}/${dashboard._id}/execute`, { json: {} });
    expect([answer.status, readResults(answer)]).toEqual([200, ['FORBIDDEN', [[6]]]]);
    expect(JSON.stringify(answer.body)).not.toContain('north');
    // Somebody without a Deny needs no Allow for what stands on a dashboard.
    const { as: reader } = await aUser(company, { can: ['dashboards:get'] });
    expect(readResults(await reader.post(`${DASHBOARDS_PATH}/${dashboard._id}/execute`, { json: {} }))).toEqual([
      expect.arrayContaining([['north']]),
      [[6]],
    ]);
  });

  it('applies in the portal, even if the result was cached for somebody else', async () => {
    const context = await aContext(company, [dashboardGrant(dashboard._id)]);
    const denied = await createDeniedUser('visualizations:*');
    const free = await aUser(company);
    for (const { id } of [denied, free])
      await aMember(company.as, context.id, { member_type: 'internal_user', member_id: id });
    const portalOf = ({ as }: typeof free) => inPortal(as, context.id, dashboard._id);
    const all = [expect.arrayContaining([['north']]), [[6]]];
    for (let round = 0; round < 2; round++) {
      expect(readResults(await portalOf(free).execute())).toEqual(all);
      expect(readResults(await portalOf(denied).execute())).toEqual(['FORBIDDEN', [[6]]]);
    }
    expect((await portalOf(denied).execute()).body.results[1].cached).toBe(true);
  });
});

describe.each(['visualizations:get', 'visualizations:execute'])(
  'the parameters of a visualization with a Deny of %s',
  (action) => {
    const UNKNOWN = 'is not a parameter of this dashboard or visualization';
    let placed: { _id: string };
    let as: Company['as'];
    let userId: string;
    beforeAll(async () => {
      const parameters = [parameter('least', 'number'), parameter('kind', 'select'), parameter('top', 'number')];
      const sql = 'SELECT {{least}}::numeric, {{kind}}::text, {{top}}::numeric';
      const hidden = await aVisualization(company.as, sql, { name: 'Hidden', parameters });
      const shown = await aVisualization(company.as, 'SELECT {{top}}::text', {
        parameters: [parameter('top', 'text')],
      });
      placed = await aDashboard(company.as, [hidden, shown]);
      const deniedOn = [`arn:svc:visualizations::${company.id}:visualization/${hidden._id}`];
      ({ as, id: userId } = await aUser(company, { can: ['*'], denied: [action], deniedOn }));
    });
    /** The answers to right and wrong values of the parameters, and to a parameter that there is not. */
    const answersTo = async (execute: (parameters: object) => Promise<ApiResponse>) => {
      const all = [{ least: 3 }, { least: 'x' }, { kind: 'x' }, { nothing: 3 }].map(execute);
      return (await Promise.all(all)).map(({ status, body }) => [status, body.details?.[0].message]);
    };
    const unknown = Array.from({ length: 4 }, () => [422, UNKNOWN]);

    it('are unknown where the dashboard is executed, to nobody else', async () => {
      const executeAs = (caller: Company['as']) => (parameters: object) =>
        caller.post(`${DASHBOARDS_PATH}/${placed._id}/execute`, { json: { parameters } });
      expect(await answersTo(executeAs(as))).toEqual(unknown);
      expect((await answersTo(executeAs(company.as))).map(([status]) => status)).toEqual([200, 422, 200, 422]);
      expect(readResults(await executeAs(as)({ top: 'abc' }))).toEqual(['FORBIDDEN', [['abc']]]);
    });

    it('are unknown where the dashboard is executed in the portal', async () => {
      const context = await aContext(company, [dashboardGrant(placed._id)]);
      await aMember(company.as, context.id, { member_type: 'internal_user', member_id: userId });
      expect(await answersTo(inPortal(as, context.id, placed._id).execute)).toEqual(unknown);
    });

    it('have no options', async () => {
      const options = (caller: Company['as'], slug: string) =>
        caller.get(`${DASHBOARDS_PATH}/${placed._id}/filters/${slug}/options`);
      const answers = [await options(as, 'kind'), await options(as, 'nothing')];
      expect(answers.map(({ status, body }) => [status, body.error])).toEqual(
        Array.from({ length: 2 }, () => [404, 'FILTER_NOT_FOUND']),
      );
      expect((await options(company.as, 'kind')).status).toBe(200);
    });

    it('are no candidates for embeds, but those of others of the same name are', async () => {
      const candidates = async (caller: Company['as']) =>
        (await must(caller.get(`/api/v1/dashboards/${placed._id}/embed-parameter-candidates`))).records;
      const top = { slug: 'top', label: 'top', options_source: null };
      expect(await candidates(as)).toEqual([{ ...top, kind: 'text' }]);
      expect(await candidates(company.as)).toHaveLength(3);
    });

    it('are not told by the problems of a filter that does not fit them', async () => {
      const json = { filters: [parameter('least', 'text')] };
      const { _id } = await aDashboard(
        company.as,
        (await must(as.get(`${DASHBOARDS_PATH}/${placed._id}`))).layout.map(
          ({ visualization_id }: { visualization_id: string }) => ({ _id: visualization_id }),
        ),
      );
      const { status, body } = await company.as.put(`${DASHBOARDS_PATH}/${_id}`, { json });
      expect([status, body.details[0].message]).toEqual([422, 'must be number, the kind of the parameter in "Hidden"']);
      expect((await as.put(`${DASHBOARDS_PATH}/${_id}`, { json })).status).toBe(200);
    });

    it('are left alone by new filters, and set as before by those that were there', async () => {
      const [hidden, shown] = (await must(as.get(`${DASHBOARDS_PATH}/${placed._id}`))).layout;
      const was = [
        parameter('kind', 'text'),
        { ...parameter('least', 'number'), applies_to: [hidden.visualization_id] },
      ];
      const { _id } = await must(
        company.as.post(DASHBOARDS_PATH, { json: { name: 'Both', layout: [hidden, shown], filters: was } }),
      );
      const path = `${DASHBOARDS_PATH}/${_id}`;
      const before = await must(as.get(path));
      const change = async (json: object) => (await must(as.put(path, { json }))).filters;
      const labelled = before.filters.map((filter: object) => ({ ...filter, label: 'Other' }));
      expect(await change({ filters: labelled })).toEqual(labelled);
      const added = [parameter('top', 'text'), parameter('nothing', 'text')];
      const onlyShown = { applies_to: [shown.visualization_id] };
      expect(await change({ filters: [...labelled, ...added] })).toMatchObject([
        ...labelled,
        ...added.map((filter) => ({ ...filter, ...onlyShown })),
      ]);
      expect(await change({ filters: [{ ...was[1], kind: 'text' }] })).toMatchObject([
        { slug: 'least', applies_to: [] },
      ]);
      const { filters } = await must(company.as.get(path));
      await must(company.as.put(path, { json: { filters } }));
      const values = { parameters: { least: 'a' } };
      const { results } = await must(company.as.post(`${path}/execute`, { json: values }));
      expect(results.map(({ rows }: { rows: unknown }) => rows)).toEqual([[[null, null, null]], [[null]]]);
    });

    it('are left alone by filters that were there, on a dashboard that it is placed on', async () => {
      const [hidden, shown] = (await must(as.get(`${DASHBOARDS_PATH}/${placed._id}`))).layout;
      const json = { name: 'Of one', layout: [shown], filters: [parameter('least', 'text')] };
      const path = `${DASHBOARDS_PATH}/${(await must(company.as.post(DASHBOARDS_PATH, { json })))._id}`;
      const { status, body } = await as.put(path, { json: { layout: [hidden, shown] } });
      // Placing it needs the permission to execute it.
      if (action === 'visualizations:execute') expect(status).toBe(403);
      else expect([status, body.filters[0].applies_to]).toEqual([200, [shown.visualization_id]]);
    });
  },
);

describe('a dashboard that is composed', () => {
  const create = (as: Company['as'], json: Record<string, unknown>) =>
    as.post(DASHBOARDS_PATH, { json: { name: 'Made', ...json } });
  const dynamic = (sql: string) => [{ ...parameter('region', 'select'), options: { sql } }];

  it('may have a visualization moved by a user who may not execute it', async () => {
    const { as } = await createDeniedUser('visualizations:execute');
    const moved = await as.put(`${DASHBOARDS_PATH}/${dashboard._id}`, {
      json: { layout: createDashboardOf(open, secret) },
    });
    expect(moved.status).toBe(200);
    await company.as.put(`${DASHBOARDS_PATH}/${dashboard._id}`, { json: { layout: createDashboardOf(secret, open) } });
  });

  it('gets SQL for filter options only from users who may write SQL', async () => {
    const { as } = await aUser(company, { can: ['dashboards:*', 'visualizations:execute', 'visualizations:share'] });
    const filters = dynamic('SELECT region FROM sales');
    expectForbidden(await create(as, { filters }));
    const { _id } = await aDashboard(company.as, [], { filters });
    const change = (changed: unknown) => as.put(`${DASHBOARDS_PATH}/${_id}`, { json: { filters: changed } });
    expectForbidden(await change(dynamic('SELECT amount FROM sales')));
    expectForbidden(await change([...filters, { ...dynamic('SELECT amount FROM sales')[0], slug: 'other' }]));
    expect((await change([{ ...filters[0], label: 'Renamed' }])).status).toBe(200);
    expect((await change([{ ...filters[0], options: [] }])).status).toBe(200);
    const { as: author } = await aUser(company, { can: ['dashboards:*', 'visualizations:create'] });
    expect((await create(author, { filters })).status).toBe(201);
  });
});

describe('a dashboard that is shared with others', () => {
  /** Who may change dashboards and execute what stands on them, but share none of it. */
  const anEditor = async () => (await aUser(company, { can: ['dashboards:*', 'visualizations:execute'] })).as;
  const add = (as: Company['as'], id: string) =>
    as.put(`${DASHBOARDS_PATH}/${id}`, { json: { layout: createDashboardOf(open, secret) } });
  const ways: [string, (id: string) => Promise<unknown>][] = [
    ['a link', (id) => aShare(company, id)],
    ['a context', (id) => aContext(company, [dashboardGrant(id)])],
    ['an embed', (id) => createEmbed(company, 'dashboards', id)],
  ];

  it.each(ways)('through %s gets no visualization from a user who may not share that', async (_what, show) => {
    const { _id } = await aDashboard(company.as, [open]);
    await show(_id);
    const as = await anEditor();
    expectForbidden(await add(as, _id));
    expect(
      (await as.put(`${DASHBOARDS_PATH}/${_id}`, { json: { layout: createDashboardOf(open), name: 'Moved' } })).status,
    ).toBe(200);
    expect((await add(company.as, _id)).status).toBe(200);
  });

  it.each(ways)('through %s at the same moment gets no visualization its editor may not share', async (_what, show) => {
    const { _id } = await aDashboard(company.as, [open]);
    const as = await anEditor();
    const rival = createRivalEnv(/^update "dashboards"/i, () => show(_id));
    expectForbidden(
      await as.put(`${DASHBOARDS_PATH}/${_id}`, { json: { layout: createDashboardOf(open, secret) }, env: rival.env }),
    );
    expect(rival.hasRun()).toBe(true);
  });

  it.each([
    [
      'a link',
      /insert into "dashboard_shares"/i,
      (as: Company['as'], id: string, env: Record<string, string>) =>
        as.post(`/api/v1/dashboards/${id}/shares`, { json: { share_type: 'link' }, env }),
    ],
    [
      'an embed',
      /update "dashboards"/i,
      (as: Company['as'], id: string, env: Record<string, string>) =>
        as.post(`/api/v1/embed/dashboards/${id}`, { json: {}, env }),
    ],
    [
      'a change of a link',
      /update "dashboard_shares"/i,
      async (as: Company['as'], id: string, env: Record<string, string>) =>
        as.put(`/api/v1/dashboard-shares/${(await aShare(company, id)).id}`, { json: { expires_at: null }, env }),
    ],
  ] as const)('is checked as it is at the moment of its sharing through %s', async (_what, pattern, share) => {
    const { _id } = await aDashboard(company.as, [open]);
    const { as } = await createDeniedUser('visualizations:share');
    const rival = createRivalEnv(pattern, () => add(company.as, _id));
    expectForbidden(await share(as, _id, rival.env));
    expect(rival.hasRun()).toBe(true);
  });

  it('gets no new member of a context from a user who may not share what was added at that moment', async () => {
    const { _id } = await aDashboard(company.as, [open]);
    const context = await aContext(company, [dashboardGrant(_id)]);
    const { as } = await createDeniedUser('visualizations:share');
    const rival = createRivalEnv(/insert into "share_members"/i, () => add(company.as, _id));
    const json = { member_type: 'external_email', email: 'me@x.test' };
    const { status, body } = await as.post(`${CONTEXTS_PATH}/${context.id}/members`, { json, env: rival.env });
    expect([status, body.error_code]).toEqual([409, 'CONFLICT']);
    expect(rival.hasRun()).toBe(true);
    expect((await company.as.get(`${CONTEXTS_PATH}/${context.id}/members`)).body.records).toEqual([]);
  });

  it('gets no visualization from a user who may not share that, while a token signing key exists', async () => {
    const { _id } = await aDashboard(company.as, [open]);
    const as = await anEditor();
    let key = { id: '' };
    const rival = createRivalEnv(/^update "dashboards"/i, async () => {
      key = await createSigningKey(company);
    });
    expectForbidden(
      await as.put(`${DASHBOARDS_PATH}/${_id}`, { json: { layout: createDashboardOf(open, secret) }, env: rival.env }),
    );
    expectForbidden(await add(as, _id));
    expect((await company.as.delete(`${SIGNING_KEYS_PATH}/${key.id}`)).status).toBe(204);
    expect((await add(as, _id)).status).toBe(200);
  });

  it('gets visualizations again from a user who may not share, once its last share is revoked', async () => {
    const { _id } = await aDashboard(company.as, [open]);
    const share = await aShare(company, _id);
    await company.as.delete(`/api/v1/dashboard-shares/${share.id}`);
    expect((await add(await anEditor(), _id)).status).toBe(200);
  });
});
