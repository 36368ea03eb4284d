import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server on which connections are lost. */
export interface CuttingProxy {
  url: string;
  /** After so many bytes of a client each of the next connections is cut, one after the other; then none is. */
  cuts: number[];
  /** How many were. */
  made: number;
  close(): void;
}

/** Passes bytes on, and destroys connections as it is told. */
export async function cuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let passed = 0;
    const end = () => {
      client.destroy();
      upstream.destroy();
      sockets.delete(client);
    };
    sockets.add(client);
    client.on('data', (bytes: Buffer) => {
      const [after] = proxy.cuts;
      passed += bytes.length;
      if (after !== undefined && passed > after) {
        proxy.cuts.shift();
        proxy.made += 1;
        // What came until then has gone out, and nothing does after it.
        client.removeAllListeners('data').pause();
        upstream.write(bytes.subarray(0, Math.max(0, bytes.length - (passed - after))), end);
        return;
      }
      if (!upstream.write(bytes)) {
        client.pause();
        upstream.once('drain', () => client.resume());
      }
    });
    upstream.on('data', (bytes) => client.write(bytes));
    for (const socket of [client, upstream]) {
      socket.on('error', end);
      socket.on('close', end);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: [],
    made: 0,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return proxy;
}
