import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import { readConfig } from '../config.ts';
import { openContext } from '../context.ts';
import { makeTooManyRequestsResponse, setHeaders } from './answer.ts';
import type { Contract } from './endpoint.ts';
import { type HttpEnv, readOrigin } from './mount.ts';
import { matchesPath } from './paths.ts';
import { countPreflight, makeRateLimitFailure } from './rate-limits.ts';

export type Header = readonly [name: string, value: string];

/** Our response headers that pages of other origins may read. */
export const EXPOSED_HEADERS: Header = [
  'Access-Control-Expose-Headers',
  'x-correlation-id,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,Retry-After,Location,ETag,Idempotency-Replayed,X-Truncated,Content-Disposition,WWW-Authenticate',
];

const HTTP_METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Request headers that callers of any route may send. */
const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'x-date',
  'x-nonce',
  'x-content-sha256',
  'If-Match',
  'If-None-Match',
  'Mcp-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
];

/** Makes the CORS headers that answer a preflight for these routes. Browsers cache them for two hours at most. */
export function makePreflight(contracts: readonly Contract[], headers: readonly string[] = REQUEST_HEADERS): Header[] {
  const methods = HTTP_METHODS.filter((method) => contracts.some((contract) => contract.method === method));
  return [
    ['Access-Control-Allow-Methods', methods.join(',').toUpperCase()],
    ['Access-Control-Allow-Headers', headers.join(',')],
    ['Access-Control-Max-Age', '7200'],
  ];
}

/** Finds the headers that the protocols of a path's routes allow and send, in addition to those of all routes. */
function findProtocolHeaders(contracts: readonly Contract[], path: string) {
  const protocols = contracts.flatMap(({ protocol, path: contractPath }) =>
    protocol && matchesPath(contractPath, path) ? [protocol] : [],
  );
  const [first] = protocols;
  return {
    allowed: new Set(protocols.flatMap(({ allowedHeaders }) => allowedHeaders)),
    exposed: new Set(
      protocols.flatMap((protocol) =>
        Object.keys({ ...protocol.answerHeaders, ...protocol.optionsHeaders, ...protocol.successHeaders }),
      ),
    ),
    options: first ? Object.entries({ ...first.answerHeaders, ...first.optionsHeaders }) : [],
  };
}

/**
 * Applies the cross-origin rules: pages of the configured origins may read answers, and pages of any origin those of
 * some routes. Cookies are never allowed, since tokens are sent in headers.
 */
export function applyCors(contracts: readonly Contract[]): MiddlewareHandler<HttpEnv> {
  const anyOriginPaths = new Set(contracts.flatMap(({ anyOrigin, path }) => (anyOrigin ? [path] : [])));
  const protocolContracts = contracts.filter(({ protocol }) => protocol);
  return async (c, next) => {
    const { ALLOWED_ORIGINS: allowedOrigins } = readConfig(c.env);
    const origin = c.req.header('origin');
    const isAnyOriginAllowed = allowedOrigins.includes('*');
    const { allowed, exposed, options } = findProtocolHeaders(protocolContracts, c.req.path);
    if (c.req.method === 'OPTIONS') {
      c.res = await respondToPreflight(c, [...makePreflight(contracts, [...REQUEST_HEADERS, ...allowed]), ...options]);
    } else await next();
    const reader =
      isAnyOriginAllowed || anyOriginPaths.has(c.req.path)
        ? '*'
        : allowedOrigins.find((allowedOrigin) => allowedOrigin === origin);
    setHeaders(c, [
      [EXPOSED_HEADERS[0], [EXPOSED_HEADERS[1], ...exposed].join(',')],
      ...(reader === undefined ? [] : [['Access-Control-Allow-Origin', reader] as const]),
    ]);
    // Caches must not give one origin the answer made for another.
    if (!isAnyOriginAllowed) c.res.headers.append('Vary', 'Origin');
  };
}

/** Answers a preflight, which counts against a limit of its own for the caller's address. */
export async function respondToPreflight(c: HonoContext<HttpEnv>, headers: readonly Header[]): Promise<Response> {
  const { context } = openContext(readOrigin(c), { kind: 'anonymous' });
  const ipLimit = await countPreflight(context);
  c.get('facts').limitStates.push(ipLimit);
  if (!ipLimit.allowed) return makeTooManyRequestsResponse(makeRateLimitFailure(ipLimit, context.now()));
  return new Response(null, { status: 204, headers: Object.fromEntries(headers) });
}
