import { ApiError, mayHelpToRepeat, wait } from './answers.ts';
import { type Credential, takesToken, type Unsigned } from './credentials.ts';
import type { TokenPair } from './generated/routes.ts';

/** A person's tokens, as a sign-in and a refresh answer them; other members of the answer are kept. */
export interface StoredSession extends TokenPair {
  /** When the tokens were received, by this machine's clock (ms). When left out, when the client first read them. */
  received_at?: number | undefined;
}

/** The storage of a session between calls: all tabs of a console see the same. It may be asked at each request. */
export interface SessionStore {
  read(): StoredSession | null | undefined | Promise<StoredSession | null | undefined>;
  /** Null: the session has ended. */
  write(session: StoredSession | null): unknown;
}

export interface SessionOptions {
  store: SessionStore;
  /** The name of the Web Lock under which tokens are refreshed, one for each store: `data-console-session` when not said. */
  lock?: string | undefined;
}

/** The part of a LockManager that is used here: some runtimes have none. */
interface Locks {
  request<T>(name: string, held: () => Promise<T>): Promise<T>;
}

/** Posts by which people prove who they are, or that an address is theirs. They carry no token, and are never repeated. */
const SIGNS_IN =
  /^\/(v1\/(auth\/(login|refresh|social|2fa\/login|passkeys\/(authentication-options|verify)|passwordless\/\w+|sso\/.+)|users\/(accept-invitation|reset-password\/\w+))|oauth\/(token|revoke|register|device_authorization)|api\/v1\/share-auth\/(request|verify|refresh))$/;

export const signsIn = (path: string): boolean => SIGNS_IN.test(path);

/** The time before its end at which a token is exchanged: this time (ms), or this part of the time that it lives. */
const EARLY_MS = 60_000;
const EARLY_PART = 0.1;

/** The time that an answer is waited for, and the number of retries: the API answers a retry alike for ten seconds. */
const TRY_MS = 8_000;
const RETRIES = 2;
const PAUSE_MS = 300;
/** The statuses by which the API says that a refresh token is invalid, or not valid any more. */
const ENDED = [400, 401, 422];

/** Refreshes under way, by their store: clients of one store share them where there are no locks. */
const underWay = new WeakMap<SessionStore, { token: string; renewed: Promise<StoredSession | null> }>();

/**
 * The session of a person who has signed in: the caller writes the answer of the sign-in into `store`, and null when the person
 * signs out. Tokens are exchanged before they end and when one was refused, once for all clients, tabs and requests of a store.
 * When the API refuses that, null is written, and the request fails as it did. Without a session, requests are nobody's.
 */
export function withSession({ store, lock = 'data-console-session' }: SessionOptions): Credential {
  /** The first time that a session was seen which does not say when it was received. */
  const seen = { token: '', at: 0 };

  const receivedAt = ({ token, received_at: at }: StoredSession): number => {
    if (at !== undefined) return at;
    if (seen.token !== token) Object.assign(seen, { token, at: Date.now() });
    return seen.at;
  };
  const isGoodUntil = (session: StoredSession): number => {
    const lasts = session.expires_in * 1000;
    return receivedAt(session) + lasts - Math.min(EARLY_MS, lasts * EARLY_PART);
  };

  return async (request) => {
    const { refused, url, baseUrl } = request;
    const session = await store.read();
    if (!session) return {};
    const isRefused = refused === bearer(session).authorization && takesToken(url.slice(baseUrl.length));
    if (!isRefused && isGoodUntil(session) > Date.now()) return bearer(session);
    let shared = underWay.get(store);
    if (shared?.token !== session.token) {
      const { token } = session;
      const renewed = alone(lock, () => renew(store, token, request)).finally(() => {
        if (underWay.get(store)?.renewed === renewed) underWay.delete(store);
      });
      shared = { token, renewed };
      underWay.set(store, shared);
    }
    try {
      const renewed = await shared.renewed;
      return renewed ? bearer(renewed) : {};
    } catch (error) {
      // The API is away, or there were too many requests: what is still good is good enough.
      const end = receivedAt(session) + session.expires_in * 1000;
      if (!isRefused && end > Date.now()) return bearer(session);
      throw error;
    }
  };
}

const bearer = ({ token }: StoredSession) => ({ authorization: `Bearer ${token}` });

/** Runs `held` under a lock of all tabs, where the browser has locks. */
function alone<T>(name: string, held: () => Promise<T>): Promise<T> {
  const { navigator } = globalThis as unknown as { navigator?: { locks?: Locks } };
  return navigator?.locks ? navigator.locks.request(name, held) : held();
}

/**
 * Exchanges the tokens of the store, unless that has others by now. A refresh token is used up by its exchange: it is never sent
 * after its successor is known, since that would end the session.
 * @returns the session that the store has then
 */
async function renew(store: SessionStore, token: string, request: Unsigned): Promise<StoredSession | null> {
  const before = await store.read();
  if (before?.token !== token) return before ?? null;
  const next = await exchange(before, request);
  // Whoever signed in or out meanwhile is right.
  const now = await store.read();
  if (now?.refresh_token !== before.refresh_token) return now ?? null;
  await store.write(next);
  return next;
}

/** @returns null when the API refuses. @throws ApiError or what `fetch` throws when it does not answer */
async function exchange(
  session: StoredSession,
  { baseUrl, longestWait, ask }: Unsigned,
): Promise<StoredSession | null> {
  const body = JSON.stringify({ refresh_token: session.refresh_token });
  for (let attempt = 0; ; attempt += 1) {
    const receivedAt = Date.now();
    try {
      const signal = AbortSignal.timeout(TRY_MS);
      const headers = { 'content-type': 'application/json' };
      const answer = await ask('POST', `${baseUrl}/v1/auth/refresh`, headers, { body, signal });
      return { ...session, ...(answer as TokenPair), received_at: receivedAt };
    } catch (error) {
      if (error instanceof ApiError && ENDED.includes(error.status)) return null;
      const seconds = error instanceof ApiError ? error.retryAfter : null;
      if (attempt === RETRIES || (seconds ?? 0) > longestWait || !mayHelpToRepeat(error, true)) throw error;
      await wait(seconds === null ? PAUSE_MS * 2 ** attempt : seconds * 1000);
    }
  }
}
