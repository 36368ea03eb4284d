import { Client } from 'pg';
import type { System } from '../../bench/system.ts';
import { BODY_CASES } from './bodies.ts';
import { downloadAnswer, type MemoryCase } from './case.ts';
import { COMPANY_EXPORT_CASES } from './company-exports.ts';
import { DATA_JOB_CASES } from './data-api.ts';
import { DIRECTORY_CASES } from './directory.ts';
import { DOCUMENT_CASES } from './knowledge.ts';
import { LOG_CASES } from './logs.ts';
import { MAIL_CASES, sendMail } from './mails.ts';
import { SINGLE_SIGN_ON_CASES } from './single-sign-on.ts';
import { UPLOAD_CASES } from './uploads.ts';

/** Downloads the result of a visualization as a file. */
async function downloadFile({ baseUrl, logIn }: System, id: string | undefined, format: string): Promise<void> {
  const headers = { authorization: `Bearer ${await logIn()}` };
  const answer = await fetch(`${baseUrl}/v1/visualizations/${id}/execute?format=${format}`, {
    method: 'POST',
    headers,
  });
  const { byteLength } = await answer.arrayBuffer();
  if (!answer.ok || byteLength < 10_000) throw new Error(`${format} answered ${answer.status}, ${byteLength} bytes`);
}

/** Makes cases that execute SQL as a visualization, as a dashboard with `widgetCount` visualizations, and as files. */
function makeExecutionCase(name: string, sql: string, widgetCount: number): MemoryCase[] {
  const ids: { chart?: string; dashboard?: string; embed?: string; share?: string } = {};
  const requireRows = (results: { row_count: number; error?: object }[]) => {
    const rows = results.reduce((sum, result) => sum + (result.row_count ?? 0), 0);
    if (rows < 9_000) throw new Error(`${rows} rows: ${JSON.stringify(results).slice(0, 300)}`);
  };
  let preparedSystem: System | undefined;
  const prepareDashboard = async (system: System) => {
    if (system === preparedSystem) return;
    const layout = [];
    for (let n = 0; n < widgetCount; n += 1) {
      const createdVisualization = await system.call('POST', '/v1/visualizations', {
        name: `${name} ${n}`,
        sql: `${sql} -- ${n}`,
      });
      layout.push({ visualization_id: createdVisualization._id, x: 0, y: n, w: 1, h: 1 });
    }
    const dashboard = await system.call('POST', '/v1/dashboards', { name, layout, cache_seconds: 0 });
    ids.chart = layout[0]?.visualization_id;
    ids.dashboard = dashboard._id;
    ids.embed = (await system.call('POST', `/api/v1/embed/dashboards/${ids.dashboard}`, {})).token;
    const path = `/api/v1/dashboards/${ids.dashboard}/shares`;
    ids.share = (await system.call('POST', path, { share_type: 'link' })).token;
    preparedSystem = system;
  };
  const cases: MemoryCase[] = [
    {
      name: `visualization: ${name}`,
      run: async (system) =>
        requireRows([(await system.call('POST', `/v1/visualizations/${ids.chart}/execute`, {})).result]),
    },
    {
      name: `dashboard of ${widgetCount}: ${name}`,
      run: async (system) =>
        requireRows((await system.call('POST', `/v1/dashboards/${ids.dashboard}/execute`, {})).results),
    },
    {
      name: `embedded and shared dashboard of ${widgetCount}: ${name}`,
      run: async ({ baseUrl }, runNumber) => {
        const path = runNumber === 0 ? `/api/embed/d/${ids.embed}` : `/api/v1/public/shares/${ids.share}`;
        const answer = await fetch(`${baseUrl}${path}/execute`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{}',
        });
        requireRows(((await answer.json()) as { results: { row_count: number }[] }).results);
      },
    },
    ...(['csv', 'xlsx'] as const).map((format) => ({
      name: `visualization as ${format}: ${name}`,
      run: (system: System) => downloadFile(system, ids.chart, format),
    })),
    ...(['summary', 'csv', 'xlsx'] as const).map((format) => ({
      name: `mailed dashboard of ${widgetCount} as ${format}: ${name}`,
      run: (system: System) => sendMail(system, ids.dashboard, format),
    })),
    {
      name: `dashboard of ${widgetCount} run by an agent: ${name}`,
      run: async ({ call }) => {
        const params = { name: 'run_dashboard', arguments: { dashboard_id: ids.dashboard } };
        const { result } = await call('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
        if (result.isError) throw new Error(JSON.stringify(result));
      },
    },
  ];
  return cases.map((eachCase) => ({ ...eachCase, prepare: prepareDashboard }));
}

