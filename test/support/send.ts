import { setTimeout as sleep } from 'node:timers/promises';

/** Thrown for a request that the API refused. */
export class RequestRefusedError extends Error {
  readonly status: number;

  constructor(requestLine: string, status: number, body: string) {
    super(`${requestLine} answered ${status}: ${body.slice(0, 500)}`);
    this.status = status;
  }
}

export interface SendOptions {
  token?: string;
  json?: unknown;
  form?: FormData;
}

/**
 * Sends a request to a running system, for tests of paths and bodies outside the contract. It waits as `Retry-After` says.
 * @throws RequestRefusedError
 */
export async function send<T>(baseUrl: string, method: string, path: string, options: SendOptions = {}): Promise<T> {
  for (;;) {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(options.token && { authorization: `Bearer ${options.token}` }),
        ...(options.json !== undefined && { 'content-type': 'application/json' }),
      },
      body: options.json === undefined ? options.form : JSON.stringify(options.json),
    });
    const body = await response.text();
    if (response.status === 429) {
      await sleep(Number(response.headers.get('retry-after') ?? 1) * 1000);
      continue;
    }
    if (!response.ok) throw new RequestRefusedError(`${method} ${path}`, response.status, body);
    return body === '' ? (undefined as T) : (JSON.parse(body) as T);
  }
}
