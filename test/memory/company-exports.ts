import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { System } from '../../bench/system.ts';
import { downloadAnswer, type MemoryCase } from './case.ts';

/** The number of rows; for ten million: `EXPORT_ROWS=10000000 npm run test:memory -- "exporting a company"`. */
const ROW_COUNT = Number(process.env.EXPORT_ROWS ?? 1_000_000);
/** The number of batches of 10,000 rows in the other company; each row has a kilobyte that can hardly be compressed. */
const OTHER_BATCH_COUNT = 5;

// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes.
async function requestApi(system: System, token: string, method: string, path: string, json?: object): Promise<any> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' };
  const body = json && JSON.stringify(json);
  const answer = await fetch(system.baseUrl + path, { method, headers, ...(body !== undefined && { body }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

const makeColumn = (name: string, type: string) => ({ name, display_name: name, type, nullable: true });

/** Has the operator export a company, and downloads the archive. */
async function exportCompany(system: System, companyId: string, minBytes: number): Promise<void> {
  const path = `/admin/organizations/${companyId}/exports`;
  const requestAsOperator = (method: string, at: string) => requestApi(system, system.operatorToken, method, at);
  const { export_id: id } = await requestAsOperator('POST', path);
  for (;;) {
    const { status, error, url, bytes } = await requestAsOperator('GET', `${path}/${id}`);
    if (status === 'failed') throw new Error(error);
    if (status === 'succeeded') {
      const downloadedSize = await downloadAnswer(await fetch(url), 20_000_000);
      if (downloadedSize.bytes !== bytes || bytes < minBytes)
        throw new Error(`${downloadedSize.bytes} of ${bytes} bytes came`);
      return;
    }
    await sleep(500);
  }
}

const companies: string[] = [];

/** Prepares two companies, as each can have only one export at a time. */
async function prepareCompanies(system: System): Promise<void> {
  const columns = [
    makeColumn('n', 'integer'),
    makeColumn('customer', 'text'),
    makeColumn('price', 'decimal'),
    makeColumn('at', 'datetime'),
  ];
  await system.call('POST', '/v1/managed-tables', { display_name: 'orders', columns });
  const client = new Client({ connectionString: system.postgresUrl });
  await client.connect();
  await client.query('SET statement_timeout = 0');
  await client.query(
    `INSERT INTO public.orders (n, customer, price, at)
     SELECT n, 'Customer ' || n, n / 100.0, timestamptz '2024-01-01' + n * interval '1 second' FROM generate_series(1, ${ROW_COUNT}) AS n`,
  );
  await client.end();

  const owner = { email: 'owner@other.test', name: 'Other', password: 'correct-horse-battery' };
  const { organization } = await requestApi(system, system.operatorToken, 'POST', '/admin/organizations', {
    name: 'Other',
    slug: 'other',
    owner,
  });
  const { token } = await requestApi(system, '', 'POST', '/v1/auth/login', {
    company_slug: 'other',
    ...owner,
    name: undefined,
  });
  await requestApi(system, token, 'POST', '/v1/managed-tables/provision');
  const { _id } = await requestApi(system, token, 'POST', '/v1/managed-tables', {
    display_name: 'texts',
    columns: [makeColumn('texto', 'text')],
  });
  for (let batchNumber = 0; batchNumber < OTHER_BATCH_COUNT; batchNumber += 1) {
    const rows = Array.from({ length: 10_000 }, () => ({
      texto: Buffer.from(crypto.getRandomValues(new Uint8Array(700))).toString('base64'),
    }));
    await requestApi(system, token, 'POST', `/v1/managed-tables/${_id}/data`, { rows });
  }
  const { context } = await system.call('GET', '/v1/auth/me');
  companies.push(context.company.id, organization.id);
}

export const COMPANY_EXPORT_CASES: MemoryCase[] = [
  {
    name: `exporting a company with ${ROW_COUNT.toLocaleString('en')} rows, beside one of long texts`,
    prepare: prepareCompanies,
    run: (system, runNumber) => exportCompany(system, companies[runNumber] as string, 30_000_000),
  },
];
