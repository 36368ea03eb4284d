import { randomBytes } from 'node:crypto';
import { existsSync, openAsBlob, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, type Client, createClient, type UploadJob, withToken } from '../client/client.ts';
import { Problem } from '../operations/problem.ts';
import { writeSecretFile } from '../operations/secret-file.ts';
import { type DemoDashboard, isRequestSuccessful, makeDemoDashboard } from './demo-dashboard.ts';
import { makeKnowledge } from './demo-knowledge.ts';
import { makeSchedule } from './demo-schedule.ts';

/** File of the demo's data: reported collisions of aircraft with wildlife, ten thousand rows of text, dates and numbers. */
const DATA_FILE = join(dirname(createRequire(import.meta.url).resolve('vega-datasets')), '../data/birdstrikes.csv');
const TABLE_NAME = 'birdstrikes';
/** Milliseconds of the window in which requests from one address are counted. */
const IP_WINDOW_MS = 1_000;
/** Retries of the demo's requests; many, because rate limits may be set low. */
const RETRY_COUNT = 1_000;

/** Content of `demo.json`. Fields are added once the objects that they refer to exist. */
export interface Demo extends Partial<DemoDashboard> {
  base_url: string;
  iam_base_url: string;
  company: { id: string; slug: string };
  account_id: string;
  owner: { email: string; password: string };
  service_account: { id: string; access_key: string; secret_key: string };
  platform_admin_token: string;
  mailbox_url: string;
  postgres_url?: string;
  table_id?: string;
  /** True once the demo's metrics and questions were made; later changes of them stay. */
  knowledge?: true;
  /** Id of the demo's schedule, which is made once. */
  schedule_id?: string;
}

export interface DemoOptions {
  baseUrl: string;
  platformAdminToken: string;
  mailboxUrl: string;
  /** Folder of `demo.json`, which is kept for the next start. */
  stateDir: string;
  /** Finds the address of a company's database for psql, if it has one. */
  findPostgresUrl(companyId: string): string | undefined;
  /** Prints progress. */
  report(line: string): void;
}

/** Makes the demo company and loads its data through the public API, or reuses those of an earlier start. */
export async function runDemo(options: DemoOptions): Promise<Demo> {
  const { baseUrl, stateDir, report } = options;
  const file = join(stateDir, 'demo.json');
  const addressFields = {
    base_url: baseUrl,
    iam_base_url: baseUrl,
    platform_admin_token: options.platformAdminToken,
    mailbox_url: options.mailboxUrl,
  };
  const storeDemo = async (demo: Demo) => {
    await writeSecretFile(file, `${JSON.stringify(demo, null, 2)}\n`);
    return demo;
  };

  const findPostgresUrl = ({ company }: Demo) => options.findPostgresUrl(company.id);

  const storedDemo: Demo | undefined = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  let demo: Demo = await storeDemo({ ...(storedDemo ?? (await createCompany(options))), ...addressFields });
  const api = await signIn(demo).catch((error: unknown) => {
    if (!storedDemo || !isSignInRefusal(error)) throw error;
    report(`The demo stays as it is, as its owner cannot sign in: ${error.message}`);
  });
  if (!api) return storeDemo({ ...demo, ...moveAddresses(demo, baseUrl), postgres_url: findPostgresUrl(demo) });
  const { table_id: id } = demo;
  if (id && (await isRequestSuccessful(() => api.get('/v1/managed-tables/{id}', { params: { id } })))) {
    report('The demo company and its table are still there.');
  } else {
    report('Giving the demo company its own Postgres …');
    await api.post('/v1/managed-tables/provision');
    demo = await storeDemo({ ...demo, table_id: await loadData(api, report) });
  }
  if (!demo.knowledge) {
    report('Saying what its columns mean …');
    await makeKnowledge(demo, RETRY_COUNT);
    demo = await storeDemo({ ...demo, knowledge: true });
  }
  report('Opening the dashboard …');
  const dashboard = await makeDemoDashboard(baseUrl, api, demo);
  demo = await storeDemo({ ...demo, ...dashboard });
  demo = await storeDemo({
    ...demo,
    schedule_id: demo.schedule_id ?? (await makeSchedule(api, dashboard.dashboard_id)),
  });
  // The demo's requests must not count against the first user's limit.
  await sleep(IP_WINDOW_MS);
  return storeDemo({ ...demo, postgres_url: findPostgresUrl(demo) });
}

/**
 * Returns true if an error refuses the owner's sign-in, as after a new password, a second factor or the company's suspension.
 */
