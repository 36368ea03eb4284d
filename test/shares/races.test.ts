import { describe, expect, it } from 'vitest';
import { createEmbedToken } from '../embeds/support.ts';
import { addContextMember, CONTEXTS_PATH, createShareContext, makeDashboardGrant } from '../share-portal/support.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { countRows, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { DASHBOARDS_PATH, postDashboard, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { createShare } from './support.ts';

type TestVariables = Record<string, string>;

const company = await createOwnedCompany();
const ownerCaller = company.as;

const createChart = (): Promise<{ _id: string }> => postVisualization(ownerCaller, 'SELECT 1');
const makeLayout = (...charts: { _id: string }[]) =>
  charts.map(({ _id }, y) => ({ visualization_id: _id, x: 0, y, w: 4, h: 3 }));
const renameResource = (path: string, name: string) => expectSuccess(ownerCaller.put(path, { json: { name } }));
const makeSharesPath = (id: string): string => `/api/v1/dashboards/${id}/shares`;
const makeSharePath = (id: string): string => `/api/v1/dashboard-shares/${id}`;
const readStatusAndError = ({ status, body }: { status: number; body: { error_code?: string; error?: string } }) => [
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
    async () => ({ grants: [makeDashboardGrant((await postDashboard(ownerCaller, []))._id)] }),
  ],
])('%s', (title, path, table, content) => {
  const insertStatement = new RegExp(`^insert into "${table}"`);
  const createResource = async (json: object, env?: TestVariables) =>
    ownerCaller.post(path, { json: { name: `Slug of ${title}`, ...(await content()), ...json }, env });

  it('gets another slug when somebody takes the slug of its name meanwhile', async () => {
    const answer = await sendTwice(insertStatement, (env) => createResource({}, env));
    expect(answer.status).toBe(201);
    const slug = `slug-of-${title.replaceAll(' ', '-')}`;
    expect(answer.body.slug).toMatch(new RegExp(`^${slug}-[0-9a-f]{8}$`));
  });

  it('is not created when somebody takes its slug meanwhile', async () => {
    const slug = `wanted-${title.replaceAll(' ', '-')}`;
    const answer = await sendTwice(insertStatement, (env) => createResource({ slug }, env));
    expect(answer.status).toBe(409);
    expect(await countRows(`${table} where slug = ?`, slug)).toBe(1);
  });
});

describe('a dashboard', () => {
  it('is not created with a visualization that is deleted meanwhile', async () => {
    const chart = await createChart();
    const answer = await sendDuringRace(
      /^insert into "dashboards"/,
      () => expectSuccess(ownerCaller.delete(`${VISUALIZATIONS_PATH}/${chart._id}`)),
      (env) => ownerCaller.post(DASHBOARDS_PATH, { json: { name: 'Of nothing', layout: makeLayout(chart) }, env }),
    );
    expect(answer.status).toBe(404);
  });

  it('does not get a visualization that is deleted meanwhile', async () => {
    const [chart, { _id }] = [await createChart(), await postDashboard(ownerCaller, [])];
    const answer = await sendDuringRace(
      /^update "dashboards"/,
      () => expectSuccess(ownerCaller.delete(`${VISUALIZATIONS_PATH}/${chart._id}`)),
      (env) => ownerCaller.put(`${DASHBOARDS_PATH}/${_id}`, { json: { layout: makeLayout(chart) }, env }),
    );
    expect(answer.status).toBe(404);
  });
});

