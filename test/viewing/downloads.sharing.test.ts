import { read, utils, type WorkSheet } from '@e965/xlsx';
import { describe, expect, it, vi } from 'vitest';
import { createEmbedToken, createSigningKey, hostToken } from '../embeds/support.ts';
import { createShareContext, makeDashboardGrant, signInOutsider } from '../share-portal/support.ts';
import { createSalesDashboard, createSalesTable, createShare, makePolicy } from '../shares/support.ts';
import { type ApiResponse, callApi } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runSql } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { makeParameter, postDashboard, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';

const EVENTS_PATH = '/api/v1/share-events';
const NORTH_POLICIES = { share_filter_policies: [makePolicy('regions', 'locked', ['north'])] };
const NORTH_ROWS = 'region,amount\r\nnorth,10\r\nnorth,20\r\n';

const company = await createProvisionedCompany();
await createSalesTable(company);
const { dashboard, rows } = await createSalesDashboard(company);

type ExecuteFunction = (query: Record<string, string>, json?: Record<string, unknown>) => Promise<ApiResponse>;

const makeExecutor =
  (
    path: string,
    ownBody: Record<string, unknown> = {},
    as = { post: (to: string, requestOptions: object) => callApi('POST', to, requestOptions) },
  ): ExecuteFunction =>
  (query, json = {}) =>
    as.post(`${path}?${new URLSearchParams(query)}`, { json: { ...ownBody, ...json } });

/** Shares the dashboard. @returns its execution by an anonymous viewer */
async function createLinkExecutor(
  shareFields: Record<string, unknown> = {},
  id = dashboard._id,
  allow: unknown = true,
) {
  const share = await createShare(company, id, { ...shareFields, embed_options: { allow_downloads: allow } });
  return { share, execute: makeExecutor(`/api/v1/public/shares/${share.token}/execute`) };
}

async function createEmbedExecutor(
  kind: 'd' | 'v',
  embedOptions: Record<string, unknown> = {},
): Promise<ExecuteFunction> {
  const terms = { allow_downloads: true, ...embedOptions };
  const token = await (kind === 'd'
    ? createEmbedToken(company, 'dashboards', dashboard._id, terms)
    : createEmbedToken(company, 'visualizations', rows._id, terms));
  return makeExecutor(`/api/embed/${kind}/${token}/execute`);
}

/** Signs an outsider in to the portal, with shares of the context that each allow downloads, forbid them, or say nothing. */
async function executeInPortal(shares: (boolean | undefined)[], policies: unknown[] = []) {
  const email = `${crypto.randomUUID()}@viewer.test`;
  const context = await createShareContext(company, [makeDashboardGrant(dashboard._id, policies)], [email]);
  for (const isAllowed of shares)
    await createShare(company, dashboard._id, {
      share_context_id: context.id,
      ...(isAllowed !== undefined && { embed_options: { allow_downloads: isAllowed } }),
    });
  const { as } = await signInOutsider(company, email);
  const path = `/api/v1/share-portal/dashboards/${dashboard._id}`;
  const portalDashboard = await expectSuccess(as.get(`${path}?context_id=${context.id}`));
  return {
    allowed: portalDashboard.allow_downloads,
    execute: makeExecutor(`${path}/execute`, { context_id: context.id }, as),
    context,
  };
}

const makeCsvQuery = () => ({ format: 'csv', visualization_id: rows._id });
const readRefusal = ({ status, body }: ApiResponse) => [status, body.error_code];

describe('a download of a shared dashboard', () => {
  it('has the rows that the viewer may see and has filtered, through link, portal and embed', async () => {
    const link = await createLinkExecutor(NORTH_POLICIES);
    const portal = await executeInPortal([true], [makePolicy('regions', 'locked', ['north'])]);
    const surfaces: ExecuteFunction[] = [
      link.execute,
      portal.execute,
      await createEmbedExecutor('d', { fixed_params: { regions: ['north'] }, allowed_params: ['days'] }),
      await createEmbedExecutor('v', { fixed_params: { regions: ['north'] }, allowed_params: ['days'] }),
    ];
    for (const execute of surfaces) {
      const { status, headers, body } = await execute(makeCsvQuery());
      expect([status, body]).toEqual([200, NORTH_ROWS]);
      expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
      expect(headers.get('content-disposition')).toBe(`attachment; filename="Rows.csv"; filename*=UTF-8''Rows.csv`);
      const filteredCsv = await execute(makeCsvQuery(), { parameters: { days: { from: '2024-01-02' } } });
      expect(filteredCsv.body).toBe('region,amount\r\nnorth,20\r\n');
      expect(readRefusal(await execute(makeCsvQuery(), { parameters: { regions: ['south'] } }))).toEqual([
        403,
        'SHARE_FILTER_POLICY_VIOLATION',
      ]);
      const workbook = read((await execute({ ...makeCsvQuery(), format: 'xlsx' })).body);
      const sheet = workbook.Sheets[workbook.SheetNames[0] as string] as WorkSheet;
      expect(utils.sheet_to_json(sheet, { header: 1 })).toEqual([
        ['region', 'amount'],
        ['north', 10],
        ['north', 20],
      ]);
    }
    const slugPath = `/api/v1/share-portal/${company.slug}/dashboards/${dashboard.slug}/execute`;
    const internalContext = await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
    expect(
      readRefusal(await makeExecutor(slugPath, { context_id: internalContext.id }, company.as)(makeCsvQuery())),
    ).toEqual([400, 'INVALID_CONTEXT_ID']);
  });

  it('is refused unless the share or embed allows downloads', async () => {
    const DISABLED_ERROR = [403, 'DOWNLOADS_DISABLED'];
    const options = await createShare(company, dashboard._id);
    const executeByDefault = makeExecutor(`/api/v1/public/shares/${options.token}/execute`);
    const surfaces: ExecuteFunction[] = [
      (await createLinkExecutor({}, dashboard._id, false)).execute,
      executeByDefault,
      await createEmbedExecutor('d', { allow_downloads: false }),
      await createEmbedExecutor('v', { allow_downloads: undefined }),
    ];
    for (const execute of surfaces) {
      expect(readRefusal(await execute(makeCsvQuery()))).toEqual(DISABLED_ERROR);
      expect(readRefusal(await execute({ format: 'xlsx' }))).toEqual(DISABLED_ERROR);
      expect((await execute({})).status).toBe(200);
    }
  });

  it('is allowed in the portal if the dashboard has shares with that context, and all of them allow downloads', async () => {
    for (const [shares, allowed] of [
      [[], false],
      [[undefined], false],
      [[true], true],
      [[true, true], true],
      [[true, false], false],
    ] as const) {
      const portal = await executeInPortal([...shares]);
      expect([shares, portal.allowed, (await portal.execute(makeCsvQuery())).status]).toEqual([
        shares,
        allowed,
        allowed ? 200 : 403,
      ]);
    }
  });

  it('is refused and allowed again on the next request after the share changes', async () => {
    const { share, execute } = await createLinkExecutor();
    expect((await execute(makeCsvQuery())).status).toBe(200);
    const changeOptions = (json: unknown) =>
      expectSuccess(company.as.put(`/api/v1/dashboard-shares/${share.id}`, { json }));
    const changedShare = await changeOptions({ embed_options: { allow_downloads: false } });
    expect(changedShare.embed_options.allow_downloads).toBe(false);
    expect((await execute(makeCsvQuery())).status).toBe(403);
    await changeOptions({ embed_options: { allow_downloads: true } });
    expect((await execute(makeCsvQuery())).status).toBe(200);
  });

  it('is refused for a share that was stored before downloads existed', async () => {
    const { share, execute } = await createLinkExecutor();
    const options = '{"allowed_origins":[],"hide_header":false,"hide_controls":false}';
    await runSql('UPDATE dashboard_shares SET embed_options = ? WHERE id = ?', options, share.id);
    expect(readRefusal(await execute(makeCsvQuery()))).toEqual([403, 'DOWNLOADS_DISABLED']);
    const shownShare = await expectSuccess(company.as.get(`/api/v1/dashboard-shares/${share.id}`));
    expect(shownShare.embed_options.allow_downloads).toBe(false);
  });

  it('requires a format, and the id of a visualization that is on the dashboard', async () => {
    const otherVisualization = await postVisualization(company.as, 'SELECT 1 AS one');
    const { execute } = await createLinkExecutor();
    const field = 'visualization_id';
    const readProblem = async (query: Record<string, string>, executeQuery = execute) => {
      const { status, body } = await executeQuery(query);
      return [status, body.details?.[0]];
    };
    expect(await readProblem({ format: 'csv' })).toEqual([
      422,
      { field, reason: 'required', message: 'is required with format' },
    ]);
    for (const id of [otherVisualization._id, 'x', ''])
      expect(await readProblem({ format: 'csv', visualization_id: id })).toEqual([
        422,
        { field, reason: 'not_found', message: 'must be on the dashboard' },
      ]);
    expect(await readProblem({ visualization_id: rows._id })).toEqual([
      422,
      { field, reason: 'conflict', message: 'is only accepted with format' },
    ]);
    expect((await readProblem({ ...makeCsvQuery(), format: 'ndjson' }))[0]).toBe(422);
    expect((await readProblem({ ...makeCsvQuery(), safe: 'false' }))[0]).toBe(422);
    const executeStandalone = await createEmbedExecutor('v');
    expect((await executeStandalone({ format: 'csv' })).status).toBe(200);
    expect(await readProblem({ format: 'csv', visualization_id: otherVisualization._id }, executeStandalone)).toEqual([
      422,
      { field, reason: 'conflict', message: 'must be the visualization that the token shows' },
    ]);
  });

  it('of a failed query has the error that the page shows, and no more details', async () => {
    const failingChart = await postVisualization(company.as, 'SELECT region::integer FROM sales', { name: 'Fails' });
    const requiringChart = await postVisualization(company.as, 'SELECT {{must}} AS n', {
      name: 'Asks',
      parameters: [makeParameter('must', 'text', { required: true })],
    });
    const unfilteredChart = await postVisualization(
      company.as,
      'SELECT region FROM sales WHERE region = ANY({{regions}})',
      {
        name: 'Blind',
        parameters: [makeParameter('regions', 'multi_select')],
      },
    );
    const createdDashboard = await postDashboard(company.as, [rows, failingChart, requiringChart, unfilteredChart], {
      filters: [{ slug: 'regions', label: 'Regions', kind: 'multi_select', applies_to: [rows._id] }],
    });
    const { execute } = await createLinkExecutor(NORTH_POLICIES, createdDashboard._id);
    const { results } = (await execute({})).body;
    for (const [at, { _id }] of [failingChart, requiringChart, unfilteredChart].entries()) {
      const { status, body } = await execute({ format: 'csv', visualization_id: _id });
      expect(body).toMatchObject(results[at + 1].error);
      expect([status, body.details]).toEqual([at === 2 ? 403 : 422, at === 1 ? [] : undefined]);
      expect(JSON.stringify(body)).not.toMatch(/syntax|sales|must/);
    }
    expect((await execute(makeCsvQuery())).body).toBe(NORTH_ROWS);
  });

  it('escapes spreadsheet formulas', async () => {
    const chart = await postVisualization(company.as, `SELECT '=1+1' AS "@a", -1 AS n, E'\\t=2' AS tab`, {
      name: '=Formulas',
    });
    const createdDashboard = await postDashboard(company.as, [chart]);
    const { execute } = await createLinkExecutor({}, createdDashboard._id);
    const { body, headers } = await execute({ format: 'csv', visualization_id: chart._id });
    expect(body).toBe("'@a,n,tab\r\n'=1+1,-1,'\t=2\r\n");
    expect(headers.get('content-disposition')).toContain('filename="=Formulas.csv"');
  });

  it('has the cached result that the page shows, or a new one when nothing is cached', async () => {
    const chart = await postVisualization(company.as, 'SELECT random() AS n', { name: 'Random' });
    const [kept, fresh] = [
      await postDashboard(company.as, [chart], { cache_seconds: 60 }),
      await postDashboard(company.as, [chart], { cache_seconds: 0 }),
    ];
    const readShownAndDownloaded = async (id: string) => {
      const { execute } = await createLinkExecutor({}, id);
      const shownValue = (await execute({})).body.results[0].rows[0][0];
      const { body } = await execute({ format: 'csv', visualization_id: chart._id });
      return [String(shownValue), body.split('\r\n')[1]];
    };
    const [shownResult, downloadedResult] = await readShownAndDownloaded(kept._id);
    expect(downloadedResult).toBe(shownResult);
    const [before, after] = await readShownAndDownloaded(fresh._id);
    expect(after).not.toBe(before);
    await expectSuccess(company.as.put(`${VISUALIZATIONS_PATH}/${chart._id}`, { json: { sql: 'SELECT 7 AS n' } }));
    const { execute } = await createLinkExecutor({}, kept._id);
    expect((await execute({ format: 'csv', visualization_id: chart._id })).body).toBe('n\r\n7\r\n');
  });

  it('has the header X-Truncated if its rows were truncated', async () => {
    const chart = await postVisualization(company.as, 'SELECT n FROM generate_series(1, 10001) AS n');
    const createdDashboard = await postDashboard(company.as, [chart]);
    const { execute } = await createLinkExecutor({}, createdDashboard._id);
    for (const _time of ['new', 'kept']) {
      const { headers, body } = await execute({ format: 'csv', visualization_id: chart._id });
      expect([headers.get('x-truncated'), body.trim().split('\r\n').length]).toEqual(['true', 10_001]);
      await execute({});
    }
  });

  it('is logged as a download event, not as a view, and a refused download is logged as denied', async () => {
    const { share, execute } = await createLinkExecutor();
    await execute({ format: 'xlsx', visualization_id: rows._id });
    const executeRefused = await createLinkExecutor({}, dashboard._id, false);
    await executeRefused.execute(makeCsvQuery());
    const executeEmbedded = await createEmbedExecutor('v');
    await executeEmbedded({ format: 'csv' });
    const portal = await executeInPortal([true]);
    await portal.execute(makeCsvQuery());
    const listEvents = (query: string) =>
      vi.waitFor(
        async () => {
          const { records } = await expectSuccess(company.as.get(`${EVENTS_PATH}?per_page=100&${query}`));
          expect(records.length).toBeGreaterThan(0);
          return records;
        },
        { timeout: 10_000, interval: 250 },
      );
    const [downloaded] = await listEvents(`type=share.downloaded&share_id=${share.id}`);
    expect(downloaded).toMatchObject({
      target_type: 'dashboard',
      target_id: dashboard._id,
      details: { visualization_id: rows._id, format: 'xlsx' },
    });
    expect((await listEvents(`type=share.denied&share_id=${executeRefused.share.id}`))[0].details.reason).toBe(
      'sharing.downloads_disabled',
    );
    const [ofEmbed] = (await listEvents('type=embed.downloaded')).filter(
      (event: { target_id: string }) => event.target_id === rows._id,
    );
    expect(ofEmbed).toMatchObject({ target_type: 'visualization', details: { format: 'csv' } });
    expect(await listEvents(`type=share.downloaded&share_context_id=${portal.context.id}`)).toHaveLength(1);
    expect((await expectSuccess(company.as.get(`/api/v1/dashboard-shares/${share.id}`))).view_count).toBe(0);
  });
});

describe('the option to allow downloads', () => {
  it('is also read from a token that a host signs', async () => {
    const key = await createSigningKey(company);
    for (const [claims, status] of [
      [{ allow_downloads: true, fixed_params: { regions: ['north'] } }, 200],
      [{ allow_downloads: false }, 403],
      [{}, 403],
      [{ allow_downloads: 'yes' }, 401],
    ] as const) {
      const token = await hostToken(key, { dashboard_id: dashboard._id, ...claims });
      const answer = await makeExecutor(`/api/embed/d/${token}/execute`)(makeCsvQuery());
      expect([claims, answer.status]).toEqual([claims, status]);
      if (status === 200) expect(answer.body).toBe(NORTH_ROWS);
    }
  });

  it('is returned to the page of an embed and of a link', async () => {
    for (const isAllowed of [true, false]) {
      const token = await createEmbedToken(company, 'dashboards', dashboard._id, { allow_downloads: isAllowed });
      const info = await expectSuccess(callApi('GET', `/api/embed/d/${token}/info`));
      expect(info.embed_options.allow_downloads).toBe(isAllowed);
      const { share } = await createLinkExecutor({}, dashboard._id, isAllowed);
      const resolvedShare = await expectSuccess(callApi('GET', `/api/v1/public/shares/${share.token}/resolve`));
      expect([resolvedShare.embed_options.allow_downloads, share.embed_options.allow_downloads]).toEqual([
        isAllowed,
        isAllowed,
      ]);
    }
    const { status, body } = await company.as.post(`/api/v1/embed/dashboards/${dashboard._id}`, {
      json: { allow_downloads: 'yes' },
    });
    expect([status, body.details[0].field]).toEqual([422, 'allow_downloads']);
  });
});
