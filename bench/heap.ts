/** The Worker's isolate among all that the local runtime has; the others simulate the platform. */
const WORKER = '/core:user:api';

/**
 * Megabytes that the Worker's isolate holds on to once its garbage is collected, its buffers included.
 * @param inspectorPort where workerd's inspector listens
 */
export async function heldMemory(inspectorPort: number): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${inspectorPort}${WORKER}`);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`No inspector at ${socket.url}`)));
  });
  try {
    // What finalizers let go of is collected by the second.
    await ask(socket, 'HeapProfiler.collectGarbage');
    await ask(socket, 'HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize } = await ask(socket, 'Runtime.getHeapUsage');
    return (usedSize + backingStorageSize) / 1e6;
  } finally {
    socket.close();
  }
}

let asked = 0;

/** A command of the Chrome DevTools protocol, and its result. */
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
