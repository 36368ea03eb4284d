import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy to a server that cuts connections. */
export interface CuttingProxy {
  url: string;
  /** Numbers of bytes from a client after which the next connections are cut, in order; then no more are cut. */
  cutOffsets: number[];
  /** The number of connections that were cut. */
  cutCount: number;
  close(): void;
}

/** Starts a proxy that forwards bytes, and destroys connections according to `cutOffsets`. */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let passedBytes = 0;
    const end = () => {
      client.destroy();
      upstream.destroy();
      sockets.delete(client);
    };
    sockets.add(client);
    client.on('data', (bytes: Buffer) => {
      const [after] = proxy.cutOffsets;
      passedBytes += bytes.length;
      if (after !== undefined && passedBytes > after) {
        proxy.cutOffsets.shift();
        proxy.cutCount += 1;
        // What came until then has gone out, and nothing does after it.
        client.removeAllListeners('data').pause();
        upstream.write(bytes.subarray(0, Math.max(0, bytes.length - (passedBytes - after))), end);
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
    cutOffsets: [],
    cutCount: 0,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return proxy;
}
