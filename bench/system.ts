import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Key } from '../examples/signing/sign.ts';
import { bundleWorkers } from '../local/bundle.ts';
import { startNeonThread } from '../local/neon/worker-thread.ts';
import { startPostgres } from '../local/postgres.ts';
import { findFreePort } from '../local/processes.ts';
import { openState } from '../local/state.ts';
import { type LocalWorker, startWorker } from '../local/worker.ts';
import { makeTenantNames } from '../src/tenant-sql/roles.ts';

const PROJECT = dirname(dirname(fileURLToPath(import.meta.url)));
const UNREACHABLE_LIMIT = '1000000000';
/** Half the lifetime of a session token. */
const RENEWAL_INTERVAL_MS = 5 * 60_000;

/** Running system on this machine, as `npm start` runs it, with a company that has its Postgres. */
export interface System {
  baseUrl: string;
  /** Sends a request as the company's owner. @throws unless it succeeds */
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, read by whoever asked.
  call(method: string, path: string, body?: BodyInit | object): Promise<any>;
  /** Signs in the company's owner. @returns a session token, valid for ten minutes */
  logIn(): Promise<string>;
  /** Sign-in of the company's owner. */
  owner: { company_slug: string; email: string; password: string };
  /** Token of the platform's operators. */
  operatorToken: string;
  /** Key of the company's service account, which may do everything. */
  serviceAccountKey: Key;
  /** Runs the scheduled handler once. */
  runScheduled(): Promise<void>;
  /** Connection string of the company's Postgres. */
  postgresUrl: string;
  /** Sets the round-trip latency of the company's Postgres (ms), and counts its round trips from 0. */
  setPostgresLatency(milliseconds: number): Promise<void>;
  /** Counts the longest chain of round trips since `setPostgresLatency`; opening a connection to Neon takes three. */
  countPostgresTrips(): Promise<number>;
  /** Finds the process id of workerd. */
  findWorkerdPid(): Promise<number>;
  /** Port of workerd's inspector. */
  inspectorPort: number;
  /** File of the Workers' log, and of what V8 prints. A restart empties it. */
  logFile: string;
  /** Stops workerd and starts a new one on the same storage. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the whole system on this machine, with a company that has its Postgres.
 * @param entry replaces `src/index.ts`
 * @param givenVariables variables that differ
 * @param background replaces `src/background.ts`
 */
export async function startSystem(
  entry?: string,
  givenVariables: Record<string, string> = {},
  background?: string,
): Promise<System> {
  const folder = await mkdtemp(join(tmpdir(), 'data-console-bench-'));
  const state = await openState(join(folder, 'state'));
  const stateDir = join(folder, 'worker');
  const workers = await bundleWorkers(PROJECT, join(stateDir, 'bundle'), {
    api: entry && join(PROJECT, entry),
    background: background && join(PROJECT, background),
  });
  const { POSTGRES_PASSWORD: password, ...secrets } = state.secrets;
  const postgres = await startPostgres({ stateDir: join(folder, 'postgres'), password });
  const neon = await startNeonThread({
    stateDir: join(folder, 'neon'),
    apiKey: secrets.NEON_API_KEY,
    postgres,
    testInterface: true,
  });
  const port = await findFreePort();
  const inspectorPort = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const variables = {
    ...secrets,
    CONSOLE_URL: baseUrl,
    NEON_API_URL: neon.apiUrl,
    NEON_ORG_ID: neon.organization,
    NEON_WS_PROXY: neon.wsProxy,
    RATE_LIMIT_ORGANIZATION_PER_MINUTE: UNREACHABLE_LIMIT,
    RATE_LIMIT_PRINCIPAL_PER_MINUTE: UNREACHABLE_LIMIT,
    RATE_LIMIT_IP_PER_SECOND: UNREACHABLE_LIMIT,
    RATE_LIMIT_TOKEN_PER_MINUTE: UNREACHABLE_LIMIT,
    ...givenVariables,
  };
  const start = () =>
    startWorker({
      projectDir: PROJECT,
      stateDir,
      workers,
      port,
      inspectorPort,
      variables,
      deliverMail: async () => {},
    });
  let worker: LocalWorker = await start();

  const send = async (method: string, path: string, headers: Record<string, string>, body?: BodyInit | object) => {
    const isJson = body !== undefined && Object.getPrototypeOf(body) === Object.prototype;
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      // workerd closes connections that are idle, and a busy process notices too late.
      headers: { ...headers, connection: 'close', ...(isJson && { 'content-type': 'application/json' }) },
      body: isJson ? JSON.stringify(body) : (body as BodyInit | undefined),
    }).catch((error: Error) => {
      throw new Error(`${method} ${path} got no answer: ${error.cause ?? error}`);
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };

  const owner = { email: 'owner@bench.test', name: 'Bench', password: 'correct-horse-battery' };
  const createdOrganization = await send(
    'POST',
    '/admin/organizations',
    { authorization: `Bearer ${secrets.PLATFORM_ADMIN_TOKEN}` },
    { name: 'Bench', slug: 'bench', owner },
  );
  const login = { company_slug: 'bench', email: owner.email, password: owner.password };
  const logIn = async (): Promise<string> => (await send('POST', '/v1/auth/login', {}, login)).token;
  const session = { token: '', renewedAt: Number.NEGATIVE_INFINITY };
  const call: System['call'] = async (method, path, body) => {
    if (performance.now() - session.renewedAt > RENEWAL_INTERVAL_MS)
      Object.assign(session, { token: await logIn(), renewedAt: performance.now() });
    return send(method, path, { authorization: `Bearer ${session.token}` }, body);
  };
  await call('POST', '/v1/managed-tables/provision');

  const projectName = makeTenantNames(createdOrganization.organization.id).project;
  const controlPostgres = async (path: string, query: Record<string, string> = {}) => {
    const url = new URL(`/_test/${path}`, neon.apiUrl);
    url.search = new URLSearchParams({ ...query, project_name: projectName }).toString();
    return (await fetch(url)).json() as Promise<{ trips: number; url: string }>;
  };

  return {
    baseUrl,
    call,
    logIn,
    owner: login,
    operatorToken: secrets.PLATFORM_ADMIN_TOKEN,
    serviceAccountKey: createdOrganization.api_key,
    runScheduled: () => worker.runScheduled(),
    postgresUrl: (await controlPostgres('address')).url,
    setPostgresLatency: async (milliseconds) => {
      await controlPostgres('distance', { milliseconds: String(milliseconds) });
    },
    countPostgresTrips: async () => (await controlPostgres('trips')).trips,
    inspectorPort,
    logFile: worker.logFile,
    findWorkerdPid: async () => Number(await readFile(join(stateDir, 'workerd.pid'), 'utf8')),
    restart: async () => {
      await worker.stop();
      worker = await start();
    },
    stop: async () => {
      await worker.stop();
      await neon.close();
      await postgres.stop();
      await state.release();
      for (const path of [folder, ...postgres.folders]) await rm(path, { recursive: true, force: true });
    },
  };
}

const TABLES = '/v1/managed-tables';

/** Uploads a file, with other fields of the form before it. @returns the id of its job */
export async function uploadFile(
  { call }: System,
  file: File,
  fields: Record<string, string> = {},
  table = TABLES,
): Promise<string> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('files', file);
  return (await call('POST', `${table}/upload`, form)).job_id;
}

/** Confirms a job that waits, with the columns that were inferred. @returns the job, once it is done */
export async function loadJob(system: System, { _id, inferred_schema }: Job, fields: object = {}): Promise<Job> {
  const body = { columns: inferred_schema.columns, ...fields };
  await system.call('POST', `${TABLES}/upload-jobs/${_id}/confirm`, body);
  return waitForJob(system, _id, 'done');
}

// biome-ignore lint/suspicious/noExplicitAny: the record as the API answers it.
type Job = any;

/** Polls an upload job until it has the status. */
export async function waitForJob(system: System, jobId: string, status: string): Promise<Job> {
  for (;;) {
    const job = await system.call('GET', `/v1/managed-tables/upload-jobs/${jobId}`).catch(ignoreUnavailable);
    if (job?.status === status) return job;
    if (job?.status === 'failed') throw new Error(`The job failed: ${JSON.stringify(job.error)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/**
 * Ignores a 503 answer, which says that Postgres is unavailable: the two Workers share a thread here, and one waits
 * while the other converts.
 * @throws any other error
 */
function ignoreUnavailable(error: Error): undefined {
  if (!error.message.includes('answered 503')) throw error;
}