describe.each([
  ['a dashboard', DASHBOARDS_PATH, 'dashboards', () => postDashboard(ownerCaller, [])],
  ['a visualization', VISUALIZATIONS_PATH, 'visualizations', createChart],
])('%s', (_what, path, table, make) => {
  it('keeps the changes that somebody else makes meanwhile', async () => {
    const { _id } = await make();
    const answer = await sendDuringRace(
      new RegExp(`^update "${table}"`),
      () => renameResource(`${path}/${_id}`, 'By the rival'),
      (env) => ownerCaller.put(`${path}/${_id}`, { json: { description: 'Changed.' }, env }),
    );
    expect([answer.status, answer.body]).toEqual([
      200,
      expect.objectContaining({ name: 'By the rival', description: 'Changed.' }),
    ]);
  });

  it('counts as embedded until its last token expires, whatever is changed meanwhile', async () => {
    const { _id } = await make();
    const readEmbeddedUntil = () =>
      selectRow<{ embedded_until: number }>(`select embedded_until from ${table} where id = ?`, _id);
    await createEmbedToken(company, table as 'dashboards' | 'visualizations', _id, { expires_in: 86_400 });
    const longestUntil = await readEmbeddedUntil();
    expect(longestUntil?.embedded_until).toBeGreaterThan(Date.now() + 86_000_000);
    await createEmbedToken(company, table as 'dashboards' | 'visualizations', _id, { expires_in: 3600 });
    expect(await readEmbeddedUntil()).toEqual(longestUntil);
    await sendDuringRace(
      new RegExp(`^update "${table}" set "(id|company_id|name)"`),
      () => createEmbedToken(company, table as 'dashboards' | 'visualizations', _id, { expires_in: 172_800 }),
      (env) => ownerCaller.put(`${path}/${_id}`, { json: { description: 'Changed.' }, env }),
    );
    expect((await readEmbeddedUntil())?.embedded_until).toBeGreaterThan(Date.now() + 172_000_000);
  });
});

it('a visualization is not deleted when it is put on a dashboard meanwhile', async () => {
  const chart = await createChart();
  const answer = await sendDuringRace(
    /^delete from "visualizations"/,
    () => postDashboard(ownerCaller, [chart]),
    (env) => ownerCaller.delete(`${VISUALIZATIONS_PATH}/${chart._id}`, { env }),
  );
  expect(answer.status).toBe(409);
});

