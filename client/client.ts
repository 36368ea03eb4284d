import type { Credential } from './credentials.ts';
import type { Routes } from './generated/routes.ts';

export { type Credential, type Key, withKey, withToken } from './credentials.ts';
export { type DataValue, endpointOf } from './data.ts';
export type * from './generated/routes.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The paths that take a method, as the contract writes them: `/accounts/{id}`. */
export type PathOf<M extends Method> = keyof Routes extends infer Name
  ? Name extends `${M} ${infer Path}`
    ? Path
    : never
  : never;

type RouteOf<M extends Method, P extends PathOf<M>> = Routes[`${M} ${P}` & keyof Routes];

/** What is answered to a method on a path. */
export type AnswerOf<M extends Method, P extends PathOf<M>> = RouteOf<M, P> extends { answer: infer A } ? A : never;

/** The files that a method on a path can be asked for, by their `format`. */
export type FilesOf<M extends Method, P extends PathOf<M>> =
  RouteOf<M, P> extends { files: infer F } ? F : Record<never, never>;

/** What a method on a path takes. */
export type InputOf<M extends Method, P extends PathOf<M>> = Omit<RouteOf<M, P>, 'answer' | 'files'> & {
  signal?: AbortSignal;
  /** Is told the headers of the answer: `x-truncated`, `content-disposition`, `etag`. */
  onHeaders?: (headers: Headers) => void;
};

type Arguments<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input];

/** The paths whose answers have versions, of which those that the caller knows need not be answered again. */
type VersionedPathOf<M extends Method> = {
  [P in PathOf<M>]: 'ifNoneMatch' extends keyof RouteOf<M, P> ? P : never;
}[PathOf<M>];

interface Send<M extends Method> {
  <P extends PathOf<M>, F extends keyof FilesOf<M, P>>(
    path: P,
    input: InputOf<M, P> & { query: { format: F } },
  ): Promise<FilesOf<M, P>[F]>;
  /** Answers nothing where the record is at a version that `ifNoneMatch` names. */
  <P extends VersionedPathOf<M>>(
    path: P,
    input: InputOf<M, P> & { ifNoneMatch: string },
  ): Promise<AnswerOf<M, P> | undefined>;
  <P extends PathOf<M>>(path: P, ...input: Arguments<InputOf<M, P>>): Promise<AnswerOf<M, P>>;
}

/** A page of any kind of list. */
interface ListPage {
  records?: unknown[];
  results?: unknown[];
  total?: number;
  next_cursor?: string | null;
}

/** The paths whose GET answers a page of a list, and what the list holds. */
type ListPathOf = { [P in PathOf<'GET'>]: RecordOf<P> extends never ? never : P }[PathOf<'GET'>];
type RecordOf<P extends PathOf<'GET'>> =
  AnswerOf<'GET', P> extends { records: (infer R)[] } | { results: (infer R)[] } ? R : never;

/** What a page of a list takes, but for which page it is. */
type ListInputOf<P extends PathOf<'GET'>> =
  InputOf<'GET', P> extends infer Input
    ? Input extends { query?: infer Query }
      ? Omit<Input, 'query'> & { query?: Omit<Query, 'page' | 'cursor'> }
      : Input
    : never;

/** One function for each method; path, input and answer are those of the contract. */
export interface Client {
  /** Every record of a list, page after page; each page is asked for when the one before has been read. */
  list<P extends ListPathOf>(path: P, ...input: Arguments<ListInputOf<P>>): AsyncIterableIterator<RecordOf<P>>;
  get: Send<'GET'>;
  post: Send<'POST'>;
  put: Send<'PUT'>;
  patch: Send<'PATCH'>;
  delete: Send<'DELETE'>;
}

