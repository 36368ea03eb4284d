import { setTimeout as sleep } from 'node:timers/promises';

/** A request that the API refused. */
export class Refused extends Error {
  readonly status: number;

  constructor(what: string, status: number, body: string) {
    super(`${what} answered ${status}: ${body.slice(0, 500)}`);
    this.status = status;
  }
}

export interface Sending {
  token?: string;
  json?: unknown;
  form?: FormData;
}

/**
 * Calls a running system, for tests whose paths and bodies are no contract's. It waits when it is told to.
 * @throws Refused
 */
export async function send<T>(baseUrl: string, method: string, path: string, sending: Sending = {}): Promise<T> {
  for (;;) {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(sending.token && { authorization: `Bearer ${sending.token}` }),
        ...(sending.json !== undefined && { 'content-type': 'application/json' }),
      },
      body: sending.json === undefined ? sending.form : JSON.stringify(sending.json),
    });
    const body = await response.text();
    if (response.status === 429) {
      await sleep(Number(response.headers.get('retry-after') ?? 1) * 1000);
      continue;
    }
    if (!response.ok) throw new Refused(`${method} ${path}`, response.status, body);
    return body === '' ? (undefined as T) : (JSON.parse(body) as T);
  }
}
