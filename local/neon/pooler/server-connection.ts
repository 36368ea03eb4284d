import { connect, type Socket } from 'node:net';
import { type Message, Messages, makeMessage, toInt32 } from './messages.ts';

/** Whom a connection is opened for. */
export interface Login {
  user: string;
  database: string;
  password: string;
}

/** The server refused the connection; `answer` is its own message. */
export class ConnectionRefusedError extends Error {
  readonly answer: Buffer;

  constructor(answer: Buffer) {
    super('the server refused the connection');
    this.answer = answer;
  }

  /** The SQLSTATE. */
  get code(): string | undefined {
    return /\0C(\w{5})\0/.exec(this.answer.toString('latin1'))?.[1];
  }
}

/** A connection to the server, used by one client at a time. */
export class ServerConnection {
  /** The `ParameterStatus` messages that the server sent when the connection was opened. */
  readonly greeting: Buffer[] = [];
  /** It has ended or is closing. */
  isClosed = false;
  /** The client that uses it now. */
  client: { receive(message: Message): void; lost(): void } | undefined;
  readonly #socket: Socket;
  #idle: ReturnType<typeof setTimeout> | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** @param closed called once, when a connection that was opened is gone */
  static open(
    { host, port, user, database, password }: Login & { host: string; port: number },
    closed: (connection: ServerConnection) => void,
  ): Promise<ServerConnection> {
    const socket = connect({ host, port, noDelay: true });
    const connection = new ServerConnection(socket);
    const messages = new Messages({ from: 'server' });
    socket.write(makeMessage('', toInt32(3 << 16), 'user', user, 'database', database, Buffer.from([0])));
    return new Promise((resolve, reject) => {
      const begin = (received: Message) => {
        const { type, bytes, body } = received;
        if (type === 'R' && body.readInt32BE(0) === 3) socket.write(makeMessage('p', password));
        else if (type === 'R' && body.readInt32BE(0) !== 0) reject(new Error('the server asks for another password'));
        else if (type === 'E') reject(new ConnectionRefusedError(bytes));
        else if (type === 'S') connection.greeting.push(bytes);
        else if (type === 'Z') {
          isReady = true;
          resolve(connection);
        }
      };
      let isReady = false;
      socket.on('data', (chunk: Buffer) => {
        for (const received of messages.read(chunk)) {
          if (isReady) connection.client?.receive(received);
          else begin(received);
        }
      });
      socket.on('error', (error) => {
        reject(error);
        socket.destroy();
      });
      socket.on('close', () => {
        connection.isClosed = true;
        clearTimeout(connection.#idle);
        reject(new Error('the server closed the connection'));
        if (isReady) closed(connection);
        connection.client?.lost();
      });
    });
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Ends it unless it is used before. */
  rest(milliseconds: number): void {
    this.#idle = setTimeout(() => {
      this.isClosed = true;
      this.#socket.end(makeMessage('X'));
    }, milliseconds);
  }

  use(client: NonNullable<ServerConnection['client']>): void {
    clearTimeout(this.#idle);
    this.client = client;
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
