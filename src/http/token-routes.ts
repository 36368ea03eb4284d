import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import type { ViewerActor } from '../access/actors.ts';
import { openContext, type VerifyViewerToken } from '../context.ts';
import { Failure } from '../kernel/failure.ts';
import { setHeaders } from './answer.ts';
import { applyCors, EXPOSED_HEADERS, type Header, makePreflight, respondToPreflight } from './cors.ts';
import type { Contract } from './endpoint.ts';
import { type HttpEnv, readOrigin } from './mount.ts';
import { type AuthenticationMethods, isTokenAccess } from './request-checks.ts';

const NO_STORE_HEADER: Header = ['Cache-Control', 'private, no-store'];
const NO_REFERRER_HEADER: Header = ['Referrer-Policy', 'no-referrer'];
const ANY_ORIGIN_HEADER: Header = ['Access-Control-Allow-Origin', '*'];

/**
 * Applies cross-origin rules, and sets the headers of answers to outsiders: shared caches do not store them, and an
 * address that holds a token is passed on to no other site. A token names the origins that may call with it; for all
 * other paths, the configuration names the origins.
 */
export function allowCrossOrigin(
  contracts: readonly Contract[],
  tokens: AuthenticationMethods['tokenVerifiers'],
): MiddlewareHandler<HttpEnv> {
  const tokenContracts = contracts.filter(({ access }) => isTokenAccess(access));
  const tokenPreflightHeaders = makePreflight(tokenContracts, ['Content-Type']);
  const applyGeneralRules = applyCors(contracts);
  const findVerifier = makeVerifierFinder(tokenContracts, tokens);
  return async (c, next) => {
    const foundToken = findVerifier(c.req.path);
    if (foundToken === null) {
      await applyGeneralRules(c, next);
      if (c.get('facts').contract?.credential === 'external') setHeaders(c, [NO_STORE_HEADER]);
      return;
    }
    const isPreflight = c.req.method === 'OPTIONS';
    if (isPreflight) c.res = await respondToPreflight(c, tokenPreflightHeaders);
    else await next();
    const viewer =
      isPreflight && c.res.ok ? await readViewer(c, foundToken.verify, foundToken.token) : findKnownViewer(c);
    // Too many requests are refused before it is known whose pages the token names. Any page may read so: it shows nothing.
    const reader =
      viewer === null && c.res.status === 429 ? [ANY_ORIGIN_HEADER] : makeReaderHeaders(viewer, c.req.header('origin'));
    setHeaders(c, [EXPOSED_HEADERS, NO_STORE_HEADER, NO_REFERRER_HEADER, ...reader]);
    c.res.headers.append('Vary', 'Origin');
  };
}

/** Makes a function that finds the token in a path which begins like a token route, and the function that opens the token. */
function makeVerifierFinder(contracts: readonly Contract[], tokens: AuthenticationMethods['tokenVerifiers']) {
  const verifiers = new Map<string, VerifyViewerToken>();
  for (const { path, access } of contracts) {
    if (isTokenAccess(access)) verifiers.set(path.slice(0, path.indexOf('{token}')), tokens[access.token]);
  }
  return (path: string): { token: string; verify: VerifyViewerToken } | null => {
    for (const [beginning, verify] of verifiers) {
      if (!path.startsWith(beginning)) continue;
      const [token, ...rest] = path.slice(beginning.length).split('/');
      if (token && rest.join('/') !== '') return { token, verify };
    }
    return null;
  };
}

/** Makes the header that lets a page read the answer: any page if the token names no origins, else the named ones. */
function makeReaderHeaders(viewer: ViewerActor | null, origin: string | undefined): Header[] {
  if (viewer === null || origin === undefined) return [];
  if (viewer.allowedOrigins.length === 0) return [ANY_ORIGIN_HEADER];
  return viewer.allowedOrigins.includes(origin) ? [['Access-Control-Allow-Origin', origin]] : [];
}

function findKnownViewer(c: HonoContext<HttpEnv>): ViewerActor | null {
  const { actor } = c.get('facts');
  return actor?.kind === 'viewer' ? actor : null;
}

/** Reads the viewer whose token is in the path of a preflight; null if there is no such token. */
async function readViewer(
  c: HonoContext<HttpEnv>,
  verify: VerifyViewerToken,
  token: string,
): Promise<ViewerActor | null> {
  const { context, close } = openContext(readOrigin(c), { kind: 'anonymous' }, { nearest: true });
  try {
    return await verify(context, token, null);
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  } finally {
    await close();
  }
}
