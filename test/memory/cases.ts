import { setTimeout as sleep } from 'node:timers/promises';
import { ordersWorkbook } from '../../bench/orders.ts';
import { jobWhen, type System } from '../../bench/system.ts';
import { csvOf } from '../../bench/upload-memory/csv.ts';

type Content = string | Blob | Uint8Array<ArrayBuffer>;

const MIB = 1024 * 1024;

/** Work at its largest documented input. Each is done twice at the same time; `which` tells the two apart. */
export interface Case {
  name: string;
  /** Makes what both need. */
  prepare?(system: System): Promise<void>;
  run(system: System, which: number): Promise<unknown>;
}

/** Uploads a file and has it analysed and loaded into a new table. @returns the table's id */
async function load(system: System, name: string, content: Content, which: number | string): Promise<string> {
  const form = new FormData();
  form.append('files', new File([content], name));
  const { job_id: jobId } = await system.call('POST', '/v1/managed-tables/upload', form);
  const { inferred_schema: schema } = await jobWhen(system, jobId, 'waiting_confirm');
  const confirmed = { display_name: `${name.replace(/\W/g, '_')}_${which}`, columns: schema.columns };
  await system.call('POST', `/v1/managed-tables/upload-jobs/${jobId}/confirm`, confirmed);
  return (await jobWhen(system, jobId, 'done')).user_table_id;
}

/** Files are made once, as the two uploads of a case may share them. */
function uploadOf(name: string, make: () => Content): Pick<Case, 'prepare' | 'run'> {
  let content: Content | undefined;
  return {
    prepare: async () => {
      content = make();
    },
    run: (system, which) => load(system, name, content as Content, which),
  };
}

/** Executes SQL as a visualization, and as a dashboard of `widgets` of it. */
function execution(name: string, sql: string, widgets: number): Case[] {
  const ids: { chart?: string; dashboard?: string } = {};
  const check = (results: { row_count: number; error?: object }[]) => {
    const rows = results.reduce((sum, result) => sum + (result.row_count ?? 0), 0);
    if (rows < 9_000) throw new Error(`${rows} rows: ${JSON.stringify(results).slice(0, 300)}`);
  };
  const prepare = async (system: System) => {
    const { _id } = await system.call('POST', '/v1/visualizations', { name, sql });
    const layout = Array.from({ length: widgets }, () => ({ visualization_id: _id, x: 0, y: 0, w: 1, h: 1 }));
    const dashboard = await system.call('POST', '/v1/dashboards', { name, layout, cache_seconds: 0 });
    ids.chart = _id;
    ids.dashboard = dashboard._id;
  };
  return [
    {
      name: `visualization: ${name}`,
      prepare,
      run: async (system) => check([(await system.call('POST', `/v1/visualizations/${ids.chart}/execute`, {})).result]),
    },
    {
      name: `dashboard of ${widgets}: ${name}`,
      run: async (system) => check((await system.call('POST', `/v1/dashboards/${ids.dashboard}/execute`, {})).results),
    },
  ];
}

let wideTable = '';

/** Takes an answer at 1 MB a second. */
async function takeSlowly({ baseUrl, logIn }: System, path: string): Promise<void> {
  const { body } = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${await logIn()}` } });
  let bytes = 0;
  for await (const chunk of body as ReadableStream<Uint8Array>) {
    bytes += chunk.length;
    await sleep(chunk.length / 1000);
  }
  if (bytes < 20_000_000) throw new Error(`${path} answered ${bytes} bytes`);
}

/** All of them. Each must stay below the limit. */
export const CASES: Case[] = [
  { name: 'signing in', run: (system) => system.logIn() },
  { name: 'CSV of 99 MiB: upload, analysis, load', ...uploadOf('grande.csv', () => csvOf(99 * MIB)) },
  { name: 'XLSX of 100,000 rows', ...uploadOf('pedidos.xlsx', () => ordersWorkbook(100_000)) },
  ...execution(
    '10,000 rows, 10 MiB of text',
    `SELECT n, repeat('a', 990) AS texto FROM generate_series(1, 10000) AS n`,
    8,
  ),
  ...execution(
    '10,000 rows of 100 small values',
    `SELECT ${Array.from({ length: 100 }, (_, n) => `n % 10 AS c${n}`).join(', ')} FROM generate_series(1, 10000) AS n`,
    8,
  ),
  {
    name: 'inserting 10,000 rows, 10 MiB',
    prepare: async (system) => {
      const header = 'numero,texto\n';
      wideTable = await load(system, 'linhas.csv', `${header}1,um\n2,dois\n`, 'x');
    },
    run: (system) => {
      const rows = Array.from({ length: 10_000 }, (_, numero) => ({ numero, texto: 'a'.repeat(1000) }));
      return system.call('POST', `/v1/managed-tables/${wideTable}/data`, { rows });
    },
  },
  {
    name: 'a page of 1,000 rows',
    run: (system) => system.call('GET', `/v1/managed-tables/${wideTable}/data?per_page=1000&page=2`),
  },
  ...(['csv', 'ndjson', 'parquet'] as const).map((format) => ({
    name: `exporting 20 MiB as ${format}, taken at 1 MB a second`,
    run: (system: System) => takeSlowly(system, `/v1/managed-tables/${wideTable}/export?format=${format}`),
  })),
];