const makeRows = <T>(count: number, makeRow: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => makeRow(n));

const SMALL_COLUMNS = makeRows(100, (n) => `c${n}`);

/** The ids of two tables, one for each run: on the same table, the inserts would wait for each other. */
const tables: string[] = [];
let systemOfTables: System | undefined;

async function prepareTables(system: System): Promise<void> {
  if (system === systemOfTables) return;
  systemOfTables = system;
  tables.length = 0;
  const makeColumn = (name: string, type: string) => ({ name, display_name: name, type, nullable: true });
  const columns = [
    makeColumn('n', 'integer'),
    makeColumn('texto', 'text'),
    ...SMALL_COLUMNS.map((name) => makeColumn(name, 'integer')),
  ];
  for (const name of ['um', 'dois'])
    tables.push((await system.call('POST', '/v1/managed-tables', { display_name: name, columns }))._id);
}

const makeRowsPath = (runNumber: number) => `/v1/managed-tables/${tables[runNumber]}/data`;

const makeRowsBody = (rows: object[]) => new Blob([JSON.stringify({ rows })], { type: 'application/json' });

/**
 * Makes a case that inserts rows. The body is made in advance, as this process would otherwise miss that a connection is closed.
 */
function makeInsertCase(name: string, makeRowsToSend: () => object[]): MemoryCase {
  let body: Blob;
  return {
    name: `inserting ${name}`,
    prepare: async (system) => {
      await prepareTables(system);
      body = makeRowsBody(makeRowsToSend());
    },
    run: (system, runNumber) => system.call('POST', makeRowsPath(runNumber), body),
  };
}

/** Makes a case that inserts rows under an idempotency key, for which the body is read before the caller is authorized. */
function makeIdempotentInsertCase(name: string, makeRowsToSend: () => object[]): MemoryCase {
  let body: Blob;
  return {
    name: `inserting once ${name}`,
    prepare: async (system) => {
      await prepareTables(system);
      body = makeRowsBody(makeRowsToSend());
    },
    run: async ({ baseUrl, logIn }, runNumber) => {
      const headers = {
        authorization: `Bearer ${await logIn()}`,
        'content-type': 'application/json',
        'idempotency-key': crypto.randomUUID(),
      };
      const { status } = await fetch(`${baseUrl}${makeRowsPath(runNumber)}`, { method: 'POST', headers, body });
      if (status !== 201) throw new Error(`answered ${status}`);
    },
  };
}

/** Makes a case of rows that are all refused, which must not need more memory. */
function makeRefusedInsertCase(name: string, makeRowsToSend: () => object[]): MemoryCase {
  const { prepare, run } = makeInsertCase(name, makeRowsToSend);
  return {
    name: `refusing ${name}`,
    ...(prepare && { prepare }),
    run: (system, runNumber) =>
      run(system, runNumber).then(
        () => Promise.reject(new Error('was inserted')),
        (error: Error) => {
          if (!error.message.includes('answered 422')) throw error;
        },
      ),
  };
}

/** Downloads an answer of rows, at the given number of bytes per second. */
async function downloadRows({ baseUrl, logIn }: System, path: string, bytesPerSecond?: number): Promise<void> {
  const headers = { authorization: `Bearer ${await logIn()}` };
  const { bytes } = await downloadAnswer(await fetch(`${baseUrl}${path}`, { headers }), bytesPerSecond);
  if (bytes < MIN_EXPORT_BYTES) throw new Error(`${path} answered ${bytes} bytes`);
}

/** Creates a table, and fills it in Postgres with the rows of a SELECT. @returns its path */
async function createFilledTable(system: System, name: string, selectSql: string): Promise<string> {
  const columns = ['n', 'texto'].map((column) => ({
    name: column,
    display_name: column,
    type: column === 'n' ? 'integer' : 'text',
    nullable: true,
  }));
  const { _id } = await system.call('POST', '/v1/managed-tables', { display_name: name, columns });
  const client = new Client({ connectionString: system.postgresUrl });
  await client.connect();
  await client.query(`INSERT INTO public.${name} (n, texto) ${selectSql}`);
  await client.end();
  return `/v1/managed-tables/${_id}`;
}

