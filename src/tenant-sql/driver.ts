import { Client, types } from '@neondatabase/serverless';

/** Creates a client of the driver, not yet connected. @param wsProxy see `TenantSqlOptions` */
export function createClient(connectionString: string, wsProxy: string | undefined): Client {
  const client = new Client({ connectionString, types: { getTypeParser: getParser as typeof types.getTypeParser } });
  if (wsProxy !== undefined) {
    const proxyUrl = new URL(wsProxy);
    client.neonConfig.useSecureWebSocket = proxyUrl.protocol === 'wss:';
    client.neonConfig.wsProxy = `${proxyUrl.host}${proxyUrl.pathname}`;
  }
  // If the connection is lost between two statements, the next statement reports it.
  client.on('error', () => undefined);
  return client;
}

/**
 * Reports when the database makes a connection wait for `milliseconds` although the network path to it is open: Neon's proxy
 * accepts the WebSocket itself, and holds back the rest while it wakes the compute. The distance to the database makes no
 * difference. Must be called after `connect`. @param onWaiting called with true then, and with false when the database responds
 * after that
 */
export function watchWaking(client: Client, milliseconds: number, onWaiting: (isWaiting: boolean) => void): void {
  const { connection } = client as unknown as { connection: { once(event: string, listener: () => void): void } };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWaiting = false;
  connection.once('connect', () => {
    timer = setTimeout(() => {
      isWaiting = true;
      onWaiting(true);
    }, milliseconds);
  });
  connection.once('readyForQuery', () => {
    clearTimeout(timer);
    if (isWaiting) onWaiting(false);
  });
  connection.once('end', () => clearTimeout(timer));
}

/** Bytes that arrived; parts of them are buffers of the same kind, which the driver depends on. */
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
  /** Fetches rows of `portal`, at most `rows` of them. */
  execute(message: { portal?: string; rows?: number }): void;
  sync(): void;
}

const parseText = (value: string): string => value;
const parseBoolean = (value: string): boolean => value === 't';
/** The type oids of text[], varchar[], uuid[], bigint[], numeric[]: each element stays text. */
const TEXT_ARRAY_OIDS = new Set([1009, 1015, 2951, 1016, 1231]);
const TEXT_ARRAY_OID = 1009;

const PARSERS_BY_OID: Record<number, (value: string) => unknown> = {
  16: parseBoolean,
  21: Number,
  23: Number,
  26: Number,
  700: Number,
  701: Number,
  114: JSON.parse,
  3802: JSON.parse,
};

/** Returns the parser for a type's oid, so that values have the types that `TenantTx` documents. */
export function getParser(oid: number): (value: string) => unknown {
  if (TEXT_ARRAY_OIDS.has(oid)) return types.getTypeParser(TEXT_ARRAY_OID) as (value: string) => unknown;
  return PARSERS_BY_OID[oid] ?? parseText;
}
