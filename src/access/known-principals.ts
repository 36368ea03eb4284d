import { RecentlyUsed } from '../kernel/recently-used.ts';
import type { OutsiderActor, Principal } from './actors.ts';
import type { CompiledGroup } from './evaluation.ts';

/** A principal as read from the control database. `Proof` is further data for the module that checks the credential. */
export interface KnownPrincipal<Proof = unknown> {
  actor: Principal;
  /** When the credential ends by itself, in milliseconds. */
  expiresAt: number;
  proof: Proof;
}

/** A principal in the isolate's cache, and the gate's version under which it was read. */
interface CachedPrincipal {
  known: KnownPrincipal;
  stamp: string | null;
  /** The bytes that it takes up, about, without its groups: as many as its JSON has characters. */
  bytes: number;
}

/** The size of the isolate's cache, of its 128 MB: ten thousand principals, if their groups and policies are few. */
const CAPACITY_BYTES = 12 * 1024 * 1024;

/** Compiled groups of cached principals: each once, for as long as one of its members is cached. */
const cachedGroups = new Map<string, { group: CompiledGroup; members: number }>();

/** The bytes that a compiled group and its entry take up, about. */
const measureGroup = ({ source }: CompiledGroup): number => 512 + 4 * source.length;

/**
 * The isolate's cache of principals, by credential. An entry must not be used unverified: at each request the company's gate is
 * asked whether the version under which the entry was read is still current.
 */
const principalCache = new RecentlyUsed<string, CachedPrincipal>(
  CAPACITY_BYTES,
  (_, { known, bytes }) => known.actor.access.groups.reduce((sum, group) => sum + countCachedMember(group), bytes),
  (_, { known, bytes }) => known.actor.access.groups.reduce((sum, group) => sum + uncountCachedMember(group), bytes),
);

/** Counts one more cached member of a group. @returns how many bytes that adds */
function countCachedMember(group: CompiledGroup): number {
  const known = cachedGroups.get(group.source);
  if (!known) cachedGroups.set(group.source, { group, members: 1 });
  else known.members += 1;
  return known ? 0 : measureGroup(group);
}

/** Counts one less. @returns how many bytes that frees */
function uncountCachedMember(group: CompiledGroup): number {
  const known = cachedGroups.get(group.source);
  if (known && known.members > 1) {
    known.members -= 1;
    return 0;
  }
  cachedGroups.delete(group.source);
  return measureGroup(group);
}

export const getCachedPrincipal = (credential: string): CachedPrincipal | undefined => principalCache.get(credential);

export function cachePrincipal(
  credential: string,
  { actor, expiresAt, proof }: KnownPrincipal,
  stamp: string | null,
): void {
  const { access, ...self } = actor;
  const shared = access.groups.map((group) => cachedGroups.get(group.source)?.group ?? group);
  const known = { actor: { ...actor, access: { ...access, groups: shared } }, expiresAt, proof };
  const bytes = JSON.stringify([credential, self, proof, stamp]).length;
  principalCache.set(credential, { known, stamp, bytes });
}

/** The company and principal that a credential claims to belong to. */
export interface CredentialClaims {
  companyId: string;
  type: Principal['kind'];
  principalId: string;
  /** The id of the session or key, as the audit trail names it. */
  credentialId: string;
}

export const toClaims = ({ actor }: KnownPrincipal): CredentialClaims => ({
  companyId: actor.companyId,
  type: actor.kind,
  principalId: actor.id,
  credentialId: formatCredential(actor),
});

/** Longest name of a client that the audit trail keeps: some are addresses. */
const CLIENT_LENGTH = 256;

/** The name of a principal's credential in the audit trail: the session or key, and the OAuth client that acts with it. */
export function formatCredential(actor: Principal): string {
  const own = actor.kind === 'user' ? actor.sessionId : actor.keyId;
  return actor.client ? `oauth:${own}:${actor.client.id.slice(0, CLIENT_LENGTH)}` : own;
}

/** A credential as a request presents it, checked as far as possible without a call to a database or Durable Object. */
export interface PresentedCredential {
  /** The name of the credential: the key under which its principal is cached. */
  credential: string;
  /** The company and principal, where the credential itself proves them. */
  claims: CredentialClaims | null;
  /** The nonce that must not come again, and until when (ms) its date is acceptable. */
  nonce?: { accessKey: string; value: string; goodUntil: number };
  /** Whether the request is by the cached principal: its signature fits. The cached data may be out of date. */
  fits(known: KnownPrincipal): Promise<boolean>;
  /** Asks the control database who it is, in one batch. Fails when the credential is not good. */
  read(): Promise<KnownPrincipal>;
  /** Records that the credential was used for a request that has been authenticated. */
  recordUse(known: KnownPrincipal): void;
}

/** An outsider, who is read anew each time. */
export interface PresentedOutsider {
  actor: OutsiderActor;
}
