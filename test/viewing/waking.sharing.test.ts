import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createEmbed, makeEmbedRoutes } from '../embeds/support.ts';
import { makeTableRoutes } from '../managed-tables/support.ts';
import { aContext, anOutsider, dashboardGrant, inPortal } from '../share-portal/support.ts';
import { aShare, linkOf, policy, regionsIn, someSales } from '../shares/support.ts';
import { type ApiResponse, BASE_URL } from '../support/api.ts';
import { createRivalEnv } from '../support/rival.ts';
import { computeState, disturb, farAway, suspend } from '../support/tunnel.ts';
import worker from '../support/worker.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { loadFiles, makeFile } from '../uploads/support.ts';
import { aDashboard, aVisualization, parameter } from '../visualizations/support.ts';

/** Long enough for a request to be answered meanwhile, on a busy machine too. */
const WAKING_MS = 1_000;

const ROWS = 'SELECT region, amount, clock_timestamp()::text AS read_at FROM sales [[WHERE region = ANY({{regions}})]]';

interface World {
  company: Company;
  table: ReturnType<typeof makeTableRoutes>;
  tableId: string;
  dashboardId: string;
  token: string;
  viewer: ReturnType<typeof linkOf>;
}

/** A company whose table `sales` a shared dashboard shows, which keeps no results beyond the last. */
async function createWorld(): Promise<World> {
  const company = await aProvisionedCompany();
  const tableId = await someSales(company);
  const chart = await aVisualization(company.as, ROWS, { parameters: [parameter('regions', 'multi_select')] });
  const { _id: dashboardId } = await aDashboard(company.as, [chart], {
    cache_seconds: 0,
    filters: [{ slug: 'regions', label: 'Regions', kind: 'multi_select' }],
  });
  const { token } = await aShare(company, dashboardId);
  return { company, table: makeTableRoutes(company.as, tableId), tableId, dashboardId, token, viewer: linkOf(token) };
}

