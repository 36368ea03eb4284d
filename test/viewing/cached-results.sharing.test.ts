import { beforeAll, describe, expect, it, vi } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/kernel/clock.ts';
import { requireDatabase } from '../../src/modules/managed-database/service.ts';
import { createEmbedClient, createEmbedToken } from '../embeds/support.ts';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { createPortalClient, createShareContext, makeDashboardGrant, signInOutsider } from '../share-portal/support.ts';
import { createSalesTable, createShare, createShareClient } from '../shares/support.ts';
import { type ApiResponse, createCaller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { type Company, createProvisionedCompany, logIn } from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { sendDuringRace } from '../support/race.ts';
import { countOpenedConnections, disturbTunnel, runBeforeNextStatement, waitForSleep } from '../support/tunnel.ts';
import { loadFiles, makeFile, undoJob } from '../uploads/support.ts';
import { postDashboard, postVisualization } from '../visualizations/support.ts';

const ROWS_SQL = 'SELECT region, amount, s.* FROM sales AS s ORDER BY region, amount';
const TABLE_COLUMNS = [makeColumn('region'), makeColumn('amount', 'decimal'), makeColumn('day', 'date')];

interface ViewerAccess {
  execute(): Promise<ApiResponse>;
}

/** Creates a company with a dashboard of its table `sales`, whose results may be an hour old. */
async function createSalesCompany(sql = ROWS_SQL) {
  const company = await createProvisionedCompany();
  const tableId = await createSalesTable(company);
  const chart = await postVisualization(company.as, sql);
  const { _id: dashboardId } = await postDashboard(company.as, [chart], { cache_seconds: 3_600 });
  return { company, chartId: chart._id as string, dashboardId: dashboardId as string, tableId };
}

/** Returns every access by which outsiders see a dashboard. */
async function listViewerAccesses({ company, chartId, dashboardId }: Awaited<ReturnType<typeof createSalesCompany>>) {
  const email = 'reader@outside.test';
  const context = await createShareContext(company, [makeDashboardGrant(dashboardId)], [email]);
  return {
    embed: createEmbedClient('d', await createEmbedToken(company, 'dashboards', dashboardId)),
    'embedded visualization': createEmbedClient('v', await createEmbedToken(company, 'visualizations', chartId)),
    'public link': createShareClient((await createShare(company, dashboardId)).token),
    portal: createPortalClient((await signInOutsider(company, email)).as, context.id, dashboardId),
  } satisfies Record<string, ViewerAccess>;
}

/** Creates a link to a dashboard of another table of the company, whose result is cached. */
async function createOtherLink(company: Company, sql = 'SELECT count(*) FROM others') {
  if (sql.includes('others')) await createTable(company.as, 'others', [makeColumn('name')]);
  const chart = await postVisualization(company.as, sql);
  const { _id } = await postDashboard(company.as, [chart], { cache_seconds: 3_600 });
  const viewerAccess = createShareClient((await createShare(company, _id)).token);
  await waitForCachedResult(viewerAccess);
  return viewerAccess;
}

const readResult = ({ status, body }: ApiResponse) => {
  expect(status).toBe(200);
  return body.result ?? body.results[0];
};

/** Waits until an access returns a cached result. @returns the result */
const waitForCachedResult = (viewerAccess: ViewerAccess) =>
  vi.waitUntil(
    async () => {
      const result = readResult(await viewerAccess.execute());
      return result.cached && result;
    },
    { timeout: 15_000 },
  );

describe('a cached result of a shared dashboard', () => {
  it('is not shown after any change of its table, through link, embed or portal', async () => {
    const salesCompany = await createSalesCompany();
    const { company, chartId, tableId } = salesCompany;
    const viewerAccesses = await listViewerAccesses(salesCompany);
    const otherLink = await createOtherLink(company);
    const table = createTableClient(company.as, tableId);
    const loadCsv = (mode: string, csv: string, key: string[] = []) =>
      loadFiles(company, [makeFile('more.csv', csv)], {}, { into: tableId, mode, key });
    let row = '';
    let job = { _id: '', status: '' };
    const putTable = (json: object) => table.put({ display_name: 'sales', columns: TABLE_COLUMNS, ...json });
    const changes: Record<string, () => Promise<{ status: unknown }>> = {
      'a row is inserted': async () => {
        const answer = await table.insert([{ region: 'west', amount: 70 }]);
        row = answer.body.records?.[0]?.id ?? (await table.rows('?filter[region][eq]=west')).body.records[0].id;
        return answer;
      },
      'a row is changed': () => table.updateRow(row, { amount: 71 }),
      'a row is deleted': () => table.deleteRow(row),
      'a file is appended': async () => (job = await loadCsv('append', 'region,amount,day\nwest,1,2024-02-01\n')),
      'that is undone': () => undoJob(company, job._id),
      'a file is merged': () => loadCsv('upsert', 'region,amount,day\nwest,5,2024-02-01\n', ['amount']),
      'a file replaces all': async () => (job = await loadCsv('replace', 'region,amount,day\nup,1,2024-02-01\n')),
      'that is undone too': () => undoJob(company, job._id),
      'a column is added': () => putTable({ columns: [...TABLE_COLUMNS, makeColumn('note')] }),
      'a column is dropped': () => putTable({}),
      'it is truncated': () => table.truncate(),
      'a row is inserted again': () => table.insert([{ region: 'late' }]),
      'it is renamed': () => putTable({ display_name: 'sales_before' }),
      'it is renamed back': () => putTable({}),
      'it is deleted': () => table.delete(),
      'it is restored': () => table.restore(),
    };
    for (const [what, change] of Object.entries(changes)) {
      const resultsBefore = await Promise.all(
        Object.values(viewerAccesses).map(async (viewerAccess) => {
          const cachedResult = readResult(await viewerAccess.execute());
          return cachedResult.error ? cachedResult : await waitForCachedResult(viewerAccess);
        }),
      );
      expect([what, (await change()).status]).toEqual([what, expect.toBeOneOf([200, 201, 204, 'done'])]);
      const shownResults = await Promise.all(
        Object.values(viewerAccesses).map(async (viewerAccess) => readResult(await viewerAccess.execute())),
      );
      const insideExecution = await company.as.post(`/v1/visualizations/${chartId}/execute`, { json: {} });
      const { columns, rows } = readResult(insideExecution);
      for (const [at, name] of Object.keys(viewerAccesses).entries()) {
        const currentResult = shownResults[at];
        expect([what, name, currentResult.cached, currentResult.columns, currentResult.rows]).toEqual([
          what,
          name,
          false,
          columns,
          rows,
        ]);
        expect([what, name, currentResult.columns, currentResult.rows]).not.toEqual([
          what,
          name,
          resultsBefore[at].columns,
          resultsBefore[at].rows,
        ]);
      }
      expect([what, readResult(await otherLink.execute()).cached]).toEqual([what, true]);
    }
  });

  it('is not stored while a change is made, so that it is shown to nobody after the change', async () => {
    const { company, dashboardId, tableId } = await createSalesCompany();
    const viewerAccess = createShareClient((await createShare(company, dashboardId)).token);
    const countRows = (answer: ApiResponse) => readResult(answer).rows.length;
    expect((await waitForCachedResult(viewerAccess)).rows).toHaveLength(6);
    // Announced, and not committed yet.
    const concurrentExecution = await runBeforeNextStatement(company.id, /COMMIT/, async () => {
      const execution = await viewerAccess.execute();
      expect([readResult(execution).cached, countRows(execution)]).toEqual([false, 6]);
    });
    const { insert } = createTableClient(company.as, tableId);
    expect((await insert([{ region: 'west' }])).status).toBe(201);
    await concurrentExecution.outcome;
    expect(countRows(await viewerAccess.execute())).toBe(7);
    // One of which nobody knows whether it was made counts as under way.
    await disturbTunnel(company.id, { statement: 'COMMIT', effect: 'lose_answer' });
    expect((await insert([{ region: 'west' }])).status).toBe(503);
    expect(countRows(await viewerAccess.execute())).toBe(8);
    expect((await insert([{ region: 'west' }])).status).toBe(201);
    expect(countRows(await viewerAccess.execute())).toBe(9);
  });

  it('is stored under the data version that was read before the data itself', async () => {
    const { company, dashboardId, tableId } = await createSalesCompany();
    const viewerAccess = createShareClient((await createShare(company, dashboardId)).token);
    const insert = async () =>
      expect((await createTableClient(company.as, tableId).insert([{ region: 'west' }])).status).toBe(201);
    await sendDuringRace(/"readonly_connection"/, insert, (env) => viewerAccess.execute({}, { env }));
    expect((await waitForCachedResult(viewerAccess)).rows).toHaveLength(7);
    await insert();
    expect(readResult(await viewerAccess.execute()).rows).toHaveLength(8);
  });
});

describe('a change of a table', () => {
  const isResultCached = async (viewerAccess: ViewerAccess) => readResult(await viewerAccess.execute()).cached;

  it('whose outcome is unknown counts as unfinished for an hour, and turns off caching for its own table', async () => {
    const { company, dashboardId, tableId } = await createSalesCompany();
    const viewerAccess = createShareClient((await createShare(company, dashboardId)).token);
    const other = await createOtherLink(company);
    const insert = async (rows: object[]) => {
      const { owner, slug } = company;
      // The token of the beginning has run out.
      const { body } = await logIn(slug, owner.email, owner.password);
      return createTableClient(createCaller(body.token), tableId).insert(rows);
    };
    await disturbTunnel(company.id, { statement: 'COMMIT', effect: 'lose_answer' });
    expect((await insert([{ region: 'west' }])).status).toBe(503);
    for (const minutes of [1, 30, 55]) {
      advanceClock(minutes * MINUTE_MS);
      expect([minutes, await isResultCached(viewerAccess), await isResultCached(viewerAccess)]).toEqual([
        minutes,
        false,
        false,
      ]);
      expect((await insert([{ region: 'west' }])).status).toBe(201);
      await waitForCachedResult(other);
    }
    advanceClock(HOUR_MS + MINUTE_MS);
    expect((await waitForCachedResult(viewerAccess)).rows).toHaveLength(10);
  });

  it('invalidates results of views and of materialized views of the table, and no results of other tables', async () => {
    const { company, tableId } = await createSalesCompany();
    await runInContext({ kind: 'system', companyId: company.id }, async (ctx) => {
      const database = await requireDatabase(ctx);
      for (const statement of [
        'CREATE VIEW total AS SELECT sum(amount) FROM sales',
        'CREATE MATERIALIZED VIEW kept_total AS SELECT sum(amount) FROM sales',
        'GRANT SELECT ON total, kept_total TO PUBLIC',
      ])
        await database.execute(statement);
    });
    const other = await createOtherLink(company);
    const viewerAccesses = await Promise.all(
      ['total', 'kept_total'].map((name) => createOtherLink(company, `SELECT * FROM ${name}`)),
    );
    const insert = createTableClient(company.as, tableId).insert;
    expect((await insert([{ region: 'west', amount: 1 }])).status).toBe(201);
    expect(await Promise.all([other, ...viewerAccesses].map(isResultCached))).toEqual([true, false, false]);
  });
});

describe('equal executions of a query at the same time', () => {
  const SLOW_SQL = 'SELECT clock_timestamp()::text AS read_at, pg_sleep(2)::text, count(*)::int FROM sales';
  let company: Company;
  let viewerAccess: ReturnType<typeof createShareClient>;
  let tableId: string;
  beforeAll(async () => {
    const salesCompany = await createSalesCompany(SLOW_SQL);
    ({ company, tableId } = salesCompany);
    viewerAccess = createShareClient((await createShare(company, salesCompany.dashboardId)).token);
  });
  const listReadTimes = (answers: ApiResponse[]) => new Set(answers.map((answer) => readResult(answer).rows[0][0]));

  it('run once in Postgres, also if they arrive while it runs', async () => {
    const answers: Promise<ApiResponse>[] = [];
    const { pooled } = await countOpenedConnections(company.id, async () => {
      for (let sentCount = 0; sentCount < 20; sentCount += 1) {
        answers.push(viewerAccess.execute());
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await Promise.all(answers);
    });
    expect([listReadTimes(await Promise.all(answers)).size, pooled]).toEqual([1, 1]);
  });

  it('run twice if the data changes while another change is unfinished', async () => {
    const ownCompany = await createSalesCompany(SLOW_SQL);
    const { execute } = createShareClient((await createShare(ownCompany.company, ownCompany.dashboardId)).token);
    const { insert } = createTableClient(ownCompany.company.as, ownCompany.tableId);
    await disturbTunnel(ownCompany.company.id, { statement: 'COMMIT', effect: 'lose_answer' });
    expect((await insert([{ region: 'west' }])).status).toBe(503);
    const executionBefore = execute();
    await waitForSleep(ownCompany.company.id);
    expect((await insert([{ region: 'west' }])).status).toBe(201);
    const executions = await Promise.all([executionBefore, execute()]);
    expect(executions.map((answer) => readResult(answer).rows[0][2])).toEqual([7, 8]);
  });

  it('run twice if the data changes between them', async () => {
    const table = createTableClient(company.as, tableId);
    await table.insert([{ region: 'west' }]);
    const executionBefore = viewerAccess.execute();
    await waitForSleep(company.id);
    expect((await table.insert([{ region: 'west' }])).status).toBe(201);
    const executionsAfter = [viewerAccess.execute(), viewerAccess.execute()];
    const count = async (answer: Promise<ApiResponse>) => readResult(await answer).rows[0][2];
    expect(await count(executionBefore)).toBe(7);
    for (const execution of executionsAfter) expect(await count(execution)).toBe(8);
  });
});
