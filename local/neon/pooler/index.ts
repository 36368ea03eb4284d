import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { listen } from '../../servers.ts';
import {
  type Message,
  MessageSplitter,
  makeFatalError,
  makeMessage,
  parseStartupParameters,
  toInt32,
} from './messages.ts';
import { ConnectionRefusedError, type Login, ServerConnection } from './server-connection.ts';
import { Session } from './session.ts';

/** Maximum number of connections to the server for each login and database; further clients wait. */
const POOL_SIZE = 30;
/** Milliseconds after which an idle connection is closed: all companies of a test run share one server. */
const IDLE_MS = 1_000;
/** Milliseconds until the next attempt for waiting clients after the server refused one: PgBouncer's `server_login_retry`. */
const RETRY_MS = 100;
const TOO_MANY_CONNECTIONS = '53300';
/** Startup parameters that a client may set on a pooled connection. */
const ALLOWED_STARTUP_PARAMETERS = new Set(['user', 'database', 'client_encoding', 'application_name']);

/** Connections of one login to one database. */
interface Pool {
  connectionCount: number;
  idleConnections: ServerConnection[];
  /** Waiting clients in the order of their arrival. */
  waitingClients: Set<WaitingClient>;
  retryTimer?: ReturnType<typeof setTimeout> | undefined;
  /** Digest of the password that the server accepted last. */
  passwordDigest?: Buffer;
}

interface WaitingClient {
  login: Login;
  resolve(server: ServerConnection): void;
  reject(error: unknown): void;
}

/**
 * Pooler behind Neon's `-pooler` hosts, in transaction mode, as PgBouncer is there. A caller has one of the server's
 * connections for each transaction, perhaps another every time. Statements whose effect would outlast the transaction are
 * refused (SET, LISTEN, advisory locks); PgBouncer would pass the effect on to the connection's next client.
 */
export class Pooler {
  readonly #postgres: { host: string; port: number };
  readonly #pools = new Map<string, Pool>();
  readonly #callers = new Set<Socket>();
  readonly #serverConnections = new Set<ServerConnection>();
  readonly #listener: Server;

  constructor(postgres: { host: string; port: number }) {
    this.#postgres = postgres;
    this.#listener = createServer({ noDelay: true }, (caller) => this.#serve(caller));
  }

