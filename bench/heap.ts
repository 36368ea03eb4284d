/** Finds the Worker's isolate among those of the local runtime; the others simulate the platform. */
const WORKER = '/core:user:api';

/**
 * Megabytes that the Worker's isolate retains after a garbage collection, its buffers included.
 * @param inspectorPort the port of workerd's inspector
 */
export async function heldMemory(inspectorPort: number): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${inspectorPort}${WORKER}`);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`No inspector at ${socket.url}`)));
  });
  try {
    // The second collection frees what finalizers of the first released.
    await ask(socket, 'HeapProfiler.collectGarbage');
    await ask(socket, 'HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize } = await ask(socket, 'Runtime.getHeapUsage');
    return (usedSize + backingStorageSize) / 1e6;
  } finally {
    socket.close();
  }
}

let asked = 0;

/** Sends a command of the Chrome DevTools protocol and returns its result. */
function ask(socket: WebSocket, method: string): Promise<{ usedSize: number; backingStorageSize: number }> {
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
