import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { unstable_splitSqlQuery as splitSqlQuery } from 'wrangler';
import { isTriggerCut, TimeTravel } from './cloudflare-d1.ts';
import { listWorkerRoutes, type UploadedWorker } from './cloudflare-workers.ts';

/** A Cloudflare account on this machine, as far as `wrangler` and the operator's commands use its API. */
export interface LocalCloudflare {
  baseUrl: string;
  token: string;
  accountId: string;
  /** D1 databases by name; each one is a real SQLite database. */
  databases: Map<
    string,
    { uuid: string; sqlite: DatabaseSync; replication?: string; location: StoreLocation; timeTravel: TimeTravel }
  >;
  /** Whether R2 was switched on in the dashboard, which only a person can do. */
  hasR2: boolean;
  buckets: Map<string, StoreLocation>;
  /** The contents of the buckets: texts by `{bucket}/{key}`. */
  objects: Map<string, string>;
  queues: Map<string, { id: string; consumers: Record<string, unknown>[] }>;
  /** The uploaded Workers by name. */
  workers: Map<string, UploadedWorker>;
  /** Domains of the account, with the names that mail is sent from. */
  zones: Map<string, { status: string; plan: string; sendingDomains: { name: string; enabled: boolean }[] }>;
  /** The account's part of workers.dev addresses. */
  subdomain: string | null;
  /** Requests that the token is not permitted to make: `GET /queues`. */
  refusedRequests: string[];
  /** Requests that are answered with 503 once, the next time. */
  requestsFailingOnce: Set<string>;
  /** Requests that are done, but answered with 503 once, the next time. */
  answersLostOnce: Set<string>;
  /** All requests received: `GET /accounts/…`. */
  receivedRequests: string[];
  /** Requests that no route answers. */
  unansweredRequests: string[];
  close(): Promise<void>;
}

/** Where a database or bucket was created. */
export interface StoreLocation {
  hint?: string;
  jurisdiction?: string;
}

const ACCOUNT_ID = '0123456789abcdef0123456789abcdef';
const API_TOKEN = 'token-of-the-tests';

