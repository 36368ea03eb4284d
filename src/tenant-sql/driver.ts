import { Client, types } from '@neondatabase/serverless';

/** Makes a client of the driver, not connected yet. @param wsProxy see `TenantSqlOptions` */
export function newClient(connectionString: string, wsProxy: string | undefined): Client {
  const client = new Client({ connectionString, types: { getTypeParser: getParser as typeof types.getTypeParser } });
  if (wsProxy !== undefined) {
    const proxy = new URL(wsProxy);
    client.neonConfig.useSecureWebSocket = proxy.protocol === 'wss:';
    client.neonConfig.wsProxy = `${proxy.host}${proxy.pathname}`;
  }
  // If the connection is lost between two statements, the next statement reports it.
  client.on('error', () => undefined);
  return client;
}

/**
 * Reports when the database makes a connection wait for `milliseconds` although the network path to it is open: Neon's proxy
 * accepts the WebSocket itself, and holds back what follows while it wakes the compute. The distance to the database makes no
 * difference. To be called after `connect`.
 * @param waiting called with true then, and with false when the database responds after that
 */
export function watchWaking(client: Client, milliseconds: number, waiting: (isWaiting: boolean) => void): void {
  const { connection } = client as unknown as { connection: { once(event: string, listener: () => void): void } };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWaiting = false;
  connection.once('connect', () => {
    timer = setTimeout(() => {
      isWaiting = true;
      waiting(true);
    }, milliseconds);
  });
  connection.once('readyForQuery', () => {
    clearTimeout(timer);
    if (isWaiting) waiting(false);
  });
  connection.once('end', () => clearTimeout(timer));
}

/** Bytes that arrived; a part of them is of the same kind, which the driver depends on. */
export type Chunk = Uint8Array<ArrayBuffer>;

type DataListener = (chunk: Chunk) => void;

/** The socket of a connection, which the driver's types omit. */
export interface Socket {
  on(event: 'data', listener: DataListener): void;
  listeners(event: 'data'): DataListener[];
  removeListener(event: 'data', listener: DataListener): void;
  removeAllListeners(event: 'data'): void;
  destroy(): void;
}

export const getSocket = (client: Client): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;

/** The methods of the driver's connection for the extended protocol, which takes one statement at a time. */
export interface ExtendedProtocol {
  parse(message: { text: string }): void;
  bind(message: { values: (string | null)[] }): void;
  describe(message: { type: 'P'; name: string }): void;
  /** Fetches rows of `portal`, at most `rows`. */
  execute(message: { portal?: string; rows?: number }): void;
  sync(): void;
}

const asText = (value: string): string => value;
const asBoolean = (value: string): boolean => value === 't';
/** text[], varchar[], uuid[], bigint[], numeric[]: each element stays text. */
const TEXT_ARRAYS = new Set([1009, 1015, 2951, 1016, 1231]);
const TEXT_ARRAY = 1009;

const PARSERS: Record<number, (value: string) => unknown> = {
  16: asBoolean,
  21: Number,
  23: Number,
  26: Number,
  700: Number,
  701: Number,
  114: JSON.parse,
  3802: JSON.parse,
};

/** The parser for a type's oid, so that values have the types that `TenantTx` documents. */
export function getParser(oid: number): (value: string) => unknown {
  if (TEXT_ARRAYS.has(oid)) return types.getTypeParser(TEXT_ARRAY) as (value: string) => unknown;
  return PARSERS[oid] ?? asText;
}