const FRESH_RESULT = { cached: false };
const CACHED_RESULT = { cached: true };
const readResult = ({ status, body }: ApiResponse) => {
  expect(status).toBe(200);
  return body.results[0];
};
const expectOld = (answer: ApiResponse) => {
  expect(readResult(answer)).toMatchObject(CACHED_RESULT);
  expect(answer.body).toMatchObject({ waking: true, as_of: expect.stringMatching(/^\d{4}-.*Z$/) });
};
const expectNew = (answer: ApiResponse) => {
  expect(readResult(answer)).toMatchObject(FRESH_RESULT);
  expect(answer.body).not.toHaveProperty('waking');
  expect(answer.body).not.toHaveProperty('as_of');
};

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe('while the database wakes', () => {
  it('viewers by link, embed and portal are shown the last result with its time, and then a new one', async () => {
    const { company, dashboardId, viewer } = world;
    const email = 'sleeper@outside.test';
    const context = await aContext(company, [dashboardGrant(dashboardId)], [email]);
    const doors = [
      viewer,
      makeEmbedRoutes('d', await createEmbed(company, 'dashboards', dashboardId)),
      inPortal((await anOutsider(company, email)).as, context.id, dashboardId),
    ];
    for (const door of doors) {
      const before = Date.now();
      const first = await door.execute();
      expectNew(first);
      await suspend(company.id, WAKING_MS);
      const shown = await door.execute();
      expectOld(shown);
      expect(readResult(shown).rows).toEqual(readResult(first).rows);
      expect(Date.parse(shown.body.as_of)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(shown.body.as_of)).toBeLessThanOrEqual(Date.now());
      expectNew(await door.execute());
    }
  });

  it('viewers are answered at once, and the result is renewed after the response', async () => {
    const { company, token, viewer } = world;
    const first = await viewer.execute({ regions: ['north'] });
    await suspend(company.id, 5 * WAKING_MS);
    const execution = createExecutionContext();
    const request = new Request(`${BASE_URL}/api/v1/public/shares/${token}/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ parameters: { regions: ['north'] } }),
    });
    const response = await worker.fetch(request, env, execution);
    const body = (await response.json()) as ApiResponse['body'];
    expect(await computeState(company.id)).toBe('init');
    expect(body).toMatchObject({ waking: true, results: [{ rows: readResult(first).rows }] });
    await waitOnExecutionContext(execution);
    expect(await computeState(company.id)).toBe('active');
    // What was renewed is the last result now.
    await suspend(company.id, WAKING_MS);
    const shown = await viewer.execute({ regions: ['north'] });
    expectOld(shown);
    expect(readResult(shown).rows).not.toEqual(readResult(first).rows);
    expect(shown.body.as_of > body.as_of).toBe(true);
  });

  it('viewers wait if there is no last result, or if it was too large to be cached', async () => {
    const { company, viewer } = world;
    await suspend(company.id, WAKING_MS);
    expectNew(await viewer.execute({ regions: ['south'] }));
    const large = await aVisualization(company.as, "SELECT repeat('x', 3000000)");
    const { _id } = await aDashboard(company.as, [large], { cache_seconds: 0 });
    const { execute } = linkOf((await aShare(company, _id)).token);
    expectNew(await execute());
    await suspend(company.id, WAKING_MS);
    expectNew(await execute());
  });

  it('nobody is shown the last result of other filter values or policies, or of a share that has changed', async () => {
    const { company, dashboardId } = world;
    const north = await aShare(company, dashboardId, {
      share_filter_policies: [policy('regions', 'locked', ['north'])],
    });
    const east = await aShare(company, dashboardId, { share_filter_policies: [policy('regions', 'locked', ['east'])] });
    const [ofNorth, ofEast] = [linkOf(north.token), linkOf(east.token)];
    expect(regionsIn((await ofNorth.execute()).body)).toEqual(['north', 'north']);
    await suspend(company.id, WAKING_MS);
    const other = await ofEast.execute();
    expectNew(other);
    expect(regionsIn(other.body)).toEqual(['east']);

    const policies = [policy('regions', 'locked', ['south'])];
    const path = `/api/v1/dashboard-shares/${north.id}`;
    expect((await company.as.put(path, { json: { share_filter_policies: policies } })).status).toBe(200);
    await suspend(company.id, WAKING_MS);
    const changed = await ofNorth.execute();
    expectNew(changed);
    expect(regionsIn(changed.body)).toEqual(['south', 'south', 'south']);

    expect((await company.as.delete(path)).status).toBe(204);
    await suspend(company.id, 0);
    expect((await ofNorth.execute()).status).toBe(401);
  });

  it('the console says that it is waking, and its requests wait', async () => {
    const { company, table } = world;
    const isWaking = async () => (await company.as.get('/v1/managed-tables/status')).body.waking;
    expect(await isWaking()).toBeUndefined();
    await suspend(company.id, 5 * WAKING_MS);
    const rows = table.rows();
    await expect.poll(isWaking).toBe(true);
    expect(await computeState(company.id)).toBe('init');
    expect((await rows).status).toBe(200);
    expect(await isWaking()).toBeUndefined();
  });
});

it('a slow, distant database is not treated as a waking one', async () => {
  const { company, viewer } = world;
  await viewer.execute({ regions: ['east'] });
  const { outcome } = await farAway(company.id, 120, () => viewer.execute({ regions: ['east'] }));
  expectNew(outcome);
});

it('last results are cached encrypted, and for at most a day', async () => {
  const { viewer } = world;
  const cache = await caches.open('last-results');
  const put = vi.spyOn(Object.getPrototypeOf(cache), 'put');
  const kept: Response[] = [];
  put.mockImplementation(async (_, response) => void kept.push(response as Response));
  await viewer.execute({ regions: ['north', 'east'] });
  put.mockRestore();
  expect(kept).toHaveLength(1);
  expect(kept[0]?.headers.get('cache-control')).toBe('max-age=86400');
  expect(await kept[0]?.clone().text()).toMatch(/^v\d+:[\w-]+:[\w-]+$/);
});

describe('after a change of the data', () => {
  const change: [string, (world: World) => Promise<unknown>][] = [
    ['rows are inserted', ({ table }) => table.insert([{ region: 'west' }])],
    ['a row is changed', async ({ table }) => table.updateRow(await aRowOf(table), { region: 'west' })],
    ['a row is deleted', async ({ table }) => table.deleteRow(await aRowOf(table))],
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
  const aRowOf = async (table: World['table']): Promise<string> => (await table.rows()).body.records[0].id;

  it.each(change)('the last result is shown to nobody: %s', async (_, change) => {
    const own = await createWorld();
    const { rows } = readResult(await own.viewer.execute());
    await change(own);
    await suspend(own.company.id, WAKING_MS);
    const shown = await own.viewer.execute();
    expectNew(shown);
    expect(readResult(shown).rows?.map(([region, amount]: unknown[]) => [region, amount])).not.toEqual(
      rows.map(([region, amount]: unknown[]) => [region, amount]),
    );
  });

  it('a result that was read while it was made is not cached', async () => {
    const own = await createWorld();
    // The change has begun when its transaction does, and the viewer reads before that is committed.
    const path = `/v1/managed-tables/${own.tableId}/truncate`;
    const rival = createRivalEnv(/update "managed_databases" set "open_changes" = json_remove/, async () => {
      expect(readResult(await own.viewer.execute()).rows).toEqual([]);
    });
    expect((await own.company.as.post(path, { env: rival.env })).status).toBe(200);
    expect(rival.hasRun()).toBe(true);
    await suspend(own.company.id, WAKING_MS);
    expectNew(await own.viewer.execute());
  });

  it('no earlier result is shown, since the commit waits until the change is announced', async () => {
    const own = await createWorld();
    const path = `/v1/managed-tables/${own.tableId}/data`;
    const rival = createRivalEnv(/update "managed_databases" set "data_version"/, async () => {
      for (let tries = 0; tries < 3; tries += 1) {
        expect(readResult(await own.viewer.execute()).rows).toHaveLength(6);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    });
    const json = { rows: [{ region: 'west' }] };
    expect((await own.company.as.post(path, { json, env: rival.env })).status).toBe(201);
    expect(rival.hasRun()).toBe(true);
    await suspend(own.company.id, WAKING_MS);
    const shown = await own.viewer.execute();
    expectNew(shown);
    expect(readResult(shown).rows).toHaveLength(7);
  });

  it('of unknown outcome, no result is cached or shown from the cache', async () => {
    const own = await createWorld();
    await disturb(own.company.id, { statement: 'COMMIT', effect: 'lose_answer' });
    expect((await own.table.truncate()).status).toBe(503);
    expectNew(await own.viewer.execute());
    await suspend(own.company.id, WAKING_MS);
    expectNew(await own.viewer.execute());
  });
});
