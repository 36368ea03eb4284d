import type { Context as HonoContext } from 'hono';

/**
 * Sets headers of the answer that is about to leave. Hono's own `c.header` copies the whole answer for each of them; this
 * copies it once, and only where it cannot be changed, as one that came from `fetch`.
 */
export function setHeaders(c: HonoContext, headers: readonly (readonly [name: string, value: string])[]): void {
  try {
    for (const [name, value] of headers) c.res.headers.set(name, value);
  } catch {
    c.res = new Response(c.res.body, c.res);
    for (const [name, value] of headers) c.res.headers.set(name, value);
  }
}
