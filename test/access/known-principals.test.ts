import { beforeEach, describe, expect, it } from 'vitest';
import { type AccessSources, compileAccess, type GroupGrants } from '../../src/access/evaluation.ts';
import { cachePrincipal, getCachedPrincipal } from '../../src/access/known-principals.ts';
import { getManagedPolicyByName } from '../../src/permissions/managed-policies.ts';
import { forgetPrincipals } from '../support/known-principals.ts';

const makeId = (kind: string, n: number) => `${kind}${n}`.padEnd(24, '0');

/** Makes a group whose policy document is at least `length` characters long. */
function makeGroup(n: number, length = 0): GroupGrants {
  const { id, document } = getManagedPolicyByName('FullAdmin');
  const [statement] = document.statements;
  const resources = [...(statement?.resources ?? []), 'x'.repeat(length)];
  const ownDocument = {
    ...document,
    statements: document.statements.map((ownStatement) => ({ ...ownStatement, resources })),
  };
  return { id: makeId('g', n), policies: [{ id, document: ownDocument }], roles: [], permissions: [] };
}

function cacheNewPrincipal(n: number, companyId: string, groups: GroupGrants[]): void {
  const sources: AccessSources = { companyId, isOwner: false, groups };
  const [companySlug, accountId] = ['company-of-many', makeId('a', 0)];
  const accessKey = `sa_${companySlug}_${accountId}_${'k'.repeat(20)}`;
  const actor = {
    kind: 'service_account' as const,
    id: makeId('s', n),
    companyId,
    companySlug,
    accountId,
    name: `robot ${n}`,
    keyId: makeId('k', n),
    accessKey,
    access: compileAccess(sources),
  };
  const usedPrincipals = ['key', 'service_account'].map((kind) => ({ kind, companyId, id: makeId('u', n) }));
  const material = { accessKey, salt: 's'.repeat(22), derivationVersion: 1, secretDigest: 'd'.repeat(64) };
  const proof = { material, lastUse: { used: usedPrincipals, recordedAt: 1e12, isGathered: false } };
  cachePrincipal(makeCredential(n), { actor, expiresAt: 1e12, proof }, `${crypto.randomUUID()}.0.0`);
}

const makeCredential = (n: number) => `key ${String(n).padStart(80, '0')}`;

const listCachedGroups = (n: number) => getCachedPrincipal(makeCredential(n))?.knownPrincipal.actor.access.groups;

const makeNumbers = (count: number) => Array.from({ length: count }, (_, n) => n);

const isPrincipalCached = (n: number) => getCachedPrincipal(makeCredential(n)) !== undefined;

/** The length in characters of a policy document that is so large that the cache's 12 MB hold six of them. */
const LARGE_DOCUMENT_LENGTH = 500_000;
/** The numbers of the principals that remain when ten with such large groups are added one after the other. */
const REMAINING_NUMBERS = [4, 5, 6, 7, 8, 9];

beforeEach(forgetPrincipals);

describe('the cache of principals in an isolate', () => {
  it('holds ten thousand principals of a thousand companies with a policy each', () => {
    for (const n of makeNumbers(10_000))
      cacheNewPrincipal(n, makeId('c', Math.floor(n / 10)), [makeGroup(Math.floor(n / 10))]);
    expect(makeNumbers(10_000).filter((n) => !isPrincipalCached(n))).toEqual([]);
  });

  it('stores a group once for all of its members', () => {
    for (const n of makeNumbers(100))
      cacheNewPrincipal(n, makeId('c', 0), [makeGroup(0, LARGE_DOCUMENT_LENGTH), makeGroup(1)]);
    expect(new Set(makeNumbers(100).flatMap(listCachedGroups)).size).toBe(2);
  });

  it('shares no group between companies, or between versions of a group', () => {
    cacheNewPrincipal(0, makeId('c', 0), [makeGroup(0)]);
    cacheNewPrincipal(1, makeId('c', 1), [makeGroup(0)]);
    cacheNewPrincipal(2, makeId('c', 0), [makeGroup(0, 1)]);
    expect(new Set([0, 1, 2].flatMap(listCachedGroups)).size).toBe(3);
  });

  it('drops the principals that were added first when groups take too much memory', () => {
    for (const n of makeNumbers(10)) cacheNewPrincipal(n, makeId('c', 0), [makeGroup(n, LARGE_DOCUMENT_LENGTH)]);
    expect(makeNumbers(10).filter(isPrincipalCached)).toEqual(REMAINING_NUMBERS);
  });

  it('frees the memory of the groups that it drops, however often their members are added again', () => {
    for (const round of makeNumbers(20)) {
      for (const n of makeNumbers(10)) cacheNewPrincipal(n, makeId('c', 0), [makeGroup(round, LARGE_DOCUMENT_LENGTH)]);
      expect(makeNumbers(10).filter((n) => !isPrincipalCached(n))).toEqual([]);
    }
    for (const n of makeNumbers(10)) cacheNewPrincipal(n, makeId('c', 0), [makeGroup(n, LARGE_DOCUMENT_LENGTH)]);
    expect(makeNumbers(10).filter(isPrincipalCached)).toEqual(REMAINING_NUMBERS);
  });
});
