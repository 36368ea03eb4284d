import { RecentlyUsed } from '../kernel/recently-used.ts';
import type { OutsiderActor, Principal } from './actors.ts';
import type { CompiledGroup } from './evaluation.ts';

/** A principal as read from the control database. `Proof` is additional data for the module that checks the credential. */
export interface KnownPrincipal<Proof = unknown> {
  actor: Principal;
  /** Time at which the credential expires, in milliseconds. */
  expiresAt: number;
  proof: Proof;
}

/** A principal in the isolate's cache, and the version of the company's gate under which the principal was read. */
interface CachedPrincipal {
  knownPrincipal: KnownPrincipal;
  gateVersion: string | null;
  /** Approximate bytes of the entry without its groups: as many as its JSON has characters. */
  byteCount: number;
}

/** The size of the isolate's cache, of its 128 MB: ten thousand principals, if their groups and policies are few. */
const PRINCIPAL_CACHE_BYTES = 12 * 1024 * 1024;

/** Compiled groups of cached principals: each is held once, for as long as one of its members is cached. */
const cachedGroups = new Map<string, { group: CompiledGroup; memberCount: number }>();

/** Returns the approximate bytes of a compiled group and its entry. */
const measureGroupBytes = ({ sourceText }: CompiledGroup): number => 512 + 4 * sourceText.length;

/**
 * The isolate's cache of principals, by credential. An entry must not be used unverified: at each request the company's gate is
 * asked whether the version under which the entry was read is still current.
 */
const principalCache = new RecentlyUsed<string, CachedPrincipal>(
  PRINCIPAL_CACHE_BYTES,
  (_, { knownPrincipal, byteCount }) =>
    knownPrincipal.actor.access.groups.reduce((sum, group) => sum + countCachedMember(group), byteCount),
  (_, { knownPrincipal, byteCount }) =>
    knownPrincipal.actor.access.groups.reduce((sum, group) => sum + uncountCachedMember(group), byteCount),
);

/** Counts one more cached member of a group. @returns how many bytes that adds */
function countCachedMember(group: CompiledGroup): number {
  const cachedGroup = cachedGroups.get(group.sourceText);
  if (!cachedGroup) cachedGroups.set(group.sourceText, { group, memberCount: 1 });
  else cachedGroup.memberCount += 1;
  return cachedGroup ? 0 : measureGroupBytes(group);
}

/** Subtracts a removed member from the cached members of a group. @returns how many bytes that frees */
function uncountCachedMember(group: CompiledGroup): number {
  const cachedGroup = cachedGroups.get(group.sourceText);
  if (cachedGroup && cachedGroup.memberCount > 1) {
    cachedGroup.memberCount -= 1;
    return 0;
  }
  cachedGroups.delete(group.sourceText);
  return measureGroupBytes(group);
}

export const getCachedPrincipal = (credential: string): CachedPrincipal | undefined => principalCache.get(credential);

export function cachePrincipal(
  credential: string,
  { actor, expiresAt, proof }: KnownPrincipal,
  gateVersion: string | null,
): void {
  const { access, ...self } = actor;
  const sharedGroups = access.groups.map((group) => cachedGroups.get(group.sourceText)?.group ?? group);
  const knownPrincipal = { actor: { ...actor, access: { ...access, groups: sharedGroups } }, expiresAt, proof };
  const bytes = JSON.stringify([credential, self, proof, gateVersion]).length;
  principalCache.set(credential, { knownPrincipal, gateVersion, byteCount: bytes });
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

/** Maximum length of a client's name in the audit trail: some names are addresses. */
const MAX_CLIENT_LENGTH = 256;

/** Formats a principal's credential for the audit trail: the session or key, and the OAuth client that acts with it. */
export function formatCredential(actor: Principal): string {
  const sessionOrKeyId = actor.kind === 'user' ? actor.sessionId : actor.keyId;
  return actor.client ? formatClientCredential(sessionOrKeyId, actor.client.id) : sessionOrKeyId;
}

/** Formats the credential of an OAuth client for the audit trail. @param id the id of the grant, or of the client's key */
export const formatClientCredential = (id: string, clientId: string): string =>
  `oauth:${id}:${clientId.slice(0, MAX_CLIENT_LENGTH)}`;

/** A credential as a request presents it, checked as far as possible without a database or Durable Object. */
export interface PresentedCredential {
  /** The name of the credential: the key under which its principal is cached. */
  credential: string;
  /** The company and principal, if the credential itself proves them. */
  claims: CredentialClaims | null;
  /** The nonce that must not be used again, and the time (ms) until which the request's date is accepted. */
  nonce?: { accessKey: string; value: string; goodUntil: number };
  /** Returns true if the request is by the cached principal: its signature matches. The cached data may be out of date. */
  matchesPrincipal(knownPrincipal: KnownPrincipal): Promise<boolean>;
  /** Reads the principal from the control database, in one batch. @throws if the credential is invalid */
  readPrincipal(): Promise<KnownPrincipal>;
  /** Records that the credential was used for a request that has been authenticated. */
  recordUse(knownPrincipal: KnownPrincipal): void;
}

/** A presented credential of an outsider, who is read from the database at each request. */
export interface PresentedOutsider {
  actor: OutsiderActor;
}
