import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { System } from '../../bench/system.ts';
import { type Case, downloadAnswer } from './case.ts';

/** Ten million by hand: `EXPORT_ROWS=10000000 npm run test:memory -- "exporting a company"`. */
const ROWS = Number(process.env.EXPORT_ROWS ?? 1_000_000);
/** Rows of another company, of a kilobyte that can hardly be compressed, 10,000 at a time. */
const OTHER_BATCHES = 5;

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

/** Has a company exported by the operator, and takes the archive. */
async function exportCompany(system: System, companyId: string, leastBytes: number): Promise<void> {
  const path = `/admin/organizations/${companyId}/exports`;
  const operator = (method: string, at: string) => requestApi(system, system.operatorToken, method, at);
  const { export_id: id } = await operator('POST', path);
  for (;;) {
    const { status, error, url, bytes } = await operator('GET', `${path}/${id}`);
    if (status === 'failed') throw new Error(error);
    if (status === 'succeeded') {
      const taken = await downloadAnswer(await fetch(url), 20_000_000);
      if (taken.bytes !== bytes || bytes < leastBytes) throw new Error(`${taken.bytes} of ${bytes} bytes came`);
      return;
    }
    await sleep(500);
  }
}

const companies: string[] = [];

/** Two companies, since each has one export at a time. */
async function prepare(system: System): Promise<void> {
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
     SELECT n, 'Customer ' || n, n / 100.0, timestamptz '2024-01-01' + n * interval '1 second' FROM generate_series(1, ${ROWS}) AS n`,
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
  for (let batch = 0; batch < OTHER_BATCHES; batch += 1) {
    const rows = Array.from({ length: 10_000 }, () => ({
      texto: Buffer.from(crypto.getRandomValues(new Uint8Array(700))).toString('base64'),
    }));
    await requestApi(system, token, 'POST', `/v1/managed-tables/${_id}/data`, { rows });
  }
  const { context } = await system.call('GET', '/v1/auth/me');
  companies.push(context.company.id, organization.id);
}

export const COMPANY_EXPORTS: Case[] = [
  {
    name: `exporting a company with ${ROWS.toLocaleString('en')} rows, beside one of long texts`,
    prepare,
    run: (system, which) => exportCompany(system, companies[which] as string, 30_000_000),
  },
];
