import { type Key, sign } from '../examples/signing/sign.ts';

export type { Key };

/** What a credential is asked to vouch for: the request exactly as it will be sent. */
export interface Unsigned {
  method: string;
  url: string;
  /** The JSON text, or empty. */
  body: string;
}

/** Makes the headers that prove who sends a request. Asked anew for each attempt. */
export type Credential = (request: Unsigned) => Promise<Record<string, string>>;

/** A session token of a person, a token of an outsider, or the operator's. A function is asked for the present one. */
export function withToken(token: string | (() => string | Promise<string>)): Credential {
  return async () => ({ authorization: `Bearer ${typeof token === 'string' ? token : await token()}` });
}

/** Signs each request with a service account's key, as the organization API wants it. */
export function withKey(key: Key): Credential {
  return async ({ method, url, body }) => ({ ...(await sign(key, method, url, body)) });
}
