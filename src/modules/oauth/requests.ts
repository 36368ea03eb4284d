import { invalidToken } from '../../access/failures.ts';
import type { Context } from '../../context.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { Failure, type FailureType } from '../../kernel/failure.ts';
import type { AuthorizationRequestView } from '../../presentation/authorization.ts';
import { signToken, verifyToken } from '../sign-in/service.ts';
import { findClient, findClientHost, type OAuthClient } from './clients.ts';
import {
  interactionRequired,
  invalidRequest,
  invalidTarget,
  requestEnded,
  requestNotSupported,
  unsupportedResponseType,
} from './failures.ts';
import { isSameRedirect } from './redirects.ts';
import { areScopesReadOnly, parseScopes } from './scopes.ts';
import type { Resource } from './store.ts';
import { findResource } from './tokens.ts';

/** The time in which a user has to sign in and consent. */
const CONSENT_REQUEST_LIFETIME_MS = HOUR_MS / 2;

/**
 * The authorization request shown on the consent page. The page carries it as a signed token, so that the user consents to
 * exactly what was shown.
 */
export interface ConsentRequest {
  /** The unique id of the request: each request can be answered only once. */
  jti: string;
  sub: string;
  /** The id of the company whose users may consent; an empty string for any company. */
  company_id: string;
  client: { name: string; host: string | null };
  scopes: string[];
  resource: Resource;
  /** The redirect for the response to an authorization request. */
  redirect: { uri: string; state: string | null; challenge: string } | null;
  /** Digest and expiry of a device code. */
  device: { digest: string; expires_at: number } | null;
}

/**
 * The outcome of reading an authorization request: `asked`: the user is asked for consent; `refused`: the browser is redirected
 * to the client with an error; `unknown`: the client or redirect URI is not registered, so that no redirect is possible.
 */
export type AuthorizationOutcome =
  | { kind: 'asked'; request: ConsentRequest; client: OAuthClient }
  | { kind: 'refused'; redirectTo: string }
  | { kind: 'unknown'; problem: 'client' | 'redirect' };

/** Returns a query parameter; a parameter that occurs twice is refused. */
function readSingleParameter(
  query: URLSearchParams,
  name: string,
  duplicateFailure: FailureType = invalidRequest,
): string | undefined {
  const sentValues = query.getAll(name);
  if (sentValues.length > 1) throw duplicateFailure();
  return sentValues[0] || undefined;
}

const MAX_STATE_LENGTH = 2048;

/** Reads an authorization request (OAuth 2.1, PKCE by S256). Answers, also errors, go only to a registered redirect URI. */
export async function readAuthorization(ctx: Context, query: URLSearchParams): Promise<AuthorizationOutcome> {
  const [clientId, ...others] = query.getAll('client_id');
  const client = clientId !== undefined && others.length === 0 ? await findClient(ctx, clientId) : undefined;
  if (!client) return { kind: 'unknown', problem: 'client' };
  const [redirectUri, ...more] = query.getAll('redirect_uri');
  if (
    redirectUri === undefined ||
    more.length > 0 ||
    !client.redirectUris.some((uri) => isSameRedirect(uri, redirectUri))
  )
    return { kind: 'unknown', problem: 'redirect' };
  const state = query.get('state');
  try {
    if (state !== null && (query.getAll('state').length > 1 || state.length > MAX_STATE_LENGTH)) throw invalidRequest();
    return { kind: 'asked', client, request: toConsentRequest(ctx, query, client, { uri: redirectUri, state }) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const validState = state !== null && state.length <= MAX_STATE_LENGTH ? state : null;
    return { kind: 'refused', redirectTo: buildErrorRedirect(ctx, { uri: redirectUri, state: validState }, error) };
  }
}

function toConsentRequest(
  ctx: Context,
  query: URLSearchParams,
  client: OAuthClient,
  { uri, state }: { uri: string; state: string | null },
): ConsentRequest {
  if (query.has('request') || query.has('request_uri')) throw requestNotSupported();
  if (readSingleParameter(query, 'response_type') !== 'code') throw unsupportedResponseType();
  if ((readSingleParameter(query, 'response_mode') ?? 'query') !== 'query')
    throw invalidRequest('`response_mode` must be `query`.');
  const challenge = readSingleParameter(query, 'code_challenge') ?? '';
  if (readSingleParameter(query, 'code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge)) {
    throw invalidRequest('PKCE is needed: a `code_challenge` by the `code_challenge_method` S256.');
  }
  const resource = findResource(ctx, readSingleParameter(query, 'resource', invalidTarget));
  const scopes = parseScopes(readSingleParameter(query, 'scope'));
  if (readSingleParameter(query, 'prompt') === 'none') throw interactionRequired();
  return {
    ...makeConsentRequest(client, findClientHost(client, uri), scopes, resource),
    jti: ctx.newId(),
    redirect: { uri, state, challenge },
    device: null,
  };
}

/** Makes the part of a consent request that is the same with and without a device. */
export const makeConsentRequest = (client: OAuthClient, host: string | null, scopes: string[], resource: Resource) => ({
  sub: client.id,
  company_id: client.companyId ?? '',
  client: { name: client.name, host },
  scopes,
  resource,
});

/** Signs a consent request, and returns what the consent page shows of it. */
export async function viewConsentRequest(ctx: Context, request: ConsentRequest): Promise<AuthorizationRequestView> {
  const now = ctx.now();
  const { company_id: companyId, client, scopes, resource } = request;
  return {
    request: await signToken(
      ctx,
      'oauth-request',
      { ...request, sid: request.jti, token_type: 'access' },
      { issuedAt: now, expiresAt: now + CONSENT_REQUEST_LIFETIME_MS },
    ),
    client: { ...client, is_registered: companyId !== '' },
    scopes,
    only_reads: areScopesReadOnly(scopes),
    resource,
  };
}

/** Verifies the signed consent request that the user answers. @throws requestEnded if it has expired, or we did not sign it */
export const verifyConsentRequest = (ctx: Context, token: string): Promise<ConsentRequest> =>
  verifyToken<ConsentRequest>(ctx, 'oauth-request', token, 'access').catch((error) => {
    throw invalidToken.matches(error) ? requestEnded() : error;
  });

/** Builds the redirect to the client with the authorization response (with `iss`, RFC 9207). */
export function buildResponseRedirect(
  { baseUrl }: Context,
  { uri, state }: { uri: string; state: string | null },
  response: Record<string, string>,
): string {
  const parameters = new URLSearchParams({ ...response, ...(state !== null && { state }), iss: baseUrl });
  return `${uri}${uri.includes('?') ? '&' : '?'}${parameters}`;
}

/** Builds the redirect to the client with an OAuth error code. */
export function buildErrorRedirect(ctx: Context, to: { uri: string; state: string | null }, failure: Failure): string {
  const { oauth } = failure.wordings;
  const code = (typeof oauth === 'object' ? oauth.code : oauth) ?? 'invalid_request';
  return buildResponseRedirect(ctx, to, {
    error: code,
    error_description: failure.message.replaceAll(/[^\x20-\x7e]|["\\]/g, "'"),
  });
}
