/** The header with data about a cached text. */
const METADATA_HEADER = 'X-About';

/** A text that is cached at the edge, and the data about it. */
export interface CachedText {
  body: ReadableStream<Uint8Array> | null;
  metadata: string;
}

/** Finds a cached text. @param url a URL under our own host: Cloudflare caches nothing under other hosts */
export async function findCached(cache: string, url: string): Promise<CachedText | undefined> {
  const cachedResponse = await (await caches.open(cache)).match(url);
  // Another version of this program may have kept it in another form.
  const about = cachedResponse?.headers.get(METADATA_HEADER) ?? null;
  return cachedResponse && about !== null
    ? { body: cachedResponse.body, metadata: decodeURIComponent(about) }
    : undefined;
}

/** Caches a text for at most `seconds`. */
export async function putCached(
  cache: string,
  url: string,
  text: string,
  { seconds, metadata = '' }: { seconds: number; metadata?: string },
): Promise<void> {
  const headers = { 'Cache-Control': `max-age=${seconds}`, [METADATA_HEADER]: encodeURIComponent(metadata) };
  await (await caches.open(cache)).put(url, new Response(text, { headers }));
}