/** Thrown by a route to answer with a status and Cloudflare's error code. */
export class RefusedError extends Error {
  readonly status: number;
  readonly code: number;
  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
export class NotFoundError extends RefusedError {
  constructor(code: number, message: string) {
    super(404, code, message);
  }
}

/** The body of a request, in the form in which it was sent. */
interface RequestBody {
  // biome-ignore lint/suspicious/noExplicitAny: bodies are what wrangler makes of them.
  json(): Record<string, any>;
  text(): string;
  form(): Promise<FormData>;
  header(name: string): string | undefined;
}

/** A function that answers a request: returns the result, or throws. `match` has the groups of the route's pattern. */
export type Route = (match: string[], body: RequestBody, url: URL) => unknown;

/** Starts the stand-in on a free port, with an empty account. */
export async function startCloudflare(): Promise<LocalCloudflare> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const state: LocalCloudflare = {
    baseUrl: `http://127.0.0.1:${port}/client/v4`,
    token: API_TOKEN,
    accountId: ACCOUNT_ID,
    databases: new Map(),
    hasR2: true,
    buckets: new Map(),
    objects: new Map(),
    queues: new Map(),
    workers: new Map(),
    zones: new Map(),
    subdomain: 'tests',
    refusedRequests: [],
    requestsFailingOnce: new Set(),
    answersLostOnce: new Set(),
    receivedRequests: [],
    unansweredRequests: [],
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  const routes = listRoutes(state);
  server.on('request', (request, response) => void handleRequest(state, routes, request, response));
  return state;
}

async function handleRequest(
  state: LocalCloudflare,
  routes: [RegExp, Route][],
  request: IncomingMessage,
  response: ServerResponse,
) {
  const url = new URL(request.url ?? '/', 'http://cloudflare');
  const path = url.pathname.replace('/client/v4', '').replace(`/accounts/${ACCOUNT_ID}`, '');
  const name = `${request.method} ${path}`;
  state.receivedRequests.push(name);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const sendAnswer = (status: number, body: object) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  const refuse = (status: number, code: number, message: string) =>
    sendAnswer(status, { success: false, errors: [{ code, message }], messages: [], result: null });
  if (state.requestsFailingOnce.delete(name)) return refuse(503, 10001, 'Service unavailable');
  if (state.refusedRequests.includes(name)) return refuse(403, 10000, 'Authentication error');
  if (request.headers.authorization !== `Bearer ${API_TOKEN}` && !path.startsWith('/workers/assets')) {
    return refuse(403, 10000, 'Authentication error');
  }
  const body = {
    json: () => JSON.parse(bytes.toString()),
    text: () => bytes.toString(),
    header: (name: string) => request.headers[name]?.toString(),
    form: () => new Response(bytes, { headers: { 'content-type': request.headers['content-type'] ?? '' } }).formData(),
  };
  for (const [pattern, handleRoute] of routes) {
    const match = pattern.exec(name);
    if (!match) continue;
    try {
      const result = await handleRoute(match.slice(1), body, url);
      if (state.answersLostOnce.delete(name)) return refuse(503, 10001, 'Service unavailable');
      if (result instanceof Uint8Array) return void response.end(result);
      const { result: records = result, result_info } = Object(result);
      return sendAnswer(200, { success: true, errors: [], messages: [], result: records ?? null, result_info });
    } catch (error) {
      if (error instanceof RefusedError) return refuse(error.status, error.code, error.message);
      return refuse(400, 7500, (error as Error).message);
    }
  }
  state.unansweredRequests.push(name);
  refuse(404, 7003, `Could not route to ${name}`);
}

const makePage = <T>(records: T[], url: URL): T[] => {
  const size = Number(url.searchParams.get('per_page') ?? 20);
  const from = (Number(url.searchParams.get('page') ?? 1) - 1) * size;
  return records.slice(from, from + size);
};

function listRoutes(state: LocalCloudflare): [RegExp, Route][] {
  const { databases, queues } = state;
  const listBuckets = () => {
    if (state.hasR2) return state.buckets;
    throw new RefusedError(403, 10042, 'Please enable R2 through the Cloudflare Dashboard.');
  };
  /** Finds a bucket; each jurisdiction may have one of the same name. */
  const findBucket = (name: string, body: RequestBody) => {
    const bucketLocation = listBuckets().get(name);
    return bucketLocation &&
      (bucketLocation.jurisdiction ?? 'default') === (body.header('cf-r2-jurisdiction') ?? 'default')
      ? bucketLocation
      : undefined;
  };
  const makeObjectPrefix = (name: string, body: RequestBody) => {
    if (!findBucket(name, body)) throw new NotFoundError(10006, 'The specified bucket does not exist.');
    return `${name}/`;
  };
  const findDatabase = (uuid: string) => {
    const databaseEntry = [...databases].find(([, database]) => database.uuid === uuid);
    if (!databaseEntry) throw new NotFoundError(7404, 'The database could not be found');
    return { name: databaseEntry[0], ...databaseEntry[1] };
  };
  const toQueueView = ([queue_name, { id, consumers }]: [string, { id: string; consumers: unknown[] }]) => ({
    queue_name,
    queue_id: id,
    consumers,
    producers: [],
    consumers_total_count: consumers.length,
    producers_total_count: 0,
  });
  return [
    [/^GET \/accounts$/, () => [{ id: ACCOUNT_ID, name: 'Tests' }]],
    [
      /^GET \/d1\/database$/,
      (_, __, url) =>
        makePage(
          [...databases].filter(([name]) => name.includes(url.searchParams.get('name') ?? '')),
          url,
        ).map(([name, { uuid, location }]) => ({ name, uuid, jurisdiction: location.jurisdiction ?? null })),
    ],
    [
      /^POST \/d1\/database$/,
      (_, body) => {
        const { name, primary_location_hint: hint, jurisdiction } = body.json();
        if (databases.has(name)) throw new Error(`A database with that name already exists: ${name}`);
        const uuid = crypto.randomUUID();
        const location = { ...(hint && { hint }), ...(jurisdiction && { jurisdiction }) };
        databases.set(name, { uuid, sqlite: new DatabaseSync(':memory:'), location, timeTravel: new TimeTravel() });
        return { name, uuid };
      },
    ],
    [
      /^GET \/d1\/database\/([^/]+)$/,
      ([id = '']) => {
        const { name, uuid } = findDatabase(id);
        return { name, uuid, version: 'production' };
      },
    ],
    [
      /^PUT \/d1\/database\/([^/]+)$/,
      ([id = ''], body) => {
        const { name } = findDatabase(id);
        Object.assign(databases.get(name) ?? {}, { replication: body.json().read_replication.mode });
        return { name, uuid: id };
      },
    ],
    [
      /^POST \/d1\/database\/([^/]+)\/query$/,
      ([id = ''], body) => {
        const { sqlite, timeTravel: past } = findDatabase(id);
        const { sql: text, params = [] } = body.json();
        if (isTriggerCut(text)) throw new Error('incomplete input: SQLITE_ERROR');
        const statementResults = splitSqlQuery(text).map((sql) => ({
          success: true,
          results: sqlite.prepare(sql).all(...params),
          meta: { duration: 0, changes: 0 },
        }));
        past.saveSnapshot(sqlite);
        return statementResults;
      },
    ],
    [
      /^GET \/d1\/database\/([^/]+)\/time_travel\/bookmark$/,
      ([id = ''], _, url) => ({
        bookmark: findDatabase(id).timeTravel.findBookmark(url.searchParams.get('timestamp')),
      }),
    ],
    [
      /^POST \/d1\/database\/([^/]+)\/time_travel\/restore$/,
      ([id = ''], _, url) => {
        const { name, timeTravel: past } = findDatabase(id);
        const bookmark = url.searchParams.get('bookmark') ?? '';
        const previous_bookmark = past.findBookmark(null);
        Object.assign(databases.get(name) ?? {}, { sqlite: past.restoreDatabase(bookmark) });
        return { bookmark, previous_bookmark, message: 'The database was restored.' };
      },
    ],
    [
      /^GET \/r2\/buckets$/,
      (_, __, url) => ({ buckets: makePage([...listBuckets().keys()], url).map((name) => ({ name })) }),
    ],
    [
      /^GET \/r2\/buckets\/([^/]+)$/,
      ([name = ''], body) => {
        if (!findBucket(name, body)) throw new NotFoundError(10006, 'The specified bucket does not exist.');
        return { name };
      },
    ],
    [
      /^POST \/r2\/buckets$/,
      (_, body) => {
        const { name, locationHint: hint } = body.json();
        const jurisdiction = body.header('cf-r2-jurisdiction');
        listBuckets().set(name, { ...(hint && { hint }), ...(jurisdiction && { jurisdiction }) });
      },
    ],
    [
      /^GET \/r2\/buckets\/([^/]+)\/objects$/,
      ([name = ''], body, url) => {
        const prefix = `${makeObjectPrefix(name, body)}${url.searchParams.get('prefix') ?? ''}`;
        const keys = [...state.objects.keys()].filter((key) => key.startsWith(prefix)).sort();
        const size = Number(url.searchParams.get('per_page'));
        const from = Number(url.searchParams.get('cursor') ?? 0);
        const result = keys.slice(from, from + size).map((key) => ({ key: key.slice(name.length + 1) }));
        return { result, result_info: { cursor: String(from + size), is_truncated: from + size < keys.length } };
      },
    ],
    [
      /^GET \/r2\/buckets\/([^/]+)\/objects\/(.+)$/,
      ([name = '', key = ''], body) => {
        const text = state.objects.get(makeObjectPrefix(name, body) + key);
        if (text === undefined) throw new NotFoundError(10007, 'The specified key does not exist.');
        return Buffer.from(text);
      },
    ],
    [
      /^PUT \/r2\/buckets\/([^/]+)\/objects\/(.+)$/,
      ([name = '', key = ''], body) => void state.objects.set(makeObjectPrefix(name, body) + key, body.text()),
    ],
    [
      /^GET \/zones$/,
      (_, __, url) =>
        [...state.zones]
          .filter(([name]) => name === url.searchParams.get('name'))
          .map(([name, { status, plan }]) => ({ id: `zone-of-${name}`, name, status, plan: { legacy_id: plan } })),
    ],
    [
      /^GET \/zones\/zone-of-([^/]+)\/email\/sending\/subdomains$/,
      ([name = '']) => state.zones.get(name)?.sendingDomains ?? [],
    ],
    [
      /^GET \/queues$/,
      (_, __, url) => {
        const names = url.searchParams.getAll('name');
        return makePage(
          [...queues].filter(([name]) => names.length === 0 || names.includes(name)).map(toQueueView),
          url,
        );
      },
    ],
    [
      /^POST \/queues$/,
      (_, body) => {
        const { queue_name } = body.json();
        if (queues.has(queue_name)) throw new Error('Queue name already taken');
        const queue: [string, { id: string; consumers: never[] }] = [
          queue_name,
          { id: crypto.randomUUID(), consumers: [] },
        ];
        queues.set(...queue);
        return toQueueView(queue);
      },
    ],
    [
      /^(POST|PUT) \/queues\/([^/]+)\/consumers(\/.*)?$/,
      ([, id = ''], body) => {
        const queue = [...queues.values()].find((one) => one.id === id);
        if (!queue) throw new NotFoundError(11000, 'Queue not found');
        const consumerSettings = body.json() as { script_name: string };
        const hasOtherConsumer = queue.consumers.some(({ script }) => script !== consumerSettings.script_name);
        if (hasOtherConsumer) throw new RefusedError(400, 11004, 'Queue consumer already exists for this queue');
        const consumer = {
          consumer_id: crypto.randomUUID(),
          type: 'worker',
          script: consumerSettings.script_name,
          ...consumerSettings,
        };
        queue.consumers = [consumer];
        return consumer;
      },
    ],
    [
      /^DELETE \/queues\/([^/]+)\/consumers\/([^/]+)$/,
      ([id = '', consumerId = '']) => {
        const queue = [...queues.values()].find((one) => one.id === id);
        if (!queue) throw new NotFoundError(11000, 'Queue not found');
        queue.consumers = queue.consumers.filter(({ consumer_id }) => consumer_id !== consumerId);
        return null;
      },
    ],
    ...listWorkerRoutes(state),
  ];
}
