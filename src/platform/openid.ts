import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from 'oauth4webapi';
import { MINUTE_MS } from '../kernel/clock.ts';
import { defineFailure, Failure } from '../kernel/failure.ts';
import { RecentlyUsed } from '../kernel/recently-used.ts';
import { outboundFailed, outboundFetch, outboundRefused } from './outbound.ts';

const FRESH_MS = 5 * MINUTE_MS;
const MAX_ISSUERS = 200;

const discovered = new RecentlyUsed<string, { server: AuthorizationServer; readAt: number }>(MAX_ISSUERS);

const discoveryFailed = defineFailure('openid.discovery_failed', {
  kind: 'unavailable',
  detail: { message: 'The identity provider’s discovery document is not valid.' },
  says: { console: 'SERVICE_UNAVAILABLE' },
});

/** What a route can answer that asks an OpenID Provider. */
export const openIdFailures = [outboundRefused, outboundFailed, discoveryFailed] as const;

/** How oauth4webapi calls a provider that a customer chose. Not to be shared between requests. */
export const providerRequestOptions = (allowPrivate: boolean) => ({
  [customFetch]: outboundFetch(allowPrivate) as typeof fetch,
  [allowInsecureRequests]: allowPrivate,
  // With a signal the library does not share a pending fetch between requests, which Workers forbid.
  signal: new AbortController().signal,
});

/**
 * An OpenID Provider's discovery document (`{issuer}/.well-known/openid-configuration`), whose `issuer` is verified. The
 * isolate remembers it for five minutes.
 */
export async function discover(issuer: string, allowPrivate: boolean): Promise<AuthorizationServer> {
  const key = `${allowPrivate} ${issuer}`;
  const known = discovered.get(key);
  if (known && Date.now() - known.readAt < FRESH_MS) return known.server;
  const server = await readDiscovery(new URL(issuer), allowPrivate);
  discovered.set(key, { server, readAt: Date.now() });
  return server;
}

async function readDiscovery(identifier: URL, allowPrivate: boolean): Promise<AuthorizationServer> {
  try {
    const response = await discoveryRequest(identifier, { algorithm: 'oidc', ...providerRequestOptions(allowPrivate) });
    return await processDiscoveryResponse(identifier, response);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw discoveryFailed().because(error);
  }
}

/** Whether an `email_verified` says so. Some providers write the boolean as a string. */
export const isEmailVerified = (claim: unknown): boolean => claim === true || claim === 'true';
