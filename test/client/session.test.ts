import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createClient, type StoredSession, withKey, withSession } from '../../client/client.ts';
import { SURFACES } from '../../src/app.ts';
import { fillPath } from '../../src/http/paths.ts';
import { BASE_URL } from '../support/api.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { toWorker } from './to-worker.ts';

/** What is sent, and how the test answers in the place of the Worker: undefined leaves it to that. */
type Instead = (path: string, send: () => Promise<Response>) => Promise<Response> | Response | undefined;

/** Where a session stands for all tabs: a store answers later than asked. */
function aPlace(session: StoredSession | null) {
  const place = { session, written: 0 };
  const store = () => ({
    read: async () => {
      await Promise.resolve();
      return place.session;
    },
    write: async (next: StoredSession | null) => {
      place.session = next;
      place.written += 1;
    },
  });
  return { place, store };
}

/** The Worker, and each request to it as `METHOD path`. */
function watched(instead: Instead = () => undefined) {
  const sent: { what: string; authorization: string | null; body: unknown }[] = [];
  const worker = toWorker();
  const send = (async (input: string, init: RequestInit = {}) => {
    const path = input.slice(BASE_URL.length);
    sent.push({
      what: `${init.method} ${path}`,
      authorization: new Headers(init.headers).get('authorization'),
      body: typeof init.body === 'string' ? JSON.parse(init.body) : null,
    });
    return (await instead(path, () => worker(input, init))) ?? worker(input, init);
  }) as typeof fetch;
  return { send, sent, refreshes: () => sent.filter(({ what }) => what === 'POST /v1/auth/refresh') };
}

const REFRESH_PATH = '/v1/auth/refresh';
const away = () => Response.json({ error: 'STORAGE_UNAVAILABLE' }, { status: 503 });

let company: Company;
let session: StoredSession;

async function signedIn(): Promise<StoredSession> {
  const { slug, owner } = company;
  const body = { company_slug: slug, email: owner.email, password: owner.password };
  const answer = await createClient({ baseUrl: BASE_URL, fetch: toWorker() }).post('/v1/auth/login', { body });
  if (!('token' in answer)) throw new Error('A second factor is asked for.');
  return answer;
}

/** Nobody knows when it was received; with 1, long ago: its token is exchanged. */
const ended = () => ({ ...session, received_at: 1 });
/** The API refuses its token, though its time has not come. */
const refused = () => ({ ...session, token: 'of.another.time', received_at: Date.now() });

const clientOf = (store: Parameters<typeof withSession>[0]['store'], send: typeof fetch) =>
  createClient({ baseUrl: BASE_URL, credential: withSession({ store }), fetch: send });

