/** Name of one of the product's two Workers; the other isolates of the local runtime simulate the platform. */
export type WorkerName = 'api' | 'background';

/** Function that sends a command of the Chrome DevTools protocol. @returns the command's result */
export type SendCommand = (method: string) => Promise<{ usedSize: number; backingStorageSize: number }>;

/** Opens the inspector of a Worker's isolate, by the port of workerd's inspector. */
export async function openInspector(
  inspectorPort: number,
  worker: WorkerName,
): Promise<{ sendCommand: SendCommand; close(): void }> {
  const socket = new WebSocket(`ws://127.0.0.1:${inspectorPort}/core:user:${worker}`);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`No inspector at ${socket.url}`)));
  });
  return { sendCommand: (method) => sendCommand(socket, method), close: () => socket.close() };
}

/** Reads the megabytes that the isolate of the API's Worker retains after a garbage collection, buffers included. */
export async function readRetainedMemory(inspectorPort: number): Promise<number> {
  const { sendCommand, close } = await openInspector(inspectorPort, 'api');
  try {
    // The second collection frees what finalizers of the first released.
    await sendCommand('HeapProfiler.collectGarbage');
    await sendCommand('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize } = await sendCommand('Runtime.getHeapUsage');
    return (usedSize + backingStorageSize) / 1e6;
  } finally {
    close();
  }
}

let lastCommandId = 0;

function sendCommand(socket: WebSocket, method: string): ReturnType<SendCommand> {
  lastCommandId += 1;
  const id = lastCommandId;
  return new Promise((resolve) => {
    const handleMessage = ({ data }: MessageEvent) => {
      const message = JSON.parse(String(data));
      if (message.id !== id) return;
      socket.removeEventListener('message', handleMessage);
      resolve(message.result);
    };
    socket.addEventListener('message', handleMessage);
    socket.send(JSON.stringify({ id, method }));
  });
}
