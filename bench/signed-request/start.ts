import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { convertV4MiniflareOptions, Miniflare, type V4WorkerOptionsShape } from 'miniflare';
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from 'wrangler';
import { bundleWorker } from '../../local/bundle.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const UNREACHABLE_LIMIT = '1000000000';

/** Running workerd that serves the measured Worker only. */
export interface BenchWorker {
  origin: string;
  operatorToken: string;
  /** Process id of workerd. */
  pid: number;
  stop(): Promise<void>;
}

/** Starts `worker.ts` with the bindings of wrangler.toml and empty databases. Needs Linux, for the CPU time. */
export async function startBenchWorker(): Promise<BenchWorker> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-signed-request-'));
  const bundle = join(folder, 'bundle');
  const modules = await bundleWorker(PROJECT, bundle, resolve(import.meta.dirname, 'worker.ts'));
  const options: V4WorkerOptionsShape = workerOptionsOf(join(PROJECT, 'wrangler.toml')).workerOptions;
  const { email: _email, modulesRules: _rules, ...bindings } = options;
  const operatorToken = makeRandomSecret();
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
          bindings: { ...bindings.bindings, ...makeVariables(operatorToken) },
        },
      ],
    }),
  );
  await miniflare.ready;
  await migrateDatabase(await miniflare.getD1Database('CONTROL_DB', 'api'));
  const { origin } = await miniflare.unsafeGetDirectURL('api');
  return {
    origin,
    operatorToken,
    pid: findWorkerd(process.pid),
    async stop() {
      await miniflare.dispose();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const makeRandomSecret = () => randomBytes(32).toString('base64');

function makeVariables(operatorToken: string): Record<string, string> {
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return {
    PLATFORM_ADMIN_TOKEN: operatorToken,
    JWT_PRIVATE_KEYS: JSON.stringify([{ ...jwk, kid: 'bench' }]),
    KEY_DERIVATION_SECRETS: JSON.stringify({ 1: makeRandomSecret() }),
    ENCRYPTION_KEYS: JSON.stringify({ 1: makeRandomSecret() }),
    EMBED_SECRETS: JSON.stringify({ 1: makeRandomSecret() }),
    NEON_API_KEY: 'unused',
    RATE_LIMIT_ORGANIZATION_PER_MINUTE: UNREACHABLE_LIMIT,
    RATE_LIMIT_PRINCIPAL_PER_MINUTE: UNREACHABLE_LIMIT,
    RATE_LIMIT_IP_PER_SECOND: UNREACHABLE_LIMIT,
  };
}

/** Creates the tables of an empty control database. */
export async function migrateDatabase(database: Awaited<ReturnType<Miniflare['getD1Database']>>): Promise<void> {
  const folder = join(PROJECT, 'drizzle');
  for (const name of readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()) {
    const statements = readFileSync(join(folder, name), 'utf8').split('--> statement-breakpoint');
    await database.batch(statements.map((text) => database.prepare(text)));
  }
}

/** Finds the process of workerd that another process started. */
export function findWorkerd(parent: number): number {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const isWorkerd = new RegExp(`^\\d+ \\(workerd\\) \\w ${parent} `);
      if (isWorkerd.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) return Number(pid);
    } catch {
      // The process has ended meanwhile.
    }
  }
  throw new Error('There is no workerd below this process.');
}
