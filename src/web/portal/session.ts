import { ApiProblem, type CallOptions, callApi, callFile } from '../api.ts';

/** The access and refresh tokens of an outside viewer, as the share-auth API returns them. */
interface SessionTokens {
  access_token: string;
  refresh_token: string;
}

/** The stored session of a tab. A tab that was duplicated or opened again has a copy. */
interface StoredSession {
  /** Identifies the session among the tabs that have it; absent if it was stored by an earlier version. */
  id?: string;
  email: string;
  company: string | undefined;
  /** With the number of exchanges since the sign-in. */
  tokens: SessionTokens & { exchanges?: number };
}

/** The time in which another tab of the session answers that it has newer tokens. Milliseconds. */
const ANSWER_MS = 200;

/** A signed-in viewer's access to the API. */
export interface Session {
  email: string;
  /** The company's name; undefined for a session stored by an earlier version, which did not store it. */
  company: string | undefined;
  /** Called when the server ends the session. */
  onEnded: () => void;
  /** Calls the API with the session's access token. @throws ApiProblem */
  call<T>(path: string, options?: Omit<CallOptions, 'token'>): Promise<T>;
  /** Calls the API for a file. @throws ApiProblem */
  fetchFile(path: string, options: { body: unknown }): Promise<File>;
  /** Deletes the tokens, here and on the server. */
  signOut(): Promise<void>;
}

/** Requests a code for an email address, without revealing whether the address is known. @throws ApiProblem */
export async function requestCode(companySlug: string, email: string): Promise<void> {
  await callApi('/api/v1/share-auth/request', { body: { company_slug: companySlug, email } });
}

/** Signs in with a mailed code. @throws ApiProblem `INVALID_CODE` */
export async function signIn(companySlug: string, email: string, code: string): Promise<Session> {
  const body = { company_slug: companySlug, email, code };
  const { company, ...tokens } = await callApi<SessionTokens & { company: { name: string } }>(
    '/api/v1/share-auth/verify',
    {
      body,
    },
  );
  return createSession(companySlug, { email, company: company.name, tokens });
}

/** Restores this tab's session after a reload. */
export function restoreSession(companySlug: string): Session | undefined {
  try {
    const stored: StoredSession | null = JSON.parse(sessionStorage.getItem(formatStorageKey(companySlug)) ?? 'null');
    return stored?.tokens && createSession(companySlug, stored);
  } catch {
    return undefined;
  }
}

const formatStorageKey = (companySlug: string): string => `portal:${companySlug}`;

/** Does something with the storage, if the browser does not block the storage of sites: a session works without it. */
function tryWithStorage(work: () => void): void {
  try {
    work();
  } catch {}
}

/**
 * Opens a session whose tokens are stored in this tab only and end with it. A refresh token that was exchanged before ends the
 * session: tabs that have the same session tell each other its newest tokens.
 */
function createSession(companySlug: string, storedSession: StoredSession): Session {
  // Not by `randomUUID`, which some pages do not have: those without TLS.
  const { id = crypto.getRandomValues(new Uint32Array(4)).join('-'), email, company } = storedSession;
  let tokens = { exchanges: 0, ...storedSession.tokens };
  let pendingRefresh: Promise<void> | undefined;
  let channel: BroadcastChannel | undefined;
  let hasEnded = false;

  const storeTokens = () =>
    tryWithStorage(() =>
      sessionStorage.setItem(formatStorageKey(companySlug), JSON.stringify({ id, email, company, tokens })),
    );
  const deleteTokens = () => {
    hasEnded = true;
    channel?.close();
    channel = undefined;
    tryWithStorage(() => sessionStorage.removeItem(formatStorageKey(companySlug)));
  };
  const tellTokens = () => channel?.postMessage(tokens);

  function receiveTokens({ data }: MessageEvent<typeof tokens>): void {
    if (data.exchanges < tokens.exchanges) tellTokens();
    if (data.exchanges <= tokens.exchanges) return;
    tokens = data;
    storeTokens();
  }

  async function refreshTokens(): Promise<void> {
    tellTokens();
    if (channel) await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
    // Newer tokens may be as old as those: they are exchanged, too.
    const { refresh_token, exchanges } = tokens;
    const newTokens = await callApi<SessionTokens>('/api/v1/share-auth/refresh', { body: { refresh_token } });
    tokens = { ...newTokens, exchanges: exchanges + 1 };
    if (hasEnded) return;
    storeTokens();
    tellTokens();
  }

  tryWithStorage(() => {
    channel = new BroadcastChannel(`portal:${id}`);
    channel.onmessage = receiveTokens;
  });
  storeTokens();
  /** Calls `send` with the access token, and once more with a new token if that one has expired. */
  async function withToken<T>(send: (token: string) => Promise<T>): Promise<T> {
    const usedToken = tokens.access_token;
    try {
      return await send(usedToken);
    } catch (error) {
      if (!(error instanceof ApiProblem) || error.status !== 401) throw error;
    }
    try {
      // Calls that fail together request one new token.
      if (usedToken === tokens.access_token) {
        pendingRefresh ??= refreshTokens().finally(() => {
          pendingRefresh = undefined;
        });
        await pendingRefresh;
      }
      return await send(tokens.access_token);
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 401) {
        deleteTokens();
        session.onEnded();
      }
      throw error;
    }
  }

  const session: Session = {
    email,
    company,
    onEnded() {},
    call: (path, options = {}) => withToken((token) => callApi(path, { ...options, token })),
    fetchFile: (path, options) => withToken((token) => callFile(path, { ...options, token })),
    async signOut() {
      deleteTokens();
      const { access_token: token, refresh_token } = tokens;
      await callApi('/api/v1/share-auth/logout', { body: { refresh_token }, token }).catch(() => undefined);
    },
  };
  return session;
}
