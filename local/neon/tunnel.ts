import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Computes } from './computes.ts';
import type { Link, RoundTrips } from './round-trips.ts';
import type { TunnelFaults } from './tunnel-faults.ts';

/** The number of unsent messages to the driver from which on reading from PostgreSQL pauses. */
const MAX_UNSENT = 16;
/** The maximum number of bytes that are read at once, which become a message to the driver. */
const READ_BYTES = 256 * 1024;
/** The size of a full piece: PostgreSQL has more to send. */
const POSTGRES_BYTES = 8 * 1024;
/** Pause after a full piece, in milliseconds, so that several are passed on together. */
const PAUSE_MS = 1;

/** PostgreSQL's message that a command is complete, with its tag: `INSERT 0 1`, `COMMIT`. */
const COMMAND_COMPLETE_PATTERN = /C\0\0..[A-Z]+[ \0]/s;

/** The server behind a host name of Neon's. */
export interface Endpoint {
  host: string;
  port: number;
  projectName: string;
  /** Whether the pooler stands before it. */
  isPooled: boolean;
}

/** Resolves a host name of Neon's to its server; undefined for any other address. */
export type ResolveEndpoint = (host: string) => Endpoint | undefined;

/**
 * The WebSocket interface of a Neon endpoint, for the serverless driver: `GET /v2?address=host:port` upgrades, then
 * every binary message is bytes of the PostgreSQL protocol. Only known endpoints are reachable.
 */
export class Tunnel {
  readonly #server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 });
  readonly #resolve: ResolveEndpoint;
  readonly #faults: TunnelFaults;
  readonly #trips: RoundTrips;
  readonly #computes: Computes;
  readonly #unanswered: Duplex[] = [];
  readonly #opened = new Map<string, { direct: number; pooled: number }>();

  constructor(resolve: ResolveEndpoint, faults: TunnelFaults, trips: RoundTrips, computes: Computes) {
    this.#resolve = resolve;
    this.#faults = faults;
    this.#trips = trips;
    this.#computes = computes;
  }

  /** Handles an HTTP upgrade request; refuses addresses that are not endpoints. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const url = new URL(request.url ?? '/', 'http://tunnel');
    const host = (url.searchParams.get('address') ?? '').replace(/:\d+$/, '');
    const target = url.pathname === '/v2' ? this.#resolve(host) : undefined;
    if (target === undefined) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    if (this.#faults.take(target.projectName)) {
      this.#unanswered.push(socket);
      return;
    }
    this.opened(target.projectName)[target.isPooled ? 'pooled' : 'direct'] += 1;
    const open = (webSocket: WebSocket) => {
      const { awake, end } = this.#computes.connect(target.projectName);
      webSocket.on('close', end);
      joinStreams(webSocket, target, this.#faults, this.#trips.link(target.projectName), awake);
    };
    void this.#trips.open(target.projectName).then(() => this.#server.handleUpgrade(request, socket, head, open));
  }

  /** How many connections to the project were opened: to the database itself, and to its pooler. */
  opened(projectName: string): { direct: number; pooled: number } {
    const opened = this.#opened.get(projectName) ?? { direct: 0, pooled: 0 };
    this.#opened.set(projectName, opened);
    return opened;
  }

  /** Cuts every open tunnel. */
  close(): void {
    for (const client of this.#server.clients) client.terminate();
    for (const socket of this.#unanswered) socket.destroy();
    this.#server.close();
  }
}

/** @param awake resolves when the compute is awake; the first messages wait for it */
function joinStreams(
  webSocket: WebSocket,
  { host, port, projectName }: Endpoint,
  faults: TunnelFaults,
  link: Link,
  awake: Promise<void> | undefined,
): void {
  // Buffers are reused: allocating one for each message would double the garbage.
  const free: Buffer[] = [];
  let buffer: Buffer;
  const onread = {
    buffer: () => (buffer = free.pop() ?? Buffer.allocUnsafe(READ_BYTES)),
    callback: (length: number) => pass(buffer, length),
  };
  const postgres = connect({ host, port, noDelay: true, onread });
  let unsent = 0;
  let isPausing = false;
  const mayRead = () => !isPausing && unsent < MAX_UNSENT;
  let isSilent = false;
  let losesAnswer = false;
  webSocket.binaryType = 'nodebuffer';
  const forward = async (data: Buffer) => {
    const fault = faults.take(projectName, data);
    isSilent ||= fault?.effect === 'fall_silent';
    if (isSilent) return;
    losesAnswer ||= fault?.effect === 'lose_answer';
    if (fault?.effect === 'hold') {
      webSocket.pause();
      await faults.hold(projectName);
      webSocket.resume();
    }
    if (!postgres.write(data)) webSocket.pause();
  };
  webSocket.on('message', (data: Buffer) => link.send(() => (awake ? awake.then(() => forward(data)) : forward(data))));
  postgres.on('drain', () => webSocket.resume());
  /** @returns whether to read on at once */
  function pass(read: Buffer, length: number): boolean {
    if (isSilent || losesAnswer) {
      // Other answers may come first: the driver sends its first query together with the password.
      if (!isSilent && COMMAND_COMPLETE_PATTERN.test(read.toString('latin1', 0, length))) webSocket.terminate();
      free.push(read);
      return true;
    }
    link.receive();
    unsent += 1;
    webSocket.send(read.subarray(0, length), () => {
      unsent -= 1;
      free.push(read);
      readOn();
    });
    if (length >= POSTGRES_BYTES) {
      isPausing = true;
      setTimeout(() => {
        isPausing = false;
        readOn();
      }, PAUSE_MS);
    }
    return mayRead();
  }
  function readOn(): void {
    if (mayRead()) postgres.resume();
  }
  postgres.on('close', () => webSocket.close());
  postgres.on('error', () => webSocket.terminate());
  webSocket.on('close', () => postgres.destroy());
  webSocket.on('error', () => postgres.destroy());
}
