import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type LocalNeon, type LocalNeonOptions, startLocalNeon } from './server.ts';

type NeonAddresses = Pick<LocalNeon, 'apiUrl' | 'organization' | 'wsProxy'>;

/** Starts a local Neon in a thread of its own: the garbage of its traffic would delay tests and measured clients. */
export async function startNeonThread(options: LocalNeonOptions): Promise<NeonAddresses & { close(): Promise<void> }> {
  const { host, port, url } = options.postgres;
  const thread = new Worker(import.meta.filename, { workerData: { ...options, postgres: { host, port, url } } });
  // It rejects with what the thread throws.
  const [addresses] = (await once(thread, 'message')) as [NeonAddresses];
  return {
    ...addresses,
    close: async () => {
      await thread.terminate();
    },
  };
}

if (!isMainThread && parentPort) {
  const { apiUrl, organization, wsProxy } = await startLocalNeon(workerData as LocalNeonOptions);
  parentPort.postMessage({ apiUrl, organization, wsProxy } satisfies NeonAddresses);
}
