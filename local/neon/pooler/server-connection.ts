import { connect, type Socket } from 'node:net';
import { type Message, MessageSplitter, makeMessage, toInt32 } from './messages.ts';

/** Login for which a connection to the server is opened. */
export interface Login {
  user: string;
  database: string;
  password: string;
}

/** Error thrown when the server refuses a connection; `answer` is the server's own message. */
export class ConnectionRefusedError extends Error {
  readonly serverMessage: Buffer;

  constructor(answer: Buffer) {
    super('the server refused the connection');
    this.serverMessage = answer;
  }

  /** SQLSTATE of the refusal. */
  get code(): string | undefined {
    return /\0C(\w{5})\0/.exec(this.serverMessage.toString('latin1'))?.[1];
  }
}

/** A connection to the server, used by one client at a time. */
export class ServerConnection {
  /** The `ParameterStatus` messages that the server sent when the connection was opened. */
  readonly parameterMessages: Buffer[] = [];
  /** True once the connection has ended or is closing. */
  isClosed = false;
  /** Client that uses the connection now. */
  client: { receive(message: Message): void; handleLoss(): void } | undefined;
  readonly #socket: Socket;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Opens a connection to the server. @param onClosed called once, when a connection that was opened is gone */
  static open(
    { host, port, user, database, password }: Login & { host: string; port: number },
    onClosed: (connection: ServerConnection) => void,
  ): Promise<ServerConnection> {
    const socket = connect({ host, port, noDelay: true });
    const connection = new ServerConnection(socket);
    const messages = new MessageSplitter({ sender: 'server' });
    socket.write(makeMessage('', toInt32(3 << 16), 'user', user, 'database', database, Buffer.from([0])));
    return new Promise((resolve, reject) => {
      const handleStartupMessage = (serverMessage: Message) => {
        const { type, bytes, body } = serverMessage;
        if (type === 'R' && body.readInt32BE(0) === 3) socket.write(makeMessage('p', password));
        else if (type === 'R' && body.readInt32BE(0) !== 0) reject(new Error('the server asks for another password'));
        else if (type === 'E') reject(new ConnectionRefusedError(bytes));
        else if (type === 'S') connection.parameterMessages.push(bytes);
        else if (type === 'Z') {
          isReady = true;
          resolve(connection);
        }
      };
      let isReady = false;
      socket.on('data', (chunk: Buffer) => {
        for (const serverMessage of messages.splitChunk(chunk)) {
          if (isReady) connection.client?.receive(serverMessage);
          else handleStartupMessage(serverMessage);
        }
      });
      socket.on('error', (error) => {
        reject(error);
        socket.destroy();
      });
      socket.on('close', () => {
        connection.isClosed = true;
        clearTimeout(connection.#idleTimer);
        reject(new Error('the server closed the connection'));
        if (isReady) onClosed(connection);
        connection.client?.handleLoss();
      });
    });
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Closes the connection after these milliseconds, unless it is used before. */
  closeAfter(milliseconds: number): void {
    this.#idleTimer = setTimeout(() => {
      this.isClosed = true;
      this.#socket.end(makeMessage('X'));
    }, milliseconds);
  }

  assignClient(client: NonNullable<ServerConnection['client']>): void {
    clearTimeout(this.#idleTimer);
    this.client = client;
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
