import type { Socket } from 'node:net';
import { type Message, makeFatalError } from './messages.ts';
import { findSessionState } from './rules.ts';
import type { ServerConnection } from './server-connection.ts';

/** Source of a session's connections to the server. */
export interface ConnectionSource {
  takeConnection(): Promise<ServerConnection>;
  giveConnectionBack(server: ServerConnection): void;
}

/** Types of messages that the server answers with ReadyForQuery. */
const ANSWERED_MESSAGE_TYPES = new Set(['Q', 'S', 'F']);

/** Logged-in connection of a caller: it uses a server connection from the first message of a transaction to its end. */
export class Session {
  readonly #caller: Socket;
  readonly #source: ConnectionSource;
  #server: ServerConnection | undefined;
  /** Number of ReadyForQuery messages that are still to come. */
  #pendingReadyCount = 0;
  /** True while messages were sent without a Sync after them. */
  #isOpen = false;

  constructor(caller: Socket, source: ConnectionSource) {
    this.#caller = caller;
    this.#source = source;
  }

  async receive(callerMessage: Message): Promise<void> {
    if (callerMessage.type === 'X') {
      this.#caller.end();
      return;
    }
    const sessionState = findSessionState(callerMessage);
    if (sessionState !== undefined) {
      this.#caller.end(
        makeFatalError('0A000', `${sessionState} would outlive its transaction: not possible through the pooler`),
      );
      return;
    }
    if (this.#caller.destroyed) return;
    this.#server ??= await this.#takeConnection();
    if (ANSWERED_MESSAGE_TYPES.has(callerMessage.type)) this.#pendingReadyCount += 1;
    this.#isOpen = !ANSWERED_MESSAGE_TYPES.has(callerMessage.type);
    this.#server.send(callerMessage.bytes);
  }

  /** Ends the session of a caller that is gone. An unfinished transaction ends with the connection to the server. */
  endSession(): void {
    this.#server?.destroy();
  }

  async #takeConnection(): Promise<ServerConnection> {
    const server = await this.#source.takeConnection();
    server.assignClient({
      receive: (serverMessage) => this.#forwardAnswer(serverMessage, server),
      handleLoss: () => this.#caller.destroy(),
    });
    return server;
  }

  #forwardAnswer({ type, bytes, body }: Message, server: ServerConnection): void {
    this.#caller.write(bytes);
    if (type !== 'Z') return;
    this.#pendingReadyCount -= 1;
    if (this.#pendingReadyCount > 0 || this.#isOpen || body.toString() !== 'I') return;
    this.#server = undefined;
    server.client = undefined;
    this.#source.giveConnectionBack(server);
  }
}
