import { beforeAll, describe, expect, it } from 'vitest';
import { createEmbed } from '../embeds/support.ts';
import { aContext, aMember, CONTEXTS_PATH, dashboardGrant } from '../share-portal/support.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization, DASHBOARDS_PATH, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { aShare } from './support.ts';

type Env = Record<string, string>;

let company: Company;
let asOwner: Company['as'];
beforeAll(async () => {
  company = await aCompany();
  asOwner = company.as;
});

const aChart = (): Promise<{ _id: string }> => aVisualization(asOwner, 'SELECT 1');
const place = (...charts: { _id: string }[]) =>
  charts.map(({ _id }, y) => ({ visualization_id: _id, x: 0, y, w: 4, h: 3 }));
const rename = (path: string, name: string) => must(asOwner.put(path, { json: { name } }));
const sharesPath = (id: string): string => `/api/v1/dashboards/${id}/shares`;
const sharePath = (id: string): string => `/api/v1/dashboard-shares/${id}`;
const codeOf = ({ status, body }: { status: number; body: { error_code?: string; error?: string } }) => [
  status,
  body.error_code ?? body.error,
];

describe.each([
  ['a dashboard', DASHBOARDS_PATH, 'dashboards', async () => ({ layout: [] })],
  ['a visualization', VISUALIZATIONS_PATH, 'visualizations', async () => ({ sql: 'SELECT 1' })],
  ['a context', CONTEXTS_PATH, 'share_contexts', async () => ({ grants: [] })],
  [
    'a context with grants',
    CONTEXTS_PATH,
    'share_contexts',
    async () => ({ grants: [dashboardGrant((await aDashboard(asOwner, []))._id)] }),
  ],
])('%s', (what, path, table, content) => {
  const making = new RegExp(`^insert into "${table}"`);
  const make = async (json: object, env?: Env) =>
    asOwner.post(path, { json: { name: `Slug of ${what}`, ...(await content()), ...json }, ...(env && { env }) });

  it('gets another slug when somebody takes the slug of its name meanwhile', async () => {
    const answer = await sendOvertaken(
      making,
      () => must(make({})),
      (env) => make({}, env),
    );
    expect(answer.status).toBe(201);
    const slug = `slug-of-${what.replaceAll(' ', '-')}`;
    expect(answer.body.slug).toMatch(new RegExp(`^${slug}-[0-9a-f]{8}$`));
  });

  it('is not made when somebody takes its slug meanwhile', async () => {
    const slug = `wanted-${what.replaceAll(' ', '-')}`;
    const answer = await sendOvertaken(
      making,
      () => must(make({ slug })),
      (env) => make({ slug }, env),
    );
    expect(answer.status).toBe(409);
    expect(await countRows(`${table} where slug = ?`, slug)).toBe(1);
  });
});

describe('a dashboard', () => {
  it('is not made with a visualization that is deleted meanwhile', async () => {
    const chart = await aChart();
    const answer = await sendOvertaken(
      /^insert into "dashboards"/,
      () => must(asOwner.delete(`${VISUALIZATIONS_PATH}/${chart._id}`)),
      (env) => asOwner.post(DASHBOARDS_PATH, { json: { name: 'Of nothing', layout: place(chart) }, env }),
    );
    expect(answer.status).toBe(404);
  });

  it('does not get a visualization that is deleted meanwhile', async () => {
    const [chart, { _id }] = [await aChart(), await aDashboard(asOwner, [])];
    const answer = await sendOvertaken(
      /^update "dashboards"/,
      () => must(asOwner.delete(`${VISUALIZATIONS_PATH}/${chart._id}`)),
      (env) => asOwner.put(`${DASHBOARDS_PATH}/${_id}`, { json: { layout: place(chart) }, env }),
    );
    expect(answer.status).toBe(404);
  });
});

