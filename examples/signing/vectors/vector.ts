import { type Key, type SignatureHeaders, sign, stringToSign } from '../sign.ts';

/** The key of the vectors. It belongs to no organization. */
export const KEY: Key = {
  access_key: 'sa_acme_65f1a2b3c4d5e6f708192a3b_abcdefghijklmnop2345',
  secret_key: 'pB3W75LXcLU33We9oWTc4W4q--QpgaiY2D-L5zzxi3w',
};

/** Time of the server's clock when it checks the vectors. */
export const NOW = '2026-01-31T12:00:00.000Z';

export const ORIGIN = 'https://iam.example.com';

/** Request that must be accepted, with every step to its signature. */
export interface ValidVector {
  name: string;
  explanation: string;
  method: string;
  /** URL as a caller writes it; the URL standard makes `path` and `query` of it. */
  url: string;
  path: string;
  query: string;
  body: string;
  string_to_sign: string;
  headers: SignatureHeaders;
}

/** Reason why a request must be refused: `details.reason` of the answer, which is always 401 Unauthorized. */
export type Reason =
  | 'missing_header'
  | 'malformed'
  | 'clock_skew'
  | 'body_digest_mismatch'
  | 'unknown_key'
  | 'bad_signature'
  | 'nonce_reused';

/** Request that must be refused. `headers` are lines as HTTP writes them: a name may occur twice. */
export interface InvalidVector {
  name: string;
  explanation: string;
  method: string;
  url: string;
  body: string;
  headers: string[];
  reason: Reason;
  /** Text that the server's answer says it expected to be signed; only with `bad_signature`. */
  string_to_sign?: string;
}

/** Content of `vectors.json`. */
export interface Vectors {
  about: string;
  key: Key;
  now: string;
  valid: ValidVector[];
  invalid: InvalidVector[];
}

/** Request before it is signed; members that are left out get default values. */
export interface Draft {
  method?: string;
  url?: string;
  body?: string;
  date?: string;
  nonce?: string;
  key?: Key;
}

/** Fills in what a draft leaves out, and signs the request. The default nonce is made from `name`. */
export async function signed(name: string, draft: Draft) {
  const { method = 'GET', url = `${ORIGIN}/users?quantity=5`, body = '', date = NOW, key = KEY } = draft;
  const nonce = draft.nonce ?? `vector-${name.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}`.slice(0, 128);
  const headers = await sign(key, method, url, body, { date, nonce });
  const { pathname, search } = new URL(url);
  const text = stringToSign(method, url, date, nonce, headers['x-content-sha256']);
  return { method, url, path: pathname, query: search.slice(1), body, string_to_sign: text, headers };
}
