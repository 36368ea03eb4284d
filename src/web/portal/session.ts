import { ApiProblem, type Call, call, callFile } from '../api.ts';

/** An outsider's tokens, as share-auth answers them. */
interface Tokens {
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
  /** @throws ApiProblem */
  call<T>(path: string, options?: Omit<Call, 'token'>): Promise<T>;
  /** Calls the API for a file. @throws ApiProblem */
  file(path: string, options: { body: unknown }): Promise<File>;
  /** Deletes the tokens, here and on the server. */
  signOut(): Promise<void>;
}

/** Has a code mailed to an address, without telling whether that is known. @throws ApiProblem */
export async function requestCode(companySlug: string, email: string): Promise<void> {
  await call('/api/v1/share-auth/request', { body: { company_slug: companySlug, email } });
}

/** Signs in with a mailed code. @throws ApiProblem `INVALID_CODE` */
export async function signIn(companySlug: string, email: string, code: string): Promise<Session> {
  const body = { company_slug: companySlug, email, code };
  const { company, ...tokens } = await call<Tokens & { company: { name: string } }>('/api/v1/share-auth/verify', {
    body,
  });
  return openSession(companySlug, email, company.name, tokens);
}

/** Restores the session of this tab after a reload. */
export function restoreSession(companySlug: string): Session | undefined {
  try {
    const { email, company, tokens } = JSON.parse(sessionStorage.getItem(formatKey(companySlug)) ?? '{}');
    return tokens && openSession(companySlug, email, company, tokens);
  } catch {
    return undefined;
  }
}

const formatKey = (companySlug: string): string => `portal:${companySlug}`;

/** Tokens are stored in this tab only and end with it. */
function openSession(companySlug: string, email: string, company: string | undefined, first: Tokens): Session {
  let tokens = first;
  let refreshing: Promise<void> | undefined;

  const keep = () => sessionStorage.setItem(formatKey(companySlug), JSON.stringify({ email, company, tokens }));
  const forget = () => sessionStorage.removeItem(formatKey(companySlug));

  async function refresh(): Promise<void> {
    const body = { refresh_token: tokens.refresh_token };
    tokens = await call<Tokens>('/api/v1/share-auth/refresh', { body });
    keep();
  }

  keep();
  /** Calls with the token, and once more with a new one where it has ended. */
  async function withToken<T>(send: (token: string) => Promise<T>): Promise<T> {
    const used = tokens.access_token;
    try {
      return await send(used);
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
      return await send(tokens.access_token);
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 401) {
        forget();
        session.onEnded();
      }
      throw error;
    }
  }

  const session: Session = {
    email,
    company,
    onEnded() {},
    call: (path, options = {}) => withToken((token) => call(path, { ...options, token })),
    file: (path, options) => withToken((token) => callFile(path, { ...options, token })),
    async signOut() {
      forget();
      const { access_token: token, refresh_token } = tokens;
      await call('/api/v1/share-auth/logout', { body: { refresh_token }, token }).catch(() => undefined);
    },
  };
  return session;
}