describe.each([
  ['a dashboard', DASHBOARDS_PATH, 'dashboards', () => aDashboard(asOwner, [])],
  ['a visualization', VISUALIZATIONS_PATH, 'visualizations', aChart],
])('%s', (_what, path, table, make) => {
  it('keeps what somebody else changes meanwhile', async () => {
    const { _id } = await make();
    const answer = await sendOvertaken(
      new RegExp(`^update "${table}"`),
      () => rename(`${path}/${_id}`, 'By the rival'),
      (env) => asOwner.put(`${path}/${_id}`, { json: { description: 'Changed.' }, env }),
    );
    expect([answer.status, answer.body]).toEqual([
      200,
      expect.objectContaining({ name: 'By the rival', description: 'Changed.' }),
    ]);
  });

  it('counts as embedded until its last token expires, whatever is changed', async () => {
    const { _id } = await make();
    const until = () => selectRow<{ embedded_until: number }>(`select embedded_until from ${table} where id = ?`, _id);
    await createEmbed(company, table as 'dashboards' | 'visualizations', _id, { expires_in: 86_400 });
    const longest = await until();
    expect(longest?.embedded_until).toBeGreaterThan(Date.now() + 86_000_000);
    await createEmbed(company, table as 'dashboards' | 'visualizations', _id, { expires_in: 3600 });
    expect(await until()).toEqual(longest);
    await sendOvertaken(
      new RegExp(`^update "${table}" set "(id|company_id|name)"`),
      () => createEmbed(company, table as 'dashboards' | 'visualizations', _id, { expires_in: 172_800 }),
      (env) => asOwner.put(`${path}/${_id}`, { json: { description: 'Changed.' }, env }),
    );
    expect((await until())?.embedded_until).toBeGreaterThan(Date.now() + 172_000_000);
  });
});

it('a visualization is not deleted when it is put on a dashboard meanwhile', async () => {
  const chart = await aChart();
  const answer = await sendOvertaken(
    /^delete from "visualizations"/,
    () => aDashboard(asOwner, [chart]),
    (env) => asOwner.delete(`${VISUALIZATIONS_PATH}/${chart._id}`, { env }),
  );
  expect(answer.status).toBe(409);
});

