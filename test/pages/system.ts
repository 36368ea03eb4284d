import { rmSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkers } from '../../local/bundle.ts';
import { type Demo, runDemo } from '../../local/demo.ts';
import type { DemoDashboard } from '../../local/demo-dashboard.ts';
import { openMailbox } from '../../local/mailbox.ts';
import { startNeonThread } from '../../local/neon/worker-thread.ts';
import { startPostgres } from '../../local/postgres.ts';
import { findFreePort } from '../../local/processes.ts';
import { openState } from '../../local/state.ts';
import { startWorker } from '../../local/worker.ts';

const PROJECT = join(import.meta.dirname, '..', '..');

/** The whole system with its demo, as `npm start` runs it, on its own ports and in its own folder. */
export interface RunningSystem {
  demo: Demo & DemoDashboard;
  stop(): Promise<void>;
}

/** Starts the whole system with its demo. It ends with this process, also when the process is killed. */
export async function startSystem(): Promise<RunningSystem> {
  const folder = await mkdtemp(join(tmpdir(), 'data-console-pages-'));
  // Root runs PostgreSQL as another user, who must be able to pass through.
  await chmod(folder, 0o711);
  const stopActions: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const end of stopActions.splice(0).reverse()) await end();
  };
  try {
    const state = await openState(join(folder, 'state'));
    const { POSTGRES_PASSWORD: password, ...secrets } = state.secrets;
    const pendingBundle = bundleWorkers(PROJECT, join(folder, 'worker', 'bundle'));
    // What fails first is told.
    pendingBundle.catch(() => undefined);
    const postgres = await startPostgres({ stateDir: join(folder, 'postgres'), password, isThrowaway: true });
    stopActions.push(async () => {
      await postgres.stop();
      for (const path of postgres.folders) rmSync(path, { recursive: true, force: true });
    });
    const neon = await startNeonThread({ stateDir: join(folder, 'neon'), apiKey: secrets.NEON_API_KEY, postgres });
    stopActions.push(neon.close);
    const mailbox = await openMailbox(join(folder, 'mails.ndjson'));
    stopActions.push(mailbox.close);
    const port = await findFreePort();
    const baseUrl = `http://127.0.0.1:${port}`;
    const worker = await startWorker({
      projectDir: PROJECT,
      stateDir: join(folder, 'worker'),
      workers: await pendingBundle,
      port,
      variables: {
        ...secrets,
        // Passkeys are bound to a name: browsers take no address for one.
        CONSOLE_URL: `http://localhost:${port}`,
        DEVELOPMENT: 'true',
        // The identity providers of the tests are on this machine.
        ALLOW_PRIVATE_ISSUERS: 'true',
        ALLOWED_ORIGINS: '*',
        NEON_API_URL: neon.apiUrl,
        NEON_ORG_ID: neon.organization,
        NEON_WS_PROXY: neon.wsProxy,
        // Tests open pages faster than people.
        RATE_LIMIT_IP_PER_SECOND: '1000000',
        RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1000000',
        RATE_LIMIT_TOKEN_PER_MINUTE: '1000000',
      },
      deliverMail: mailbox.deliverMail,
    });
    stopActions.push(worker.stop);
    const demo = await runDemo({
      baseUrl,
      platformAdminToken: secrets.PLATFORM_ADMIN_TOKEN,
      mailboxUrl: mailbox.url,
      stateDir: folder,
      findPostgresUrl: () => undefined,
      report: () => {},
    });
    return { demo: demo as Demo & DemoDashboard, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