/** Makes a case that reads from a table, which is filled in advance. */
function makeReadCase(name: string, selectSql: string, query: string, bytesPerSecond?: number): MemoryCase {
  let path: string;
  return {
    name,
    prepare: async (system) => {
      path = await createFilledTable(system, `t${crypto.randomUUID().replaceAll('-', '_')}`, selectSql);
    },
    run: (system) => downloadRows(system, `${path}${query}`, bytesPerSecond),
  };
}

/** SQL for 20 MiB of rows of a kilobyte each. */
const INCOMPRESSIBLE_SQL = `
  SELECT n, (SELECT string_agg(md5(concat(n, '/', part)), '') FROM generate_series(1, 32) AS part)
  FROM generate_series(1, 20000) AS n`;

/** The minimum size of each export. */
const MIN_EXPORT_BYTES = 10_000_000;

/** All cases. Each must stay below the memory limit. */
export const MEMORY_CASES: MemoryCase[] = [
  { name: 'signing in', run: (system) => system.logIn() },
  ...BODY_CASES,
  ...SINGLE_SIGN_ON_CASES,
  ...UPLOAD_CASES,
  ...DOCUMENT_CASES,
  ...makeExecutionCase(
    '10,000 rows, 10 MiB of text',
    `SELECT n, repeat('a', 990) AS texto FROM generate_series(1, 10000) AS n`,
    8,
  ),
  ...makeExecutionCase(
    '10,000 rows of 100 small values',
    `SELECT ${Array.from({ length: 100 }, (_, n) => `n % 10 AS c${n}`).join(', ')} FROM generate_series(1, 10000) AS n`,
    8,
  ),
  makeInsertCase('10,000 rows, 10 MiB', () => makeRows(10_000, (n) => ({ n, texto: 'a'.repeat(1000) }))),
  makeInsertCase('10,000 rows of 100 small values, 10 MiB', () =>
    makeRows(10_000, (n) => Object.fromEntries(SMALL_COLUMNS.map((name, at) => [name, (n + at) % 1000]))),
  ),
  makeIdempotentInsertCase('10,000 rows, 10 MiB', () => makeRows(10_000, (n) => ({ n, texto: 'a'.repeat(1000) }))),
  makeInsertCase('a row of one text, 10 MiB', () => [{ texto: 'a'.repeat(10_485_000) }]),
  makeRefusedInsertCase('a row of 3,000,000 objects', () => [{ texto: makeRows(3_000_000, () => ({})) }]),
  makeRefusedInsertCase('a row of 800,000 columns', () => [Object.fromEntries(makeRows(800_000, (n) => [`x${n}`, 1]))]),
  {
    name: 'a page of 1,000 rows',
    prepare: async (system) => {
      await prepareTables(system);
      const rows = makeRows(2_000, (n) => ({ n, texto: 'a'.repeat(1000) }));
      await system.call('POST', makeRowsPath(0), makeRowsBody(rows));
    },
    run: (system) => system.call('GET', `${makeRowsPath(0)}?per_page=1000&page=2`),
  },
  makeReadCase(
    'a page of 16 MiB',
    `SELECT n, repeat('a', 16500) FROM generate_series(1, 1000) AS n`,
    '/data?per_page=1000',
  ),
  makeReadCase(
    'exporting 1,048,575 rows as xlsx',
    `SELECT n, 'Cliente ' || n FROM generate_series(1, 1048575) AS n`,
    '/export?format=xlsx',
  ),
  ...['csv', 'ndjson', 'parquet'].map((format) =>
    makeReadCase(
      `exporting 20 MiB as ${format}, taken at 1 MB a second`,
      INCOMPRESSIBLE_SQL,
      `/export?format=${format}`,
      1_000_000,
    ),
  ),
  ...DATA_JOB_CASES,
  ...COMPANY_EXPORT_CASES,
  ...DIRECTORY_CASES,
  ...LOG_CASES,
  ...MAIL_CASES,
];