  /** Starts to listen. @returns the port on 127.0.0.1 */
  listen(): Promise<number> {
    return listen(this.#listener);
  }

  close(): void {
    for (const caller of this.#callers) caller.destroy();
    for (const server of this.#serverConnections) server.destroy();
    this.#listener.close();
  }

  #serve(caller: Socket): void {
    this.#callers.add(caller);
    const messages = new MessageSplitter({ sender: 'caller' });
    let requestedLogin: Omit<Login, 'password'> | undefined;
    let session: Session | undefined;
    const handleMessage = async (message: Message) => {
      if (session) return session.receive(message);
      if (requestedLogin) {
        session = await this.#logIn(caller, { ...requestedLogin, password: message.body.subarray(0, -1).toString() });
        return;
      }
      const parameters = parseStartupParameters(message);
      const unknownParameter = [...parameters.keys()].find((name) => !ALLOWED_STARTUP_PARAMETERS.has(name));
      if (unknownParameter !== undefined) throw new Error(`unsupported startup parameter: ${unknownParameter}`);
      requestedLogin = { user: parameters.get('user') ?? '', database: parameters.get('database') ?? '' };
      caller.write(makeMessage('R', toInt32(3)));
    };
    // One after another: what is sent along with the password waits for that.
    let handlingPromise = Promise.resolve();
    caller.on('data', (chunk: Buffer) => {
      handlingPromise = handlingPromise.then(async () => {
        for (const message of messages.splitChunk(chunk)) await handleMessage(message);
      });
      handlingPromise = handlingPromise.catch((error: Error) => {
        caller.end(
          error instanceof ConnectionRefusedError ? error.serverMessage : makeFatalError('08006', error.message),
        );
      });
    });
    caller.on('error', () => caller.destroy());
    caller.on('close', () => {
      this.#callers.delete(caller);
      handlingPromise = handlingPromise.then(() => session?.endSession());
    });
  }

  async #logIn(caller: Socket, login: Login): Promise<Session> {
    const pool = this.#getPool(login);
    const passwordDigest = createHash('sha256').update(login.password).digest();
    const isKnownPassword = pool.passwordDigest !== undefined && timingSafeEqual(passwordDigest, pool.passwordDigest);
    const server = await (isKnownPassword ? this.#takeConnection(pool, login) : this.#openConnection(pool, login));
    pool.passwordDigest = passwordDigest;
    const readyMessages = [makeMessage('K', toInt32(0), toInt32(0)), makeMessage('Z', Buffer.from('I'))];
    caller.write(Buffer.concat([makeMessage('R', toInt32(0)), ...server.parameterMessages, ...readyMessages]));
    this.#giveConnectionBack(pool, server);
    return new Session(caller, {
      takeConnection: () => this.#takeConnection(pool, login),
      giveConnectionBack: (returnedConnection) => this.#giveConnectionBack(pool, returnedConnection),
    });
  }

  #getPool({ user, database }: Login): Pool {
    const name = JSON.stringify([user, database]);
    const pool = this.#pools.get(name) ?? { connectionCount: 0, idleConnections: [], waitingClients: new Set() };
    this.#pools.set(name, pool);
    return pool;
  }

  async #takeConnection(pool: Pool, login: Login): Promise<ServerConnection> {
    // A connection that is closing is still in the list.
    pool.idleConnections = pool.idleConnections.filter(({ isClosed }) => !isClosed);
    const idleConnection = pool.idleConnections.pop();
    if (idleConnection) {
      idleConnection.assignClient({ receive: () => undefined, handleLoss: () => undefined });
      return idleConnection;
    }
    return new Promise((resolve, reject) => {
      pool.waitingClients.add({ login, resolve, reject });
      void this.#openForNext(pool);
    });
  }

  async #openConnection(pool: Pool, login: Login): Promise<ServerConnection> {
    pool.connectionCount += 1;
    try {
      const server = await ServerConnection.open({ ...this.#postgres, ...login }, (closedConnection) => {
        pool.connectionCount -= 1;
        pool.idleConnections = pool.idleConnections.filter((connection) => connection !== closedConnection);
        this.#serverConnections.delete(closedConnection);
        void this.#openForNext(pool);
      });
      this.#serverConnections.add(server);
      return server;
    } catch (error) {
      pool.connectionCount -= 1;
      pool.retryTimer ??= setTimeout(() => this.#retryOpening(pool), RETRY_MS).unref();
      throw error;
    }
  }

  /** Opens a connection for the first waiting client. @returns true if one was opened */
  async #openForNext(pool: Pool): Promise<boolean> {
    const [nextClient] = pool.waitingClients;
    if (!nextClient || pool.connectionCount >= POOL_SIZE) return false;
    try {
      this.#giveConnectionBack(pool, await this.#openConnection(pool, nextClient.login));
      return true;
    } catch (error) {
      // At the role's connection limit one of the pool's connections may come free, if there is any.
      const mayBecomeFree =
        pool.connectionCount > 0 && error instanceof ConnectionRefusedError && error.code === TOO_MANY_CONNECTIONS;
      if (!mayBecomeFree && pool.waitingClients.delete(nextClient)) nextClient.reject(error);
      return false;
    }
  }

  async #retryOpening(pool: Pool): Promise<void> {
    pool.retryTimer = undefined;
    while (await this.#openForNext(pool));
  }

  #giveConnectionBack(pool: Pool, server: ServerConnection): void {
    if (server.isClosed) return;
    const [nextClient] = pool.waitingClients;
    if (nextClient) {
      pool.waitingClients.delete(nextClient);
      nextClient.resolve(server);
    } else {
      pool.idleConnections.push(server);
      server.closeAfter(IDLE_MS);
    }
  }
}
