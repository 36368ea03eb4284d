import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createClient, type StoredSession, withKey, withSession } from '../../client/client.ts';
import { SURFACES } from '../../src/app.ts';
import { fillPath } from '../../src/http/paths.ts';
import { BASE_URL } from '../support/api.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { createWorkerFetch } from './worker-fetch.ts';

/** A function that replaces the Worker's answer to a request; undefined leaves the request to the Worker. */
type AnswerOverride = (path: string, send: () => Promise<Response>) => Promise<Response> | Response | undefined;

/** Creates a session storage shared by all tabs; its stores answer asynchronously. */
function createSharedStorage(session: StoredSession | null) {
  const storage = { session, written: 0 };
  const createStore = () => ({
    read: async () => {
      await Promise.resolve();
      return storage.session;
    },
    write: async (next: StoredSession | null) => {
      storage.session = next;
      storage.written += 1;
    },
  });
  return { place: storage, store: createStore };
}

/** Creates a `fetch` to the Worker, and the list of its requests as `METHOD path`. */
function createWatchedFetch(overrideAnswer: AnswerOverride = () => undefined) {
  const sentRequests: { route: string; authorization: string | null; body: unknown }[] = [];
  const fetchFromWorker = createWorkerFetch();
  const send = (async (input: string, init: RequestInit = {}) => {
    const path = input.slice(BASE_URL.length);
    sentRequests.push({
      route: `${init.method} ${path}`,
      authorization: new Headers(init.headers).get('authorization'),
      body: typeof init.body === 'string' ? JSON.parse(init.body) : null,
    });
    return (await overrideAnswer(path, () => fetchFromWorker(input, init))) ?? fetchFromWorker(input, init);
  }) as typeof fetch;
  return {
    send,
    sent: sentRequests,
    refreshes: () => sentRequests.filter(({ route }) => route === 'POST /v1/auth/refresh'),
  };
}

const REFRESH_PATH = '/v1/auth/refresh';
const makeOutageResponse = () => Response.json({ error: 'STORAGE_UNAVAILABLE' }, { status: 503 });

let company: Company;
let session: StoredSession;

async function signIn(): Promise<StoredSession> {
  const { slug, owner } = company;
  const body = { company_slug: slug, email: owner.email, password: owner.password };
  const answer = await createClient({ baseUrl: BASE_URL, fetch: createWorkerFetch() }).post('/v1/auth/login', { body });
  if (!('token' in answer)) throw new Error('A second factor is asked for.');
  return answer;
}

/** Returns the session with a token that was received long ago, so that it has expired and gets exchanged. */
const makeExpiredSession = () => ({ ...session, received_at: 1 });
/** Returns a session whose token the API refuses, though it has not expired yet. */
const makeRefusedSession = () => ({ ...session, token: 'of.another.time', received_at: Date.now() });

const createSessionClient = (store: Parameters<typeof withSession>[0]['store'], send: typeof fetch) =>
  createClient({ baseUrl: BASE_URL, credential: withSession({ store }), fetch: send });