describe('a share context', () => {
  const makeGrantsPath = (id: string): string => `${CONTEXTS_PATH}/${id}/grants`;
  const listGrantTargets = async (id: string): Promise<string[]> =>
    (await expectSuccess(ownerCaller.get(`${CONTEXTS_PATH}/${id}`))).grants.map(
      ({ target_id }: { target_id: string }) => target_id,
    );
  const CONFLICT_ANSWER = [409, 'CONFLICT'];

  it.each([{}, { slug: 'of-a-changed-dashboard' }])(
    'with %j is not created with a dashboard that changes meanwhile',
    async (json) => {
      const { _id } = await postDashboard(ownerCaller, []);
      const answer = await sendDuringRace(
        /^insert into "share_contexts"/,
        () => renameResource(`${DASHBOARDS_PATH}/${_id}`, 'Changed'),
        (env) =>
          ownerCaller.post(CONTEXTS_PATH, {
            json: { name: 'Of a changed one', grants: [makeDashboardGrant(_id)], ...json },
            env,
          }),
      );
      expect(readStatusAndError(answer)).toEqual(CONFLICT_ANSWER);
    },
  );

  it('keeps the grants that somebody else sets meanwhile, and refuses the overtaken ones', async () => {
    const [first, second, { id }] = [
      await postDashboard(ownerCaller, []),
      await postDashboard(ownerCaller, []),
      await createShareContext(company, []),
    ];
    const putGrants = (_id: string, env?: TestVariables) =>
      ownerCaller.put(makeGrantsPath(id), { json: { grants: [makeDashboardGrant(_id)] }, env });
    const answer = await sendDuringRace(
      /^(delete from|insert into) "share_grants"/,
      () => expectSuccess(putGrants(first._id)),
      (env) => putGrants(second._id, env),
    );
    expect(readStatusAndError(answer)).toEqual(CONFLICT_ANSWER);
    expect(await listGrantTargets(id)).toEqual([first._id]);
  });

  it('gets no grant of a dashboard that changes meanwhile, and keeps its existing grants', async () => {
    const [shownDashboard, nextDashboard] = [
      await postDashboard(ownerCaller, []),
      await postDashboard(ownerCaller, []),
    ];
    const { id } = await createShareContext(company, [makeDashboardGrant(shownDashboard._id)]);
    const answer = await sendDuringRace(
      /^(delete from|insert into) "share_grants"/,
      () => renameResource(`${DASHBOARDS_PATH}/${nextDashboard._id}`, 'Changed'),
      (env) => ownerCaller.put(makeGrantsPath(id), { json: { grants: [makeDashboardGrant(nextDashboard._id)] }, env }),
    );
    expect(readStatusAndError(answer)).toEqual(CONFLICT_ANSWER);
    expect(await listGrantTargets(id)).toEqual([shownDashboard._id]);
  });

  it('is not renamed if its grants change meanwhile', async () => {
    const [dashboard, { id, slug }] = [await postDashboard(ownerCaller, []), await createShareContext(company, [])];
    const answer = await sendDuringRace(
      /^update "share_contexts"/,
      () =>
        expectSuccess(ownerCaller.put(makeGrantsPath(id), { json: { grants: [makeDashboardGrant(dashboard._id)] } })),
      (env) => ownerCaller.put(`${CONTEXTS_PATH}/${id}`, { json: { slug: 'renamed' }, env }),
    );
    expect(readStatusAndError(answer)).toEqual(CONFLICT_ANSWER);
    expect((await expectSuccess(ownerCaller.get(`${CONTEXTS_PATH}/${id}`))).slug).toBe(slug);
  });

  it('keeps its grants, members and shares if they change while it is deleted', async () => {
    const dashboard = await postDashboard(ownerCaller, []);
    const { id } = await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
    await addContextMember(ownerCaller, id, { member_type: 'external_email', email: 'member@elsewhere.test' });
    const share = await createShare(company, dashboard._id, { share_context_id: id });
    const answer = await sendDuringRace(
      /^delete from "share_contexts"/,
      () =>
        expectSuccess(ownerCaller.put(makeGrantsPath(id), { json: { grants: [makeDashboardGrant(dashboard._id)] } })),
      (env) => ownerCaller.delete(`${CONTEXTS_PATH}/${id}`, { env }),
    );
    expect(readStatusAndError(answer)).toEqual(CONFLICT_ANSWER);
    expect((await expectSuccess(ownerCaller.get(`${CONTEXTS_PATH}/${id}`))).member_count).toBe(1);
    expect(await listGrantTargets(id)).toEqual([dashboard._id]);
    expect(await selectRow('select revoked_at from dashboard_shares where id = ?', share.id)).toEqual({
      revoked_at: null,
    });
    const revokedOutboxQuery =
      "outbox where message ->> '$.event.shareId' = ? and message ->> '$.event.type' = 'share.revoked'";
    expect(await countRows(revokedOutboxQuery, share.id)).toBe(0);
  });

  it('keeps the revocation time of shares that were revoked before the context was deleted', async () => {
    const [dashboard, { id }] = [await postDashboard(ownerCaller, []), await createShareContext(company, [])];
    const share = await createShare(company, dashboard._id, { share_context_id: id });
    await selectRow('update dashboard_shares set revoked_at = 1 where id = ?', share.id);
    await expectSuccess(ownerCaller.delete(`${CONTEXTS_PATH}/${id}`));
    expect(await selectRow('select revoked_at from dashboard_shares where id = ?', share.id)).toEqual({
      revoked_at: 1,
    });
  });
});

describe('a member of a share context', () => {
  const email = 'once@elsewhere.test';
  const addMember = (id: string, env?: TestVariables) =>
    ownerCaller.post(`${CONTEXTS_PATH}/${id}/members`, {
      json: { member_type: 'external_email', email },
      env,
    });
  const memberInsertPattern = /^insert into "share_members"/;

  it('is not added if the grants of the context change meanwhile', async () => {
    const [dashboard, { id }] = [await postDashboard(ownerCaller, []), await createShareContext(company, [])];
    const changeGrants = () =>
      expectSuccess(
        ownerCaller.put(`${CONTEXTS_PATH}/${id}/grants`, { json: { grants: [makeDashboardGrant(dashboard._id)] } }),
      );
    expect((await sendDuringRace(memberInsertPattern, changeGrants, (env) => addMember(id, env))).status).toBe(409);
    expect(await countRows('share_members where context_id = ?', id)).toBe(0);
  });

  it('is added once by two requests at the same time', async () => {
    const { id } = await createShareContext(company, []);
    expect((await sendTwice(memberInsertPattern, (env) => addMember(id, env))).status).toBe(409);
    expect(await countRows('share_members where context_id = ?', id)).toBe(1);
  });

  it('is refused when the context has 10,000 members', async () => {
    const { id } = await createShareContext(company, []);
    await selectRow(
      `with recursive member(n) as (select 1 union all select n + 1 from member where n < 9999)
       insert into share_members (id, company_id, context_id, member_type, subject, created_at) select id || '-' || n, company_id, id, 'external_email', 'member-' || n, 0
       from share_contexts, member where id = ?`,
      id,
    );
    const addLastMember = () =>
      expectSuccess(
        ownerCaller.post(`${CONTEXTS_PATH}/${id}/members`, {
          json: { member_type: 'external_email', email: 'rival@elsewhere.test' },
        }),
      );
    expect((await sendDuringRace(memberInsertPattern, addLastMember, (env) => addMember(id, env))).status).toBe(422);
    expect(await countRows('share_members where context_id = ?', id)).toBe(10_000);
  });
});