describe('a share context', () => {
  const grantsPath = (id: string): string => `${CONTEXTS_PATH}/${id}/grants`;
  const grantsOf = async (id: string): Promise<string[]> =>
    (await must(asOwner.get(`${CONTEXTS_PATH}/${id}`))).grants.map(({ target_id }: { target_id: string }) => target_id);
  const CHANGED = [409, 'CONFLICT'];

  it.each([{}, { slug: 'of-a-changed-dashboard' }])(
    'with %j is not made with a dashboard that changes meanwhile',
    async (json) => {
      const { _id } = await aDashboard(asOwner, []);
      const answer = await sendOvertaken(
        /^insert into "share_contexts"/,
        () => rename(`${DASHBOARDS_PATH}/${_id}`, 'Changed'),
        (env) =>
          asOwner.post(CONTEXTS_PATH, {
            json: { name: 'Of a changed one', grants: [dashboardGrant(_id)], ...json },
            env,
          }),
      );
      expect(codeOf(answer)).toEqual(CHANGED);
    },
  );

  it('keeps the grants that somebody else sets meanwhile, and refuses the later ones', async () => {
    const [first, second, { id }] = [
      await aDashboard(asOwner, []),
      await aDashboard(asOwner, []),
      await aContext(company, []),
    ];
    const put = (_id: string, env?: Env) =>
      asOwner.put(grantsPath(id), { json: { grants: [dashboardGrant(_id)] }, ...(env && { env }) });
    const answer = await sendOvertaken(
      /^(delete from|insert into) "share_grants"/,
      () => must(put(first._id)),
      (env) => put(second._id, env),
    );
    expect(codeOf(answer)).toEqual(CHANGED);
    expect(await grantsOf(id)).toEqual([first._id]);
  });

  it('gets no grant of a dashboard that changes meanwhile, and keeps its own', async () => {
    const [shown, next] = [await aDashboard(asOwner, []), await aDashboard(asOwner, [])];
    const { id } = await aContext(company, [dashboardGrant(shown._id)]);
    const answer = await sendOvertaken(
      /^(delete from|insert into) "share_grants"/,
      () => rename(`${DASHBOARDS_PATH}/${next._id}`, 'Changed'),
      (env) => asOwner.put(grantsPath(id), { json: { grants: [dashboardGrant(next._id)] }, env }),
    );
    expect(codeOf(answer)).toEqual(CHANGED);
    expect(await grantsOf(id)).toEqual([shown._id]);
  });

  it('is not renamed if its grants change meanwhile', async () => {
    const [dashboard, { id, slug }] = [await aDashboard(asOwner, []), await aContext(company, [])];
    const answer = await sendOvertaken(
      /^update "share_contexts"/,
      () => must(asOwner.put(grantsPath(id), { json: { grants: [dashboardGrant(dashboard._id)] } })),
      (env) => asOwner.put(`${CONTEXTS_PATH}/${id}`, { json: { slug: 'renamed' }, env }),
    );
    expect(codeOf(answer)).toEqual(CHANGED);
    expect((await must(asOwner.get(`${CONTEXTS_PATH}/${id}`))).slug).toBe(slug);
  });

  it('keeps its grants, members and shares if they change while it is deleted', async () => {
    const dashboard = await aDashboard(asOwner, []);
    const { id } = await aContext(company, [dashboardGrant(dashboard._id)]);
    await aMember(asOwner, id, { member_type: 'external_email', email: 'member@elsewhere.test' });
    const share = await aShare(company, dashboard._id, { share_context_id: id });
    const answer = await sendOvertaken(
      /^delete from "share_contexts"/,
      () => must(asOwner.put(grantsPath(id), { json: { grants: [dashboardGrant(dashboard._id)] } })),
      (env) => asOwner.delete(`${CONTEXTS_PATH}/${id}`, { env }),
    );
    expect(codeOf(answer)).toEqual(CHANGED);
    expect((await must(asOwner.get(`${CONTEXTS_PATH}/${id}`))).member_count).toBe(1);
    expect(await grantsOf(id)).toEqual([dashboard._id]);
    expect(await selectRow('select revoked_at from dashboard_shares where id = ?', share.id)).toEqual({
      revoked_at: null,
    });
    const told = "outbox where message ->> '$.event.shareId' = ? and message ->> '$.event.type' = 'share.revoked'";
    expect(await countRows(told, share.id)).toBe(0);
  });

  it('leaves the revocation time of shares that were revoked before its deletion', async () => {
    const [dashboard, { id }] = [await aDashboard(asOwner, []), await aContext(company, [])];
    const share = await aShare(company, dashboard._id, { share_context_id: id });
    await selectRow('update dashboard_shares set revoked_at = 1 where id = ?', share.id);
    await must(asOwner.delete(`${CONTEXTS_PATH}/${id}`));
    expect(await selectRow('select revoked_at from dashboard_shares where id = ?', share.id)).toEqual({
      revoked_at: 1,
    });
  });
});