beforeEach(async () => {
  company ??= await createOwnedCompany();
  session = await signIn();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('a session of the client', () => {
  it('is refreshed before its token expires, counted from its receipt, and keeps its other fields', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const { place, store } = createSharedStorage(session);
    const { send, refreshes } = createWatchedFetch();
    const api = createSessionClient(store(), send);
    await api.get('/v1/auth/me');
    vi.setSystemTime(Date.now() + 530_000);
    await api.get('/v1/auth/me');
    expect(refreshes()).toHaveLength(0);
    vi.setSystemTime(Date.now() + 15_000);
    await api.get('/v1/auth/me');
    expect(refreshes()).toHaveLength(1);
    expect(place.session).toMatchObject({ user: { email: company.owner.email }, received_at: Date.now() });
    expect(place.session?.token).not.toBe(session.token);
    await api.get('/v1/auth/me');
    expect(refreshes()).toHaveLength(1);
  });

  it.each([
    ['has expired', makeExpiredSession],
    ['is refused', makeRefusedSession],
  ])('is refreshed once for twenty simultaneous requests when its token %s', async (_, makeSession) => {
    const { place, store } = createSharedStorage(makeSession());
    const { send, sent, refreshes } = createWatchedFetch();
    const api = createSessionClient(store(), send);
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.get('/v1/auth/me')));
    expect(answers.map(({ user }) => user?.email)).toEqual(Array(20).fill(company.owner.email));
    expect([refreshes().length, place.written]).toEqual([1, 1]);
    expect(sent.at(-1)?.authorization).toBe(`Bearer ${place.session?.token}`);
  });

  it('is refreshed once by two clients of one store', async () => {
    const { store } = createSharedStorage(makeExpiredSession());
    const { send, refreshes } = createWatchedFetch();
    const sharedStore = store();
    await Promise.all(
      [createSessionClient(sharedStore, send), createSessionClient(sharedStore, send)].map((api) =>
        api.get('/v1/auth/me'),
      ),
    );
    expect(refreshes()).toHaveLength(1);
  });

  it('is refreshed once by two tabs with Web Locks: the second tab reads the session that the first tab wrote', async () => {
    let last: Promise<unknown> = Promise.resolve();
    const names = new Set<string>();
    const request = (name: string, runLocked: () => Promise<unknown>) => {
      names.add(name);
      last = last.then(runLocked, runLocked);
      return last;
    };
    vi.stubGlobal('navigator', { locks: { request } });
    const { store } = createSharedStorage(makeExpiredSession());
    const { send, refreshes } = createWatchedFetch();
    await Promise.all(
      [createSessionClient(store(), send), createSessionClient(store(), send)].map((api) => api.get('/v1/auth/me')),
    );
    expect(refreshes()).toHaveLength(1);
    expect([...names]).toEqual(['data-console-session']);
  });

  it('survives two tabs without Web Locks that refresh at the same time', async () => {
    const { place, store } = createSharedStorage(makeExpiredSession());
    const { send, refreshes } = createWatchedFetch();
    const [one, other] = [createSessionClient(store(), send), createSessionClient(store(), send)];
    await Promise.all([one.get('/v1/auth/me'), other.get('/v1/auth/me')]);
    expect(refreshes().length).toBeLessThanOrEqual(2);
    place.session = { ...(place.session as StoredSession), received_at: 1 };
    await one.get('/v1/auth/me');
    await other.get('/v1/auth/me');
    // None of them was sent after its successor.
    const tokens = refreshes().map(({ body }) => (body as { refresh_token: string }).refresh_token);
    expect(tokens.lastIndexOf(session.refresh_token)).toBeLessThan(2);
    expect(place.session).not.toBeNull();
  });

  it('is deleted once the API has ended it: the request fails with 401, and the next request has no token', async () => {
    await createClient({
      baseUrl: BASE_URL,
      credential: withSession({ store: createSharedStorage(session).store() }),
      fetch: createWorkerFetch(),
    }).post('/v1/auth/logout');
    const { place, store } = createSharedStorage({ ...session, received_at: Date.now() });
    const { send, sent } = createWatchedFetch();
    const api = createSessionClient(store(), send);
    await expect(api.get('/v1/auth/me')).rejects.toMatchObject({
      status: 401,
      message: expect.stringMatching(/^GET \/v1\/auth\/me answered 401/),
    });
    expect([place.session, sent.map(({ route }) => route)]).toEqual([
      null,
      ['GET /v1/auth/me', `POST ${REFRESH_PATH}`],
    ]);
    await expect(api.get('/v1/auth/me')).rejects.toMatchObject({ status: 401 });
    expect(sent.at(-1)).toMatchObject({ route: 'GET /v1/auth/me', authorization: null });
  });

  it.each([
    ['signs out', () => null],
    ['signs in anew', () => ({ ...session, token: 'of.the.other', refresh_token: 'other', received_at: Date.now() })],
  ])('is not overwritten by a refresh during which its user %s', async (_, getNextSession) => {
    const { place, store } = createSharedStorage(makeExpiredSession());
    const nextSession = getNextSession();
    const { send, sent } = createWatchedFetch((path, go) =>
      path === REFRESH_PATH
        ? go().then((answer) => {
            place.session = nextSession;
            return answer;
          })
        : Response.json({ user: null }),
    );
    await createSessionClient(store(), send).get('/v1/auth/me');
    expect([place.session, sent.at(-1)?.authorization]).toEqual([
      nextSession,
      nextSession ? 'Bearer of.the.other' : null,
    ]);
  });

  it('is refreshed again when the answer to its refresh was lost', async () => {
    let lostAnswerCount = 0;
    const { place, store } = createSharedStorage(makeExpiredSession());
    const { send, refreshes } = createWatchedFetch((path, go) =>
      path === REFRESH_PATH && lostAnswerCount++ === 0
        ? go().then(() => Promise.reject(new TypeError('the line is dead')))
        : undefined,
    );
    const api = createSessionClient(store(), send);
    await api.get('/v1/auth/me');
    expect(refreshes()).toHaveLength(2);
    place.session = { ...(place.session as StoredSession), received_at: 1 };
    expect((await api.get('/v1/auth/me')).user?.email).toBe(company.owner.email);
  });

  it('uses a valid token while the session cannot be refreshed, and is kept when the token has expired', async () => {
    const { place, store } = createSharedStorage({ ...session, received_at: Date.now() - 545_000 });
    const { send } = createWatchedFetch((path) => (path === REFRESH_PATH ? makeOutageResponse() : undefined));
    const api = createSessionClient(store(), send);
    expect((await api.get('/v1/auth/me')).user?.email).toBe(company.owner.email);
    place.session = makeExpiredSession();
    await expect(api.get('/v1/auth/me')).rejects.toMatchObject({ status: 503 });
    expect(place.session).toEqual(makeExpiredSession());
  });

  it('fails with 429 at once when refreshes are limited for 21 seconds', async () => {
    const limit = { status: 429, headers: { 'retry-after': '21' } };
    const { place, store } = createSharedStorage(makeExpiredSession());
    const { send, refreshes } = createWatchedFetch(() => Response.json({ error: 'RATE_LIMIT_EXCEEDED' }, limit));
    await expect(createSessionClient(store(), send).get('/v1/auth/me')).rejects.toMatchObject({
      status: 429,
      retryAfter: 21,
    });
    expect([refreshes().length, place.session]).toEqual([1, makeExpiredSession()]);
  });

  it('is refreshed even if the signal of the caller is aborted meanwhile', async () => {
    const { place, store } = createSharedStorage(makeExpiredSession());
    const abortController = new AbortController();
    const { send, sent } = createWatchedFetch((path, go) => {
      if (path === REFRESH_PATH) abortController.abort(new Error('enough'));
      return path === REFRESH_PATH ? go() : undefined;
    });
    const { signal } = abortController;
    await expect(createSessionClient(store(), send).get('/v1/auth/me', { signal })).rejects.toThrow('enough');
    await expect.poll(() => place.written).toBe(1);
    expect(sent.map(({ route }) => route)).toEqual([`POST ${REFRESH_PATH}`]);
  });

  it('is not refreshed for a route that takes signatures', async () => {
    const { store } = createSharedStorage({ ...session, received_at: Date.now() });
    const { send, refreshes } = createWatchedFetch();
    await expect(createSessionClient(store(), send).get('/users')).rejects.toMatchObject({ status: 401 });
    expect(refreshes()).toHaveLength(0);
  });

  it('sends no token to sign-in routes, and does not retry them', async () => {
    const limit = { status: 429, headers: { 'retry-after': '0' } };
    const { send, sent } = createWatchedFetch(() => Response.json({ error: 'RATE_LIMIT_EXCEEDED' }, limit));
    const postContracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract)).filter(
      ({ method, access, path }) => method === 'post' && access === 'public' && /auth|users/.test(path),
    );
    expect(postContracts.length).toBeGreaterThan(10);
    for (const credential of [withSession({ store: createSharedStorage(session).store() }), withKey(company.apiKey)]) {
      const api = createClient({ baseUrl: BASE_URL, credential, fetch: send }) as unknown as Record<
        'post',
        (path: string) => Promise<unknown>
      >;
      for (const { path } of postContracts) {
        sent.length = 0;
        await expect(api.post(fillPath(path, () => 'a'))).rejects.toMatchObject({ status: 429 });
        expect(sent).toMatchObject([{ route: expect.stringMatching(/^POST /), authorization: null }]);
      }
    }
  });

  it('does not retry a request that counts failed attempts when nobody is signed in', async () => {
    const limit = { status: 429, headers: { 'retry-after': '0' } };
    const { send, sent } = createWatchedFetch(() => Response.json({ error: 'RATE_LIMIT_EXCEEDED' }, limit));
    const api = createSessionClient(createSharedStorage(null).store(), send);
    await expect(api.post('/v1/auth/2fa/enable', { body: { totp_token: '123456' } })).rejects.toMatchObject({
      status: 429,
    });
    expect(sent).toHaveLength(1);
  });
});
