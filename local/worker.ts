import { appendFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  convertV4MiniflareOptions,
  Log,
  LogLevel,
  Miniflare,
  type Request,
  Response,
  type V4WorkerOptions,
  type V4WorkerOptionsShape,
} from 'miniflare';
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from 'wrangler';
import { type Files, toFiles } from '../operations/files.ts';
import type { OperatorQuery } from '../operations/local-endpoint.ts';
import { Problem } from '../operations/problem.ts';
import type { Workers } from '../operations/workers.ts';
import type { bundleWorkers } from './bundle.ts';
import type { OutgoingMail } from './mailbox.ts';
import { isAlive, stopWhenParentDies } from './processes.ts';

export interface LocalWorkerOptions {
  /** Folder that contains the migrations. */
  projectDir: string;
  /** Folder of D1, R2, Durable Objects, the runtime's files and its log. */
  stateDir: string;
  workers: Awaited<ReturnType<typeof bundleWorkers>>;
  /** Port of 127.0.0.1 to listen on. */
  port: number;
  /**
   * Variables and secrets, which replace those of `wrangler.toml`. The background Worker requests its own from the
   * API's Worker.
   */
  variables: Record<string, string>;
  /** Port for Chrome's DevTools; disabled without it. */
  inspectorPort?: number;
  deliverMail(mail: OutgoingMail): Promise<void>;
}

export interface LocalWorker {
  /** File of the Workers' log. */
  logFile: string;
  /** Triggers the scheduled run, which the platform does once a minute. */
  runScheduled(): Promise<void>;
  /** Runs one statement in the database, or one operation on the files, inside the runtime. @returns rows, keys or a text */
  query(query: OperatorQuery): Promise<unknown[]>;
  stop(): Promise<void>;
}

const CRON_SCHEDULE = '* * * * *';

/** Source of a Worker that forwards the mails of the `send_email` binding to this process. */
const MAIL_WORKER_SOURCE = `
import { WorkerEntrypoint } from 'cloudflare:workers';
export class Mail extends WorkerEntrypoint {
  async send({ to, subject, text, html, headers, attachments = [] }) {
    const files = attachments
      .filter(({ disposition }) => disposition === 'attachment')
      .map(({ filename, type, content }) => ({ filename, content_type: type, content: content.toBase64() }));
    const body = JSON.stringify({ to, subject, text, html, headers, attachments: files });
    await this.env.DELIVER.fetch('http://mailbox/', { method: 'POST', body });
  }
}
export default {};
`;

/** Runs the Workers in workerd with storage below `stateDir`. Resolves once they answer and the databases are migrated. */
export async function startWorker(options: LocalWorkerOptions): Promise<LocalWorker> {
  const { projectDir, stateDir } = options;
  await mkdir(stateDir, { recursive: true });
  const logFile = join(stateDir, 'worker.log');
  writeFileSync(logFile, '');
  const pidFile = join(stateDir, 'workerd.pid');
  await stopLeftover(pidFile);
  process.env.MINIFLARE_WORKERD_PATH = await wrapRuntime(stateDir, pidFile);

  const makeWorkerOptions = (name: keyof Workers): V4WorkerOptions => {
    const { config, modules, modulesRoot } = options.workers[name];
    const workerOptions: V4WorkerOptionsShape = workerOptionsOf(config).workerOptions;
    const { email: _sendEmail, modulesRules: _rules, ...bindings } = workerOptions;
    const serviceBindings = { ...bindings.serviceBindings, EMAIL: { name: 'mail', entrypoint: 'Mail' } };
    return { ...bindings, name, modules, modulesRoot, serviceBindings };
  };
  const apiOptions = makeWorkerOptions('api');
  const mainOptions: V4WorkerOptions = {
    ...apiOptions,
    bindings: { ...apiOptions.bindings, ...options.variables },
    // There is no edge in front, so the client's own header is used.
    stripCfConnectingIp: false,
  };
  const backgroundOptions = makeWorkerOptions('background');
  const background: V4WorkerOptions = {
    ...backgroundOptions,
    // See `local/limits/background.ts`.
    compatibilityFlags: [...(backgroundOptions.compatibilityFlags ?? []), 'queue_consumer_no_wait_for_wait_until'],
  };
  const mailOptions: V4WorkerOptions = {
    name: 'mail',
    modules: true,
    script: MAIL_WORKER_SOURCE,
    compatibilityDate: apiOptions.compatibilityDate,
    serviceBindings: {
      DELIVER: async (request: Request) => {
        await options.deliverMail((await request.json()) as OutgoingMail);
        return new Response();
      },
    },
  };
  const handlersBefore = listSignalHandlers();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: '127.0.0.1',
      port: options.port,
      inspectorPort: options.inspectorPort,
      cf: false,
      log: new Log(LogLevel.ERROR),
      handleStructuredLogs: ({ timestamp, level, message }) =>
        appendFileSync(logFile, `${new Date(timestamp).toISOString()} ${level} ${message}\n`),
      resourcePersistencePath: join(stateDir, 'storage'),
      telemetry: { enabled: false },
      workers: [mainOptions, background, mailOptions],
    }),
  );
  await miniflare.ready;
  removeSignalHandlers(handlersBefore);
  const watchdog = stopWhenParentDies(Number(await readFile(pidFile, 'utf8')), 'KILL');
  const stop = async () => {
    await miniflare.dispose();
    watchdog.release();
  };
  try {
    await migrateDatabase(miniflare, 'CONTROL_DB', join(projectDir, 'drizzle'));
  } catch (cause) {
    await stop();
    throw new Problem(
      `A D1 database in ${join(stateDir, 'storage')} cannot be used or migrated (${(cause as Error).message}): ` +
        `put back a copy of it, or delete all of ${dirname(stateDir)} to begin anew.`,
      { cause },
    );
  }
  return {
    logFile,
    runScheduled: async () => {
      const worker = await miniflare.getWorker('background');
      await worker.scheduled({ cron: CRON_SCHEDULE });
    },
    query: async (query) => {
      if ('files' in query) return openFiles(toFiles((await miniflare.getR2Bucket('FILES', 'api')) as never), query);
      const { binding, statement, values } = query;
      const database = await miniflare.getD1Database(binding, 'api');
      return (
        await database
          .prepare(statement)
          .bind(...values)
          .all()
      ).results;
    },
    stop,
  };
}

