import { ApiError } from './answers.ts';
import { type Credential, repeatExchange, takesToken, type Unsigned } from './credentials.ts';
import type { TokenPair } from './generated/routes.ts';

/** Person's tokens, as a sign-in and a refresh answer them; further members of the answer are kept. */
export interface StoredSession extends TokenPair {
  /** Time at which the tokens were received, by this machine's clock (ms); without it, the time of the client's first read. */
  received_at?: number | undefined;
}

/** Storage of a session between calls: all tabs of a console see the same. It may be read at each request. */
export interface SessionStore {
  read(): StoredSession | null | undefined | Promise<StoredSession | null | undefined>;
  /** Stores a session; null if the session has ended. */
  write(session: StoredSession | null): unknown;
}

export interface SessionOptions {
  store: SessionStore;
  /** Name of the Web Lock under which tokens are refreshed, one for each store; `data-console-session` when left out. */
  lock?: string | undefined;
}

/** Used part of a LockManager; some runtimes have none. */
interface Locks {
  request<T>(name: string, work: () => Promise<T>): Promise<T>;
}

/** Pattern of the POST paths that sign a person in or verify an address. They carry no token, and are never repeated. */
const SIGN_IN_PATH_PATTERN =
  /^\/(v1\/(auth\/(login|refresh|social|2fa\/login|passkeys\/(authentication-options|verify)|passwordless\/\w+|sso\/.+)|users\/(accept-invitation|reset-password\/\w+))|oauth\/(token|revoke|register|device_authorization)|api\/v1\/share-auth\/(request|verify|refresh))$/;

export const isSignInPath = (path: string): boolean => SIGN_IN_PATH_PATTERN.test(path);

/**
 * Milliseconds before its end at which a token is exchanged, or `REFRESH_BEFORE_FRACTION` of its lifetime if that is less.
 */
const REFRESH_BEFORE_MS = 60_000;
/** Largest part of its lifetime that a token may have left when it is exchanged. */
const REFRESH_BEFORE_FRACTION = 0.1;

/** Statuses by which the API says that a refresh token is invalid or expired. */
const SESSION_ENDED_STATUSES = [400, 401, 422];

/** Current refreshes by their store: clients of one store share a refresh where there are no locks. */
const currentRefreshes = new WeakMap<SessionStore, { token: string; refreshPromise: Promise<StoredSession | null> }>();

/**
 * Makes a credential of a person's session: the caller writes the answer of the sign-in into `store`, and null when the
 * person signs out. Tokens are exchanged before they expire and when one was refused, once for all clients, tabs and
 * requests of a store. When the API refuses the exchange, null is written, and the request fails with its first
 * refusal. Without a session, requests are sent unauthenticated.
 */
export function withSession({ store, lock = 'data-console-session' }: SessionOptions): Credential {
  /** Token and time of the first read of a session that does not say when it was received. */
  const firstRead = { token: '', at: 0 };

  const findReceivedAt = ({ token, received_at: at }: StoredSession): number => {
    if (at !== undefined) return at;
    if (firstRead.token !== token) Object.assign(firstRead, { token, at: Date.now() });
    return firstRead.at;
  };
  const computeExpiry = (session: StoredSession): number => {
    const lifetimeMs = session.expires_in * 1000;
    return findReceivedAt(session) + lifetimeMs - Math.min(REFRESH_BEFORE_MS, lifetimeMs * REFRESH_BEFORE_FRACTION);
  };

  return async (request) => {
    const { refused, url, baseUrl } = request;
    const session = await store.read();
    if (!session) return {};
    const isRefused = refused === makeBearerHeader(session).authorization && takesToken(url.slice(baseUrl.length));
    if (!isRefused && computeExpiry(session) > Date.now()) return makeBearerHeader(session);
    let sharedRefresh = currentRefreshes.get(store);
    if (sharedRefresh?.token !== session.token) {
      const { token } = session;
      const renewal = runUnderLock(lock, () => refreshSession(store, token, request)).finally(() => {
        if (currentRefreshes.get(store)?.refreshPromise === renewal) currentRefreshes.delete(store);
      });
      sharedRefresh = { token, refreshPromise: renewal };
      currentRefreshes.set(store, sharedRefresh);
    }
    try {
      const renewedSession = await sharedRefresh.refreshPromise;
      return renewedSession ? makeBearerHeader(renewedSession) : {};
    } catch (error) {
      // The API is away, or there were too many requests: what is still good is good enough.
      const end = findReceivedAt(session) + session.expires_in * 1000;
      if (!isRefused && end > Date.now()) return makeBearerHeader(session);
      throw error;
    }
  };
}

const makeBearerHeader = ({ token }: StoredSession) => ({ authorization: `Bearer ${token}` });

/** Runs `work` under a lock shared by all tabs, where the browser has locks. */
function runUnderLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  const { navigator } = globalThis as unknown as { navigator?: { locks?: Locks } };
  return navigator?.locks ? navigator.locks.request(name, work) : work();
}

/**
 * Exchanges the tokens of the store, unless the store has others by now. A refresh token is used up by its exchange,
 * and sending it later would end the session: it is not sent once its successor is known.
 * @returns the session that the store has then
 */
async function refreshSession(store: SessionStore, token: string, request: Unsigned): Promise<StoredSession | null> {
  const sessionBefore = await store.read();
  if (sessionBefore?.token !== token) return sessionBefore ?? null;
  const newSession = await exchangeTokens(sessionBefore, request);
  // Whoever signed in or out meanwhile is right.
  const now = await store.read();
  if (now?.refresh_token !== sessionBefore.refresh_token) return now ?? null;
  await store.write(newSession);
  return newSession;
}

/** Sends a refresh token. @returns null when the API refuses. @throws ApiError or what `fetch` throws when it does not answer */
async function exchangeTokens(
  session: StoredSession,
  { baseUrl, longestWait, ask }: Unsigned,
): Promise<StoredSession | null> {
  const body = JSON.stringify({ refresh_token: session.refresh_token });
  const headers = { 'content-type': 'application/json' };
  try {
    return await repeatExchange(longestWait, async (signal) => {
      const receivedAt = Date.now();
      const answer = await ask('POST', `${baseUrl}/v1/auth/refresh`, headers, { body, signal });
      return { ...session, ...(answer as TokenPair), received_at: receivedAt };
    });
  } catch (error) {
    if (error instanceof ApiError && SESSION_ENDED_STATUSES.includes(error.status)) return null;
    throw error;
  }
}