export interface ClientOptions {
  /** Where the API is, without a slash at the end. In a page that the API itself serves: an empty text. */
  baseUrl: string;
  /** Who calls; nobody when left out. */
  credential?: Credential;
  /**
   * How often a request is sent again that came too often, was not answered, or met a part that was away; after the time the API
   * says, else after a second, then two. Twice when not said. Only what may be done twice is: reads, PUT and DELETE, and POST
   * under the idempotency key that each call of a known caller carries. A write for a version is not: what it did itself would be
   * told as somebody else's change.
   */
  retries?: number;
  /**
   * The longest time that the client waits by itself before it sends a request again (s): 20 when not said. Where the API asks
   * for more, its refusal is thrown, with `retryAfter`.
   */
  longestWait?: number;
  fetch?: typeof fetch;
}

/** The API refused a request. `body` is the surface's own wording. */
export class ApiError extends Error {
  readonly status: number;
  /** `error` or `error_code` of the body: the surfaces differ in where their codes stand. */
  readonly code: string | null;
  readonly body: unknown;
  /** For whoever runs the API: finds the request in its records. */
  readonly correlationId: string | null;
  /** Seconds after which the API says that a new try makes sense. */
  readonly retryAfter: number | null;

  constructor(what: string, { status, headers }: Response, body: unknown) {
    const { error, error_code, message } = Object(body) as Record<string, unknown>;
    super(`${what} answered ${status}: ${message ?? error ?? JSON.stringify(body)}`);
    this.status = status;
    this.code = (error_code ?? error ?? null) as string | null;
    this.body = body;
    this.correlationId = headers.get('x-correlation-id');
    this.retryAfter = headers.has('retry-after') ? Number(headers.get('retry-after')) : null;
  }
}

/** What is wrong with each field, by its name, for the person who filled it in: of an error that names fields. */
export function fieldErrors(error: unknown): Record<string, string> {
  const { details, message } = Object(error instanceof ApiError ? error.body : undefined) as {
    details?: { field?: unknown; message?: string } | { field?: unknown; message?: string }[];
    message?: string;
  };
  const named = [details ?? []].flat().filter(({ field }) => typeof field === 'string');
  return Object.fromEntries(named.map((each) => [each.field, each.message ?? message ?? '']));
}

interface Input {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  form?: FormData;
  ifMatch?: string;
  ifNoneMatch?: string;
  signal?: AbortSignal;
  onHeaders?: (headers: Headers) => void;
}

