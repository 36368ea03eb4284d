import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import type { ViewerActor } from '../access/actors.ts';
import { type OpenToken, openContext } from '../context.ts';
import { Failure } from '../kernel/failure.ts';
import { setHeaders } from './answer.ts';
import { applyCors, EXPOSED_HEADERS, type Header, makePreflight, respondToPreflight } from './cors.ts';
import type { Contract } from './endpoint.ts';
import { type HttpEnv, readOrigin } from './mount.ts';
import { type Authentication, isTokenAccess } from './request-checks.ts';

const NO_STORE_HEADER: Header = ['Cache-Control', 'private, no-store'];
const NO_REFERRER: Header = ['Referrer-Policy', 'no-referrer'];
const ANY_PAGE: Header = ['Access-Control-Allow-Origin', '*'];

/**
 * Cross-origin rules, and the headers of answers to outsiders: no cache keeps them for others, and an address that holds a token
 * is told to no other site. A token names the origins that may call with it; everywhere else the configuration does.
 */
export function allowCrossOrigin(
  contracts: readonly Contract[],
  tokens: Authentication['tokens'],
): MiddlewareHandler<HttpEnv> {
  const opened = contracts.filter(({ access }) => isTokenAccess(access));
  const ofTokens = makePreflight(opened, ['Content-Type']);
  const ofAll = applyCors(contracts);
  const openerByKind = listTokenOpeners(opened, tokens);
  return async (c, next) => {
    const asked = openerByKind(c.req.path);
    if (asked === null) {
      await ofAll(c, next);
      if (c.get('facts').contract?.credential === 'external') setHeaders(c, [NO_STORE_HEADER]);
      return;
    }
    const isPreflight = c.req.method === 'OPTIONS';
    if (isPreflight) c.res = await respondToPreflight(c, ofTokens);
    else await next();
    const viewer = isPreflight && c.res.ok ? await readViewer(c, asked.open, asked.token) : findKnownViewer(c);
    // Too many requests are refused before it is known whose pages the token names. Any page may read so: it shows nothing.
    const reader =
      viewer === null && c.res.status === 429 ? [ANY_PAGE] : findAllowedReader(viewer, c.req.header('origin'));
    setHeaders(c, [EXPOSED_HEADERS, NO_STORE_HEADER, NO_REFERRER, ...reader]);
    c.res.headers.append('Vary', 'Origin');
  };
}

/** Finds the token in a path that begins as a route of tokens does, and the function that opens such tokens. */
function listTokenOpeners(contracts: readonly Contract[], tokens: Authentication['tokens']) {
  const openers = new Map<string, OpenToken>();
  for (const { path, access } of contracts) {
    if (isTokenAccess(access)) openers.set(path.slice(0, path.indexOf('{token}')), tokens[access.token]);
  }
  return (path: string): { token: string; open: OpenToken } | null => {
    for (const [beginning, open] of openers) {
      if (!path.startsWith(beginning)) continue;
      const [token, ...rest] = path.slice(beginning.length).split('/');
      if (token && rest.join('/') !== '') return { token, open };
    }
    return null;
  };
}

/** The header that lets a page read the answer: any page where the token names none, else the pages it names. */
function findAllowedReader(viewer: ViewerActor | null, origin: string | undefined): Header[] {
  if (viewer === null || origin === undefined) return [];
  if (viewer.allowedOrigins.length === 0) return [ANY_PAGE];
  return viewer.allowedOrigins.includes(origin) ? [['Access-Control-Allow-Origin', origin]] : [];
}

function findKnownViewer(c: HonoContext<HttpEnv>): ViewerActor | null {
  const { actor } = c.get('facts');
  return actor?.kind === 'viewer' ? actor : null;
}

/** The viewer whose token is in the path of a preflight; null when there is no such token. */
async function readViewer(c: HonoContext<HttpEnv>, open: OpenToken, token: string): Promise<ViewerActor | null> {
  const { context, close } = openContext(readOrigin(c), { kind: 'anonymous' }, { nearest: true });
  try {
    return await open(context, token, null);
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  } finally {
    await close();
  }
}
