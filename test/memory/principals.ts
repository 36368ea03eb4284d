import { cachePrincipal } from '../../src/access/known-principals.ts';
import { formatKeyCacheName, toCachedPrincipal } from '../../src/modules/service-accounts/key-cache.ts';
import { getManagedPolicyByName } from '../../src/permissions/managed-policies.ts';

/** Makes a text of the given length, different for each number. */
const makeId = (kind: string, n: number, length = 24): string => `${kind}${n}`.padEnd(length, '0');

/** Makes the control database's record of a service account's key; ten accounts share a company. */
function makeKeyRecord(n: number) {
  const company = Math.floor(n / 10);
  const companySlug = makeId('company', company, 16);
  const accountId = makeId('b', company);
  const key = {
    id: makeId('c', n),
    accessKey: `sa_${companySlug}_${accountId}_${makeId('k', n, 20)}`,
    companyId: makeId('a', company),
    companySlug,
    suspendedAt: null,
    endRequestedAt: null,
    deletesAt: null,
    serviceAccountId: makeId('d', n),
    accountId,
    name: `robot ${n}`,
    salt: makeId('s', n, 22),
    derivationVersion: 1,
    secretDigest: makeId('e', n, 64),
    expiresAt: 1e13 + n,
    lastUsedAt: 1e12 + n,
  };
  const groupId = makeId('f', company);
  const access = {
    groups: [{ id: groupId, roles: [] }],
    policies: [{ groupId, policyId: getManagedPolicyByName('FullAdmin').id, document: null }],
    permissions: [],
  };
  return { key, access };
}

/** Fills the isolate's cache with the given number of principals. */
export function cachePrincipals(count: number): void {
  for (let n = 0; n < count; n += 1) {
    // Texts as they come from the control database, which are in one piece.
    const { key, access } = JSON.parse(JSON.stringify(makeKeyRecord(n))) as ReturnType<typeof makeKeyRecord>;
    cachePrincipal(
      formatKeyCacheName(key.accessKey),
      toCachedPrincipal({ setOwner() {} }, key, access),
      `${crypto.randomUUID()}.0.0`,
    );
  }
}
