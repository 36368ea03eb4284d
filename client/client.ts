import type { Credential } from './credentials.ts';
import type { Routes } from './routes.ts';

export { type Credential, type Key, withKey, withToken } from './credentials.ts';
export type * from './routes.ts';

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

/** What a method on a path takes. */
export type InputOf<M extends Method, P extends PathOf<M>> = Omit<RouteOf<M, P>, 'answer'> & { signal?: AbortSignal };

type Arguments<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input];

type Send<M extends Method> = <P extends PathOf<M>>(
  path: P,
  ...input: Arguments<InputOf<M, P>>
) => Promise<AnswerOf<M, P>>;

/** One function for each method; path, input and answer are those of the contract. */
export interface Client {
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
  /** How often a request is sent again that came too often, after the time the API says. Twice when not said. */
  retries?: number;
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

  constructor(what: string, status: number, body: unknown, correlationId: string | null) {
    const { error, error_code, message } = Object(body) as Record<string, unknown>;
    super(`${what} answered ${status}: ${message ?? error ?? JSON.stringify(body)}`);
    this.status = status;
    this.code = (error_code ?? error ?? null) as string | null;
    this.body = body;
    this.correlationId = correlationId;
  }
}

interface Input {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  form?: FormData;
  signal?: AbortSignal;
}

/** A client of every surface. Runs in browsers, Node and Workers. Its calls throw `ApiError` when they are refused. */
export function createClient({ baseUrl, credential, retries = 2, fetch: send = fetch }: ClientOptions): Client {
  async function call(method: Method, path: string, { params = {}, query = {}, body, form, signal }: Input = {}) {
    const url = baseUrl + fill(path, params) + search(query);
    const text = body === undefined ? '' : JSON.stringify(body);
    for (let attempt = 0; ; attempt += 1) {
      const headers = new Headers(await credential?.({ method, url, body: text }));
      if (body !== undefined) headers.set('content-type', 'application/json');
      const response = await send(url, { method, headers, body: form ?? (text || undefined), signal });
      if (response.status !== 429 || attempt >= retries) return read(`${method} ${path}`, response);
      await response.body?.cancel();
      await wait(Number(response.headers.get('retry-after') ?? 1) * 1000, signal);
    }
  }
  const of = (method: Method) => ((path: string, input?: Input) => call(method, path, input)) as never;
  return { get: of('GET'), post: of('POST'), put: of('PUT'), patch: of('PATCH'), delete: of('DELETE') };
}

async function read(what: string, response: Response): Promise<unknown> {
  const text = await response.text();
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
  const answer = isJson ? JSON.parse(text) : text || undefined;
  if (response.ok) return answer;
  throw new ApiError(what, response.status, answer, response.headers.get('x-correlation-id'));
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

/** The list that a filter's `in` and `nin` take: values with commas between them, in quotes where that is needed. */
export const oneOf = (values: readonly (string | number | boolean)[]): string =>
  values.map((value) => (/[",]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value)).join(',');

function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
