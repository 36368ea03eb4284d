import { type Key, signedRequest } from '../../examples/signing/sign.ts';
import type { Usage } from '../cost/usage.ts';

/** Company of the load test, with the keys of its service accounts. */
export interface Company {
  id: string;
  keys: Key[];
}

/** Number of requests that are in progress at once, as from a client with that many connections. */
const CONCURRENCY = 16;

/** Runs `handleItem` on every item, `CONCURRENCY` items at once. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  handleItem: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const pendingItems = items.entries();
  const handleNextItems = async () => {
    for (const [index, item] of pendingItems) await handleItem(item, index);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, handleNextItems));
}

const TRY_COUNT = 4;

/**
 * Sends a request; if that fails, makes it anew and sends it over a new connection, since the runtime closes idle
 * connections, at times just when a request arrives.
 * @throws the last error after `TRY_COUNT` tries
 */
export async function fetchWithRetry(makeRequest: () => string | Promise<Request>): Promise<Response> {
  for (let tryCount = 1; ; tryCount += 1) {
    const request = new Request(await makeRequest());
    if (tryCount > 1) request.headers.set('connection', 'close');
    try {
      return await fetch(request);
    } catch (error) {
      if (tryCount === TRY_COUNT) throw error;
    }
  }
}

/** Creates companies with a number of principals each. */
export async function createCompanies(baseUrl: string, count: number, principalCount: number): Promise<Company[]> {
  const companies: Company[] = [];
  await forEachConcurrently(Array.from({ length: count }), async (_, n) => {
    const answer = await fetchWithRetry(
      () => `${baseUrl}/bench/found?slug=crowd-${n}-${Date.now()}&principals=${principalCount}`,
    );
    if (!answer.ok) throw new Error(`No company was made: ${await answer.text()}`);
    companies.push((await answer.json()) as Company);
  });
  return companies;
}

/** Sends a signed request from an address that is derived from `from`. @throws unless it succeeds */
export async function sendSigned(baseUrl: string, key: Key, path: string, from: number): Promise<void> {
  const answer = await fetchWithRetry(async () => {
    const request = await signedRequest(key, 'GET', baseUrl + path);
    request.headers.set('cf-connecting-ip', `203.0.${(from >> 8) % 256}.${from % 256}`);
    return request;
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`GET ${path} answered ${answer.status}: ${text}`);
}

/** Reads the use since the previous call of this function. */
export const readUsage = async (baseUrl: string): Promise<Usage> =>
  (await fetchWithRetry(() => `${baseUrl}/bench/usage`)).json() as Promise<Usage>;

/** Counts queries of D1 for authorization or after answers; queries of handlers are left out. */
export const countNonHandlerQueries = (usage: Usage): number =>
  (usage['d1.queries.entrance'] ?? 0) + (usage['d1.queries.afterwards'] ?? 0);
