import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/kernel/clock.ts';
import { requireDatabase } from '../../src/modules/managed-database/service.ts';
import { createEmbed, makeEmbedRoutes } from '../embeds/support.ts';
import { column, createTable, makeTableRoutes } from '../managed-tables/support.ts';
import { aContext, anOutsider, dashboardGrant, inPortal } from '../share-portal/support.ts';
import { aShare, linkOf, someSales } from '../shares/support.ts';
import { type ApiResponse, createCaller } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { inContext } from '../support/context.ts';
import { sendOvertaken } from '../support/rival.ts';
import { connectionsOf, disturb, rivalBeforeStatement, untilSomebodySleeps } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company, logIn } from '../support/worlds.ts';
import { loadFiles, makeFile, undoJob } from '../uploads/support.ts';
import { aDashboard, aVisualization } from '../visualizations/support.ts';

const ROWS = 'SELECT region, amount, s.* FROM sales AS s ORDER BY region, amount';
const COLUMNS = [column('region'), column('amount', 'decimal'), column('day', 'date')];

interface ViewerAccess {
  execute(): Promise<ApiResponse>;
}

/** A company whose table `sales` a dashboard shows that may be an hour old. */
async function createWorld(sql = ROWS) {
  const company = await aProvisionedCompany();
  const tableId = await someSales(company);
  const chart = await aVisualization(company.as, sql);
  const { _id: dashboardId } = await aDashboard(company.as, [chart], { cache_seconds: 3_600 });
  return { company, chartId: chart._id as string, dashboardId: dashboardId as string, tableId };
}

/** Every way by which outsiders come to a dashboard. */
async function listViewerAccesses({ company, chartId, dashboardId }: Awaited<ReturnType<typeof createWorld>>) {
  const email = 'reader@outside.test';
  const context = await aContext(company, [dashboardGrant(dashboardId)], [email]);
  return {
    embed: makeEmbedRoutes('d', await createEmbed(company, 'dashboards', dashboardId)),
    'embedded visualization': makeEmbedRoutes('v', await createEmbed(company, 'visualizations', chartId)),
    'public link': linkOf((await aShare(company, dashboardId)).token),
    portal: inPortal((await anOutsider(company, email)).as, context.id, dashboardId),
  } satisfies Record<string, ViewerAccess>;
}

/** A link to a dashboard of another table of the company, whose result is kept. */
async function createOtherLink(company: Company, sql = 'SELECT count(*) FROM others') {
  if (sql.includes('others')) await createTable(company.as, 'others', [column('name')]);
  const chart = await aVisualization(company.as, sql);
  const { _id } = await aDashboard(company.as, [chart], { cache_seconds: 3_600 });
  const door = linkOf((await aShare(company, _id)).token);
  await waitForCachedResult(door);
  return door;
}

const readResult = ({ status, body }: ApiResponse) => {
  expect(status).toBe(200);
  return body.result ?? body.results[0];
};

/** What a door shows once that is a kept result. */
const waitForCachedResult = (door: ViewerAccess) =>
  vi.waitUntil(
    async () => {
      const result = readResult(await door.execute());
      return result.cached && result;
    },
    { timeout: 15_000 },
  );

