import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { describe, expect, it, vi } from 'vitest';
import { createEmbedClient, createEmbedToken } from '../embeds/support.ts';
import { createTableClient } from '../managed-tables/support.ts';
import { createPortalClient, createShareContext, makeDashboardGrant, signInOutsider } from '../share-portal/support.ts';
import { createSalesTable, createShare, createShareClient, listRegions, makePolicy } from '../shares/support.ts';
import { type ApiResponse, BASE_URL } from '../support/api.ts';
import { type Company, createProvisionedCompany } from '../support/companies.ts';
import { createRacingEnv } from '../support/race.ts';
import { disturbTunnel, readComputeState, runWithLatency, suspendCompute } from '../support/tunnel.ts';
import worker from '../support/worker.ts';
import { loadFiles, makeFile } from '../uploads/support.ts';
import { makeParameter, postDashboard, postVisualization } from '../visualizations/support.ts';

/** The time that the database takes to wake: long enough for a request to be answered meanwhile, on a busy machine too. */
const WAKING_MS = 1_000;

const ROWS_SQL =
  'SELECT region, amount, clock_timestamp()::text AS read_at FROM sales [[WHERE region = ANY({{regions}})]]';

interface SalesCompany {
  company: Company;
  table: ReturnType<typeof createTableClient>;
  tableId: string;
  dashboardId: string;
  token: string;
  viewer: ReturnType<typeof createShareClient>;
}

/** Creates a company with a shared dashboard of its table `sales`, of which only the last result is cached. */
async function createSalesCompany(): Promise<SalesCompany> {
  const company = await createProvisionedCompany();
  const tableId = await createSalesTable(company);
  const chart = await postVisualization(company.as, ROWS_SQL, {
    parameters: [makeParameter('regions', 'multi_select')],
  });
  const { _id: dashboardId } = await postDashboard(company.as, [chart], {
    cache_seconds: 0,
    filters: [{ slug: 'regions', label: 'Regions', kind: 'multi_select' }],
  });
  const { token } = await createShare(company, dashboardId);
  return {
    company,
    table: createTableClient(company.as, tableId),
    tableId,
    dashboardId,
    token,
    viewer: createShareClient(token),
  };
}

const FRESH_RESULT = { cached: false };
const CACHED_RESULT = { cached: true };
const readResult = ({ status, body }: ApiResponse) => {
  expect(status).toBe(200);
  return body.results[0];
};
const expectOldResult = (answer: ApiResponse) => {
  expect(readResult(answer)).toMatchObject(CACHED_RESULT);
  expect(answer.body).toMatchObject({ waking: true, as_of: expect.stringMatching(/^\d{4}-.*Z$/) });
};
const expectNewResult = (answer: ApiResponse) => {
  expect(readResult(answer)).toMatchObject(FRESH_RESULT);
  expect(answer.body).not.toHaveProperty('waking');
  expect(answer.body).not.toHaveProperty('as_of');
};

const salesCompany = await createSalesCompany();

