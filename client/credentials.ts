import { type Key, sign } from '../examples/signing/sign.ts';

export type { Key };

/** The request exactly as it will be sent, for which a credential makes its headers. */
export interface Unsigned {
  method: string;
  url: string;
  /** The JSON text, or empty. */
  body: string;
  /** The address of the API. */
  baseUrl: string;
  /** The longest time that the client waits by itself for a limit (s). */
  longestWait: number;
  /** The `authorization` with which this request was answered 401: another one may do better. */
  refused?: string | undefined;
  ask: Ask;
}

/** Sends a request as it stands, once, and returns the API's answer. @throws ApiError */
export type Ask = (
  method: string,
  url: string,
  headers: Record<string, string>,
  sent?: { body?: string; signal?: AbortSignal },
) => Promise<unknown>;

/** Makes the headers that prove who sends a request. Asked anew for each attempt. */
export type Credential = (request: Unsigned) => Promise<Record<string, string>>;

/** A session token of a person, a token of an outsider, or the operator's. A function is asked for the present one. */
export const withToken =
  (token: string | (() => string | Promise<string>)): Credential =>
  async () => ({ authorization: `Bearer ${typeof token === 'string' ? token : await token()}` });

/** Paths that take a token; all others take signatures. */
const TAKES_TOKEN = /^\/(v1|api|mcp|scim)(\/|$)/;

export const takesToken = (path: string): boolean => TAKES_TOKEN.test(path);

/** The time before its end at which a service token is exchanged for another one. Milliseconds. */
const EARLY_MS = 60_000;

/** A service token with which requests are sent until a time (ms). */
interface ServiceToken {
  authorization: string;
  until: number;
}

/**
 * A service account's key. It signs requests to the organization API, and the Data API; for the other surfaces it is exchanged
 * for a service token, which is renewed a minute before it ends, and when it was refused.
 */
export function withKey(key: Key): Credential {
  /** Each request waits for the token of the one before it, so that several at once make one exchange. */
  let known: Promise<ServiceToken | undefined> = Promise.resolve(undefined);

  async function exchange({ baseUrl, ask }: Unsigned): Promise<ServiceToken> {
    const url = `${baseUrl}/tokens`;
    const askedAt = Date.now();
    const { token, expires_in } = (await ask('POST', url, { ...(await sign(key, 'POST', url, '')) })) as {
      token: string;
      expires_in: number;
    };
    return { authorization: `Bearer ${token}`, until: askedAt + expires_in * 1000 - EARLY_MS };
  }

  async function present(before: ServiceToken | undefined, request: Unsigned): Promise<ServiceToken> {
    const isGood = before && before.until > Date.now() && before.authorization !== request.refused;
    return isGood ? before : exchange(request);
  }

  return async (request) => {
    const { method, url, body, baseUrl } = request;
    if (!takesToken(url.slice(baseUrl.length))) return { ...(await sign(key, method, url, body)) };
    const token = known.then((before) => present(before, request));
    known = token.catch(() => undefined);
    return { authorization: (await token).authorization };
  };
}