/** A client of every surface. Runs in browsers, Node and Workers. Its calls throw `ApiError` when they are refused. */
export function createClient({
  baseUrl,
  credential,
  retries = 2,
  longestWait = 20,
  fetch: send = fetch,
}: ClientOptions): Client {
  const ask = async (method: string, url: string, headers: Record<string, string>) =>
    read(`${method} ${url.slice(baseUrl.length)}`, await send(url, { method, headers }));

  async function call(method: Method, path: string, input: Input = {}) {
    const { params = {}, query = {}, body, form, ifMatch, ifNoneMatch, signal, onHeaders } = input;
    const url = baseUrl + fill(path, params) + search(query);
    const text = body === undefined ? '' : JSON.stringify(body);
    const key = method === 'POST' && credential && !form ? crypto.randomUUID() : undefined;
    const isRepeatable = key !== undefined || (ifMatch === undefined && ['GET', 'PUT', 'DELETE'].includes(method));
    let refused: string | undefined;
    for (let attempt = 0; ; attempt += 1) {
      const headers = new Headers(
        await credential?.({ method, url, body: text, baseUrl, ask, ...(refused && { refused }) }),
      );
      if (body !== undefined) headers.set('content-type', 'application/json');
      if (key !== undefined) headers.set('idempotency-key', key);
      if (ifMatch !== undefined) headers.set('if-match', ifMatch);
      if (ifNoneMatch !== undefined) headers.set('if-none-match', ifNoneMatch);
      try {
        const response = await send(url, { method, headers, body: form ?? (text || undefined), signal });
        const answer = response.status === 304 ? undefined : await read(`${method} ${path}`, response);
        onHeaders?.(response.headers);
        return answer;
      } catch (error) {
        const authorization = headers.get('authorization') ?? '';
        if (refused === undefined && isRefused(error) && authorization.startsWith('Bearer ')) {
          refused = authorization;
          const next = await credential?.({ method, url, body: text, baseUrl, ask, refused });
          if (next?.authorization === authorization) throw error;
          attempt -= 1;
          continue;
        }
        // A sign-in is a person's to repeat: each try counts against them.
        const isSignIn = method === 'POST' && credential === undefined;
        if (attempt >= retries || signal?.aborted || isSignIn || !mayHelpToRepeat(error, isRepeatable)) throw error;
        const pause = (error instanceof ApiError ? error.retryAfter : null) ?? 2 ** attempt;
        if (pause > longestWait) throw error;
        await wait(pause * 1000, signal);
      }
    }
  }
  async function* list(path: string, { query = {}, ...input }: Input = {}): AsyncGenerator<unknown> {
    let at: Record<string, unknown> = { page: 1 };
    for (let told = 0; ; ) {
      const page = (await call('GET', path, { ...input, query: { ...query, ...at } })) as ListPage;
      const records = page.records ?? page.results ?? [];
      yield* records;
      told += records.length;
      if (typeof page.next_cursor === 'string') at = { cursor: page.next_cursor };
      else if ('next_cursor' in page || records.length === 0 || told >= (page.total ?? 0)) return;
      else at = { page: Number(at.page) + 1 };
    }
  }

  const of = (method: Method) => ((path: string, input?: Input) => call(method, path, input)) as never;
  return {
    list: list as never,
    get: of('GET'),
    post: of('POST'),
    put: of('PUT'),
    patch: of('PATCH'),
    delete: of('DELETE'),
  };
}

const MAY_PASS = [502, 503, 504];
const FIRST_IS_AT_WORK = ['IDEMPOTENCY_KEY_IN_USE', 'IdempotencyKeyInUse'];

const isRefused = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

/** Whether the same request may be answered differently later: it came too often, or it may be done twice and its answer is missing. */
function mayHelpToRepeat(error: unknown, isRepeatable: boolean): boolean {
  if (!(error instanceof ApiError)) return isRepeatable;
  const { status, code } = error;
  return status === 429 || (isRepeatable && (MAY_PASS.includes(status) || FIRST_IS_AT_WORK.includes(code ?? '')));
}

/** Types of answers that are texts; others are bytes. */
const TEXT = /^text\/|json\b/;

async function read(what: string, response: Response): Promise<unknown> {
  const type = response.headers.get('content-type') ?? 'text/plain';
  if (response.ok && !TEXT.test(type)) return response.blob();
  const text = await response.text();
  const isJson = /\bjson\b/.test(type);
  const answer = isJson ? JSON.parse(text) : text || undefined;
  if (response.ok) return answer;
  throw new ApiError(what, response, answer);
}

const fill = (path: string, params: Record<string, string>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name] as string));

function search(query: Record<string, unknown>): string {
  const given = Object.entries(query).flatMap(([name, value]) => parametersOf(name, value));
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

/** Members of an object go out as `name[member]`, elements of a list one after the other. */
function parametersOf(name: string, value: unknown): [string, string][] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((each) => parametersOf(name, each));
  if (typeof value !== 'object' || value === null) return [[name, String(value)]];
  return Object.entries(value).flatMap(([member, inner]) => parametersOf(`${name}[${member}]`, inner));
}

/**
 * The list that a filter's `in` and `nin` take: values with commas between them, in quotes where that is needed.
 * @throws RangeError without any value: nothing between commas is the empty text
 */
export function oneOf(values: readonly (string | number | boolean)[]): string {
  if (values.length === 0) throw new RangeError('a list of a filter has at least one value');
  return values
    .map((value) => (/[",]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value))
    .join(',');
}

function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
