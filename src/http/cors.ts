import type { MiddlewareHandler } from 'hono';
import { cors as honoCors } from 'hono/cors';
import { configOf } from '../config.ts';
import type { HttpEnv } from './mount.ts';

/** Cross-origin rules of document 1. `ALLOWED_ORIGINS` lists the origins; `*` allows any, in development only. */
export const cors: MiddlewareHandler<HttpEnv> = async (c, next) => {
  const allowed = configOf(c.env)
    .ALLOWED_ORIGINS.split(',')
    .map((origin) => origin.trim())
    .filter(Boolean);
  const middleware = honoCors({
    origin: allowed.includes('*') ? '*' : allowed,
    allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowHeaders: ['Authorization', 'Content-Type', 'x-date', 'x-nonce', 'x-content-sha256'],
    exposeHeaders: [
      'x-correlation-id',
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'Retry-After',
    ],
    maxAge: 600,
  });
  return middleware(c, next);
};
