import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { convertV4MiniflareOptions, Miniflare, type V4WorkerOptionsShape } from 'miniflare';
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from 'wrangler';
import { bundleWorker } from '../../local/bundle.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
/** The unit of /proc/…/stat: Linux counts CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100;
const NO_LIMIT = '1000000000';

/** The measured Worker in a workerd of its own. */
export interface BenchWorker {
  origin: string;
  operatorToken: string;
  /** CPU time of workerd so far, user and system. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

/** Starts `worker.ts` with the bindings of wrangler.toml and empty databases. Needs Linux, for the CPU time. */
export async function startBenchWorker(): Promise<BenchWorker> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-signed-request-'));
  const bundle = join(folder, 'bundle');
  const modules = await bundleWorker(PROJECT, bundle, resolve(import.meta.dirname, 'worker.ts'));
  const options: V4WorkerOptionsShape = workerOptionsOf(join(PROJECT, 'wrangler.toml')).workerOptions;
  const { email: _email, modulesRules: _rules, ...bindings } = options;
  const operatorToken = random();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      cf: false,
      telemetry: { enabled: false },
      handleStructuredLogs: () => undefined,
      workers: [
        {
          ...bindings,
          name: 'api',
          modules,
          modulesRoot: bundle,
          // The requests go straight to the Worker, so that Miniflare's proxy is not measured.
          unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
          bindings: { ...bindings.bindings, ...variables(operatorToken) },
        },
      ],
    }),
  );
  await miniflare.ready;
  await migrate(miniflare, 'CONTROL_DB', join(PROJECT, 'drizzle'));
  const { origin } = await miniflare.unsafeGetDirectURL('api');
  const pid = workerdOf(process.pid);
  return {
    origin,
    operatorToken,
    cpuSeconds: () => cpuSeconds(pid),
    async stop() {
      await miniflare.dispose();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const random = () => randomBytes(32).toString('base64');

function variables(operatorToken: string): Record<string, string> {
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return {
    PLATFORM_ADMIN_TOKEN: operatorToken,
    JWT_PRIVATE_KEYS: JSON.stringify([{ ...jwk, kid: 'bench' }]),
    KEY_DERIVATION_SECRETS: JSON.stringify({ 1: random() }),
    ENCRYPTION_KEYS: JSON.stringify({ 1: random() }),
    EMBED_SECRETS: JSON.stringify({ 1: random() }),
    NEON_API_KEY: 'unused',
    RATE_LIMIT_ORGANIZATION_PER_MINUTE: NO_LIMIT,
    RATE_LIMIT_PRINCIPAL_PER_MINUTE: NO_LIMIT,
    RATE_LIMIT_IP_PER_SECOND: NO_LIMIT,
  };
}

async function migrate(miniflare: Miniflare, binding: string, folder: string): Promise<void> {
  const database = await miniflare.getD1Database(binding, 'api');
  for (const name of (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()) {
    const statements = (await readFile(join(folder, name), 'utf8')).split('--> statement-breakpoint');
    await database.batch(statements.map((text) => database.prepare(text)));
  }
}

/** The fields after a process's name in /proc/…/stat: its state, its parent, … */
function statOf(pid: string): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return [
    text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')),
    ...text.slice(text.lastIndexOf(')') + 2).split(' '),
  ];
}

/** The process of workerd below another one. */
export function workerdOf(parent: number): string {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [name, , itsParent] = statOf(pid);
      if (name === 'workerd' && itsParent === String(parent)) return pid;
    } catch {
      // The process has ended meanwhile.
    }
  }
  throw new Error('There is no workerd below this process.');
}

function cpuSeconds(pid: string): number {
  const stat = statOf(pid);
  return (Number(stat[12]) + Number(stat[13])) / TICKS_PER_SECOND;
}
