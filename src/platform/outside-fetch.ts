import { resolve4, resolve6 } from 'node:dns/promises';
import { clock } from '../kernel/clock.ts';
import { addressProblem, isIpAddress, isPublicHost } from '../kernel/public-address.ts';
import { RecentlyUsed } from '../kernel/recently-used.ts';
import { withinTime } from '../kernel/time-limit.ts';

/** The time for which a DNS lookup is valid: between two attempts of a webhook the name may have been pointed elsewhere. */
const LOOKUP_CACHE_MS = 30_000;
const LOOKUP_TIMEOUT_MS = 5_000;
/** DNS errors which say that a name has no addresses of a kind, where others may have been found. */
const NO_ADDRESS = ['ENOTFOUND', 'ENODATA'];

/** The time until which each name is known to lead to public addresses. */
const lookedUp = new RecentlyUsed<string, number>(1_000);

/** An address that may not be called. */
export class AddressRefused extends Error {
  /** The problem of the address, to follow the words "The address". */
  readonly problem: string;

  constructor(problem: string) {
    super(`the address ${problem}`);
    this.name = 'AddressRefused';
    this.problem = problem;
  }
}

/**
 * A fetch from addresses that customers choose: the address must be public, and so must everything that its name leads to now.
 * Redirects are not followed.
 * @param allowPrivate as {@link addressProblem} has it; names are then not looked up
 * @throws AddressRefused, and the errors of `fetch`
 */
export async function fetchOutside(address: string, init: RequestInit, allowPrivate: boolean): Promise<Response> {
  const problem = addressProblem(address, allowPrivate);
  if (problem !== null) throw new AddressRefused(problem);
  if (!allowPrivate) await expectPublicName(new URL(address).hostname);
  return fetch(address, { ...init, redirect: 'manual' });
}

async function expectPublicName(hostname: string): Promise<void> {
  const now = clock.now();
  if (isIpAddress(hostname) || (lookedUp.get(hostname) ?? 0) > now) return;
  const looks = Promise.all([resolve4, resolve6].map((resolve) => resolve(hostname).catch(noAddress)));
  const found = (await withinTime(LOOKUP_TIMEOUT_MS, looks)).flat();
  if (found.length === 0) throw new Error(`${hostname} has no address`);
  if (!found.map(asHostname).every((host) => isPublicHost(host))) throw new AddressRefused('must be on a public host');
  lookedUp.set(hostname, now + LOOKUP_CACHE_MS);
}

function noAddress(error: NodeJS.ErrnoException): string[] {
  if (NO_ADDRESS.includes(error.code ?? '')) return [];
  throw error;
}

/** An answer may hold addresses, and names that stand for others on the way to them. */
const asHostname = (found: string): string => new URL(`https://${found.includes(':') ? `[${found}]` : found}`).hostname;
