import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Computes } from './computes.ts';
import type { Link, RoundTrips } from './round-trips.ts';
import type { TunnelFaults } from './tunnel-faults.ts';

/** Number of unsent messages to the driver at which reading from PostgreSQL pauses. */
const MAX_UNSENT_MESSAGES = 16;
/** Maximum number of bytes of one read, which become one message to the driver. */
const READ_BYTES = 256 * 1024;
/** Bytes of a full chunk of PostgreSQL's output, which further output follows. */
const FULL_CHUNK_BYTES = 8 * 1024;
/** Pause after a full chunk in milliseconds, so that several are passed on together. */
const PAUSE_MS = 1;

/** Pattern of PostgreSQL's message that a command is complete, with its tag: `INSERT 0 1`, `COMMIT`. */
const COMMAND_COMPLETE_PATTERN = /C\0\0..[A-Z]+[ \0]/s;

/** Server behind one of Neon's host names. */
export interface Endpoint {
  host: string;
  port: number;
  projectName: string;
  /** True if the connection goes through the pooler. */
  isPooled: boolean;
}

/** Function that resolves one of Neon's host names to its server; undefined for any other address. */
export type ResolveEndpoint = (host: string) => Endpoint | undefined;

/**
 * The WebSocket interface of a Neon endpoint, for the serverless driver: `GET /v2?address=host:port` upgrades, then
 * every binary message is bytes of the PostgreSQL protocol. Only known endpoints are reachable.
 */
export class Tunnel {
  readonly #server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 });
  readonly #resolveEndpoint: ResolveEndpoint;
  readonly #faults: TunnelFaults;
  readonly #roundTrips: RoundTrips;
  readonly #computes: Computes;
  readonly #unansweredSockets: Duplex[] = [];
  readonly #openedCounts = new Map<string, { direct: number; pooled: number }>();

  constructor(resolve: ResolveEndpoint, faults: TunnelFaults, trips: RoundTrips, computes: Computes) {
    this.#resolveEndpoint = resolve;
    this.#faults = faults;
    this.#roundTrips = trips;
    this.#computes = computes;
  }

  /** Handles an HTTP upgrade request; refuses addresses that are not endpoints. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const url = URL.parse(request.url ?? '/', 'http://tunnel');
    const host = (url?.searchParams.get('address') ?? '').replace(/:\d+$/, '');
    const target = url?.pathname === '/v2' ? this.#resolveEndpoint(host) : undefined;
    if (target === undefined) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    if (this.#faults.takeFault(target.projectName)) {
      this.#unansweredSockets.push(socket);
      return;
    }
    this.countOpenedConnections(target.projectName)[target.isPooled ? 'pooled' : 'direct'] += 1;
    const connectWebSocket = (webSocket: WebSocket) => {
      const { wakingPromise, endConnection } = this.#computes.beginConnection(target.projectName);
      webSocket.on('close', endConnection);
      joinStreams(webSocket, target, this.#faults, this.#roundTrips.createLink(target.projectName), wakingPromise);
    };
    void this.#roundTrips
      .waitForOpening(target.projectName)
      .then(() => this.#server.handleUpgrade(request, socket, head, connectWebSocket));
  }

  /** Counts the connections that were opened to the project: to the database itself, and to its pooler. */
  countOpenedConnections(projectName: string): { direct: number; pooled: number } {
    const openedCounts = this.#openedCounts.get(projectName) ?? { direct: 0, pooled: 0 };
    this.#openedCounts.set(projectName, openedCounts);
    return openedCounts;
  }

  /** Closes every open tunnel. */
  close(): void {
    for (const client of this.#server.clients) client.terminate();
    for (const socket of this.#unansweredSockets) socket.destroy();
    this.#server.close();
  }
}

/**
 * Joins a tunnel and its connection to PostgreSQL. @param wakingPromise resolves when the compute is awake; the first messages
 * wait for it
 */
function joinStreams(
  webSocket: WebSocket,
  { host, port, projectName }: Endpoint,
  faults: TunnelFaults,
  link: Link,
  wakingPromise: Promise<void> | undefined,
): void {
  // Buffers are reused: allocating one for each message would double the garbage.
  const freeBuffers: Buffer[] = [];
  let buffer: Buffer;
  const onread = {
    buffer: () => (buffer = freeBuffers.pop() ?? Buffer.allocUnsafe(READ_BYTES)),
    callback: (length: number) => forwardBytes(buffer, length),
  };
  const postgres = connect({ host, port, noDelay: true, onread });
  let unsentCount = 0;
  let isReadingPaused = false;
  const mayRead = () => !isReadingPaused && unsentCount < MAX_UNSENT_MESSAGES;
  let isConnectionSilent = false;
  let losesAnswer = false;
  webSocket.binaryType = 'nodebuffer';
  const forward = async (data: Buffer) => {
    const fault = faults.takeFault(projectName, data);
    isConnectionSilent ||= fault?.effect === 'fall_silent';
    if (isConnectionSilent) return;
    losesAnswer ||= fault?.effect === 'lose_answer';
    if (fault?.effect === 'hold') {
      webSocket.pause();
      await faults.holdMessage(projectName);
      webSocket.resume();
    }
    if (!postgres.write(data)) webSocket.pause();
  };
  webSocket.on('message', (data: Buffer) =>
    link.send(() => (wakingPromise ? wakingPromise.then(() => forward(data)) : forward(data))),
  );
  postgres.on('drain', () => webSocket.resume());
  /** Passes read bytes on to the driver. @returns true to go on reading at once */
  function forwardBytes(readBytes: Buffer, length: number): boolean {
    if (isConnectionSilent || losesAnswer) {
      // Other answers may come first: the driver sends its first query together with the password.
      if (!isConnectionSilent && COMMAND_COMPLETE_PATTERN.test(readBytes.toString('latin1', 0, length)))
        webSocket.terminate();
      freeBuffers.push(readBytes);
      return true;
    }
    link.receive();
    unsentCount += 1;
    webSocket.send(readBytes.subarray(0, length), () => {
      unsentCount -= 1;
      freeBuffers.push(readBytes);
      resumeReading();
    });
    if (length >= FULL_CHUNK_BYTES) {
      isReadingPaused = true;
      setTimeout(() => {
        isReadingPaused = false;
        resumeReading();
      }, PAUSE_MS);
    }
    return mayRead();
  }
  function resumeReading(): void {
    if (mayRead()) postgres.resume();
  }
  postgres.on('close', () => webSocket.close());
  postgres.on('error', () => webSocket.terminate());
  webSocket.on('close', () => postgres.destroy());
  webSocket.on('error', () => postgres.destroy());
}
