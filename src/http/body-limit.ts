import type { HonoRequest, MiddlewareHandler } from 'hono';
import { readBounded } from '../platform/bounded.ts';
import { bodyTooLarge } from './failures.ts';
import type { HttpEnv } from './mount.ts';

/**
 * Refuses bodies of more than `limit` bytes: at once if the request states its length, else as soon as more have arrived. `c.req`
 * reads the body afterwards as usual. (Hono's own limit builds a new request around an unannounced body, which fails for a GET.)
 */
export const limitBody =
  (limit: number): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    await requireBoundedBody(c.req, limit);
    await next();
  };

/** Limits the body of a request that is needed before the `limitBody` middleware. */
export async function requireBoundedBody(
  { raw: { body, headers }, bodyCache }: HonoRequest,
  limit: number,
): Promise<void> {
  if (body === null || bodyCache.arrayBuffer) return;
  const announcedLength = headers.has('transfer-encoding') ? null : headers.get('content-length');
  if (announcedLength === null) {
    const bytes = await readBounded(body, limit, { leavesRest: true });
    if (bytes === null) throw bodyTooLarge(limit);
    bodyCache.arrayBuffer = Promise.resolve(bytes.buffer) as never;
  } else if (Number(announcedLength) > limit) throw bodyTooLarge(limit);
}