describe('a share', () => {
  it('is not created for a context that is deleted meanwhile', async () => {
    const [dashboard, { id }] = [await postDashboard(ownerCaller, []), await createShareContext(company, [])];
    const answer = await sendDuringRace(
      /^insert into "dashboard_shares"/,
      () => expectSuccess(ownerCaller.delete(`${CONTEXTS_PATH}/${id}`)),
      (env) =>
        ownerCaller.post(makeSharesPath(dashboard._id), { json: { share_type: 'link', share_context_id: id }, env }),
    );
    expect(answer.status).toBe(404);
    expect(await countRows('dashboard_shares where dashboard_id = ?', dashboard._id)).toBe(0);
  });

  it('is not moved to a context that is deleted meanwhile', async () => {
    const [dashboard, { id }] = [await postDashboard(ownerCaller, []), await createShareContext(company, [])];
    const share = await createShare(company, dashboard._id);
    const answer = await sendDuringRace(
      /^update "dashboard_shares"/,
      () => expectSuccess(ownerCaller.delete(`${CONTEXTS_PATH}/${id}`)),
      (env) => ownerCaller.put(makeSharePath(share.id), { json: { share_context_id: id }, env }),
    );
    expect(answer.status).toBe(404);
    expect(await countRows('dashboard_shares where share_context_id = ?', id)).toBe(0);
  });

  it('is not changed once it is revoked', async () => {
    const share = await createShare(company, (await postDashboard(ownerCaller, []))._id, { name: 'Before' });
    const answer = await sendDuringRace(
      /^update "dashboard_shares"/,
      () => expectSuccess(ownerCaller.delete(makeSharePath(share.id))),
      (env) => ownerCaller.put(makeSharePath(share.id), { json: { name: 'After' }, env }),
    );
    expect(answer.status).toBe(409);
    expect(await selectRow('select name from dashboard_shares where id = ?', share.id)).toEqual({ name: 'Before' });
  });

  it('keeps the options that somebody else sets meanwhile', async () => {
    const share = await createShare(company, (await postDashboard(ownerCaller, []))._id);
    const setEmbedOptions = (embed_options: object, env?: TestVariables) =>
      ownerCaller.put(makeSharePath(share.id), { json: { embed_options }, env });
    const setConcurrently = () => expectSuccess(setEmbedOptions({ hide_header: true }));
    const answer = await sendDuringRace(/^update "dashboard_shares"/, setConcurrently, (env) =>
      setEmbedOptions({ hide_controls: true }, env),
    );
    expect(answer.body.embed_options).toMatchObject({ hide_header: true, hide_controls: true });
  });

  it('is revoked once by two requests at the same time', async () => {
    const share = await createShare(company, (await postDashboard(ownerCaller, []))._id);
    const revokeConcurrently = () => selectRow('update dashboard_shares set revoked_at = 1 where id = ?', share.id);
    await sendDuringRace(/^update "dashboard_shares"/, revokeConcurrently, (env) =>
      ownerCaller.delete(makeSharePath(share.id), { env }),
    );
    expect(await selectRow('select revoked_at from dashboard_shares where id = ?', share.id)).toEqual({
      revoked_at: 1,
    });
  });
});
