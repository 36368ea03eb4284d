import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { requireConformity } from './conformity.ts';
import { EMAIL } from './mail.ts';
import worker from './worker.ts';

export const BASE_URL = 'https://api.test';

/** An answer with its body read: parsed when it is JSON, the bytes of a workbook or an archive, text otherwise. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
export interface ApiResponse<T = any> {
  status: number;
  headers: Headers;
  body: T;
}

export interface RequestOptions {
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: BodyInit;
  /** Variables that differ for this request. */
  env?: Record<string, string>;
}

/** What the Worker is given, with a mailbox that `listMailsTo` reads. */
const bindings = { ...env, EMAIL };

/** The same with variables that differ: the Worker keeps what it makes of its bindings, such as its configuration. */
const bindingsByVariables = new WeakMap<Record<string, string>, typeof bindings>();

function makeBindings(variables: Record<string, string> | undefined): typeof bindings {
  if (variables === undefined) return bindings;
  const found = bindingsByVariables.get(variables) ?? { ...bindings, ...variables };
  bindingsByVariables.set(variables, found);
  return found;
}

/**
 * Sends a request to the Worker, from the door. Work it defers is done when this resolves. Every answer, of any test, is
 * held against the description of its route.
 */
export async function call(method: string, path: string, sending: RequestOptions = {}): Promise<ApiResponse> {
  const headers = new Headers(sending.headers);
  if (sending.json !== undefined) headers.set('content-type', 'application/json');
  const body = sending.json !== undefined ? JSON.stringify(sending.json) : sending.body;
  const execution = createExecutionContext();
  const request = new Request(`${BASE_URL}${path}`, { method, headers, body, redirect: 'manual' });
  const response = await worker.fetch(request, makeBindings(sending.env), execution);
  const bytes = await response.bytes();
  await waitOnExecutionContext(execution);
  const answer = { status: response.status, headers: response.headers, body: parseBody(bytes, response) };
  requireConformity(method, path, answer);
  return answer;
}

function parseBody(bytes: Uint8Array, { headers }: Response): unknown {
  const type = headers.get('content-type') ?? '';
  if (/\bsheet$|\/zip$/.test(type)) return bytes;
  const text = new TextDecoder().decode(bytes);
  // HEAD tells the type of what it leaves out.
  return /[/+]json\b/.test(type) && text !== '' ? JSON.parse(text) : text;
}

/** The same with a session token. */
export function createCaller(token: string) {
  const send =
    (method: string) =>
    (path: string, sending: RequestOptions = {}) =>
      call(method, path, { ...sending, headers: { authorization: `Bearer ${token}`, ...sending.headers } });
  return { get: send('GET'), post: send('POST'), put: send('PUT'), patch: send('PATCH'), delete: send('DELETE') };
}

export type Caller = ReturnType<typeof createCaller>;