const isSignInRefusal = (error: unknown): error is Error =>
  error instanceof Problem || (error instanceof ApiError && error.status < 500);

/** Returns the stored addresses of pages, with the base URL of this start. */
const moveAddresses = ({ embed_url, public_share_url }: Demo, baseUrl: string): Partial<Demo> => ({
  ...(embed_url && { embed_url: baseUrl + new URL(embed_url).pathname }),
  ...(public_share_url && { public_share_url: baseUrl + new URL(public_share_url).pathname }),
});

async function createCompany({ baseUrl, platformAdminToken, report }: DemoOptions) {
  if (platformAdminToken === '') throw new Problem('The demo company cannot be made without PLATFORM_ADMIN_TOKEN.');
  report('Creating the demo company …');
  const owner = { email: 'owner@demo.test', name: 'Olga Owner', password: randomBytes(12).toString('base64url') };
  const operator = createClient({ baseUrl, credential: withToken(platformAdminToken), retries: RETRY_COUNT });
  const createOrganization = (slug: string) =>
    operator.post('/admin/organizations', { body: { name: 'Demo', slug, owner } });
  const { organization, default_account, service_account, api_key } = await createOrganization('demo').catch(
    (error) => {
      // If a start was killed after creating the company, its secrets are lost: make another company.
      if (error instanceof ApiError && error.status === 409)
        return createOrganization(`demo-${randomBytes(3).toString('hex')}`);
      throw error;
    },
  );
  return {
    company: { id: organization.id, slug: organization.slug },
    account_id: default_account.id,
    owner: { email: owner.email, password: owner.password },
    service_account: { id: service_account.id, access_key: api_key.access_key, secret_key: api_key.secret_key },
  };
}

/** Signs in the company's owner. @returns a client for the owner @throws Problem if the owner has a second factor */
export async function signIn({
  base_url: baseUrl,
  company,
  owner,
}: Pick<Demo, 'base_url' | 'company' | 'owner'>): Promise<Client> {
  const anonymousClient = createClient({ baseUrl, retries: RETRY_COUNT });
  const answer = await anonymousClient.post('/v1/auth/login', { body: { company_slug: company.slug, ...owner } });
  if (!('token' in answer)) throw new Problem('The owner has a second factor.');
  return createClient({ baseUrl, credential: withToken(answer.token), retries: RETRY_COUNT });
}

/** Uploads the data set, confirms the inferred schema, and waits for its rows. @returns the table's id */
async function loadData(api: Client, report: DemoOptions['report']): Promise<string> {
  const tables = await api.get('/v1/managed-tables', { query: { search: TABLE_NAME } });
  const loadedTable = tables.records.find(({ display_name }) => display_name === TABLE_NAME);
  if (loadedTable) return loadedTable._id;

  const activeJobs = await api.get('/v1/managed-tables/upload-jobs/active');
  const analysedJob = await waitForJob(api, activeJobs.records[0] ?? (await uploadDataFile(api, report)), report);
  if (analysedJob.status === 'waiting_confirm' && analysedJob.inferred_schema) {
    const { columns } = analysedJob.inferred_schema;
    report(`Inferred ${columns.length} columns: ${columns.map(({ name, type }) => `${name} ${type}`).join(', ')}`);
    await api.post('/v1/managed-tables/upload-jobs/{jobId}/confirm', {
      params: { jobId: analysedJob._id },
      body: { display_name: TABLE_NAME, columns },
    });
  }
  const doneJob = analysedJob.status === 'waiting_confirm' ? await waitForJob(api, analysedJob, report) : analysedJob;
  return doneJob.user_table_id as string;
}

async function uploadDataFile(api: Client, report: DemoOptions['report']): Promise<UploadJob> {
  report('Uploading birdstrikes.csv …');
  return api.upload(new File([await openAsBlob(DATA_FILE)], 'birdstrikes.csv', { type: 'text/csv' }));
}

/** Waits for a job until it waits for its confirmation or is done. @returns the job */
async function waitForJob(api: Client, job: UploadJob, report: DemoOptions['report']): Promise<UploadJob> {
  let lastReport = '';
  const endedJob = await api.waitFor(job, {
    onProgress({ status, progress }) {
      const { rows_processed = 0, rows_total = null } = progress ?? {};
      const line = `  ${status}: ${rows_processed}${rows_total === null ? '' : ` of ${rows_total}`} rows`;
      if (line !== lastReport) report(line);
      lastReport = line;
    },
  });
  if (endedJob.status === 'failed') throw new Error(`The demo's upload failed: ${endedJob.error?.message}`);
  return endedJob;
}