describe('while the database wakes', () => {
  it('viewers by link, embed and portal are shown the last result with its time, and then a new result', async () => {
    const { company, dashboardId, viewer } = salesCompany;
    const email = 'sleeper@outside.test';
    const context = await createShareContext(company, [makeDashboardGrant(dashboardId)], [email]);
    const viewerAccesses = [
      viewer,
      createEmbedClient('d', await createEmbedToken(company, 'dashboards', dashboardId)),
      createPortalClient((await signInOutsider(company, email)).as, context.id, dashboardId),
    ];
    for (const viewerAccess of viewerAccesses) {
      const startedAt = Date.now();
      const first = await viewerAccess.execute();
      expectNewResult(first);
      await suspendCompute(company.id, WAKING_MS);
      const viewerExecution = await viewerAccess.execute();
      expectOldResult(viewerExecution);
      expect(readResult(viewerExecution).rows).toEqual(readResult(first).rows);
      expect(Date.parse(viewerExecution.body.as_of)).toBeGreaterThanOrEqual(startedAt);
      expect(Date.parse(viewerExecution.body.as_of)).toBeLessThanOrEqual(Date.now());
      expectNewResult(await viewerAccess.execute());
    }
  });

  it('viewers are answered at once, and the result is renewed after the response', async () => {
    const { company, token, viewer } = salesCompany;
    const first = await viewer.execute({ regions: ['north'] });
    await suspendCompute(company.id, 5 * WAKING_MS);
    const execution = createExecutionContext();
    const request = new Request(`${BASE_URL}/api/v1/public/shares/${token}/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ parameters: { regions: ['north'] } }),
    });
    const response = await worker.fetch(request, env, execution);
    const body = (await response.json()) as ApiResponse['body'];
    expect(await readComputeState(company.id)).toBe('init');
    expect(body).toMatchObject({ waking: true, results: [{ rows: readResult(first).rows }] });
    await waitOnExecutionContext(execution);
    expect(await readComputeState(company.id)).toBe('active');
    // What was renewed is the last result now.
    await suspendCompute(company.id, WAKING_MS);
    const viewerExecution = await viewer.execute({ regions: ['north'] });
    expectOldResult(viewerExecution);
    expect(readResult(viewerExecution).rows).not.toEqual(readResult(first).rows);
    expect(viewerExecution.body.as_of > body.as_of).toBe(true);
  });

  it('viewers wait if there is no last result, or if it was too large to be cached', async () => {
    const { company, viewer } = salesCompany;
    await suspendCompute(company.id, WAKING_MS);
    expectNewResult(await viewer.execute({ regions: ['south'] }));
    const largeChart = await postVisualization(company.as, "SELECT repeat('x', 3000000)");
    const { _id } = await postDashboard(company.as, [largeChart], { cache_seconds: 0 });
    const { execute } = createShareClient((await createShare(company, _id)).token);
    expectNewResult(await execute());
    await suspendCompute(company.id, WAKING_MS);
    expectNewResult(await execute());
  });

  it('nobody is shown the last result for other filter values or policies, or for a share that has changed', async () => {
    const { company, dashboardId } = salesCompany;
    const northShare = await createShare(company, dashboardId, {
      share_filter_policies: [makePolicy('regions', 'locked', ['north'])],
    });
    const eastShare = await createShare(company, dashboardId, {
      share_filter_policies: [makePolicy('regions', 'locked', ['east'])],
    });
    const [ofNorth, ofEast] = [createShareClient(northShare.token), createShareClient(eastShare.token)];
    expect(listRegions((await ofNorth.execute()).body)).toEqual(['north', 'north']);
    await suspendCompute(company.id, WAKING_MS);
    const other = await ofEast.execute();
    expectNewResult(other);
    expect(listRegions(other.body)).toEqual(['east']);

    const policies = [makePolicy('regions', 'locked', ['south'])];
    const path = `/api/v1/dashboard-shares/${northShare.id}`;
    expect((await company.as.put(path, { json: { share_filter_policies: policies } })).status).toBe(200);
    await suspendCompute(company.id, WAKING_MS);
    const changedExecution = await ofNorth.execute();
    expectNewResult(changedExecution);
    expect(listRegions(changedExecution.body)).toEqual(['south', 'south', 'south']);

    expect((await company.as.delete(path)).status).toBe(204);
    await suspendCompute(company.id, 0);
    expect((await ofNorth.execute()).status).toBe(401);
  });

  it('the console says that the database is waking, and its requests wait', async () => {
    const { company, table } = salesCompany;
    const isWaking = async () => (await company.as.get('/v1/managed-tables/status')).body.waking;
    expect(await isWaking()).toBeUndefined();
    await suspendCompute(company.id, 5 * WAKING_MS);
    const rows = table.rows();
    await expect.poll(isWaking).toBe(true);
    expect(await readComputeState(company.id)).toBe('init');
    expect((await rows).status).toBe(200);
    expect(await isWaking()).toBeUndefined();
  });
});

it('a slow, distant database is not treated as a waking database', async () => {
  const { company, viewer } = salesCompany;
  await viewer.execute({ regions: ['east'] });
  const { outcome } = await runWithLatency(company.id, 120, () => viewer.execute({ regions: ['east'] }));
  expectNewResult(outcome);
});

it('last results are cached encrypted, and for at most a day', async () => {
  const { viewer } = salesCompany;
  const cache = await caches.open('last-results');
  const putSpy = vi.spyOn(Object.getPrototypeOf(cache), 'put');
  const cachedResponses: Response[] = [];
  putSpy.mockImplementation(async (_, response) => void cachedResponses.push(response as Response));
  await viewer.execute({ regions: ['north', 'east'] });
  putSpy.mockRestore();
  expect(cachedResponses).toHaveLength(1);
  expect(cachedResponses[0]?.headers.get('cache-control')).toBe('max-age=86400');
  expect(await cachedResponses[0]?.clone().text()).toMatch(/^v\d+:[\w-]+:[\w-]+$/);
});

describe('after a change of the data', () => {
  const dataChanges: [string, (salesCompany: SalesCompany) => Promise<unknown>][] = [
    ['rows are inserted', ({ table }) => table.insert([{ region: 'west' }])],
    ['a row is changed', async ({ table }) => table.updateRow(await readFirstRowId(table), { region: 'west' })],
    ['a row is deleted', async ({ table }) => table.deleteRow(await readFirstRowId(table))],
    ['the table is truncated', ({ table }) => table.truncate()],
    ['the table is renamed', ({ table }) => table.put({ display_name: 'sales_before' })],
    ['the table is deleted', ({ table }) => table.delete()],
    [
      'a file is loaded into the table',
      ({ company, tableId }) =>
        loadFiles(
          company,
          [makeFile('more.csv', 'region,amount,day\nwest,1,2024-02-01\n')],
          {},
          { into: tableId, mode: 'append' },
        ),
    ],
  ];
  const readFirstRowId = async (table: SalesCompany['table']): Promise<string> =>
    (await table.rows()).body.records[0].id;

  it.each(dataChanges)('the last result is shown to nobody: %s', async (_, change) => {
    const ownCompany = await createSalesCompany();
    const { rows } = readResult(await ownCompany.viewer.execute());
    await change(ownCompany);
    await suspendCompute(ownCompany.company.id, WAKING_MS);
    const viewerExecution = await ownCompany.viewer.execute();
    expectNewResult(viewerExecution);
    expect(readResult(viewerExecution).rows?.map(([region, amount]: unknown[]) => [region, amount])).not.toEqual(
      rows.map(([region, amount]: unknown[]) => [region, amount]),
    );
  });

  it('a result that was read while the change was made is not cached', async () => {
    const ownCompany = await createSalesCompany();
    // The change has begun when its transaction does, and the viewer reads before that is committed.
    const path = `/v1/managed-tables/${ownCompany.tableId}/truncate`;
    const racingEnv = createRacingEnv(/update "managed_databases" set "open_changes" = json_remove/, async () => {
      expect(readResult(await ownCompany.viewer.execute()).rows).toEqual([]);
    });
    expect((await ownCompany.company.as.post(path, { env: racingEnv.env })).status).toBe(200);
    expect(racingEnv.hasRun()).toBe(true);
    await suspendCompute(ownCompany.company.id, WAKING_MS);
    expectNewResult(await ownCompany.viewer.execute());
  });

  it('no earlier result is shown, since the commit waits until the change is announced', async () => {
    const ownCompany = await createSalesCompany();
    const path = `/v1/managed-tables/${ownCompany.tableId}/data`;
    const racingEnv = createRacingEnv(/update "managed_databases" set "data_version"/, async () => {
      for (let attempt = 0; attempt < 3; attempt += 1) {
        expect(readResult(await ownCompany.viewer.execute()).rows).toHaveLength(6);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    });
    const json = { rows: [{ region: 'west' }] };
    expect((await ownCompany.company.as.post(path, { json, env: racingEnv.env })).status).toBe(201);
    expect(racingEnv.hasRun()).toBe(true);
    await suspendCompute(ownCompany.company.id, WAKING_MS);
    const viewerExecution = await ownCompany.viewer.execute();
    expectNewResult(viewerExecution);
    expect(readResult(viewerExecution).rows).toHaveLength(7);
  });

  it('of unknown outcome, no result is cached or shown from the cache', async () => {
    const ownCompany = await createSalesCompany();
    await disturbTunnel(ownCompany.company.id, { statement: 'COMMIT', effect: 'lose_answer' });
    expect((await ownCompany.table.truncate()).status).toBe(503);
    expectNewResult(await ownCompany.viewer.execute());
    await suspendCompute(ownCompany.company.id, WAKING_MS);
    expectNewResult(await ownCompany.viewer.execute());
  });
});
