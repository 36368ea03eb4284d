import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { expectConformity } from './conformity.ts';
import { EMAIL } from './mail.ts';
import worker from './worker.ts';

export const BASE_URL = 'https://api.test';

/** A response with its body read: parsed when it is JSON, the bytes of a workbook or an archive, text otherwise. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
export interface ApiResponse<T = any> {
  status: number;
  headers: Headers;
  body: T;
}

export interface RequestOptions {
  headers?: Record<string, string>;
  /** A body that is sent as JSON. */
  json?: unknown;
  /** A body that is sent as it is. */
  body?: BodyInit;
  /** Variables and bindings that are changed for this request. */
  env?: Record<string, string>;
}

/** The Worker's bindings in tests, with a mailbox that `listMailsTo` reads. */
const bindings = { ...env, EMAIL };

/** The bindings for each set of changed variables, because the Worker caches by its bindings, for example its configuration. */
const bindingsByVariables = new WeakMap<Record<string, string>, typeof bindings>();

function makeBindings(variables: Record<string, string> | undefined): typeof bindings {
  if (variables === undefined) return bindings;
  const cachedBindings = bindingsByVariables.get(variables) ?? { ...bindings, ...variables };
  bindingsByVariables.set(variables, cachedBindings);
  return cachedBindings;
}

/**
 * Sends a request to the Worker as a client does. Deferred work is done when this resolves. Every answer, in any test, is checked
 * against the description of its route.
 */
export async function callApi(method: string, path: string, options: RequestOptions = {}): Promise<ApiResponse> {
  const headers = new Headers(options.headers);
  if (options.json !== undefined) headers.set('content-type', 'application/json');
  const body = options.json !== undefined ? JSON.stringify(options.json) : options.body;
  const execution = createExecutionContext();
  const request = new Request(`${BASE_URL}${path}`, { method, headers, body, redirect: 'manual' });
  const response = await worker.fetch(request, makeBindings(options.env), execution);
  const bytes = await response.bytes();
  await waitOnExecutionContext(execution);
  const answer = { status: response.status, headers: response.headers, body: parseBody(bytes, response) };
  expectConformity(method, path, answer);
  return answer;
}

function parseBody(bytes: Uint8Array, { headers }: Response): unknown {
  const type = headers.get('content-type') ?? '';
  if (/\bsheet$|\/zip$/.test(type)) return bytes;
  const text = new TextDecoder().decode(bytes);
  // HEAD tells the type of what it leaves out.
  return /[/+]json\b/.test(type) && text !== '' ? JSON.parse(text) : text;
}

/** Creates a caller of the API with a session token. */
export function createCaller(token: string) {
  const send =
    (method: string) =>
    (path: string, options: RequestOptions = {}) =>
      callApi(method, path, { ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } });
  return { get: send('GET'), post: send('POST'), put: send('PUT'), patch: send('PATCH'), delete: send('DELETE') };
}

export type Caller = ReturnType<typeof createCaller>;
