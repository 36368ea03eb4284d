import { type Key, sign } from '../examples/signing/sign.ts';
import { ApiError, isWorthRepeating, wait } from './answers.ts';

export type { Key };

/** Request exactly as it will be sent, for which a credential makes the authentication headers. */
export interface Unsigned {
  method: string;
  url: string;
  /** JSON text of the body, or empty. */
  body: string;
  /** The address of the API. */
  baseUrl: string;
  /** The longest wait before the client sends a request again by itself (s). */
  longestWait: number;
  /** The `authorization` with which this request was answered 401: a different one may succeed. */
  refused?: string | undefined;
  /** Sends a request of the credential itself, such as the exchange of a token. */
  ask: Ask;
}

/** Function that sends a request once, as it is, and returns the API's answer. @throws ApiError */
export type Ask = (
  method: string,
  url: string,
  headers: Record<string, string>,
  options?: { body?: string; signal?: AbortSignal },
) => Promise<unknown>;

/** Function that makes the headers that authenticate a request; called anew for each attempt. */
export type Credential = (request: Unsigned) => Promise<Record<string, string>>;

/**
 * Makes a credential from a person's, an outsider's or the operator's token. A function is called for the current token
 * at each request.
 */
export const withToken =
  (token: string | (() => string | Promise<string>)): Credential =>
  async () => ({ authorization: `Bearer ${typeof token === 'string' ? token : await token()}` });

/** Pattern of the paths that take a token; all other paths take signatures. */
const TOKEN_PATH_PATTERN = /^\/(v1|api|mcp|scim)(\/|$)/;

export const takesToken = (path: string): boolean => TOKEN_PATH_PATTERN.test(path);

/** Milliseconds to wait for the answer to an exchange. For ten seconds, the API gives a retried refresh the same answer. */
const TRY_TIMEOUT_MS = 8_000;
const RETRY_COUNT = 2;
const PAUSE_MS = 300;

/**
 * Calls `exchange`, which asks for a token, up to three times while it is not answered, meets a temporary failure, or
 * exceeds a rate limit for no more than `longestWait` seconds. @throws the last error
 */
export async function repeatExchange<T>(
  longestWait: number,
  exchange: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await exchange(AbortSignal.timeout(TRY_TIMEOUT_MS));
    } catch (error) {
      const seconds = error instanceof ApiError ? error.retryAfter : null;
      if (attempt === RETRY_COUNT || (seconds ?? 0) > longestWait || !isWorthRepeating(error, true)) throw error;
      await wait(seconds === null ? PAUSE_MS * 2 ** attempt : seconds * 1000);
    }
  }
}

/** The time before the end of a service token at which the token is exchanged for another one, in milliseconds. */
const EXCHANGE_BEFORE_MS = 60_000;

/** Service token, and the time until which requests are sent with it (ms). */
interface ServiceToken {
  authorization: string;
  expiresAt: number;
}

/**
 * Makes a credential of a service account's key. The key signs requests to the organization API and the Data API; for
 * the other surfaces it is exchanged for a service token, which is renewed a minute before it expires, and when it was
 * refused.
 */
export function withKey(key: Key): Credential {
  let latestToken: ServiceToken | undefined;
  /** Exchange that runs: concurrent requests share it, and its failure. */
  let runningExchange: Promise<ServiceToken> | undefined;

  const exchangeToken = ({ baseUrl, longestWait, ask }: Unsigned): Promise<ServiceToken> =>
    repeatExchange(longestWait, async (signal) => {
      const url = `${baseUrl}/tokens`;
      const requestedAt = Date.now();
      const headers = { ...(await sign(key, 'POST', url, '')) };
      const answer = (await ask('POST', url, headers, { signal })) as { token: string; expires_in: number };
      const expiresAt = requestedAt + answer.expires_in * 1000 - EXCHANGE_BEFORE_MS;
      return { authorization: `Bearer ${answer.token}`, expiresAt };
    });

  async function readCurrentToken(request: Unsigned): Promise<ServiceToken> {
    if (latestToken && latestToken.expiresAt > Date.now() && latestToken.authorization !== request.refused)
      return latestToken;
    runningExchange ??= exchangeToken(request).finally(() => {
      runningExchange = undefined;
    });
    latestToken = await runningExchange;
    return latestToken;
  }

  return async (request) => {
    const { method, url, body, baseUrl } = request;
    if (!takesToken(url.slice(baseUrl.length))) return { ...(await sign(key, method, url, body)) };
    return { authorization: (await readCurrentToken(request)).authorization };
  };
}
