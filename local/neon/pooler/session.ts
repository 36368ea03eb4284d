import type { Socket } from 'node:net';
import { type Message, makeFatalError } from './messages.ts';
import { findSessionState } from './rules.ts';
import type { ServerConnection } from './server-connection.ts';

/** Where a session gets its connections to the server from. */
export interface Source {
  take(): Promise<ServerConnection>;
  giveBack(server: ServerConnection): void;
}

/** Messages that the server answers with ReadyForQuery. */
const ANSWERED_MESSAGES = new Set(['Q', 'S', 'F']);

/** A caller's connection, logged in: it has one of the server's from the first message of a transaction to its end. */
export class Session {
  readonly #caller: Socket;
  readonly #source: Source;
  #server: ServerConnection | undefined;
  /** How many ReadyForQuery are to come. */
  #asked = 0;
  /** Messages were sent that no Sync follows yet. */
  #isOpen = false;

  constructor(caller: Socket, source: Source) {
    this.#caller = caller;
    this.#source = source;
  }

  async receive(received: Message): Promise<void> {
    if (received.type === 'X') {
      this.#caller.end();
      return;
    }
    const sessionState = findSessionState(received);
    if (sessionState !== undefined) {
      this.#caller.end(
        makeFatalError('0A000', `${sessionState} would outlive its transaction: not possible through the pooler`),
      );
      return;
    }
    if (this.#caller.destroyed) return;
    this.#server ??= await this.#taken();
    if (ANSWERED_MESSAGES.has(received.type)) this.#asked += 1;
    this.#isOpen = !ANSWERED_MESSAGES.has(received.type);
    this.#server.send(received.bytes);
  }

  /** The caller is gone. What it was in the middle of ends with the connection to the server. */
  end(): void {
    this.#server?.destroy();
  }

  async #taken(): Promise<ServerConnection> {
    const server = await this.#source.take();
    server.use({ receive: (received) => this.#answer(received, server), lost: () => this.#caller.destroy() });
    return server;
  }

  #answer({ type, bytes, body }: Message, server: ServerConnection): void {
    this.#caller.write(bytes);
    if (type !== 'Z') return;
    this.#asked -= 1;
    if (this.#asked > 0 || this.#isOpen || body.toString() !== 'I') return;
    this.#server = undefined;
    server.client = undefined;
    this.#source.giveBack(server);
  }
}
