/** The two Workers among the isolates of the local runtime; the others simulate the platform. */
export type Worker = 'api' | 'background';

/** Sends a command of the Chrome DevTools protocol. @returns its result */
export type Ask = (method: string) => Promise<{ usedSize: number; backingStorageSize: number }>;

/** Opens the inspector of a Worker's isolate, by the port of workerd's inspector. */
export async function inspect(inspectorPort: number, worker: Worker): Promise<{ ask: Ask; close(): void }> {
  const socket = new WebSocket(`ws://127.0.0.1:${inspectorPort}/core:user:${worker}`);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`No inspector at ${socket.url}`)));
  });
  return { ask: (method) => ask(socket, method), close: () => socket.close() };
}

/** Megabytes that the isolate of the API's Worker retains after a garbage collection, its buffers included. */
export async function readHeldMemory(inspectorPort: number): Promise<number> {
  const { ask, close } = await inspect(inspectorPort, 'api');
  try {
    // The second collection frees what finalizers of the first released.
    await ask('HeapProfiler.collectGarbage');
    await ask('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize } = await ask('Runtime.getHeapUsage');
    return (usedSize + backingStorageSize) / 1e6;
  } finally {
    close();
  }
}

let asked = 0;

function ask(socket: WebSocket, method: string): ReturnType<Ask> {
  asked += 1;
  const id = asked;
  return new Promise((resolve) => {
    const hear = ({ data }: MessageEvent) => {
      const message = JSON.parse(String(data));
      if (message.id !== id) return;
      socket.removeEventListener('message', hear);
      resolve(message.result);
    };
    socket.addEventListener('message', hear);
    socket.send(JSON.stringify({ id, method }));
  });
}
