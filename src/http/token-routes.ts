import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import type { ViewerActor } from '../access/actors.ts';
import type { OpenToken } from '../context.ts';
import { openContext } from '../context.ts';
import { answerPreflight, cors, EXPOSED, type Header } from './cors.ts';
import type { TokenKind } from './endpoint.ts';
import type { Doors } from './guard.ts';
import { setHeaders } from './headers.ts';
import { failureOf, type HttpEnv, originOf } from './mount.ts';

const TOKEN_ROUTE = /^\/api\/(embed\/d|embed\/v|v1\/public\/shares)\/([^/]+)\/./;
const KINDS: Record<string, TokenKind> = {
  'embed/d': 'embed-dashboard',
  'embed/v': 'embed-visualization',
  'v1/public/shares': 'share',
};
const PORTAL_ROUTE = /^\/api\/v1\/share-(?:portal|auth)\//;

const PRIVATE: Header = ['Cache-Control', 'private, no-store'];
const NO_REFERRER: Header = ['Referrer-Policy', 'no-referrer'];

/** What a preflight of such a route is told; a browser may remember it for ten minutes. */
const PREFLIGHT: readonly Header[] = [
  ['Access-Control-Allow-Methods', 'GET,POST'],
  ['Access-Control-Allow-Headers', 'Content-Type'],
  ['Access-Control-Max-Age', '600'],
];

/**
 * Cross-origin rules, and what answers to outsiders have in common: nobody keeps them for others, and an address that
 * holds a token is told to no other site. Which origins may call with a token is for the token to say; everywhere else the
 * configuration does.
 */
export const crossOrigin =
  (tokens: Doors['tokens']): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const [, kind, token] = TOKEN_ROUTE.exec(c.req.path) ?? [];
    if (kind === undefined || token === undefined) {
      await cors(c, next);
      if (PORTAL_ROUTE.test(c.req.path)) setHeaders(c, [PRIVATE]);
      return;
    }
    const isPreflight = c.req.method === 'OPTIONS';
    if (isPreflight) c.res = await answerPreflight(c, PREFLIGHT);
    else await next();
    const viewer =
      isPreflight && c.res.ok ? await viewerOf(c, tokens[KINDS[kind] as TokenKind], token) : knownViewer(c);
    setHeaders(c, [EXPOSED, PRIVATE, NO_REFERRER, ...allowedReader(viewer, c.req.header('origin'))]);
    c.res.headers.append('Vary', 'Origin');
  };

/** Who may read the answer: any page where the token names none, else the pages it names. */
function allowedReader(viewer: ViewerActor | null, origin: string | undefined): Header[] {
  if (viewer === null || origin === undefined) return [];
  if (viewer.allowedOrigins.length === 0) return [['Access-Control-Allow-Origin', '*']];
  return viewer.allowedOrigins.includes(origin) ? [['Access-Control-Allow-Origin', origin]] : [];
}

function knownViewer(c: HonoContext<HttpEnv>): ViewerActor | null {
  const { actor } = c.get('seen');
  return actor?.kind === 'viewer' ? actor : null;
}

/** Whom a preflight asks for; null when there is no such token. */
async function viewerOf(c: HonoContext<HttpEnv>, open: OpenToken, token: string): Promise<ViewerActor | null> {
  const { context, close } = openContext(originOf(c), { kind: 'anonymous' }, { nearest: true });
  try {
    return await open(context, token, null);
  } catch (error) {
    if (failureOf(error)) return null;
    throw error;
  } finally {
    await close();
  }
}
