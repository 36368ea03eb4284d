import { type Key, signedRequest } from '../../examples/signing/sign.ts';
import type { Usage } from '../cost/usage.ts';

/** A company of the crowd, with the keys of its service accounts. */
export interface Company {
  id: string;
  keys: Key[];
}

/** How many requests are under way at once, as a client with that many connections. */
const CONCURRENCY = 16;

/** Does something with each of them, so many at once. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const waiting = items.entries();
  const goOn = async () => {
    for (const [index, item] of waiting) await work(item, index);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, goOn));
}

const TRIES = 4;

/**
 * The runtime closes connections that are idle, at times just when a request comes: it is made and sent once more, over a
 * connection of its own, since all that are kept may be closed by then.
 */
export async function fetchAgain(make: () => string | Promise<Request>): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const request = new Request(await make());
    if (tries > 1) request.headers.set('connection', 'close');
    try {
      return await fetch(request);
    } catch (error) {
      if (tries === TRIES) throw error;
    }
  }
}

/** Makes companies of so many principals each. */
export async function createCompanies(baseUrl: string, count: number, principals: number): Promise<Company[]> {
  const companies: Company[] = [];
  await forEachConcurrently(Array.from({ length: count }), async (_, n) => {
    const answer = await fetchAgain(
      () => `${baseUrl}/bench/found?slug=crowd-${n}-${Date.now()}&principals=${principals}`,
    );
    if (!answer.ok) throw new Error(`No company was made: ${await answer.text()}`);
    companies.push((await answer.json()) as Company);
  });
  return companies;
}

/** Sends a signed request from an address of its own sort, which must be answered well. */
export async function sendSigned(baseUrl: string, key: Key, path: string, from: number): Promise<void> {
  const answer = await fetchAgain(async () => {
    const request = await signedRequest(key, 'GET', baseUrl + path);
    request.headers.set('cf-connecting-ip', `203.0.${(from >> 8) % 256}.${from % 256}`);
    return request;
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`GET ${path} answered ${answer.status}: ${text}`);
}

/** What was used since the last call of this. */
export const readUsage = async (baseUrl: string): Promise<Usage> =>
  (await fetchAgain(() => `${baseUrl}/bench/usage`)).json() as Promise<Usage>;

/** Queries of D1 that let requests in, or followed their answers; not those of handlers. */
export const countQueries = (usage: Usage): number =>
  (usage['d1.queries.entrance'] ?? 0) + (usage['d1.queries.afterwards'] ?? 0);
