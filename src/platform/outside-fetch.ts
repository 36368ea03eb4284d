import { resolve4, resolve6 } from 'node:dns/promises';
import { clock } from '../kernel/clock.ts';
import { findUrlProblem, isIpAddress, isPublicHost } from '../kernel/public-address.ts';
import { RecentlyUsed } from '../kernel/recently-used.ts';
import { awaitWithinTime } from '../kernel/time-limit.ts';

/** The time for which a DNS lookup is valid: between two attempts of a webhook the name may be pointed to another address. */
const LOOKUP_CACHE_MS = 30_000;
const LOOKUP_TIMEOUT_MS = 5_000;
/** The DNS errors which say that a name has no addresses of one kind, while it may have addresses of the other. */
const NO_ADDRESS_ERRORS = ['ENOTFOUND', 'ENODATA'];

/** The time until which each name is known to lead to public addresses. */
const verifiedNames = new RecentlyUsed<string, number>(1_000);

/** Thrown for a URL that may not be called. */
export class AddressRefusedError extends Error {
  /** The problem of the URL, to follow the words "The address". */
  readonly problem: string;

  constructor(problem: string) {
    super(`the address ${problem}`);
    this.name = 'AddressRefusedError';
    this.problem = problem;
  }
}

/**
 * Fetches from a URL that customers choose: the URL must be public, and so must all addresses that its name currently leads to.
 * Redirects are not followed. @param allowPrivateHosts see {@link findUrlProblem}; if true, names are not looked up @throws
 * AddressRefusedError, and the errors of `fetch`
 */
export async function fetchOutside(url: string, init: RequestInit, allowPrivateHosts: boolean): Promise<Response> {
  const problem = findUrlProblem(url, allowPrivateHosts);
  if (problem !== null) throw new AddressRefusedError(problem);
  if (!allowPrivateHosts) await requirePublicName(new URL(url).hostname);
  return fetch(url, { ...init, redirect: 'manual' });
}

async function requirePublicName(hostname: string): Promise<void> {
  const now = clock.now();
  if (isIpAddress(hostname) || (verifiedNames.get(hostname) ?? 0) > now) return;
  const lookupPromise = Promise.all([resolve4, resolve6].map((resolve) => resolve(hostname).catch(toNoAddresses)));
  const foundAddresses = (await awaitWithinTime(LOOKUP_TIMEOUT_MS, lookupPromise)).flat();
  if (foundAddresses.length === 0) throw new Error(`${hostname} has no address`);
  if (!foundAddresses.map(toHostname).every((host) => isPublicHost(host)))
    throw new AddressRefusedError('must be on a public host');
  verifiedNames.set(hostname, now + LOOKUP_CACHE_MS);
}

function toNoAddresses(error: NodeJS.ErrnoException): string[] {
  if (NO_ADDRESS_ERRORS.includes(error.code ?? '')) return [];
  throw error;
}

/** Converts a DNS answer to a host name: it may hold addresses, and aliases on the way to them. */
const toHostname = (dnsAnswer: string): string =>
  new URL(`https://${dnsAnswer.includes(':') ? `[${dnsAnswer}]` : dnsAnswer}`).hostname;
