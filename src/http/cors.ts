import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import { configOf } from '../config.ts';
import { openContext } from '../context.ts';
import { tooManyRequests } from './answer.ts';
import { setHeaders } from './headers.ts';
import { type HttpEnv, originOf } from './mount.ts';
import { countByIp, rateLimited } from './rate-limits.ts';

export type Header = readonly [name: string, value: string];

/** Headers of ours that pages of other origins may read. */
export const EXPOSED: Header = [
  'Access-Control-Expose-Headers',
  'x-correlation-id,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,Retry-After,Location',
];

/** What a preflight is told, whoever asks; a browser may remember it for ten minutes. */
const PREFLIGHT: readonly Header[] = [
  ['Access-Control-Allow-Methods', 'GET,POST,PUT,PATCH,DELETE'],
  ['Access-Control-Allow-Headers', 'Authorization,Content-Type,x-date,x-nonce,x-content-sha256'],
  ['Access-Control-Max-Age', '600'],
];

/**
 * Cross-origin rules of document 1: which origins may call is configuration, the rest is the same everywhere. Cookies are
 * never allowed: tokens and signatures travel in headers.
 */
export const cors: MiddlewareHandler<HttpEnv> = async (c, next) => {
  const { ALLOWED_ORIGINS: allowed } = configOf(c.env);
  const origin = c.req.header('origin');
  const anyone = allowed.includes('*');
  if (c.req.method === 'OPTIONS') c.res = await answerPreflight(c, PREFLIGHT);
  else await next();
  const reader = anyone ? '*' : allowed.find((one) => one === origin);
  setHeaders(c, reader === undefined ? [EXPOSED] : [EXPOSED, ['Access-Control-Allow-Origin', reader]]);
  // Caches must not give one origin the answer made for another.
  if (!anyone) c.res.headers.append('Vary', 'Origin');
};

/** The answer to a preflight, which counts against the limit of its address as every request does. */
export async function answerPreflight(c: HonoContext<HttpEnv>, headers: readonly Header[]): Promise<Response> {
  const { context } = openContext(originOf(c), { kind: 'anonymous' });
  const byIp = await countByIp(context);
  c.get('seen').limits.push(byIp);
  if (!byIp.allowed) return tooManyRequests(rateLimited(byIp, context.now()));
  return new Response(null, { status: 204, headers: Object.fromEntries(headers) });
}
