import { ApiProblem, call } from '../api.ts';

/** An outsider's tokens, as share-auth answers them. */
interface Tokens {
  access_token: string;
  refresh_token: string;
}

/** A signed-in viewer's access to the API. */
export interface Session {
  email: string;
  /** Called when the server ends the session. */
  onEnded: () => void;
  /** @throws ApiProblem */
  call<T>(path: string, options?: { body?: unknown; signal?: AbortSignal }): Promise<T>;
  /** Deletes the tokens, here and on the server. */
  signOut(): Promise<void>;
}

/**
 * Requests that a code is mailed to an address. The answer does not tell whether the address is known. @throws
 * ApiProblem
 */
export async function requestCode(companySlug: string, email: string): Promise<void> {
  await call('/api/v1/share-auth/request', { body: { company_slug: companySlug, email } });
}

/** Signs in with a mailed code. @throws ApiProblem `INVALID_CODE` */
export async function signIn(companySlug: string, email: string, code: string): Promise<Session> {
  const body = { company_slug: companySlug, email, code };
  return sessionOf(companySlug, email, await call<Tokens>('/api/v1/share-auth/verify', { body }));
}

/** Restores the session of this tab after a reload. */
export function restoreSession(companySlug: string): Session | undefined {
  try {
    const { email, tokens } = JSON.parse(sessionStorage.getItem(keyOf(companySlug)) ?? '{}');
    return tokens && sessionOf(companySlug, email, tokens);
  } catch {
    return undefined;
  }
}

const keyOf = (companySlug: string): string => `portal:${companySlug}`;

/** Tokens are stored in this tab only and end with it. */
function sessionOf(companySlug: string, email: string, first: Tokens): Session {
  let tokens = first;
  let refreshing: Promise<void> | undefined;

  const keep = () => sessionStorage.setItem(keyOf(companySlug), JSON.stringify({ email, tokens }));
  const forget = () => sessionStorage.removeItem(keyOf(companySlug));

  async function refresh(): Promise<void> {
    const body = { refresh_token: tokens.refresh_token };
    tokens = await call<Tokens>('/api/v1/share-auth/refresh', { body });
    keep();
  }

  keep();
  const session: Session = {
    email,
    onEnded() {},
    async call(path, options = {}) {
      const used = tokens.access_token;
      try {
        return await call(path, { ...options, token: used });
      } catch (error) {
        if (!(error instanceof ApiProblem) || error.status !== 401) throw error;
      }
      try {
        // Calls that fail together request one new token.
        if (used === tokens.access_token) {
          refreshing ??= refresh().finally(() => {
            refreshing = undefined;
          });
          await refreshing;
        }
        return await call(path, { ...options, token: tokens.access_token });
      } catch (error) {
        if (error instanceof ApiProblem && error.status === 401) {
          forget();
          session.onEnded();
        }
        throw error;
      }
    },
    async signOut() {
      forget();
      const { access_token: token, refresh_token } = tokens;
      await call('/api/v1/share-auth/logout', { body: { refresh_token }, token }).catch(() => undefined);
    },
  };
  return session;
}
