import { env } from 'cloudflare:test';
import { read, utils, type WorkSheet } from '@e965/xlsx';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createEmbed, createSigningKey, hostToken } from '../embeds/support.ts';
import { aContext, anOutsider, dashboardGrant } from '../share-portal/support.ts';
import { aSalesDashboard, aShare, policy, someSales } from '../shares/support.ts';
import { type ApiResponse, call } from '../support/api.ts';
import { must } from '../support/signed.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization, parameter, VISUALIZATIONS_PATH } from '../visualizations/support.ts';

const EVENTS_PATH = '/api/v1/share-events';
const NORTH = { share_filter_policies: [policy('regions', 'locked', ['north'])] };
const NORTH_ROWS = 'region,amount\r\nnorth,10\r\nnorth,20\r\n';

let company: Company;
let dashboard: { _id: string; slug: string };
let rows: { _id: string };
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  ({ dashboard, rows } = await aSalesDashboard(company));
});

type Execute = (query: Record<string, string>, json?: Record<string, unknown>) => Promise<ApiResponse>;

const makeExecute =
  (
    path: string,
    own: Record<string, unknown> = {},
    as = { post: (to: string, more: object) => call('POST', to, more) },
  ): Execute =>
  (query, json = {}) =>
    as.post(`${path}?${new URLSearchParams(query)}`, { json: { ...own, ...json } });

/** A share of the dashboard, its execution by a stranger. */
async function createLink(more: Record<string, unknown> = {}, id = dashboard._id, allow: unknown = true) {
  const share = await aShare(company, id, { ...more, embed_options: { allow_downloads: allow } });
  return { share, execute: makeExecute(`/api/v1/public/shares/${share.token}/execute`) };
}

async function createEmbedded(kind: 'd' | 'v', more: Record<string, unknown> = {}): Promise<Execute> {
  const terms = { allow_downloads: true, ...more };
  const token = await (kind === 'd'
    ? createEmbed(company, 'dashboards', dashboard._id, terms)
    : createEmbed(company, 'visualizations', rows._id, terms));
  return makeExecute(`/api/embed/${kind}/${token}/execute`);
}

/** Somebody in the portal, and the shares of that context, each with what it says about downloads. */
async function executeInPortal(shares: (boolean | undefined)[], policies: unknown[] = []) {
  const email = `${crypto.randomUUID()}@viewer.test`;
  const context = await aContext(company, [dashboardGrant(dashboard._id, policies)], [email]);
  for (const allow of shares)
    await aShare(company, dashboard._id, {
      share_context_id: context.id,
      ...(allow !== undefined && { embed_options: { allow_downloads: allow } }),
    });
  const { as } = await anOutsider(company, email);
  const path = `/api/v1/share-portal/dashboards/${dashboard._id}`;
  const shown = await must(as.get(`${path}?context_id=${context.id}`));
  return {
    allowed: shown.allow_downloads,
    execute: makeExecute(`${path}/execute`, { context_id: context.id }, as),
    context,
  };
}

const makeCsvQuery = () => ({ format: 'csv', visualization_id: rows._id });
const readRefusal = ({ status, body }: ApiResponse) => [status, body.error_code];

