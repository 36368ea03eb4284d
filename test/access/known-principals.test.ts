import { beforeEach, describe, expect, it } from 'vitest';
import { type AccessSources, compileAccess, type GroupGrants } from '../../src/access/evaluation.ts';
import { cachePrincipal, getCachedPrincipal } from '../../src/access/known-principals.ts';
import { managedPolicyNamed } from '../../src/permissions/managed-policies.ts';
import { forgetPrincipals } from '../support/known-principals.ts';

const idOf = (kind: string, n: number) => `${kind}${n}`.padEnd(24, '0');

/** A group whose policy has so many characters, about. */
function aGroup(n: number, length = 0): GroupGrants {
  const { id, document } = managedPolicyNamed('FullAdmin');
  const [statement] = document.statements;
  const resources = [...(statement?.resources ?? []), 'x'.repeat(length)];
  const own = { ...document, statements: document.statements.map((each) => ({ ...each, resources })) };
  return { id: idOf('g', n), policies: [{ id, document: own }], roles: [], permissions: [] };
}

function meet(n: number, companyId: string, groups: GroupGrants[]): void {
  const sources: AccessSources = { companyId, isOwner: false, groups };
  const [companySlug, accountId] = ['company-of-many', idOf('a', 0)];
  const accessKey = `sa_${companySlug}_${accountId}_${'k'.repeat(20)}`;
  const actor = {
    kind: 'service_account' as const,
    id: idOf('s', n),
    companyId,
    companySlug,
    accountId,
    name: `robot ${n}`,
    keyId: idOf('k', n),
    accessKey,
    access: compileAccess(sources),
  };
  const used = ['key', 'service_account'].map((kind) => ({ kind, companyId, id: idOf('u', n) }));
  const material = { accessKey, salt: 's'.repeat(22), derivationVersion: 1, secretDigest: 'd'.repeat(64) };
  const proof = { material, lastUse: { used, recordedAt: 1e12, isGathered: false } };
  cachePrincipal(credentialOf(n), { actor, expiresAt: 1e12, proof }, `${crypto.randomUUID()}.0.0`);
}

const credentialOf = (n: number) => `key ${String(n).padStart(80, '0')}`;

const groupsOf = (n: number) => getCachedPrincipal(credentialOf(n))?.known.actor.access.groups;

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

const isKnown = (n: number) => getCachedPrincipal(credentialOf(n)) !== undefined;

/** So large that an isolate remembers six of them, as 12 MB. */
const LARGE = 500_000;
/** Of ten with such groups of their own, met in turn. */
const fitting = [4, 5, 6, 7, 8, 9];

beforeEach(forgetPrincipals);

describe('the cache of principals in an isolate', () => {
  it('holds ten thousand principals of a thousand companies with a policy each', () => {
    for (const n of numbers(10_000)) meet(n, idOf('c', Math.floor(n / 10)), [aGroup(Math.floor(n / 10))]);
    expect(numbers(10_000).filter((n) => !isKnown(n))).toEqual([]);
  });

  it('stores a group once for all of its members', () => {
    for (const n of numbers(100)) meet(n, idOf('c', 0), [aGroup(0, LARGE), aGroup(1)]);
    expect(new Set(numbers(100).flatMap(groupsOf)).size).toBe(2);
  });

  it('shares no group between companies, or between versions of a group', () => {
    meet(0, idOf('c', 0), [aGroup(0)]);
    meet(1, idOf('c', 1), [aGroup(0)]);
    meet(2, idOf('c', 0), [aGroup(0, 1)]);
    expect(new Set([0, 1, 2].flatMap(groupsOf)).size).toBe(3);
  });

  it('drops the principals that were added first when groups take too much memory', () => {
    for (const n of numbers(10)) meet(n, idOf('c', 0), [aGroup(n, LARGE)]);
    expect(numbers(10).filter(isKnown)).toEqual(fitting);
  });

  it('frees the memory of the groups that it drops, however often their members are added again', () => {
    for (const round of numbers(20)) {
      for (const n of numbers(10)) meet(n, idOf('c', 0), [aGroup(round, LARGE)]);
      expect(numbers(10).filter((n) => !isKnown(n))).toEqual([]);
    }
    for (const n of numbers(10)) meet(n, idOf('c', 0), [aGroup(n, LARGE)]);
    expect(numbers(10).filter(isKnown)).toEqual(fitting);
  });
});