describe('a cached result of a shared dashboard', () => {
  it('is not shown after any change of its table, through link, embed or portal', async () => {
    const world = await createWorld();
    const { company, chartId, tableId } = world;
    const doors = await listViewerAccesses(world);
    const untouched = await createOtherLink(company);
    const table = makeTableRoutes(company.as, tableId);
    const loaded = (mode: string, csv: string, key: string[] = []) =>
      loadFiles(company, [makeFile('more.csv', csv)], {}, { into: tableId, mode, key });
    let row = '';
    let job = { _id: '', status: '' };
    const put = (json: object) => table.put({ display_name: 'sales', columns: COLUMNS, ...json });
    const changes: Record<string, () => Promise<{ status: unknown }>> = {
      'a row is inserted': async () => {
        const answer = await table.insert([{ region: 'west', amount: 70 }]);
        row = answer.body.records?.[0]?.id ?? (await table.rows('?filter[region][eq]=west')).body.records[0].id;
        return answer;
      },
      'a row is changed': () => table.updateRow(row, { amount: 71 }),
      'a row is deleted': () => table.deleteRow(row),
      'a file is appended': async () => (job = await loaded('append', 'region,amount,day\nwest,1,2024-02-01\n')),
      'that is undone': () => undoJob(company, job._id),
      'a file is merged': () => loaded('upsert', 'region,amount,day\nwest,5,2024-02-01\n', ['amount']),
      'a file replaces all': async () => (job = await loaded('replace', 'region,amount,day\nup,1,2024-02-01\n')),
      'that is undone too': () => undoJob(company, job._id),
      'a column is added': () => put({ columns: [...COLUMNS, column('note')] }),
      'a column is dropped': () => put({}),
      'it is truncated': () => table.truncate(),
      'a row is inserted again': () => table.insert([{ region: 'late' }]),
      'it is renamed': () => put({ display_name: 'sales_before' }),
      'it is renamed back': () => put({}),
      'it is deleted': () => table.delete(),
      'it is restored': () => table.restore(),
    };
    for (const [what, change] of Object.entries(changes)) {
      const before = await Promise.all(
        Object.values(doors).map(async (door) => {
          const shown = readResult(await door.execute());
          return shown.error ? shown : await waitForCachedResult(door);
        }),
      );
      expect([what, (await change()).status]).toEqual([what, expect.toBeOneOf([200, 201, 204, 'done'])]);
      const shown = await Promise.all(Object.values(doors).map(async (door) => readResult(await door.execute())));
      const told = await company.as.post(`/v1/visualizations/${chartId}/execute`, { json: {} });
      const { columns, rows } = readResult(told);
      for (const [at, name] of Object.keys(doors).entries()) {
        const now = shown[at];
        expect([what, name, now.cached, now.columns, now.rows]).toEqual([what, name, false, columns, rows]);
        expect([what, name, now.columns, now.rows]).not.toEqual([what, name, before[at].columns, before[at].rows]);
      }
      expect([what, readResult(await untouched.execute()).cached]).toEqual([what, true]);
    }
  });

  it('is not stored while a change is made, so that nobody is shown it afterwards', async () => {
    const { company, dashboardId, tableId } = await createWorld();
    const door = linkOf((await aShare(company, dashboardId)).token);
    const rowsOf = (answer: ApiResponse) => readResult(answer).rows.length;
    expect((await waitForCachedResult(door)).rows).toHaveLength(6);
    // Announced, and not committed yet.
    const meanwhile = await rivalBeforeStatement(company.id, /COMMIT/, async () => {
      const shown = await door.execute();
      expect([readResult(shown).cached, rowsOf(shown)]).toEqual([false, 6]);
    });
    const { insert } = makeTableRoutes(company.as, tableId);
    expect((await insert([{ region: 'west' }])).status).toBe(201);
    await meanwhile.outcome;
    expect(rowsOf(await door.execute())).toBe(7);
    // One of which nobody knows whether it was made counts as under way.
    await disturb(company.id, { statement: 'COMMIT', effect: 'lose_answer' });
    expect((await insert([{ region: 'west' }])).status).toBe(503);
    expect(rowsOf(await door.execute())).toBe(8);
    expect((await insert([{ region: 'west' }])).status).toBe(201);
    expect(rowsOf(await door.execute())).toBe(9);
  });

  it('is stored under the data version that was read before the data itself', async () => {
    const { company, dashboardId, tableId } = await createWorld();
    const door = linkOf((await aShare(company, dashboardId)).token);
    const insert = async () =>
      expect((await makeTableRoutes(company.as, tableId).insert([{ region: 'west' }])).status).toBe(201);
    await sendOvertaken(/"readonly_connection"/, insert, (env) => door.execute({}, { env }));
    expect((await waitForCachedResult(door)).rows).toHaveLength(7);
    await insert();
    expect(readResult(await door.execute()).rows).toHaveLength(8);
  });
});

