import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from 'oauth4webapi';
import { MINUTE_MS } from '../kernel/clock.ts';
import { defineFailure, Failure } from '../kernel/failure.ts';
import { findUrlProblem } from '../kernel/public-address.ts';
import { RecentlyUsed } from '../kernel/recently-used.ts';
import { createOutboundFetch, outboundFailed, outboundRefused } from './outbound.ts';

const DISCOVERY_CACHE_MS = 5 * MINUTE_MS;
const MAX_ISSUERS = 200;

const discoveredServers = new RecentlyUsed<string, { server: AuthorizationServer; readAt: number }>(MAX_ISSUERS);

const discoveryFailed = defineFailure('openid.discovery_failed', 'unavailable', {
  message: 'The identity provider’s discovery document is not valid.',
});

/** The failures of a route that calls an OpenID Provider. */
export const openIdFailures = [outboundRefused, outboundFailed, discoveryFailed] as const;

/** Makes the options with which oauth4webapi calls a provider that a customer chose. Do not share them between requests. */
export const makeProviderRequestOptions = (allowPrivateHosts: boolean) => ({
  [customFetch]: createOutboundFetch(allowPrivateHosts) as typeof fetch,
  [allowInsecureRequests]: allowPrivateHosts,
  // With a signal the library does not share a pending fetch between requests, which Workers forbid.
  signal: new AbortController().signal,
});

/** Reads a provider's discovery document, whose `issuer` is verified. The isolate caches it for five minutes. */
export async function discoverProvider(issuer: string, allowPrivateHosts: boolean): Promise<AuthorizationServer> {
  const key = `${allowPrivateHosts} ${issuer}`;
  const cachedServer = discoveredServers.get(key);
  if (cachedServer && Date.now() - cachedServer.readAt < DISCOVERY_CACHE_MS) return cachedServer.server;
  const server = await readDiscovery(new URL(issuer), allowPrivateHosts);
  discoveredServers.set(key, { server, readAt: Date.now() });
  return server;
}

async function readDiscovery(identifier: URL, allowPrivateHosts: boolean): Promise<AuthorizationServer> {
  try {
    const response = await discoveryRequest(identifier, {
      algorithm: 'oidc',
      ...makeProviderRequestOptions(allowPrivateHosts),
    });
    return await processDiscoveryResponse(identifier, response);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw discoveryFailed().addCause(error);
  }
}

/** Returns the URL at which a provider signs users in. @throws where the URL is missing or not allowed */
export function getAuthorizationEndpoint(server: AuthorizationServer, allowPrivateHosts: boolean): URL {
  const url = server.authorization_endpoint ?? '';
  const problem = findUrlProblem(url, allowPrivateHosts);
  if (problem !== null) {
    throw discoveryFailed().addCause(new Error(`The provider's authorization_endpoint ${problem}.`));
  }
  return new URL(url);
}

/** Parses a claim that says yes or no; undefined where it is missing. Some providers write booleans as texts or numbers. */
const parseBooleanClaim = (claim: unknown): boolean | undefined =>
  claim === undefined || claim === null ? undefined : [true, 'true', 1, '1'].includes(claim as boolean);

/** Tells whether a provider says that an email address is verified; undefined where it says nothing. */
export const isEmailVerified = ({ email_verified }: Record<string, unknown>): boolean | undefined =>
  parseBooleanClaim(email_verified);

/** Tells whether Entra ID says that the organization owns the email address's domain; undefined where it says nothing. */
export const isDomainOwnerVerified = ({ xms_edov }: Record<string, unknown>): boolean | undefined =>
  parseBooleanClaim(xms_edov);

/** The hosts of issuers where anybody can have an account, or which unrelated organizations share. */
const SHARED_HOSTS = [
  ...['accounts.google.com', 'appleid.apple.com', 'login.live.com', 'login.yahoo.com', 'www.facebook.com'],
  ...['www.linkedin.com', 'github.com', 'gitlab.com', 'slack.com', 'discord.com', 'id.twitch.tv', 'www.amazon.com'],
  ...['www.paypal.com', 'login.salesforce.com', 'access.line.me', 'kauth.kakao.com'],
  'token.actions.githubusercontent.com',
];
/** The names in Entra ID that stand for no single tenant: for any organization, and for personal accounts. */
const SHARED_TENANT_NAMES = ['common', 'organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad'];

/** Finds the problem with trusting the email addresses of an issuer; null if there is none. */
export function findTrustProblem(issuer: string, isTrusted: boolean): string | null {
  const { hostname, pathname } = new URL(issuer);
  // The names are ASCII; elsewhere a path may have a `%` that encodes nothing, or bytes that are no UTF-8.
  const tenants = pathname
    .replaceAll(/%[0-7][0-9a-f]/gi, decodeURIComponent)
    .toLowerCase()
    .split('/');
  const isShared =
    SHARED_HOSTS.includes(hostname) ||
    tenants.some((tenant) => SHARED_TENANT_NAMES.includes(tenant) || tenant.includes('{'));
  return isTrusted && isShared
    ? 'cannot be true for an issuer of more than one organization: its people could claim any address'
    : null;
}
