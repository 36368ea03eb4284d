import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorker } from '../../local/bundle.ts';
import { freePort } from '../../local/processes.ts';
import { startWorker } from '../../local/worker.ts';

const PROJECT = join(import.meta.dirname, '..', '..');

/** The Worker with its pages, as `npm start` runs it, on a port of its own and without any company's database. */
export interface System {
  url: string;
  stop(): Promise<void>;
}

/** Bundles and starts the Worker. */
export async function startSystem(): Promise<System> {
  const folder = await mkdtemp(join(tmpdir(), 'data-console-pages-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const secret = () => randomBytes(32).toString('base64');
  const { privateKey } = generateKeyPairSync('ed25519');
  const worker = await startWorker({
    projectDir: PROJECT,
    stateDir: folder,
    modules: await bundleWorker(PROJECT, join(folder, 'bundle')),
    port,
    variables: {
      CONSOLE_URL: url,
      DEVELOPMENT: 'true',
      ALLOWED_ORIGINS: '*',
      JWT_PRIVATE_KEYS: JSON.stringify([{ ...privateKey.export({ format: 'jwk' }), kid: 'test-1' }]),
      KEY_DERIVATION_SECRETS: JSON.stringify({ 1: secret() }),
      ENCRYPTION_KEYS: JSON.stringify({ 1: secret() }),
      EMBED_SECRETS: JSON.stringify({ 1: secret() }),
      NEON_API_KEY: 'none',
      RATE_LIMIT_IP_PER_SECOND: '1000',
    },
    deliver: async () => {},
  });
  return {
    url,
    async stop() {
      await worker.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