describe('a change of a table', () => {
  afterEach(resetClock);
  const isCached = async (door: ViewerAccess) => readResult(await door.execute()).cached;

  it('whose outcome is unknown counts as under way for an hour, and turns off caching for its own table', async () => {
    const { company, dashboardId, tableId } = await createWorld();
    const door = linkOf((await aShare(company, dashboardId)).token);
    const other = await createOtherLink(company);
    const insert = async (rows: object[]) => {
      const { owner, slug } = company;
      // The token of the beginning has run out.
      const { body } = await logIn(slug, owner.email, owner.password);
      return makeTableRoutes(createCaller(body.token), tableId).insert(rows);
    };
    await disturb(company.id, { statement: 'COMMIT', effect: 'lose_answer' });
    expect((await insert([{ region: 'west' }])).status).toBe(503);
    for (const minutes of [1, 30, 55]) {
      advanceClock(minutes * MINUTE_MS);
      expect([minutes, await isCached(door), await isCached(door)]).toEqual([minutes, false, false]);
      expect((await insert([{ region: 'west' }])).status).toBe(201);
      await waitForCachedResult(other);
    }
    advanceClock(HOUR_MS + MINUTE_MS);
    expect((await waitForCachedResult(door)).rows).toHaveLength(10);
  });

  it('invalidates results of views and of materialized views of it, and none of other tables', async () => {
    const { company, tableId } = await createWorld();
    await inContext({ kind: 'system', companyId: company.id }, async (ctx) => {
      const database = await requireDatabase(ctx);
      for (const statement of [
        'CREATE VIEW total AS SELECT sum(amount) FROM sales',
        'CREATE MATERIALIZED VIEW kept_total AS SELECT sum(amount) FROM sales',
        'GRANT SELECT ON total, kept_total TO PUBLIC',
      ])
        await database.execute(statement);
    });
    const other = await createOtherLink(company);
    const doors = await Promise.all(
      ['total', 'kept_total'].map((name) => createOtherLink(company, `SELECT * FROM ${name}`)),
    );
    const insert = makeTableRoutes(company.as, tableId).insert;
    expect((await insert([{ region: 'west', amount: 1 }])).status).toBe(201);
    expect(await Promise.all([other, ...doors].map(isCached))).toEqual([true, false, false]);
  });
});

describe('equal executions of a query at the same time', () => {
  const SLOW = 'SELECT clock_timestamp()::text AS read_at, pg_sleep(2)::text, count(*)::int FROM sales';
  let company: Company;
  let door: ReturnType<typeof linkOf>;
  let tableId: string;
  beforeAll(async () => {
    const world = await createWorld(SLOW);
    ({ company, tableId } = world);
    door = linkOf((await aShare(company, world.dashboardId)).token);
  });
  const timesOf = (answers: ApiResponse[]) => new Set(answers.map((answer) => readResult(answer).rows[0][0]));

  it('run once in Postgres, also if they arrive while it runs', async () => {
    const answers: Promise<ApiResponse>[] = [];
    const { pooled } = await connectionsOf(company.id, async () => {
      for (let sent = 0; sent < 20; sent += 1) {
        answers.push(door.execute());
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await Promise.all(answers);
    });
    expect([timesOf(await Promise.all(answers)).size, pooled]).toEqual([1, 1]);
  });

  it('run twice if the data changes while another change is under way', async () => {
    const own = await createWorld(SLOW);
    const { execute } = linkOf((await aShare(own.company, own.dashboardId)).token);
    const { insert } = makeTableRoutes(own.company.as, own.tableId);
    await disturb(own.company.id, { statement: 'COMMIT', effect: 'lose_answer' });
    expect((await insert([{ region: 'west' }])).status).toBe(503);
    const before = execute();
    await untilSomebodySleeps(own.company.id);
    expect((await insert([{ region: 'west' }])).status).toBe(201);
    const shown = await Promise.all([before, execute()]);
    expect(shown.map((answer) => readResult(answer).rows[0][2])).toEqual([7, 8]);
  });

  it('run twice if the data changes in between', async () => {
    const table = makeTableRoutes(company.as, tableId);
    await table.insert([{ region: 'west' }]);
    const before = door.execute();
    await untilSomebodySleeps(company.id);
    expect((await table.insert([{ region: 'west' }])).status).toBe(201);
    const after = [door.execute(), door.execute()];
    const count = async (answer: Promise<ApiResponse>) => readResult(await answer).rows[0][2];
    expect(await count(before)).toBe(7);
    for (const each of after) expect(await count(each)).toBe(8);
  });
});
