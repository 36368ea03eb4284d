import type { MiddlewareHandler } from 'hono';
import { cors as honoCors } from 'hono/cors';
import { type Config, configOf } from '../config.ts';
import type { HttpEnv } from './mount.ts';

/** How long a browser may remember a preflight's answer. */
const PREFLIGHT_SECONDS = 600;

const rules = new WeakMap<Config, MiddlewareHandler>();

/** Cross-origin rules of document 1: which origins may call is configuration, the rest is the same everywhere. */
export const cors: MiddlewareHandler<HttpEnv> = (c, next) => {
  const config = configOf(c.env);
  const known = rules.get(config) ?? rulesOf(config);
  rules.set(config, known);
  return known(c, next);
};

const rulesOf = ({ ALLOWED_ORIGINS: allowed }: Config): MiddlewareHandler =>
  honoCors({
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
    maxAge: PREFLIGHT_SECONDS,
  });
