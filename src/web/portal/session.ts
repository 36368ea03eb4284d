import { ApiProblem, type CallOptions, callApi, callFile } from '../api.ts';

/** The access and refresh tokens of an outside viewer, as the share-auth API returns them. */
interface SessionTokens {
  access_token: string;
  refresh_token: string;
}

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
  return createSession(companySlug, email, company.name, tokens);
}

/** Restores this tab's session after a reload. */
export function restoreSession(companySlug: string): Session | undefined {
  try {
    const { email, company, tokens } = JSON.parse(sessionStorage.getItem(formatStorageKey(companySlug)) ?? '{}');
    return tokens && createSession(companySlug, email, company, tokens);
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

/** Opens a session whose tokens are stored in this tab only and end with it. */
function createSession(
  companySlug: string,
  email: string,
  company: string | undefined,
  initialTokens: SessionTokens,
): Session {
  let tokens = initialTokens;
  let pendingRefresh: Promise<void> | undefined;

  const storeTokens = () =>
    tryWithStorage(() =>
      sessionStorage.setItem(formatStorageKey(companySlug), JSON.stringify({ email, company, tokens })),
    );
  const deleteTokens = () => tryWithStorage(() => sessionStorage.removeItem(formatStorageKey(companySlug)));

  async function refreshTokens(): Promise<void> {
    const body = { refresh_token: tokens.refresh_token };
    tokens = await callApi<SessionTokens>('/api/v1/share-auth/refresh', { body });
    storeTokens();
  }

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
