import type { HonoRequest, MiddlewareHandler } from 'hono';
import { readBounded } from '../platform/bounded.ts';
import { bodyTooLarge } from './failures.ts';
import type { HttpEnv } from './mount.ts';

/**
 * Refuses bodies of more than `limit` bytes: at once when the request says how long it is, else as soon as more have
 * come. `c.req` reads the body afterwards as ever. (Hono's own limit builds a new request around an unannounced body,
 * which fails for a GET.)
 */
export const limitBody =
  (limit: number): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    await boundBody(c.req, limit);
    await next();
  };

/** Limits the body of a request whose body is needed before that middleware. */
export async function boundBody({ raw: { body, headers }, bodyCache }: HonoRequest, limit: number): Promise<void> {
  if (body === null || bodyCache.arrayBuffer) return;
  const announced = headers.has('transfer-encoding') ? null : headers.get('content-length');
  if (announced === null) {
    const bytes = await readBounded(body, limit, { leavesRest: true });
    if (bytes === null) throw bodyTooLarge(limit);
    bodyCache.arrayBuffer = Promise.resolve(bytes.buffer) as never;
  } else if (Number(announced) > limit) throw bodyTooLarge(limit);
}