describe('a member of a share context', () => {
  const email = 'once@elsewhere.test';
  const add = (id: string, env?: Env) =>
    asOwner.post(`${CONTEXTS_PATH}/${id}/members`, {
      json: { member_type: 'external_email', email },
      ...(env && { env }),
    });
  const joining = /^insert into "share_members"/;

  it('is not added if the grants of the context change meanwhile', async () => {
    const [dashboard, { id }] = [await aDashboard(asOwner, []), await aContext(company, [])];
    const rival = () =>
      must(asOwner.put(`${CONTEXTS_PATH}/${id}/grants`, { json: { grants: [dashboardGrant(dashboard._id)] } }));
    expect((await sendOvertaken(joining, rival, (env) => add(id, env))).status).toBe(409);
    expect(await countRows('share_members where context_id = ?', id)).toBe(0);
  });

  it('is added once by two requests at the same time', async () => {
    const { id } = await aContext(company, []);
    expect(
      (
        await sendOvertaken(
          joining,
          () => must(add(id)),
          (env) => add(id, env),
        )
      ).status,
    ).toBe(409);
    expect(await countRows('share_members where context_id = ?', id)).toBe(1);
  });

  it('is refused when there are 10,000', async () => {
    const { id } = await aContext(company, []);
    await selectRow(
      `with recursive member(n) as (select 1 union all select n + 1 from member where n < 9999)
       insert into share_members (id, company_id, context_id, member_type, subject, created_at) select id || '-' || n, company_id, id, 'external_email', 'member-' || n, 0
       from share_contexts, member where id = ?`,
      id,
    );
    const rival = () =>
      must(
        asOwner.post(`${CONTEXTS_PATH}/${id}/members`, {
          json: { member_type: 'external_email', email: 'rival@elsewhere.test' },
        }),
      );
    expect((await sendOvertaken(joining, rival, (env) => add(id, env))).status).toBe(422);
    expect(await countRows('share_members where context_id = ?', id)).toBe(10_000);
  });
});

describe('a share', () => {
  it('is not made for a context that is deleted meanwhile', async () => {
    const [dashboard, { id }] = [await aDashboard(asOwner, []), await aContext(company, [])];
    const answer = await sendOvertaken(
      /^insert into "dashboard_shares"/,
      () => must(asOwner.delete(`${CONTEXTS_PATH}/${id}`)),
      (env) => asOwner.post(sharesPath(dashboard._id), { json: { share_type: 'link', share_context_id: id }, env }),
    );
    expect(answer.status).toBe(404);
    expect(await countRows('dashboard_shares where dashboard_id = ?', dashboard._id)).toBe(0);
  });

  it('is not moved to a context that is deleted meanwhile', async () => {
    const [dashboard, { id }] = [await aDashboard(asOwner, []), await aContext(company, [])];
    const share = await aShare(company, dashboard._id);
    const answer = await sendOvertaken(
      /^update "dashboard_shares"/,
      () => must(asOwner.delete(`${CONTEXTS_PATH}/${id}`)),
      (env) => asOwner.put(sharePath(share.id), { json: { share_context_id: id }, env }),
    );
    expect(answer.status).toBe(404);
    expect(await countRows('dashboard_shares where share_context_id = ?', id)).toBe(0);
  });

  it('is not changed once it is revoked', async () => {
    const share = await aShare(company, (await aDashboard(asOwner, []))._id, { name: 'Before' });
    const answer = await sendOvertaken(
      /^update "dashboard_shares"/,
      () => must(asOwner.delete(sharePath(share.id))),
      (env) => asOwner.put(sharePath(share.id), { json: { name: 'After' }, env }),
    );
    expect(answer.status).toBe(409);
    expect(await selectRow('select name from dashboard_shares where id = ?', share.id)).toEqual({ name: 'Before' });
  });

  it('keeps the options that somebody else sets meanwhile', async () => {
    const share = await aShare(company, (await aDashboard(asOwner, []))._id);
    const set = (embed_options: object, env?: Env) =>
      asOwner.put(sharePath(share.id), { json: { embed_options }, ...(env && { env }) });
    const rival = () => must(set({ hide_header: true }));
    const answer = await sendOvertaken(/^update "dashboard_shares"/, rival, (env) => set({ hide_controls: true }, env));
    expect(answer.body.embed_options).toMatchObject({ hide_header: true, hide_controls: true });
  });

  it('is revoked once by two requests at the same time', async () => {
    const share = await aShare(company, (await aDashboard(asOwner, []))._id);
    const revoking = () => selectRow('update dashboard_shares set revoked_at = 1 where id = ?', share.id);
    await sendOvertaken(/^update "dashboard_shares"/, revoking, (env) => asOwner.delete(sharePath(share.id), { env }));
    expect(await selectRow('select revoked_at from dashboard_shares where id = ?', share.id)).toEqual({
      revoked_at: 1,
    });
  });
});
