import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type LocalNeon, type LocalNeonOptions, startLocalNeon } from './server.ts';

type Addresses = Pick<LocalNeon, 'apiUrl' | 'organization' | 'wsProxy'>;

/**
 * A local Neon in a thread, and a heap, of its own. The bytes that pass through it make Node collect garbage: in the heap of
 * Vitest, which holds every module, that is an eighth of a run's CPU, and in the process of a benchmark the measured client waits for it.
 */
export async function startNeonThread(options: LocalNeonOptions): Promise<Addresses & { close(): Promise<void> }> {
  const { host, port, url } = options.postgres;
  const thread = new Worker(import.meta.filename, { workerData: { ...options, postgres: { host, port, url } } });
  // It rejects with what the thread throws.
  const [addresses] = (await once(thread, 'message')) as [Addresses];
  return {
    ...addresses,
    close: async () => {
      await thread.terminate();
    },
  };
}

if (!isMainThread && parentPort) {
  const { apiUrl, organization, wsProxy } = await startLocalNeon(workerData as LocalNeonOptions);
  parentPort.postMessage({ apiUrl, organization, wsProxy } satisfies Addresses);
}
