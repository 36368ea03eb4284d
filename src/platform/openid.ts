import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from 'oauth4webapi';
import { MINUTE_MS } from '../kernel/clock.ts';
import { defineFailure, Failure } from '../kernel/failure.ts';
import { addressProblem } from '../kernel/public-address.ts';
import { RecentlyUsed } from '../kernel/recently-used.ts';
import { outboundFailed, outboundFetch, outboundRefused } from './outbound.ts';

const FRESH_MS = 5 * MINUTE_MS;
const MAX_ISSUERS = 200;

const discovered = new RecentlyUsed<string, { server: AuthorizationServer; readAt: number }>(MAX_ISSUERS);

const discoveryFailed = defineFailure('openid.discovery_failed', 'unavailable', {
  message: 'The identity provider’s discovery document is not valid.',
});

/** The failures of a route that asks an OpenID Provider. */
export const openIdFailures = [outboundRefused, outboundFailed, discoveryFailed] as const;

/** The options with which oauth4webapi calls a provider that a customer chose. Not to be shared between requests. */
export const providerRequestOptions = (allowPrivate: boolean) => ({
  [customFetch]: outboundFetch(allowPrivate) as typeof fetch,
  [allowInsecureRequests]: allowPrivate,
  // With a signal the library does not share a pending fetch between requests, which Workers forbid.
  signal: new AbortController().signal,
});

/** A provider's discovery document, whose `issuer` is verified. The isolate remembers it for five minutes. */
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

/** The address at which a provider signs people in. */
export function authorizationEndpoint(server: AuthorizationServer, allowPrivate: boolean): URL {
  const address = server.authorization_endpoint ?? '';
  const problem = addressProblem(address, allowPrivate);
  if (problem !== null) {
    throw discoveryFailed().because(new Error(`The provider's authorization_endpoint ${problem}.`));
  }
  return new URL(address);
}

/** Whether a claim says yes or no; undefined where it is not sent. Some providers write booleans as texts or numbers. */
const parseBooleanClaim = (claim: unknown): boolean | undefined =>
  claim === undefined || claim === null ? undefined : [true, 'true', 1, '1'].includes(claim as boolean);

/** Whether a provider says that an address is verified; undefined where it says nothing. */
export const isEmailVerified = ({ email_verified }: Record<string, unknown>): boolean | undefined =>
  parseBooleanClaim(email_verified);

/** Whether Entra ID says that the organization owns the address's domain; undefined where it says nothing. */
export const isDomainOwnerVerified = ({ xms_edov }: Record<string, unknown>): boolean | undefined =>
  parseBooleanClaim(xms_edov);

/** Issuers that anybody can have an account of, or organizations that do not know each other. */
const SHARED_HOSTS = [
  ...['accounts.google.com', 'appleid.apple.com', 'login.live.com', 'login.yahoo.com', 'www.facebook.com'],
  ...['www.linkedin.com', 'github.com', 'gitlab.com', 'slack.com', 'discord.com', 'id.twitch.tv', 'www.amazon.com'],
  ...['www.paypal.com', 'login.salesforce.com', 'access.line.me', 'kauth.kakao.com'],
  'token.actions.githubusercontent.com',
];
/** Tenants of Entra ID that are none: of any organization, and of personal accounts. */
const SHARED_TENANTS = ['common', 'organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad'];

/** The problem with trusting the addresses of an issuer; null for none. */
export function trustProblem(issuer: string, isTrusted: boolean): string | null {
  const { hostname, pathname } = new URL(issuer);
  const tenants = decodeURIComponent(pathname).toLowerCase().split('/');
  const isShared =
    SHARED_HOSTS.includes(hostname) || tenants.some((part) => SHARED_TENANTS.includes(part) || part.includes('{'));
  return isTrusted && isShared
    ? 'cannot be true for an issuer of more than one organization: its people could claim any address'
    : null;
}
