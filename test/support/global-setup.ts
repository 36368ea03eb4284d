import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startNeonThread } from '../../local/neon/worker-thread.ts';
import { startPostgres } from '../../local/postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder in which PostgreSQL stores its files. */
    databases: string;
    /** Base URL of the local Neon's management API. Its `/_test` interface is at the same origin. */
    neonApiUrl: string;
    /** A personal API key, which is not bound to an organization. */
    neonApiKey: string;
    neonOrganization: string;
    /** URL of the WebSocket tunnel to every endpoint of the local Neon. */
    neonWsProxy: string;
    /** Superuser connection string of the PostgreSQL behind the local Neon. */
    postgresUrl: string;
    /** The number of requests that viewers under different constraints make. */
    interleavedRequests: number;
    /** The number of rows of the file that is loaded in at least ten continuations. */
    continuedRows: number;
    /** The number of random requests that are sent. */
    randomRequests: number;
    /** The number of uploads that are cut at random: `RANDOM_UPLOADS`. */
    randomUploads: number;
    /** The number of random tool calls that are sent. */
    randomCalls: number;
  }
}

/** Starts one PostgreSQL and one local Neon for the whole run; both end with it, even when it is killed. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(project.getProvidedContext().databases, 'data-console-test-'));
  // Root runs PostgreSQL as another user, who must be able to pass through.
  await chmod(folder, 0o711);
  const postgres = await startPostgres({
    stateDir: join(folder, 'postgres'),
    password: randomBytes(12).toString('hex'),
    isThrowaway: true,
  });
  const apiKey = randomBytes(12).toString('hex');
  const neon = await startNeonThread({ stateDir: join(folder, 'neon'), apiKey, postgres, testInterface: true });

  project.provide('neonApiUrl', neon.apiUrl);
  project.provide('neonApiKey', apiKey);
  project.provide('neonOrganization', neon.organization);
  project.provide('neonWsProxy', neon.wsProxy);
  project.provide('postgresUrl', postgres.url);
  project.provide('interleavedRequests', Number(process.env.INTERLEAVED_REQUESTS ?? 250));
  project.provide('continuedRows', Number(process.env.CONTINUED_ROWS ?? 40_000));
  project.provide('randomRequests', Number(process.env.RANDOM_REQUESTS ?? 600));
  project.provide('randomUploads', Number(process.env.RANDOM_UPLOADS ?? 60));
  project.provide('randomCalls', Number(process.env.RANDOM_CALLS ?? 300));

  // Nobody waits for it: hundreds of databases have a hundred thousand files.
  const removeFolders = () => {
    spawn('rm', ['-rf', folder, ...postgres.folders], { detached: true, stdio: 'ignore' }).unref();
  };
  // An interrupted run does not always come to its teardown.
  process.once('exit', removeFolders);
  return async () => {
    await neon.close();
    await postgres.stop();
    removeFolders();
  };
}