describe('a download of a shared dashboard', () => {
  it('has the rows that the viewer may see and has filtered, by link, portal and embed', async () => {
    const link = await createLink(NORTH);
    const portal = await executeInPortal([true], [policy('regions', 'locked', ['north'])]);
    const surfaces: Execute[] = [
      link.execute,
      portal.execute,
      await createEmbedded('d', { fixed_params: { regions: ['north'] }, allowed_params: ['days'] }),
      await createEmbedded('v', { fixed_params: { regions: ['north'] }, allowed_params: ['days'] }),
    ];
    for (const execute of surfaces) {
      const { status, headers, body } = await execute(makeCsvQuery());
      expect([status, body]).toEqual([200, NORTH_ROWS]);
      expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
      expect(headers.get('content-disposition')).toBe(`attachment; filename="Rows.csv"; filename*=UTF-8''Rows.csv`);
      const chosen = await execute(makeCsvQuery(), { parameters: { days: { from: '2024-01-02' } } });
      expect(chosen.body).toBe('region,amount\r\nnorth,20\r\n');
      expect(readRefusal(await execute(makeCsvQuery(), { parameters: { regions: ['south'] } }))).toEqual([
        403,
        'SHARE_FILTER_POLICY_VIOLATION',
      ]);
      const book = read((await execute({ ...makeCsvQuery(), format: 'xlsx' })).body);
      const sheet = book.Sheets[book.SheetNames[0] as string] as WorkSheet;
      expect(utils.sheet_to_json(sheet, { header: 1 })).toEqual([
        ['region', 'amount'],
        ['north', 10],
        ['north', 20],
      ]);
    }
    const bySlug = `/api/v1/share-portal/${company.slug}/dashboards/${dashboard.slug}/execute`;
    const internal = await aContext(company, [dashboardGrant(dashboard._id)]);
    expect(readRefusal(await makeExecute(bySlug, { context_id: internal.id }, company.as)(makeCsvQuery()))).toEqual([
      400,
      'INVALID_CONTEXT_ID',
    ]);
  });

  it('is refused unless the share or embed allows downloads', async () => {
    const disabled = [403, 'DOWNLOADS_DISABLED'];
    const options = await aShare(company, dashboard._id);
    const unsaid = makeExecute(`/api/v1/public/shares/${options.token}/execute`);
    const surfaces: Execute[] = [
      (await createLink({}, dashboard._id, false)).execute,
      unsaid,
      await createEmbedded('d', { allow_downloads: false }),
      await createEmbedded('v', { allow_downloads: undefined }),
    ];
    for (const execute of surfaces) {
      expect(readRefusal(await execute(makeCsvQuery()))).toEqual(disabled);
      expect(readRefusal(await execute({ format: 'xlsx' }))).toEqual(disabled);
      expect((await execute({})).status).toBe(200);
    }
  });

  it('is allowed in the portal if there is a share of the dashboard with that context, and all of them allow it', async () => {
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
    const { share, execute } = await createLink();
    expect((await execute(makeCsvQuery())).status).toBe(200);
    const options = (json: unknown) => must(company.as.put(`/api/v1/dashboard-shares/${share.id}`, { json }));
    const changed = await options({ embed_options: { allow_downloads: false } });
    expect(changed.embed_options.allow_downloads).toBe(false);
    expect((await execute(makeCsvQuery())).status).toBe(403);
    await options({ embed_options: { allow_downloads: true } });
    expect((await execute(makeCsvQuery())).status).toBe(200);
  });

  it('is refused for a share that was stored before downloads existed', async () => {
    const { share, execute } = await createLink();
    const options = '{"allowed_origins":[],"hide_header":false,"hide_controls":false}';
    await env.CONTROL_DB.prepare('UPDATE dashboard_shares SET embed_options = ? WHERE id = ?')
      .bind(options, share.id)
      .run();
    expect(readRefusal(await execute(makeCsvQuery()))).toEqual([403, 'DOWNLOADS_DISABLED']);
    const shown = await must(company.as.get(`/api/v1/dashboard-shares/${share.id}`));
    expect(shown.embed_options.allow_downloads).toBe(false);
  });

  it('needs a format, and the id of a visualization that is on the dashboard', async () => {
    const other = await aVisualization(company.as, 'SELECT 1 AS one');
    const { execute } = await createLink();
    const field = 'visualization_id';
    const problem = async (query: Record<string, string>, of = execute) => {
      const { status, body } = await of(query);
      return [status, body.details?.[0]];
    };
    expect(await problem({ format: 'csv' })).toEqual([
      422,
      { field, reason: 'required', message: 'is required with format' },
    ]);
    for (const id of [other._id, 'x', ''])
      expect(await problem({ format: 'csv', visualization_id: id })).toEqual([
        422,
        { field, reason: 'not_found', message: 'must be on the dashboard' },
      ]);
    expect(await problem({ visualization_id: rows._id })).toEqual([
      422,
      { field, reason: 'conflict', message: 'is only accepted with format' },
    ]);
    expect((await problem({ ...makeCsvQuery(), format: 'ndjson' }))[0]).toBe(422);
    expect((await problem({ ...makeCsvQuery(), safe: 'false' }))[0]).toBe(422);
    const alone = await createEmbedded('v');
    expect((await alone({ format: 'csv' })).status).toBe(200);
    expect(await problem({ format: 'csv', visualization_id: other._id }, alone)).toEqual([
      422,
      { field, reason: 'conflict', message: 'must be the visualization that the token shows' },
    ]);
  });

  it('of a failed query has the error that the page shows, and no more details', async () => {
    const failing = await aVisualization(company.as, 'SELECT region::integer FROM sales', { name: 'Fails' });
    const asking = await aVisualization(company.as, 'SELECT {{must}} AS n', {
      name: 'Asks',
      parameters: [parameter('must', 'text', { required: true })],
    });
    const blind = await aVisualization(company.as, 'SELECT region FROM sales WHERE region = ANY({{regions}})', {
      name: 'Blind',
      parameters: [parameter('regions', 'multi_select')],
    });
    const made = await aDashboard(company.as, [rows, failing, asking, blind], {
      filters: [{ slug: 'regions', label: 'Regions', kind: 'multi_select', applies_to: [rows._id] }],
    });
    const { execute } = await createLink(NORTH, made._id);
    const { results } = (await execute({})).body;
    for (const [at, { _id }] of [failing, asking, blind].entries()) {
      const { status, body } = await execute({ format: 'csv', visualization_id: _id });
      expect(body).toMatchObject(results[at + 1].error);
      expect([status, body.details]).toEqual([at === 2 ? 403 : 422, at === 1 ? [] : undefined]);
      expect(JSON.stringify(body)).not.toMatch(/syntax|sales|must/);
    }
    expect((await execute(makeCsvQuery())).body).toBe(NORTH_ROWS);
  });

  it('escapes spreadsheet formulas', async () => {
    const chart = await aVisualization(company.as, `SELECT '=1+1' AS "@a", -1 AS n, E'\\t=2' AS tab`, {
      name: '=Formulas',
    });
    const made = await aDashboard(company.as, [chart]);
    const { execute } = await createLink({}, made._id);
    const { body, headers } = await execute({ format: 'csv', visualization_id: chart._id });
    expect(body).toBe("'@a,n,tab\r\n'=1+1,-1,'\t=2\r\n");
    expect(headers.get('content-disposition')).toContain('filename="=Formulas.csv"');
  });

  it('has the cached result that the page shows, or a new one when nothing is cached', async () => {
    const chart = await aVisualization(company.as, 'SELECT random() AS n', { name: 'Random' });
    const [kept, fresh] = [
      await aDashboard(company.as, [chart], { cache_seconds: 60 }),
      await aDashboard(company.as, [chart], { cache_seconds: 0 }),
    ];
    const shownAndTaken = async (id: string) => {
      const { execute } = await createLink({}, id);
      const shown = (await execute({})).body.results[0].rows[0][0];
      const { body } = await execute({ format: 'csv', visualization_id: chart._id });
      return [String(shown), body.split('\r\n')[1]];
    };
    const [shown, taken] = await shownAndTaken(kept._id);
    expect(taken).toBe(shown);
    const [before, after] = await shownAndTaken(fresh._id);
    expect(after).not.toBe(before);
    await must(company.as.put(`${VISUALIZATIONS_PATH}/${chart._id}`, { json: { sql: 'SELECT 7 AS n' } }));
    const { execute } = await createLink({}, kept._id);
    expect((await execute({ format: 'csv', visualization_id: chart._id })).body).toBe('n\r\n7\r\n');
  });

  it('has the header X-Truncated if its rows were cut', async () => {
    const chart = await aVisualization(company.as, 'SELECT n FROM generate_series(1, 10001) AS n');
    const made = await aDashboard(company.as, [chart]);
    const { execute } = await createLink({}, made._id);
    for (const _time of ['new', 'kept']) {
      const { headers, body } = await execute({ format: 'csv', visualization_id: chart._id });
      expect([headers.get('x-truncated'), body.trim().split('\r\n').length]).toEqual(['true', 10_001]);
      await execute({});
    }
  });

  it('is logged as a download event, not as a view, and a refused one as denied', async () => {
    const { share, execute } = await createLink();
    await execute({ format: 'xlsx', visualization_id: rows._id });
    const refused = await createLink({}, dashboard._id, false);
    await refused.execute(makeCsvQuery());
    const embedded = await createEmbedded('v');
    await embedded({ format: 'csv' });
    const portal = await executeInPortal([true]);
    await portal.execute(makeCsvQuery());
    const found = (query: string) =>
      vi.waitFor(
        async () => {
          const { records } = await must(company.as.get(`${EVENTS_PATH}?per_page=100&${query}`));
          expect(records.length).toBeGreaterThan(0);
          return records;
        },
        { timeout: 10_000, interval: 250 },
      );
    const [downloaded] = await found(`type=share.downloaded&share_id=${share.id}`);
    expect(downloaded).toMatchObject({
      target_type: 'dashboard',
      target_id: dashboard._id,
      details: { visualization_id: rows._id, format: 'xlsx' },
    });
    expect((await found(`type=share.denied&share_id=${refused.share.id}`))[0].details.reason).toBe(
      'sharing.downloads_disabled',
    );
    const [ofEmbed] = (await found('type=embed.downloaded')).filter(
      (each: { target_id: string }) => each.target_id === rows._id,
    );
    expect(ofEmbed).toMatchObject({ target_type: 'visualization', details: { format: 'csv' } });
    expect(await found(`type=share.downloaded&share_context_id=${portal.context.id}`)).toHaveLength(1);
    expect((await must(company.as.get(`/api/v1/dashboard-shares/${share.id}`))).view_count).toBe(0);
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
      const answer = await makeExecute(`/api/embed/d/${token}/execute`)(makeCsvQuery());
      expect([claims, answer.status]).toEqual([claims, status]);
      if (status === 200) expect(answer.body).toBe(NORTH_ROWS);
    }
  });

  it('is answered to the page of an embed and of a link', async () => {
    for (const allow of [true, false]) {
      const token = await createEmbed(company, 'dashboards', dashboard._id, { allow_downloads: allow });
      const info = await must(call('GET', `/api/embed/d/${token}/info`));
      expect(info.embed_options.allow_downloads).toBe(allow);
      const { share } = await createLink({}, dashboard._id, allow);
      const resolved = await must(call('GET', `/api/v1/public/shares/${share.token}/resolve`));
      expect([resolved.embed_options.allow_downloads, share.embed_options.allow_downloads]).toEqual([allow, allow]);
    }
    const { status, body } = await company.as.post(`/api/v1/embed/dashboards/${dashboard._id}`, {
      json: { allow_downloads: 'yes' },
    });
    expect([status, body.details[0].field]).toEqual([422, 'allow_downloads']);
  });
});
