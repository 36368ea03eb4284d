import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveConsole } from '../examples/console/server.ts';
import { findLocalState } from '../operations/database.ts';
import { PROJECT } from '../operations/environments.ts';
import { Problem } from '../operations/problem.ts';
import { readConfig, VARIABLE_NAMES } from '../src/config.ts';
import { makeTenantNames } from '../src/tenant-sql/roles.ts';
import { bundleWorkers } from './bundle.ts';
import { runDemo } from './demo.ts';
import { openMailbox } from './mailbox.ts';
import { startLocalNeon } from './neon/server.ts';
import { openOperatorEndpoint } from './operator-endpoint.ts';
import { startPostgres } from './postgres.ts';
import { listen } from './servers.ts';
import { openState } from './state.ts';
import { startWorker } from './worker.ts';

const SCHEDULE_MS = 60_000;

/** Longest time in ms that an interrupted start takes until it can stop. */
const SETTLE_MS = 15_000;

/** Functions that stop the started servers; they run in reverse order. */
const stopFunctions: (() => Promise<void>)[] = [];
let isInterrupted = false;

/** Registers a function that stops what was just started. @throws Problem if the start was interrupted meanwhile */
function registerStopFunction(stopFunction: () => Promise<void>): void {
  stopFunctions.push(stopFunction);
  if (isInterrupted) throw new Problem('Interrupted.');
}

async function stopAll(): Promise<void> {
  for (let stop = stopFunctions.pop(); stop !== undefined; stop = stopFunctions.pop()) {
    await stop().catch((error: Error) => console.error(error.message));
  }
}

const printProgress = (step: string) => console.log(`  ${step}`);

/** Starts everything in order and returns when the API answers. */
async function start(): Promise<void> {
  const port = await parsePort(process.env.PORT ?? '8787');
  const baseUrl = `http://127.0.0.1:${port}`;
  const state = await openState(findLocalState());
  registerStopFunction(state.release);
  const workerDir = join(state.path, 'worker');

  printProgress('Bundling the Workers, starting PostgreSQL …');
  // Bundling and starting PostgreSQL both take seconds, so they run in parallel. If one fails, the other is awaited, so
  // that it can be stopped.
  const [bundled, database] = await Promise.allSettled([
    bundleWorkers(PROJECT, join(workerDir, 'bundle')),
    startPostgres({ stateDir: join(state.path, 'postgres'), password: state.secrets.POSTGRES_PASSWORD }),
  ]);
  if (database.status === 'rejected') throw database.reason;
  const postgres = database.value;
  registerStopFunction(postgres.stop);
  if (bundled.status === 'rejected') throw bundled.reason;

  const neon = await startLocalNeon({
    stateDir: join(state.path, 'neon'),
    apiKey: state.secrets.NEON_API_KEY,
    postgres,
  });
  registerStopFunction(neon.close);
  const mailbox = await openMailbox(join(state.path, 'mails.ndjson'));
  registerStopFunction(mailbox.close);

  printProgress('Starting workerd, migrating the control database …');
  const { POSTGRES_PASSWORD: _postgresPassword, ...secrets } = state.secrets;
  const variables = {
    ...secrets,
    // Passkeys are bound to a name: browsers take no address for one.
    CONSOLE_URL: `http://localhost:${port}`,
    DEVELOPMENT: 'true',
    ALLOWED_ORIGINS: '*',
    NEON_API_URL: neon.apiUrl,
    NEON_ORG_ID: neon.organization,
    NEON_WS_PROXY: neon.wsProxy,
    ALLOW_PRIVATE_ISSUERS: 'true',
    ...readEnvironment(),
  };
  checkVariables(variables);
  const worker = await startWorker({
    projectDir: PROJECT,
    stateDir: workerDir,
    workers: bundled.value,
    port,
    variables,
    deliverMail: mailbox.deliverMail,
  });
  registerStopFunction(worker.stop);
  const endpoint = await openOperatorEndpoint(state.path, worker.query);
  registerStopFunction(endpoint.close);
  runOnSchedule(worker.runScheduled);

  const demo = await runDemo({
    baseUrl,
    platformAdminToken: variables.PLATFORM_ADMIN_TOKEN,
    mailboxUrl: mailbox.url,
    stateDir: state.path,
    findPostgresUrl: (companyId) => neon.directUrl(makeTenantNames(companyId).project),
    report: printProgress,
  });
  const consolePages = await serveConsole(baseUrl);
  registerStopFunction(consolePages.close);
  const account = new URLSearchParams({ company: demo.company.slug, email: demo.owner.email });
  console.log(`
Data Console API is ready.
  Console     ${consolePages.url}/?${account}
  API         ${baseUrl}
  Description ${baseUrl}/docs
  Embedded    ${demo.embed_url}
  Shared      ${demo.public_share_url}
  Company     ${demo.company.slug}, owner ${demo.owner.email}, password ${demo.owner.password}
  Postgres    ${demo.postgres_url}
  Mailbox     ${mailbox.url}?to=ADDRESS
  Log         ${worker.logFile}
  All addresses and credentials: ${join(state.path, 'demo.json')}
Ctrl-C stops everything.`);
}

/** Parses the port to listen on, and checks that it is free. @throws Problem */
async function parsePort(text: string): Promise<number> {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Problem(`PORT is "${text}": set it to a number between 1 and 65535.`);
  }
  const probe = createServer();
  await listen(probe, port).catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'EACCES' ? 'may not be used by this user' : 'is taken by another program';
    throw new Problem(`Port ${port} ${reason}: set PORT to another one, e.g. PORT=8788 npm start.`, { cause });
  });
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Reads the Worker's variables that are set in this process's environment. */
function readEnvironment(): Record<string, string> {
  return Object.fromEntries(
    VARIABLE_NAMES.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Checks the Worker's variables, which refuses every request without them. @throws Problem that names the wrong ones */
function checkVariables(variables: Record<string, string>): void {
  try {
    readConfig(variables);
  } catch (error) {
    throw new Problem((error as Error).message);
  }
}

/** Runs the scheduled handler now and every minute, one run at a time. */
function runOnSchedule(runScheduled: () => Promise<void>): void {
  let hasEnded = false;
  let timer: NodeJS.Timeout | undefined;
  const runAndWait = async () => {
    const nextRunAt = Date.now() + SCHEDULE_MS;
    await runScheduled().catch((error: Error) => {
      if (!hasEnded) console.error(`The scheduled run failed: ${error.message}`);
    });
    if (!hasEnded) timer = setTimeout(runAndWait, Math.max(0, nextRunAt - Date.now()));
  };
  registerStopFunction(async () => {
    hasEnded = true;
    clearTimeout(timer);
  });
  void runAndWait();
}

const startPromise = start();

async function endProcess(code: number): Promise<never> {
  isInterrupted = true;
  await Promise.race([startPromise.catch(() => undefined), sleep(SETTLE_MS)]);
  await stopAll();
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (isInterrupted) return;
    console.log('\nStopping …');
    void endProcess(0);
  });
}

startPromise.catch((error: unknown) => {
  // Errors after an interruption are its consequences.
  if (isInterrupted) return;
  console.error(error instanceof Problem ? error.message : error);
  void endProcess(1);
});