async function openFiles(
  files: Omit<Files, 'close'>,
  query: Extract<OperatorQuery, { files: string }>,
): Promise<unknown[]> {
  switch (query.files) {
    case 'list':
      return files.list(query.prefix);
    case 'get':
      return [(await files.get(query.key)) ?? []].flat();
    case 'put':
      await files.put(query.key, query.text);
      return [];
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const listSignalHandlers = () => SIGNALS.map((signal) => process.listeners(signal));

/** Removes Miniflare's signal handlers, which would end this process before the database is stopped. */
function removeSignalHandlers(handlersBefore: ReturnType<typeof listSignalHandlers>): void {
  SIGNALS.forEach((signal, index) => {
    for (const handler of process.listeners(signal)) {
      if (!handlersBefore[index]?.includes(handler)) process.removeListener(signal, handler);
    }
  });
}

/** Makes a script that starts workerd, stores its process id, and has it ignore Ctrl-C: we stop it in order. */
async function wrapRuntime(stateDir: string, pidFile: string): Promise<string> {
  const requireFromMiniflare = createRequire(createRequire(import.meta.url).resolve('miniflare'));
  const { default: workerd } = requireFromMiniflare('workerd') as { default: string };
  const script = join(stateDir, 'run-workerd');
  await writeFile(
    script,
    `#!/bin/sh\ntrap '' INT HUP\necho $$ > ${quotePath(pidFile)}\nexec ${quotePath(workerd)} "$@"\n`,
  );
  await chmod(script, 0o755);
  return script;
}

const quotePath = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;

/** Stops the runtime that a killed start left behind. */
async function stopLeftover(pidFile: string): Promise<void> {
  const runtimePid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  if (!(runtimePid > 0) || !isAlive(runtimePid)) return;
  const command = await readFile(`/proc/${runtimePid}/cmdline`, 'utf8').catch(() => '');
  if (command.includes('workerd')) process.kill(runtimePid, 'SIGKILL');
}

/** Applies the migrations in `folder` that are not recorded yet, each in one batch with its record, like wrangler. */
async function migrateDatabase(miniflare: Miniflare, binding: string, folder: string): Promise<void> {
  const database = await miniflare.getD1Database(binding, 'api');
  await database
    .prepare(
      `CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE,
       applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`,
    )
    .run();
  const { results } = await database.prepare('SELECT name FROM d1_migrations').all<{ name: string }>();
  const appliedNames = new Set(results.map((row) => row.name));
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql') && !appliedNames.has(name)).sort();
  for (const name of files) {
    const statements = (await readFile(join(folder, name), 'utf8'))
      .split('--> statement-breakpoint')
      .map((text) => text.trim())
      .filter((text) => text !== '');
    const record = database.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name);
    await database.batch([...statements.map((text) => database.prepare(text)), record]);
  }
}