beforeEach(async () => {
  company ??= await aCompany();
  session = await signedIn();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('a session of the client', () => {
  it('is refreshed before its token expires, counted from its receipt, and keeps its other fields', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const { place, store } = aPlace(session);
    const { send, refreshes } = watched();
    const api = clientOf(store(), send);
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
    ['has expired', ended],
    ['is refused', refused],
  ])('is refreshed once for twenty simultaneous requests when its token %s', async (_, moment) => {
    const { place, store } = aPlace(moment());
    const { send, sent, refreshes } = watched();
    const api = clientOf(store(), send);
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.get('/v1/auth/me')));
    expect(answers.map(({ user }) => user?.email)).toEqual(Array(20).fill(company.owner.email));
    expect([refreshes().length, place.written]).toEqual([1, 1]);
    expect(sent.at(-1)?.authorization).toBe(`Bearer ${place.session?.token}`);
  });

  it('is refreshed once by two clients of one store', async () => {
    const { store } = aPlace(ended());
    const { send, refreshes } = watched();
    const shared = store();
    await Promise.all([clientOf(shared, send), clientOf(shared, send)].map((api) => api.get('/v1/auth/me')));
    expect(refreshes()).toHaveLength(1);
  });

  it('is refreshed once by two tabs with Web Locks, the second of which reads what the first wrote', async () => {
    let last: Promise<unknown> = Promise.resolve();
    const names = new Set<string>();
    const request = (name: string, held: () => Promise<unknown>) => {
      names.add(name);
      last = last.then(held, held);
      return last;
    };
    vi.stubGlobal('navigator', { locks: { request } });
    const { store } = aPlace(ended());
    const { send, refreshes } = watched();
    await Promise.all([clientOf(store(), send), clientOf(store(), send)].map((api) => api.get('/v1/auth/me')));
    expect(refreshes()).toHaveLength(1);
    expect([...names]).toEqual(['data-console-session']);
  });

  it('survives two tabs without Web Locks that refresh at the same time', async () => {
    const { place, store } = aPlace(ended());
    const { send, refreshes } = watched();
    const [one, other] = [clientOf(store(), send), clientOf(store(), send)];
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

  it('is forgotten once the API has ended it: the request fails with 401, the next has no token', async () => {
    await createClient({
      baseUrl: BASE_URL,
      credential: withSession({ store: aPlace(session).store() }),
      fetch: toWorker(),
    }).post('/v1/auth/logout');
    const { place, store } = aPlace({ ...session, received_at: Date.now() });
    const { send, sent } = watched();
    const api = clientOf(store(), send);
    await expect(api.get('/v1/auth/me')).rejects.toMatchObject({
      status: 401,
      message: expect.stringMatching(/^GET \/v1\/auth\/me answered 401/),
    });
    expect([place.session, sent.map(({ what }) => what)]).toEqual([null, ['GET /v1/auth/me', `POST ${REFRESH_PATH}`]]);
    await expect(api.get('/v1/auth/me')).rejects.toMatchObject({ status: 401 });
    expect(sent.at(-1)).toMatchObject({ what: 'GET /v1/auth/me', authorization: null });
  });

  it.each([
    ['signs out', () => null],
    ['signs in anew', () => ({ ...session, token: 'of.the.other', refresh_token: 'other', received_at: Date.now() })],
  ])('is not overwritten by a refresh during which its user %s', async (_, become) => {
    const { place, store } = aPlace(ended());
    const became = become();
    const { send, sent } = watched((path, go) =>
      path === REFRESH_PATH
        ? go().then((answer) => {
            place.session = became;
            return answer;
          })
        : Response.json({ user: null }),
    );
    await clientOf(store(), send).get('/v1/auth/me');
    expect([place.session, sent.at(-1)?.authorization]).toEqual([became, became ? 'Bearer of.the.other' : null]);
  });

  it('is refreshed again when the answer to its refresh was lost', async () => {
    let lost = 0;
    const { place, store } = aPlace(ended());
    const { send, refreshes } = watched((path, go) =>
      path === REFRESH_PATH && lost++ === 0
        ? go().then(() => Promise.reject(new TypeError('the line is dead')))
        : undefined,
    );
    const api = clientOf(store(), send);
    await api.get('/v1/auth/me');
    expect(refreshes()).toHaveLength(2);
    place.session = { ...(place.session as StoredSession), received_at: 1 };
    expect((await api.get('/v1/auth/me')).user?.email).toBe(company.owner.email);
  });

  it('uses a still valid token while it cannot be refreshed, and is kept when the token has expired', async () => {
    const { place, store } = aPlace({ ...session, received_at: Date.now() - 545_000 });
    const { send } = watched((path) => (path === REFRESH_PATH ? away() : undefined));
    const api = clientOf(store(), send);
    expect((await api.get('/v1/auth/me')).user?.email).toBe(company.owner.email);
    place.session = ended();
    await expect(api.get('/v1/auth/me')).rejects.toMatchObject({ status: 503 });
    expect(place.session).toEqual(ended());
  });

  it('fails with 429 at once when refreshes are limited for 21 seconds', async () => {
    const limit = { status: 429, headers: { 'retry-after': '21' } };
    const { place, store } = aPlace(ended());
    const { send, refreshes } = watched(() => Response.json({ error: 'RATE_LIMIT_EXCEEDED' }, limit));
    await expect(clientOf(store(), send).get('/v1/auth/me')).rejects.toMatchObject({ status: 429, retryAfter: 21 });
    expect([refreshes().length, place.session]).toEqual([1, ended()]);
  });

  it('is refreshed even if the signal of the caller is aborted meanwhile', async () => {
    const { place, store } = aPlace(ended());
    const giving = new AbortController();
    const { send, sent } = watched((path, go) => {
      if (path === REFRESH_PATH) giving.abort(new Error('enough'));
      return path === REFRESH_PATH ? go() : undefined;
    });
    const { signal } = giving;
    await expect(clientOf(store(), send).get('/v1/auth/me', { signal })).rejects.toThrow('enough');
    await expect.poll(() => place.written).toBe(1);
    expect(sent.map(({ what }) => what)).toEqual([`POST ${REFRESH_PATH}`]);
  });

  it('is not refreshed for a route that takes signatures', async () => {
    const { store } = aPlace({ ...session, received_at: Date.now() });
    const { send, refreshes } = watched();
    await expect(clientOf(store(), send).get('/users')).rejects.toMatchObject({ status: 401 });
    expect(refreshes()).toHaveLength(0);
  });

  it('sends no token to sign-in routes, and does not retry them', async () => {
    const limit = { status: 429, headers: { 'retry-after': '0' } };
    const { send, sent } = watched(() => Response.json({ error: 'RATE_LIMIT_EXCEEDED' }, limit));
    const posts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract)).filter(
      ({ method, access, path }) => method === 'post' && access === 'public' && /auth|users/.test(path),
    );
    expect(posts.length).toBeGreaterThan(10);
    for (const credential of [withSession({ store: aPlace(session).store() }), withKey(company.apiKey)]) {
      const api = createClient({ baseUrl: BASE_URL, credential, fetch: send }) as unknown as Record<
        'post',
        (path: string) => Promise<unknown>
      >;
      for (const { path } of posts) {
        sent.length = 0;
        await expect(api.post(fillPath(path, () => 'a'))).rejects.toMatchObject({ status: 429 });
        expect(sent).toMatchObject([{ what: expect.stringMatching(/^POST /), authorization: null }]);
      }
    }
  });

  it('that is signed out does not retry a request that counts failed attempts', async () => {
    const limit = { status: 429, headers: { 'retry-after': '0' } };
    const { send, sent } = watched(() => Response.json({ error: 'RATE_LIMIT_EXCEEDED' }, limit));
    const api = clientOf(aPlace(null).store(), send);
    await expect(api.post('/v1/auth/2fa/enable', { body: { totp_token: '123456' } })).rejects.toMatchObject({
      status: 429,
    });
    expect(sent).toHaveLength(1);
  });
});
